"""Opens compressed files, and writes files and directories completely or not at all."""

import contextlib
import errno
import gzip
import io
import json
import lzma
import os
import pathlib
import shutil
import stat
import uuid
import zlib

from zoo.files.inflation import BoundedReader

OPENERS = {".gz": gzip.open, ".xz": lzma.open}
# What reading a damaged file of text raises.
DAMAGE_ERRORS = (
    EOFError,
    UnicodeDecodeError,
    gzip.BadGzipFile,
    lzma.LZMAError,
    zlib.error,
)

FULL_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
DENIED_ACCESS = (errno.EACCES, errno.EPERM, errno.EROFS)
NO_PLACE = (errno.ENOTDIR, errno.EEXIST, errno.ENAMETOOLONG, errno.ELOOP)
ADVICE = {
    **dict.fromkeys(NO_PLACE, "Choose another path, whose parents are directories."),
    **dict.fromkeys(FULL_DISK, "Free some space, or write to another place."),
    **dict.fromkeys(
        DENIED_ACCESS, "Choose a place where you have permission to write."
    ),
}
NOTHING_WRITTEN = "Nothing was written."


def open_any(path, mode="rb", **options):
    """Opens a file, which may be compressed.

    Args:
        path: pathlib.Path. The suffix `.gz` means gzip, `.xz` means lzma, and any
            other suffix means no compression.
        mode: str, the mode of `open`, with its b or t.
        **options: options of `open`, such as encoding.

    Returns:
        The open file. Reading it raises ValueError if it grows too much, see
        `zoo.files.inflation`.
    """
    opener = OPENERS.get(path.suffix)
    if opener is None:
        return open(path, mode, **options)
    if not mode.startswith("r"):
        return opener(path, mode, **options)
    file = io.BufferedReader(BoundedReader(opener(path), path))
    return io.TextIOWrapper(file, **options) if mode.endswith("t") else file


@contextlib.contextmanager
def open_text(path, newline=None):
    """Opens a file of text in UTF-8 for reading, which may be compressed.

    Args:
        path: str or path, see `open_any`. A byte order mark is left out.
        newline: see `open`.

    Yields:
        The open file.

    Raises:
        OSError: if there is no such file, or it is a directory.
        ValueError: in the block, if the file is damaged or not UTF-8.
    """
    path = pathlib.Path(path)
    try:
        with open_any(path, "rt", encoding="utf-8-sig", newline=newline) as file:
            yield file
    except IsADirectoryError as error:
        raise IsADirectoryError(f"{path} is a directory. Give its files.") from error
    except DAMAGE_ERRORS as error:
        raise ValueError(
            f"{path} must be a complete file of text in UTF-8. Received: {error}. "
            "Copy or convert it again."
        ) from error


def check_file_name(path, zipped=True):
    """Checks the name under which a model is saved.

    Args:
        path: str or path.
        zipped: bool, whether it is a file; otherwise it is a directory.

    Raises:
        ValueError: if a file's name does not end in `.keras`, or a directory's does.
    """
    path = pathlib.Path(path)
    if zipped and path.suffix != ".keras":
        raise ValueError(
            "A model is saved as a file whose name ends in `.keras`. Received: "
            f"{str(path)!r}. Use `save({path.stem + '.keras'!r})`; `save_to_preset` "
            "writes a preset directory, and `save_weights` the weights alone."
        )
    if not zipped and path.suffix == ".keras":
        raise ValueError(
            "With `zipped=False` a model is saved as a directory, whose name does not "
            f"end in `.keras`. Received: {str(path)!r}. Leave the ending out."
        )


def check_empty(directory):
    """Checks that a directory is empty or does not exist.

    Raises:
        FileExistsError: if the directory is not empty, or the path is a file.
    """
    directory = pathlib.Path(directory)
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise FileExistsError(
            f"{directory} exists and is not empty. Choose another directory, or "
            "remove it first."
        )


class WriteErrors(contextlib.AbstractContextManager):
    """Replaces the error of a full disk by an OSError with one clear sentence.

    Libraries such as TensorFlow, h5py and safetensors report a full disk with
    exceptions of their own. This context manager recognises them by the text of the
    operating system's error. Other exceptions pass through unchanged.

    Args:
        path: the path to name in the message.
        numbers: tuple of int, the error numbers to replace: `FULL_DISK`,
            `DENIED_ACCESS` and `NO_PLACE`.

    Raises:
        OSError: with the number of the error that occurred.

    Example:
        with WriteErrors("report.json"):
            write_report("report.json")
    """

    def __init__(self, path, numbers=FULL_DISK):
        self.path = path
        self.numbers = numbers

    def __exit__(self, kind, error, trace):
        """Replaces the exception, if there is one that this class recognises."""
        number = self._find_number(error)
        if number is None:
            return
        message = f"{os.strerror(number)} while writing {self.path}. {NOTHING_WRITTEN}"
        # If contexts are nested, the message names the outermost path.
        repeated = NOTHING_WRITTEN in str(error)
        cause = error.__cause__ if repeated else error
        raise OSError(number, f"{message} {ADVICE[number]}") from cause

    def _find_number(self, error):
        if isinstance(error, OSError) and error.errno is not None:
            return error.errno if error.errno in self.numbers else None
        if not isinstance(error, Exception):
            return None
        full = [number for number in FULL_DISK if number in self.numbers]
        return next((n for n in full if os.strerror(n) in str(error)), None)


