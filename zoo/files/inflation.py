"""Bounds on what the compressed data of a file may become when it is read."""

import io
import zipfile

# A file may grow by this factor and by so many bytes more. Weights grow by less than 2
# and texts by 3 to 10. Files that are made to fill a memory grow by 1,000 or more.
MAX_GROWTH, SLACK_BYTES = 64, 2**20
# `zipfile` reads other methods without a bound.
COMPRESSION_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def most_bytes(size):
    """The most bytes that a file of a size may hold, int."""
    return MAX_GROWTH * size + SLACK_BYTES


def check_growth(declared, size):
    """ValueError if a file of `size` bytes declares more than `most_bytes`.

    The message begins with "it", so that the caller can add the path.
    """
    if declared > most_bytes(size):
        raise ValueError(
            f"it declares {declared} bytes, more than {MAX_GROWTH} times its size of "
            f"{size}"
        )


def check_members(archive, size):
    """Checks a zip archive of `size` bytes before its members are read.

    ValueError as `check_growth`, or if a member is neither stored nor deflated.
    """
    for member in archive.infolist():
        if member.compress_type not in COMPRESSION_METHODS:
            raise ValueError(
                f"its member {member.filename!r:.80} is compressed by method "
                f"{member.compress_type}, which is neither stored nor deflated"
            )
    check_growth(sum(member.file_size for member in archive.infolist()), size)


def read_member(archive, name):
    """Reads a member of a zip archive, bytes; not more of them than it declares."""
    member = archive.getinfo(name)
    with archive.open(member) as file:
        return file.read(member.file_size)


class BoundedReader(io.RawIOBase):
    """Reads a file that decompresses; ValueError if it grows beyond `most_bytes`.

    `path` is that of the compressed file.
    """

    def __init__(self, file, path):
        self._file, self._path = file, path
        self._size = path.stat().st_size
        self._left = most_bytes(self._size)

    def readable(self):
        """True, as `io.BufferedReader` asks."""
        return True

    def readinto(self, buffer):
        """Reads into a buffer; returns the number of bytes."""
        content = self._file.read(len(buffer))
        self._left -= len(content)
        if self._left < 0:
            raise ValueError(
                f"{self._path} must hold at most {MAX_GROWTH} times its size of "
                f"{self._size} bytes. Received: more. If you trust it, decompress it "
                "first."
            )
        buffer[: len(content)] = content
        return len(content)

    def close(self):
        """Closes the file."""
        self._file.close()
        super().close()
