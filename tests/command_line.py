"""Runs the command line within the process."""

import click.testing

from zoo.commands.main import main


def run(*arguments, code=0, stdin=None):
    """Output of a command; the exit code must be the expected one."""
    result = click.testing.CliRunner().invoke(
        main, [str(argument) for argument in arguments], input=stdin
    )
    assert result.exit_code == code, (result.output, result.exception)
    return result.output
