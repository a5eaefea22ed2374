"""Files that are absent, damaged or in another encoding, for every reader of texts."""

import gzip
import lzma

import pytest

from zoo.data import (
    read_bitext,
    read_choices,
    read_conll,
    read_documents,
    read_labelled,
    read_squad,
    read_texts,
)

READERS = {
    "bitext": (read_bitext, ".tsv"),
    "choices": (read_choices, ".csv"),
    "CoNLL": (read_conll, ".conll"),
    "documents": (lambda path: list(read_documents(path)), ".txt"),
    "labelled texts": (read_labelled, ".csv"),
    "SQuAD": (read_squad, ".json"),
    "texts": (lambda path: list(read_texts(path)), ".txt"),
    "texts of columns": (lambda path: list(read_texts(path, [0])), ".tsv"),
    "texts of JSON": (lambda path: list(read_texts(path, ["a"])), ".json"),
}
TEXT = b'{"data": "a\tO"}\n' * 100
DAMAGED = {
    "latin": ("", b"caf\xe9 O\n"),
    "half": (".gz", gzip.compress(TEXT)[:-12]),
    "changed": (".gz", gzip.compress(TEXT)[:20] + b"\xff" * 12),
    "short": (".xz", lzma.compress(TEXT)[:-6]),
    "no_archive": (".gz", b"a\tb"),
    "no_xz": (".xz", b"a\tb"),
}


@pytest.mark.parametrize("name", READERS)
def test_a_file_that_is_absent_is_named(tmp_path, name):
    read, suffix = READERS[name]
    with pytest.raises(FileNotFoundError, match=f"absent{suffix}"):
        read(tmp_path / f"absent{suffix}")


@pytest.mark.parametrize("damage", DAMAGED)
@pytest.mark.parametrize("name", READERS)
def test_a_damaged_file_is_named(tmp_path, name, damage):
    read, suffix = READERS[name]
    compression, content = DAMAGED[damage]
    path = tmp_path / f"{damage}{suffix}{compression}"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=f"{path.name} must be .*(UTF-8|complete)"):
        read(path)
