"""How all commands end: with a result, an error of one line, or after Ctrl-C."""

import contextlib
import os
import signal
import sys
import threading
import time

import click

from zoo.files.buckets import with_addresses
from zoo.files.whole_files import remove_unfinished

# FloatingPointError: a loss that is not finite.
ERRORS = (OSError, ValueError, TypeError, KeyError, ImportError, FloatingPointError)
# The exit code of a program that Ctrl-C ends, as in a shell.
INTERRUPTED_EXIT_CODE = 130
SECONDS_TO_END = 1.0  # for the command to end by itself


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
            with contextlib.redirect_stdout(AddressOutput(sys.stdout)):
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


class AddressOutput:
    """An output that shows the addresses of files in place of their copies."""

    def __init__(self, file):
        self._file = file

    def write(self, text):
        """Writes a text."""
        return self._file.write(with_addresses(text))

    def __getattr__(self, name):
        """All else is that of the file."""
        return getattr(self._file, name)


def describe(error):
    """The message of an exception for users, without the number of an OSError."""
    text = str(error.args[0] if isinstance(error, KeyError) else error)
    if isinstance(error, OSError) and error.strerror:
        place = "" if error.filename is None else f": {error.filename}."
        text = f"{error.strerror}{place}"
    return with_addresses(text)


def out_of_memory():
    """The exceptions that mean too little memory, a tuple."""
    errors = getattr(sys.modules.get("tensorflow"), "errors", None)
    return (MemoryError, *([errors.ResourceExhaustedError] if errors else []))


@contextlib.contextmanager
def ended_by_interrupt():
    """Ends the process with exit code 130 if Ctrl-C is pressed in the block.

    Python raises KeyboardInterrupt between two of its own instructions. But one call of
    TensorFlow may take minutes, other code may catch the exception, and Python waits
    for threads at its end. So another thread ends the process if the block has not
    ended after a second. Temporary files are removed.
    """
    ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not ours or threading.current_thread() is not threading.main_thread():
        yield  # it is ignored, such as under nohup, or another program handles it
        return
    pressed = threading.Event()

    def interrupt(number, frame):
        pressed.set()
        raise KeyboardInterrupt

    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer)  # written to even while TensorFlow runs
    signal.signal(signal.SIGINT, interrupt)
    threading.Thread(target=_watch, args=(reader,), daemon=True).start()
    try:
        yield
    finally:
        if pressed.is_set():
            for stream in (sys.stdout, sys.stderr):
                with contextlib.suppress(OSError, ValueError):
                    stream.flush()
            _end()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.set_wakeup_fd(-1)
        os.close(writer)  # which also ends the thread


def _watch(reader):
    """Waits for the number of a signal, and then ends the process."""
    signals = iter(lambda: os.read(reader, 1), b"")
    if bytes([signal.SIGINT]) in signals:
        time.sleep(SECONDS_TO_END)
        _end()
    os.close(reader)


def _end():
    remove_unfinished()
    os._exit(INTERRUPTED_EXIT_CODE)  # `sys.exit` waits for threads
