"""How all commands end: with a result, an error of one line, or after Ctrl-C."""

import contextlib
import sys

import click

from zoo.interrupts import ended_by_interrupt

# FloatingPointError: a loss that is not finite.
ERRORS = (OSError, ValueError, TypeError, KeyError, ImportError, FloatingPointError)


class Commands(click.Group):
    """Prints errors that users can fix as one line, with exit code 1."""

    def main(self, args=None, **options):
        """Runs the command line; after Ctrl-C, the exit code is 130."""
        # With `args`, another program calls it, which must not be ended.
        guard = ended_by_interrupt() if args is None else contextlib.nullcontext()
        with guard:
            return super().main(args, **options)

    def invoke(self, context):
        """Runs a command."""
        try:
            return super().invoke(context)
        except BrokenPipeError:
            raise  # click ends without a message, as other commands of a pipe
        except out_of_memory() as error:
            reason = (str(error) or type(error).__name__).splitlines()[0]
            raise click.ClickException(
                f"There is not enough memory. Received: {reason}. Give less data at a "
                "time, such as a smaller batch size."
            ) from error
        except ERRORS as error:
            raise click.ClickException(describe(error)) from error


def describe(error):
    """The message of an exception for users, without the number of an OSError."""
    if isinstance(error, OSError) and error.strerror:
        place = "" if error.filename is None else f": {error.filename}."
        return f"{error.strerror}{place}"
    return str(error.args[0] if isinstance(error, KeyError) else error)


def out_of_memory():
    """The exceptions that mean too little memory, a tuple."""
    tensorflow = sys.modules.get("tensorflow")
    if tensorflow is None:
        return (MemoryError,)
    return MemoryError, tensorflow.errors.ResourceExhaustedError
