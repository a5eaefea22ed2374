"""Files of word vectors, written by three programs and damaged by hand."""

import gzip
import struct
from unittest import mock

import numpy as np
import pytest

from zoo.checkpoint import read_vectors, write_vectors

WORDS = ["the", "caf\u00e9", "4", "\u00ad"]
VECTORS = np.random.default_rng(0).normal(size=(4, 3)).astype("float32")


def text(header=False):
    rows = zip(WORDS, VECTORS.tolist(), strict=True)
    lines = [f"{word} {' '.join(map(str, vector))}" for word, vector in rows]
    return "\n".join([*["4 3"] * header, *lines]) + "\n"


def binary(newline=True):
    rows = [
        word.encode() + b" " + struct.pack("<3f", *vector) + b"\n" * newline
        for word, vector in zip(WORDS, VECTORS, strict=True)
    ]
    return b"4 3\n" + b"".join(rows)


WRONG_HEADER = b"3 2\na 1 2\nb 3 4\n"


@pytest.mark.parametrize(
    "name", ["glove.txt", "fast.vec", "glove.txt.gz", "a.bin", "b.bin"]
)
def test_every_format_is_read(tmp_path, name):
    content = text(name == "fast.vec").encode()
    if name.endswith(".bin"):
        content = binary(name == "a.bin")
    path = tmp_path / name
    path.write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    words, vectors = read_vectors(path)
    assert words == WORDS and vectors.dtype == np.float32
    np.testing.assert_array_equal(vectors, VECTORS)
    words, vectors = read_vectors(path, words={"4", "none"})
    assert words == ["4"] and vectors.shape == (1, 3)
    assert read_vectors(path, limit=2)[0] == WORDS[:2]


@pytest.mark.parametrize("header, name", [(True, "a.txt"), (False, "a.vec.gz")])
def test_what_is_written_is_read_back(tmp_path, header, name):
    write_vectors(tmp_path / name, WORDS, VECTORS, header)
    words, vectors = read_vectors(tmp_path / name)
    assert words == WORDS
    np.testing.assert_array_equal(vectors, VECTORS)


def test_words_with_spaces_and_repeated_words(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("a 1 2\nat name@domain.com 3 4\na 5 6\n. . . 7 8\n")
    words, vectors = read_vectors(path)
    assert words == ["a", "at name@domain.com", ". . ."]
    assert vectors.tolist() == [[1, 2], [3, 4], [7, 8]]
    path.write_bytes(WRONG_HEADER)
    assert read_vectors(path, limit=2)[0] == ["a", "b"]


def damaged_archive():
    lines = "".join(f"word{i} {i} {i * i}\n" for i in range(999))
    content = bytearray(gzip.compress(lines.encode()))
    content[10] |= 6  # a kind of block that does not exist
    return bytes(content)


@pytest.mark.parametrize(
    "name, content, message",
    [
        ("a.txt", b"a 1 2\nb 1\n", "in line 2"),
        ("a.txt", b"a 1 2\nb 1 2 3\n", "more numbers in line 2"),
        ("a.txt", b"2 2\na 1 2\nb 1 x\n", "in line 3"),
        ("a.txt", b"a\n", "in line 1"),
        ("a.txt", b"", "empty first line"),
        ("a.vec", WRONG_HEADER, "must hold 3 vectors, .* Received: 2"),
        ("a.txt", b"a 1 2\n 1 2\n", "in line 2"),
        ("a.bin", binary()[:40], "must hold 4 vectors, .*Received: 2"),
        ("a.bin", b"hello\n", "begin with two counts"),
        ("a.bin", b"4 3\n" + b"x" * 10_000, "longer word after 0 vectors"),
        ("a.txt.gz", gzip.compress(text().encode(), mtime=0)[:30], "must be complete"),
        ("a.txt.gz", damaged_archive(), "must be complete"),
    ],
)
def test_damaged_files_are_refused(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_vectors(tmp_path / name)
    with pytest.raises(FileNotFoundError, match="no file of vectors"):
        read_vectors(tmp_path / f"none-{name}")


def test_a_file_that_may_not_be_read_is_not_called_damaged(tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text(text())
    denied = mock.Mock(side_effect=PermissionError(13, "Permission denied", "a.txt"))
    monkeypatch.setattr("zoo.checkpoint.vectors.open_any", denied)
    with pytest.raises(PermissionError, match="a.txt"):
        read_vectors(tmp_path / "a.txt")


def test_bad_words_are_not_written(tmp_path):
    with pytest.raises(ValueError, match="must have one line"):
        write_vectors(tmp_path / "a.txt", ["a\nb"], VECTORS[:1])
    with pytest.raises(ValueError, match="3 words and 4 vectors"):
        write_vectors(tmp_path / "a.txt", WORDS[:3], VECTORS)
    for name in ("a.bin", "a.bin.gz"):
        with pytest.raises(ValueError, match="be written as text. Received: .*a.bin"):
            write_vectors(tmp_path / name, WORDS, VECTORS)
    assert not list(tmp_path.iterdir())


@pytest.mark.external
def test_real_files(shared):
    directory = shared / "oracles" / "word_vectors"
    for name, width in (
        ("euclidean_vectors.bin", None),
        ("glove.6B.100d.sample.txt.gz", 100),
        ("glove.6B.300d.sample.txt.gz", 300),
        ("test_glove.txt", 50),
    ):
        words, vectors = read_vectors(directory / name)
        assert len(words) == len(vectors) > 9 and np.isfinite(vectors).all()
        assert width in (None, vectors.shape[1])
