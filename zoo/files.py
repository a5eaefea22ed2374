"""Files: compressed ones opened, new ones there only once they are complete."""

import contextlib
import gzip
import lzma
import os
import pathlib
import shutil
import uuid
import zipfile
import zlib

OPENERS = {".gz": gzip.open, ".xz": lzma.open}
# What `zipfile` raises for wrong bytes, by the place where they stand.
DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError),
    *(RuntimeError, ValueError),
)


def open_any(path, mode="rb", **options):
    """Opens a file, plain, `.gz` or `.xz`.

    Args:
        path: pathlib.Path.
        mode: str, as of `open`, with its b or t.
        **options: of `open`, such as encoding.
    """
    return OPENERS.get(path.suffix, open)(path, mode, **options)


def check_archive(path, names=()):
    """Reads a zip archive and compares all of it with its checksums.

    Args:
        path: pathlib.Path of a file that exists.
        names: sequence of str, files that the archive must hold.

    Raises:
        ValueError: if the file is no archive, is damaged, or lacks one of the names.
    """
    with open(path, "rb") as file:
        try:
            with zipfile.ZipFile(file) as archive:
                wrong = archive.testzip()
                if wrong:
                    raise zipfile.BadZipFile(f"the checksum of {wrong} differs")
                missing = sorted({*names} - {*archive.namelist()})
                if missing:
                    raise zipfile.BadZipFile(f"it lacks {', '.join(missing)}")
        except DAMAGE as error:
            reason = str(error) or "it ends too early"
            raise ValueError(
                f"{path} is damaged: {reason}. Copy the file again, or save it again."
            ) from error


@contextlib.contextmanager
def replacing(path):
    """Gives another name to write to, and renames it at the end.

    A reader sees the previous file or the complete new one, whenever the writer is
    killed; if the block raises, what it wrote is removed.

    Args:
        path: file, or directory that does not exist or is empty; directories above
            it are made.

    Yields:
        pathlib.Path beside `path` with the same suffix, which does not exist yet.

    Example:
        with replacing("results.json") as temporary:
            temporary.write_text("{}")
    """
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{uuid.uuid4().hex}-{path.name}")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        if temporary.is_dir():
            shutil.rmtree(temporary, ignore_errors=True)
        temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def filling(directory):
    """Makes a directory under another name, and renames it at the end.

    Args:
        directory: path; must not exist, or be empty.

    Yields:
        pathlib.Path of an empty directory beside it.

    Raises:
        FileExistsError: if the directory holds something.
    """
    directory = pathlib.Path(directory)
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise FileExistsError(
            f"{directory} exists and is not empty. Choose another directory, or "
            "remove it first."
        )
    with replacing(directory) as temporary:
        temporary.mkdir()
        yield temporary
