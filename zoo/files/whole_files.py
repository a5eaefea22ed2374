"""Opens compressed files, and writes files and directories completely or not at all."""

import codecs
import collections
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
import tempfile
import types
import uuid
import zlib

from zoo.files.buckets import local_path, remove_local, send
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

TEXT_BLOCK = 2**16  # bytes that are decoded at once, to find a wrong one
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
WRITE_FAILURES = FULL_DISK + DENIED_ACCESS + NO_PLACE
NOTHING_WRITTEN = "Nothing was written."
# Of several workers that run the same program, only the first one writes.
THIS_PROCESS = types.SimpleNamespace(writes=True)


def open_any(path, mode="rb", **options):
    """Opens a file, which may be compressed, with options of `open` such as encoding.

    `.gz` means gzip, `.xz` lzma, any other suffix none. `mode` ends with b or t. A read
    raises ValueError as `zoo.files.inflation.BoundedReader`.
    """
    opener = OPENERS.get(path.suffix)
    if opener is None:
        return open(path, mode, **options)
    if not mode.startswith("r"):
        return opener(path, mode, **options)
    file = io.BufferedReader(BoundedReader(opener(path), path))
    return io.TextIOWrapper(file, **options) if mode.endswith("t") else file


@contextlib.contextmanager
def open_text(path, newline=None, span=(0, None), errors="strict"):
    """Opens a file of text for reading, see `open_any`.

    It is in UTF-8, or in UTF-16 with a byte order mark. The mark is left out. OSError
    if there is no such file, or it is a directory. ValueError in the block if it is
    damaged or has another encoding; the message names the byte and the line. `span` is
    its first byte and its end, which are between lines; `errors` is that of `open`.
    """
    path = local_path(path)
    encoding = "utf-8-sig"
    try:
        with open_any(path) as file:
            if span[1] is not None:
                file.seek(span[0])
                file = io.BufferedReader(io.BytesIO(file.read(span[1] - span[0])))
            first = file.peek(2)[:2]
            if first in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
                encoding = "utf-16"
            elif first.count(0) == 1:  # UTF-16 without a mark
                raise _encoding_error(path, 0, first.find(0), 1, "UTF-16")
            encoding = "utf-8" if span[0] else encoding
            with io.TextIOWrapper(file, encoding, errors, newline) as text:
                yield text
    except IsADirectoryError as error:
        raise IsADirectoryError(f"{path} is a directory. Give its files.") from error
    except UnicodeDecodeError as error:
        former = "UTF-16" if encoding == "utf-16" else "WINDOWS-1252"
        byte, place = error.object[error.start], _place_of_damage(path, encoding)
        raise _encoding_error(path, byte, *place, former) from error
    except DAMAGE_ERRORS as error:
        raise ValueError(
            f"{path} must be a complete {path.suffix} file. Received: {error}. Copy or "
            "compress the file again."
        ) from error


def _encoding_error(path, byte, position, line, former):
    return ValueError(
        f"{path} must be text in UTF-8. Received: byte 0x{byte:02x} at position "
        f"{position}, in line {line}. Save the file as UTF-8, for example with `iconv "
        f"-f {former} -t UTF-8`."
    )


def _place_of_damage(path, encoding):
    """Position and line of the first byte of a file that cannot be decoded."""
    if not path.is_file():  # a pipe, which cannot be read again
        return "unknown", "unknown"
    # The decoder of utf-8-sig gives positions after the mark.
    decoder = codecs.getincrementaldecoder(encoding.removesuffix("-sig"))()
    begin, counts, block = 0, collections.Counter(), b" "
    with open_any(path) as file:
        while block:
            block = file.read(TEXT_BLOCK)
            kept = len(decoder.getstate()[0])  # the bytes of half a character
            try:
                counts.update(decoder.decode(block, not block))
            except UnicodeDecodeError as error:
                counts.update(error.object[: error.start].decode(encoding, "ignore"))
                begin += error.start - kept
                break
            begin += len(block)
    return begin, 1 + (counts["\n"] or counts["\r"])


def check_file_name(path, zipped=True):
    """Checks the name of a saved model: ValueError unless `.keras` ends that of a file.

    With `zipped=False` it is a directory, whose name must not end so.
    """
    path = pathlib.PurePath(path)
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
    """FileExistsError unless a directory is empty or does not exist."""
    directory = local_path(directory)
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise FileExistsError(
            f"{directory} exists and is not empty. Choose another directory, or "
            "remove it first."
        )


