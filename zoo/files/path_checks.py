"""Checks of paths that users give, before long work."""

import contextlib
import os
import tempfile

from zoo.files.buckets import check_store, is_address, local_path
from zoo.files.whole_files import WRITE_FAILURES, WriteErrors


def check_readable(path, directory=False):
    """OSError unless a file, or else a `directory`, exists and can be read."""
    kind, local = "directory" if directory else "file", local_path(path, directory)
    if not os.path.exists(local):  # `Path.exists` raises for a name that is too long
        raise FileNotFoundError(f"No such {kind}: {path}.")
    if os.path.isdir(local) and not directory:
        raise IsADirectoryError(f"{path} is a directory. Give its files.")
    if directory and not os.path.isdir(local):
        raise NotADirectoryError(f"{path} is a file. Give the directory that has it.")
    if not os.access(local, os.R_OK):
        raise PermissionError(
            f"The {kind} must be readable. Received: {path}. Change its permissions."
        )


def existing_file(path, rule, way=""):
    """The path of a file that exists; FileNotFoundError with the rule for others."""
    local = local_path(path)
    if not local.is_file():
        message = f"{rule} Received: {str(path)!r}. {way}"
        raise FileNotFoundError(message.strip())
    return local


def check_writable(path):
    """Checks that a file can be written; an existing one may be replaced later.

    OSError if its directory cannot be written or made; ValueError if the path is that
    of a directory or a device.
    """
    local = _check_place(path, directory=False)
    if local.exists() and not local.is_file():
        kind = "a directory" if local.is_dir() else "a device or a pipe"
        raise ValueError(
            f"The output must be a file. Received: {path}, {kind}. Choose another name."
        )


def check_writable_directory(path):
    """Checks that files can be written to a directory, which may not exist yet.

    OSError if it cannot be written or made; ValueError if the path is that of a file.
    """
    local = _check_place(path)
    if local.exists() and not local.is_dir():
        raise ValueError(
            f"The output must be a directory. Received: {path}, which is a file. "
            "Choose another name."
        )


def _check_place(path, directory=True):
    """The local path; OSError if no file can be made there, or in a directory there."""
    if is_address(path):
        check_store(path)
    local = local_path(path, directory)
    with WriteErrors(path, WRITE_FAILURES):
        absolute = local.absolute()
        with contextlib.suppress(FileNotFoundError):
            os.stat(absolute)
        nearest = next(p for p in (absolute, *absolute.parents) if p.is_dir())
        for name in absolute.relative_to(nearest).parts:
            with contextlib.suppress(FileNotFoundError):
                os.stat(nearest / name)  # which finds names that are too long
        tempfile.TemporaryFile(dir=nearest).close()
    return local
