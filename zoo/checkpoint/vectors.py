"""Files of word vectors: GloVe's, word2vec's and fastText's."""

import itertools
import lzma
import pathlib

import numpy as np

from zoo.files import OPENERS, open_any, replacing

LONGEST_WORD = 4096  # bytes; more is no file of vectors
BLOCK = 2**20  # bytes read at once


def read_vectors(path, words=None, limit=None):
    """Reads the word vectors that GloVe, word2vec or fastText wrote.

    The text formats have a word and its numbers on each line, parted by spaces; those
    of word2vec and fastText begin with a line of two counts. A word may hold spaces
    (GloVe 840B has such): the last numbers are the vector. A file ending in .bin is
    word2vec's binary format (fastText's, a model with n-grams, is not read: use its
    .vec). The first of equal words counts.

    Args:
        path: str or path, plain, `.gz` or `.xz`.
        words: collection of str, the only ones to keep; None keeps all.
        limit: int, how many lines are read at most.

    Returns:
        list of str (V,), the words, and float32 (V, D).

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if a vector has another width than the first, or is none, or the
            file ends early.
    """
    path = pathlib.Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"There is no file of vectors at `{path}`.")
    binary = path.with_suffix("") if path.suffix in OPENERS else path
    read = _binary_rows if binary.suffix == ".bin" else _text_rows
    found, vectors = {}, []
    try:
        with open_any(path) as file:
            for word, vector in itertools.islice(read(path, file), limit):
                if word not in found and (words is None or word in words):
                    found[word] = len(vectors)
                    vectors.append(vector)
    except (EOFError, OSError, lzma.LZMAError) as error:
        raise ValueError(f"`{path}` must be complete. Received: {error}.") from error
    width = len(vectors[0]) if vectors else 0
    matrix = np.array(vectors, "float32").reshape(len(vectors), width)
    return list(found), matrix


def _text_rows(path, file):
    """Words and vectors of a text file, line by line."""
    first, count = file.readline(), None
    fields = first.split()
    if len(fields) == 2 and all(field.isdigit() for field in fields):
        count, width = map(int, fields)
    else:
        yield _text_row(path, 1, first, None) if first.strip() else _none(path)
        width = len(fields) - 1
    found = 0
    for number, line in enumerate(file, start=2):
        if line.strip():
            yield _text_row(path, number, line, width)
            found += 1
    if count is not None and found < count:
        raise ValueError(
            f"`{path}` must hold {count} vectors, as it begins with. Received: {found}."
        )


def _none(path):
    raise ValueError(f"`{path}` must hold word vectors. Received: an empty first line.")


def _text_row(path, number, line, width):
    fields = line.rstrip().rsplit(b" ", -1 if width is None else width)
    try:
        vector = np.array(fields[1:], "float32")
    except ValueError:
        vector = np.zeros(0)
    if not fields[0] or not len(vector) or len(vector) != (width or len(vector)):
        raise ValueError(
            f"Every line of `{path}` must be a word and {width or 'some'} numbers. "
            f"Received in line {number}: {line[:60]!r}."
        )
    if width is not None and _is_number(fields[0].split(b" ")[-1], fields[0]):
        raise ValueError(
            f"Every line of `{path}` must be a word and {width} numbers. Received: "
            f"more in line {number}: {line[:60]!r}."
        )
    return fields[0].decode("utf-8", "replace"), vector


def _is_number(field, word):
    """Whether a word of several parts ends in a number, so that it holds too many."""
    if field == word:
        return False
    try:
        float(field)
    except ValueError:
        return False
    return True


def _binary_rows(path, file):
    """Words and vectors of word2vec's binary format."""
    header = file.readline(100).split()
    if len(header) != 2 or not all(field.isdigit() for field in header):
        raise ValueError(
            f"`{path}` must begin with two counts, as word2vec writes. Received: "
            f"{header!r:.60}."
        )
    count, width = map(int, header)
    buffer, place = b"", 0
    for number in range(count):
        while True:
            space = buffer.find(b" ", place)
            if space >= 0 and len(buffer) - space > 4 * width:
                break
            if space < 0 and len(buffer) - place > LONGEST_WORD:
                raise ValueError(f"`{path}` has no word where word {number} should be.")
            more = file.read(max(BLOCK, 4 * width))
            if not more:
                raise ValueError(
                    f"`{path}` must hold {count} vectors. Received: {number} of them."
                )
            buffer, place, space = buffer[place:] + more, 0, -1
        word = buffer[place:space].lstrip(b"\n").decode("utf-8", "replace")
        end = space + 1 + 4 * width
        yield word, np.frombuffer(buffer[space + 1 : end], "<f4")
        place = end


def write_vectors(path, words, vectors, header=False):
    """Writes vectors as text, whole or not at all.

    Args:
        path: where to write.
        words: sequence of str (V,).
        vectors: float (V, D).
        header: bool, whether a line of counts comes first, as word2vec's and
            fastText's readers want.

    Raises:
        ValueError: if there are not as many words as vectors, or a word has a line
            break or is empty.
    """
    vectors = np.asarray(vectors, "float32")
    if len(words) != len(vectors):
        raise ValueError(
            "There must be a vector for every word. Received: "
            f"{len(words)} words and {len(vectors)} vectors."
        )
    with replacing(path) as temporary, open(temporary, "w", encoding="utf-8") as file:
        if header:
            file.write(f"{len(words)} {vectors.shape[1]}\n")
        for word, vector in zip(words, vectors, strict=True):
            if not word or "\n" in word or "\r" in word:
                raise ValueError(
                    f"A word must be of one line and not empty. Received: {word!r}."
                )
            file.write(f"{word} {' '.join(map(repr, vector.tolist()))}\n")
