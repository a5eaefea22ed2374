"""Checks of paths that users give, before long work."""

import contextlib
import os
import pathlib
import tempfile

from zoo.files.whole_files import WRITE_FAILURES, WriteErrors


def check_readable(path, directory=False):
    """OSError unless a file, or else a `directory`, exists and can be read."""
    kind = "directory" if directory else "file"
    if not os.path.exists(path):
        raise FileNotFoundError(f"No such {kind}: {path}.")
    if os.path.isdir(path) and not directory:
        raise IsADirectoryError(f"{path} is a directory. Give its files.")
    if directory and not os.path.isdir(path):
        raise NotADirectoryError(f"{path} is a file. Give the directory that has it.")
    if not os.access(path, os.R_OK):
        raise PermissionError(
            f"The {kind} must be readable. Received: {path}. Change its permissions."
        )


def existing_file(path, rule, way=""):
    """The path of a file that exists; FileNotFoundError with the rule for others."""
    path = pathlib.Path(path)
    if not path.is_file():
        message = f"{rule} Received: {str(path)!r}. {way}"
        raise FileNotFoundError(message.strip())
    return path


def check_writable(path):
    """Checks that a file can be written; an existing one may be replaced later.

    OSError if its directory cannot be written or made; ValueError if the path is that
    of a directory or a device.
    """
    path = pathlib.Path(path)
    _check_place(path)
    if path.exists() and not path.is_file():
        kind = "a directory" if path.is_dir() else "a device or a pipe"
        raise ValueError(
            f"The output must be a file. Received: {path}, {kind}. Choose another name."
        )


def check_writable_directory(path):
    """Checks that files can be written to a directory, which may not exist yet.

    OSError if it cannot be written or made; ValueError if the path is that of a file.
    """
    path = pathlib.Path(path)
    _check_place(path)
    if path.exists() and not path.is_dir():
        raise ValueError(
            f"The output must be a directory. Received: {path}, which is a file. "
            "Choose another name."
        )


def _check_place(path):
    """Raises OSError if no file can be made at a path, or in a directory there."""
    with WriteErrors(path, WRITE_FAILURES):
        absolute = path.absolute()
        with contextlib.suppress(FileNotFoundError):
            os.stat(absolute)
        nearest = next(p for p in (absolute, *absolute.parents) if p.is_dir())
        for name in absolute.relative_to(nearest).parts:
            with contextlib.suppress(FileNotFoundError):
                os.stat(nearest / name)  # which finds names that are too long
        tempfile.TemporaryFile(dir=nearest).close()
