"""The lines of text files."""

import contextlib
import os

from zoo.files.whole_files import open_text


def read_lines(source, newline=None):
    r"""Yields the lines of a text file without their ends.

    Args:
        source: path of a UTF-8 file, plain, `.gz` or `.xz`; or an open file of text. A
            byte order mark is left out.
        newline: str, see `open`. By default `\n`, `\r\n` and `\r` end a line. With
            `"\n"`, a `\r` inside of a line is a character of it.

    Raises:
        OSError, ValueError: as `open_text`.
    """
    opened = contextlib.nullcontext(source)
    if isinstance(source, (str, os.PathLike)):
        opened = open_text(source, newline)
    with opened as file:
        for number, line in enumerate(file):
            line = line.rstrip("\r\n")
            yield line if number else line.removeprefix("\ufeff")


def corpus_lines(texts):
    """Yields texts, and the lines of files with their ends.

    Args:
        texts: iterable of str or bytes, which are texts, and of `pathlib.Path` of UTF-8
            files, plain, `.gz` or `.xz`.

    Raises:
        TypeError: if `texts` is a single str, or has an entry of another type.
        ValueError: if a file is damaged or not UTF-8.
    """
    if isinstance(texts, (str, bytes, os.PathLike)):
        raise TypeError(
            "`texts` must be an iterable of texts or paths. Received a single "
            f"{type(texts).__name__}. Put it in a list; give files as `pathlib.Path`."
        )
    for text in texts:
        if isinstance(text, os.PathLike):
            with open_text(text) as file:
                yield from file
        elif isinstance(text, (str, bytes)):
            yield text.decode("utf-8", "ignore") if isinstance(text, bytes) else text
        else:
            raise TypeError(
                "`texts` must hold str, bytes or paths. Received a "
                f"{type(text).__name__}. Convert arrays with `.tolist()`."
            )