class WriteErrors(contextlib.AbstractContextManager):
    """Replaces the error of a full disk by an OSError with one clear sentence.

    Libraries such as TensorFlow, h5py and safetensors report a full disk with
    exceptions of their own, which contain the text of the operating system's error.
    Other exceptions pass through unchanged. The message names `path`. The error numbers
    to replace are `FULL_DISK`, or all `WRITE_FAILURES`.
    """

    def __init__(self, path, numbers=FULL_DISK):
        self.path = path
        self.numbers = numbers

    def __exit__(self, kind, error, trace):
        number = None
        if isinstance(error, OSError) and error.errno is not None:
            number = error.errno if error.errno in self.numbers else None
        elif isinstance(error, Exception):
            number = next((n for n in FULL_DISK if os.strerror(n) in str(error)), None)
        if number is None:
            return
        message = f"{os.strerror(number)} while writing {self.path}. {NOTHING_WRITTEN}"
        # If contexts are nested, the message names the outermost path.
        repeated = NOTHING_WRITTEN in str(error)
        cause = error.__cause__ if repeated else error
        raise OSError(number, f"{message} {ADVICE[number]}") from cause


@contextlib.contextmanager
def replacing(path):
    """Yields a temporary path to write to, and renames it to `path` at the end.

    Until then `path` does not change. If the block raises an exception, the temporary
    file or directory is removed. The written files get the permissions that `open`
    would give them. A symbolic link is kept, and what it points to is replaced. The
    working directory and a mount point cannot be renamed: the entries of the temporary
    directory are moved into them.

    `path` is a file, or a directory that is empty or does not exist; missing parents
    are created. The temporary path does not exist yet. It is on the same disk, with the
    same suffix. OSError if the disk is full, the permission to write is missing or the
    directory is not empty. At the address of a store, see `zoo.files.buckets`, what is
    written is sent to it at the end.

    Unless `THIS_PROCESS.writes`, what is written is removed at the end.
    """
    path = local_path(path)
    if not THIS_PROCESS.writes:
        with _discarded(path) as temporary:
            yield temporary
        return
    target = pathlib.Path(os.path.realpath(path))
    # Without the name of the target, which may be as long as the system allows.
    suffix = pathlib.Path(path.name or target.name).suffix
    with WriteErrors(path, WRITE_FAILURES):
        inside = target.is_dir() and (
            os.path.ismount(target) or os.path.samefile(target, os.curdir)
        )
        place = target if inside else target.parent
        temporary = place / f".{uuid.uuid4().hex}{suffix}"
        place.mkdir(parents=True, exist_ok=True)
        # The umask decides the permissions that `open` gives to a new file.
        descriptor = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
        mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
        os.close(descriptor)
        os.unlink(temporary)
    with removed_at_end(temporary):
        with WriteErrors(path):
            yield temporary
        with WriteErrors(path, WRITE_FAILURES):
            _set_modes(temporary, mode, target)
            send(temporary, target)
            if inside and temporary.is_dir():
                _move_entries(temporary, target)
            else:
                os.replace(temporary, target)


@contextlib.contextmanager
def _discarded(path):
    """Yields a path to write to, also with `replacing`, that is removed at the end."""
    with tempfile.TemporaryDirectory() as directory:
        THIS_PROCESS.writes = True
        try:
            yield pathlib.Path(directory, "unused").with_suffix(path.suffix)
        finally:
            THIS_PROCESS.writes = False


@contextlib.contextmanager
def rewriting(directory):
    """As `replacing`, but a directory that is there is removed at the end."""
    writes, directory = THIS_PROCESS.writes, local_path(directory)
    with replacing(directory) as temporary:
        yield temporary
        if writes:
            shutil.rmtree(directory, ignore_errors=True)


# Temporary files and directories, which an interrupt must remove.
UNFINISHED_PATHS = set()


@contextlib.contextmanager
def removed_at_end(path):
    """Removes a temporary file or directory at the end of the block, if it exists."""
    UNFINISHED_PATHS.add(path)
    try:
        yield
    finally:
        _remove(path)
        UNFINISHED_PATHS.discard(path)


def remove_unfinished():
    """Removes all temporary files and directories, before the process is ended."""
    for path in [*UNFINISHED_PATHS]:
        _remove(path)


@contextlib.contextmanager
def filling(directory):
    """Yields an empty directory that becomes `directory` at the end; see `replacing`.

    FileExistsError if `directory` is not empty or a file.
    """
    check_empty(directory)
    with replacing(directory) as temporary:
        temporary.mkdir()
        yield temporary


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
    number = errno.ENOTEMPTY
    if any(entry != temporary for entry in directory.iterdir()):
        raise OSError(number, os.strerror(number), os.fspath(directory))
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
    with contextlib.suppress(OSError):
        remove_local(path)


def join_files(paths, output):
    """Writes a file with the contents of several, one after the other."""
    with replacing(output) as temporary, open(temporary, "wb") as joined:
        for path in paths:
            with open(path, "rb") as file:
                shutil.copyfileobj(file, joined)


def write_json(path, value, **options):
    """Writes a JSON file as `replacing`; the options are those of `json.dumps`."""
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(value, **options) + "\n", "utf-8")
