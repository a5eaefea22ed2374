"""The lines of text files."""

import contextlib
import os

from zoo.files.whole_files import open_text


def read_lines(source, newline=None):
    r"""Yields the lines of a text file without their ends.

    `source` is the path of a UTF-8 file, plain, `.gz` or `.xz`, or an open file of
    text; a byte order mark is left out. By default `\n`, `\r\n` and `\r` end a line.
    With `"\n"` as `newline`, a `\r` inside of a line is a character of it. OSError and
    ValueError are those of `open_text`.
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

    `texts` has str or bytes, which are texts, and `pathlib.Path` of UTF-8 files, plain,
    `.gz` or `.xz`. TypeError if it is a single str, or has an entry of another type.
    ValueError if a file is damaged or not UTF-8.
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