@contextlib.contextmanager
def replacing(path):
    """Yields a temporary path to write to, and renames it to `path` at the end.

    Until then `path` does not change. If the block raises an exception, the temporary
    file or directory is removed. If the process is killed, it may remain.

    The written files get the permissions that `open` would give them. If `path` is a
    symbolic link, the link is kept, and the file or directory that it points to is
    replaced. The working directory and a mount point cannot be renamed. If `path` is
    one of them, the entries of the temporary directory are moved into it.

    Args:
        path: path of a file, or of a directory that is empty or does not exist.
            Missing parent directories are created.

    Yields:
        pathlib.Path that does not exist yet, on the same disk as `path` and with the
        same suffix.

    Raises:
        OSError: if the disk is full, the permission to write is missing or the
            directory is not empty.

    Example:
        with replacing("results.json") as temporary:
            temporary.write_text("{}")
    """
    path = pathlib.Path(path)
    target = pathlib.Path(os.path.realpath(path))
    # Without the name of the target, which may be as long as the system allows.
    suffix = pathlib.Path(path.name or target.name).suffix
    with WriteErrors(path, FULL_DISK + DENIED_ACCESS + NO_PLACE):
        inside = _cannot_be_renamed(target)
        place = target if inside else target.parent
        temporary = place / f".{uuid.uuid4().hex}{suffix}"
        place.mkdir(parents=True, exist_ok=True)
        mode = _mode_of_new_file(temporary)
    with removed_at_end(temporary):
        with WriteErrors(path):
            yield temporary
        with WriteErrors(path, FULL_DISK + DENIED_ACCESS + NO_PLACE):
            _set_modes(temporary, mode, target)
            if inside and temporary.is_dir():
                _move_entries(temporary, target)
            else:
                os.replace(temporary, target)


# Temporary files and directories, which an interrupt must remove.
UNFINISHED_PATHS = set()


@contextlib.contextmanager
def removed_at_end(path):
    """Removes a temporary file or directory at the end of the block, if it exists.

    Args:
        path: pathlib.Path.
    """
    UNFINISHED_PATHS.add(path)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            _remove(path)
        UNFINISHED_PATHS.discard(path)


def remove_unfinished():
    """Removes all temporary files and directories, before the process is ended."""
    for path in [*UNFINISHED_PATHS]:
        with contextlib.suppress(OSError):
            _remove(path)


@contextlib.contextmanager
def filling(directory):
    """Yields a temporary directory, and renames it to `directory` at the end.

    Args:
        directory: path of a directory that is empty or does not exist; see
            `replacing`.

    Yields:
        pathlib.Path of an empty directory on the same disk.

    Raises:
        FileExistsError: if the directory is not empty, or the path is a file.
        OSError: if the disk is full or the permission to write is missing.
    """
    check_empty(directory)
    with replacing(directory) as temporary:
        temporary.mkdir()
        yield temporary


def _cannot_be_renamed(path):
    """Whether a path is the working directory or a mount point."""
    return path.is_dir() and (
        os.path.ismount(path) or os.path.samefile(path, os.curdir)
    )


def _mode_of_new_file(path):
    """The permissions that `open` gives to a new file; the umask decides them."""
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
    try:
        return stat.S_IMODE(os.fstat(descriptor).st_mode)
    finally:
        os.close(descriptor)
        os.unlink(path)


def _set_modes(temporary, mode, target):
    """Sets the permissions of new files to `mode`; a replaced file keeps its own.

    safetensors creates files that only their owner can read.
    """
    directory = temporary.is_dir()
    for file in temporary.rglob("*") if directory else [temporary]:
        status = file.lstat()
        if stat.S_ISREG(status.st_mode) and stat.S_IMODE(status.st_mode) != mode:
            file.chmod(mode)
    if target.exists() and target.is_dir() == directory:
        shutil.copymode(target, temporary)


def _move_entries(temporary, directory):
    """Moves all entries of a directory inside of `directory` up, or none of them."""
    if any(entry != temporary for entry in directory.iterdir()):
        raise OSError(
            errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), os.fspath(directory)
        )
    moved = []
    try:
        for entry in sorted(temporary.iterdir()):
            os.rename(entry, directory / entry.name)
            moved.append(entry)
    except OSError:
        for entry in moved:
            os.rename(directory / entry.name, entry)
        raise


def _remove(path):
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def write_json(path, value, **options):
    """Writes plain values as a JSON file, completely or not at all; see `replacing`.

    Args:
        path: path of the file, which is replaced if it exists.
        value: what `json.dumps` takes.
        **options: of `json.dumps`, such as indent.
    """
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(value, **options) + "\n", "utf-8")
