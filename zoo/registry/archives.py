"""Zip archives, such as `.keras` files, that may be damaged."""

import lzma
import zipfile
import zlib

# What `zipfile` raises for wrong bytes, by the place where they stand.
DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError),
    *(RuntimeError, ValueError),
)


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
