"""Files that are absent, damaged or in another encoding, for every reader of texts."""

import gzip
import json
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

SOUND = {
    "bitext": "a é\tb\n",
    "choices": "text,choice0,choice1,label\né,b,c,1\n",
    "CoNLL": "é B-X\nb O\n\n",
    "documents": "An é. A b.\n\nA c.\n",
    "labelled texts": "text,label\né,x\n",
    "SQuAD": json.dumps({"data": []}),
    "texts": "An é. A b.\n",
    "texts of columns": "é\tb\n",
    "texts of JSON": '{"a": "é"}',
}
ENCODINGS = {
    "a mark": lambda text: text.encode("utf-8-sig"),
    "UTF-16": lambda text: text.encode("utf-16"),
    "UTF-16, big end first": lambda text: ("\ufeff" + text).encode("utf-16-be"),
    "CRLF": lambda text: text.replace("\n", "\r\n").encode(),
}


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("name", READERS)
def test_encodings_are_equal(tmp_path, name, encoding):
    read, suffix = READERS[name]
    plain, encoded = (tmp_path / f"{stem}{suffix}" for stem in ("plain", "encoded"))
    plain.write_text(SOUND[name], "utf-8")
    encoded.write_bytes(ENCODINGS[encoding](SOUND[name]))
    assert read(encoded) == read(plain)


@pytest.mark.parametrize("name", READERS)
def test_utf_16_without_a_mark_is_named(tmp_path, name):
    read, suffix = READERS[name]
    (tmp_path / f"a{suffix}").write_bytes(SOUND[name].encode("utf-16-le"))
    with pytest.raises(
        ValueError, match=rf"a{suffix} must be text in UTF-8.*-f UTF-16"
    ):
        read(tmp_path / f"a{suffix}")


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
