"""Reads and writes files of word vectors: GloVe, word2vec and fastText."""

import itertools
import lzma
import pathlib
import zlib

import numpy as np

from zoo.files.buckets import local_path
from zoo.files.inflation import most_bytes
from zoo.files.whole_files import OPENERS, open_any, replacing

# In bytes. A file with a longer word is not a file of vectors.
LONGEST_WORD = 4096
# In bytes, the size of one read.
BYTES_PER_READ = 2**20


def read_vectors(path, words=None, limit=None):
    """Reads the word vectors that GloVe, word2vec or fastText wrote.

    There are two kinds of files:

    - Text. Each line has a word and its numbers, separated by spaces. The files of
      word2vec and fastText begin with a line of two counts. A word may contain spaces,
      as some words of GloVe 840B do: the last numbers are the vector.
    - The binary format of word2vec, if the name ends in `.bin`. The binary format of
      fastText, a model with n-grams, is not supported: use its `.vec` file.

    If a word occurs several times, its first vector is used.

    Args:
        path: str or pathlib.Path, plain, `.gz` or `.xz`.
        words: collection of str, the words to keep, or None for all.
        limit: int, the largest number of vectors to read, or None for all.

    Returns:
        list of str (V,), the words, and float32 (V, D).

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if a line is not a word and a vector, the vectors have different
            widths, or the file is incomplete.
    """
    path = local_path(path)
    if not path.is_file():
        raise FileNotFoundError(
            f"There is no file of vectors at `{path}`. Check the path."
        )
    read = _binary_rows if _names_binary(path) else _text_rows
    found, vectors = {}, []
    try:
        with open_any(path) as file:
            for word, vector in itertools.islice(read(path, file), limit):
                if word not in found and (words is None or word in words):
                    found[word] = len(vectors)
                    vectors.append(vector)
    except (EOFError, OSError, lzma.LZMAError, zlib.error) as error:
        if getattr(error, "errno", None):
            raise
        raise ValueError(
            f"`{path}` must be complete. Received: {error}. Download the file again."
        ) from error
    width = len(vectors[0]) if vectors else 0
    matrix = np.array(vectors, "float32").reshape(len(vectors), width)
    return list(found), matrix


def _names_binary(path):
    """Whether a path is that of a binary file, which may be compressed."""
    plain = path.with_suffix("") if path.suffix in OPENERS else path
    return plain.suffix == ".bin"


def _text_rows(path, file):
    """Yields the words and vectors of a text file."""
    first, count = file.readline(), None
    fields = first.split()
    if len(fields) == 2 and all(map(_is_count, fields)):
        count, width = map(int, fields)
    elif not first.strip():
        raise ValueError(
            f"`{path}` must hold word vectors. Received: an empty first line. Check "
            "the path."
        )
    else:
        yield _text_row(path, 1, first, None)
        width = len(fields) - 1
    found = 0
    for number, line in enumerate(file, start=2):
        if line.strip():
            yield _text_row(path, number, line, width)
            found += 1
    if count is not None and found < count:
        raise ValueError(
            f"`{path}` must hold {count} vectors, as its first line says. Received: "
            f"{found} of them. Download the file again."
        )


def _is_count(field):
    """Whether a field, bytes, is a number of at most nine digits."""
    return field.isdigit() and len(field) < 10


def _text_row(path, number, line, width):
    fields = line.rstrip().rsplit(b" ", -1 if width is None else width)
    try:
        vector = np.array(fields[1:], "float32")
    except ValueError:
        vector = np.zeros(0)
    rule = f"Every line of `{path}` must hold a word and {width or 'some'} numbers."
    if not fields[0] or not len(vector) or len(vector) != (width or len(vector)):
        raise ValueError(
            f"{rule} Received: {line[:60]!r} in line {number}. Correct the line."
        )
    _, space, last = fields[0].rpartition(b" ")
    if width is not None and space and _is_number(last):
        raise ValueError(
            f"{rule} Received: more numbers in line {number}: {line[:60]!r}. Correct "
            "the line."
        )
    return fields[0].decode("utf-8", "replace"), vector


def _is_number(field):
    try:
        float(field)
    except ValueError:
        return False
    return True


def _binary_rows(path, file):
    """Yields the words and vectors of word2vec's binary format."""
    header = file.readline(100).split()
    if len(header) != 2 or not all(map(_is_count, header)):
        raise ValueError(
            f"`{path}` must begin with two counts, as files of word2vec do. Received: "
            f"{header!r:.60}. Use a text file if the format is another one."
        )
    count, width = map(int, header)
    if 4 * width > most_bytes(path.stat().st_size):  # before memory is reserved
        raise ValueError(
            f"`{path}` must hold vectors of {width} numbers, as its first line says. "
            "Received: a file that is too small for one. Download the file again."
        )
    buffer, place = b"", 0
    for number in range(count):
        while True:
            space = buffer.find(b" ", place)
            if space >= 0 and len(buffer) - space > 4 * width:
                break
            if space < 0 and len(buffer) - place > LONGEST_WORD:
                raise ValueError(
                    f"`{path}` must hold words of at most {LONGEST_WORD} bytes. "
                    f"Received: a longer word after {number} vectors. Download the "
                    "file again."
                )
            more = file.read(max(BYTES_PER_READ, 4 * width))
            if not more:
                raise ValueError(
                    f"`{path}` must hold {count} vectors, as its first line says. "
                    f"Received: {number} of them. Download the file again."
                )
            buffer, place, space = buffer[place:] + more, 0, -1
        word = buffer[place:space].lstrip(b"\n").decode("utf-8", "replace")
        end = space + 1 + 4 * width
        yield word, np.frombuffer(buffer[space + 1 : end], "<f4")
        place = end


def check_text_name(path):
    """Raises ValueError if `read_vectors` would not read text from this path."""
    if _names_binary(pathlib.Path(path)):
        raise ValueError(
            f"Vectors must be written as text. Received: {path}, a name of binary "
            "files. Choose a name such as vectors.txt."
        )


def write_vectors(path, words, vectors, header=False):
    """Writes vectors as text, completely or not at all.

    Args:
        path: path of the file, which is compressed if it ends in `.gz` or `.xz`.
        words: sequence of str (V,).
        vectors: float (V, D).
        header: bool, whether to write a first line with the counts V and D, which
            programs for files of word2vec and fastText need.

    Raises:
        ValueError: if the numbers of words and vectors differ, a word is empty or
            contains a line break, or the name ends in `.bin`.
        OSError: if the disk is full or the permission to write is missing.
    """
    vectors = np.asarray(vectors, "float32")
    if len(words) != len(vectors):
        raise ValueError(
            "There must be a vector for every word. Received: "
            f"{len(words)} words and {len(vectors)} vectors. Give as many vectors as "
            "words."
        )
    check_text_name(path)
    with (
        replacing(path) as temporary,
        open_any(temporary, "wt", encoding="utf-8") as file,
    ):
        if header:
            file.write(f"{len(words)} {vectors.shape[1]}\n")
        for word, vector in zip(words, vectors, strict=True):
            if not word or "\n" in word or "\r" in word:
                raise ValueError(
                    "A word must have one line and must not be empty. Received: "
                    f"{word!r}. Remove or change it."
                )
            file.write(f"{word} {' '.join(map(repr, vector.tolist()))}\n")
