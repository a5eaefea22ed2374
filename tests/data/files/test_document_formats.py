"""Documents of every format, and that parts of files have all of them once."""

import gzip
import json
import sys

import pytest
import tensorflow as tf

from zoo import beam
from zoo.data import read_documents
from zoo.data.files import corpus_parts
from zoo.data.files.bitext import bitext_format
from zoo.data.files.corpus_parts import Corpus

DOCUMENTS = [["One é.", "Two."], ["Three [UNK]."], ["Four."]]
TEXTS = ["\n".join(document) for document in DOCUMENTS]


def write_examples(path):
    with tf.io.TFRecordWriter(str(path)) as writer:
        for text in TEXTS:
            values = tf.train.BytesList(value=[text.encode()])
            features = {"text": tf.train.Feature(bytes_list=values)}
            features = tf.train.Features(feature=features)
            writer.write(tf.train.Example(features=features).SerializeToString())


def write_wet(path):
    """A WARC header, then texts; each record is a member of the archive."""
    records = [("warcinfo", "format: WARC"), *(("conversion", text) for text in TEXTS)]
    with open(path, "wb") as file:
        for kind, text in records:
            body = text.encode()
            head = f"WARC/1.0\r\nWARC-Type: {kind}\r\nContent-Length: {len(body)}"
            record = f"{head}\r\n\r\n".encode() + body + b"\r\n\r\n"
            file.write(gzip.compress(record))


def write_parquet(path):
    arrow, parquet = (
        pytest.importorskip("pyarrow"),
        pytest.importorskip("pyarrow.parquet"),
    )
    parquet.write_table(arrow.table({"id": [1, 2, 3], "text": TEXTS}), path)


def write_json(path):
    lines = (json.dumps({"text": text}) + "\n" for text in TEXTS)
    path.write_text("".join(lines))


WRITERS = {
    "a.jsonl": write_json,
    "a.jsonl.gz": lambda path: path.write_bytes(
        gzip.compress("\n".join(json.dumps({"text": t}) for t in TEXTS).encode())
    ),
    "a.parquet": write_parquet,
    "a.tfrecord": write_examples,
    "a.wet.gz": write_wet,
    "a.text": lambda path: path.write_text("\n\n".join(TEXTS)),
}


@pytest.mark.parametrize("name", WRITERS)
def test_documents_of_every_format_are_read(name, tmp_path):
    WRITERS[name](tmp_path / name)
    assert list(read_documents(tmp_path / name)) == DOCUMENTS


DAMAGED = {
    "a.jsonl": (b'{"text": "a"}\n{"text": 3}\n', "line 2: no 'text' that is a string"),
    "b.jsonl": (b'{"text": "a"', "line 1: Expecting"),
    "a.wet": (b"WARC/1.0\r\nContent-Length: 9\r\n\r\nab", "record 1 with 2 of '9'"),
    "a.tfrecord": (b"0123456789abcdef", "complete TFRecord file"),
    "a.tsv": (b"a\tb\nc\n", "line 2: A line must have at least 2 columns"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damage_is_named(name, tmp_path):
    content, message = DAMAGED[name]
    (tmp_path / name).write_bytes(content)
    corpus = Corpus([tmp_path / name])
    if name == "a.tsv":
        corpus = Corpus(corpus.paths, formats=lambda path: bitext_format((0, 1), path))
    with pytest.raises(ValueError, match=message):
        list(corpus.documents())


WIKITEXT = " = A{0} = \n \n Text of {0} . \n \n = = Section = = \n \n More <unk> . \n"
LARGE = {
    "a.txt": "".join(f"First é {n}.\n second\n \n\n" for n in range(40)),
    "crlf.txt": "".join(f"First {n}.\r\n\r\nsecond\r\n" for n in range(40)),
    "one.txt": "A long document.\n" * 40,
    "wiki.tokens": "".join(WIKITEXT.format(n) for n in range(40)),
    "a.jsonl": "".join(json.dumps({"text": f"é {n}"}) + "\n" for n in range(40)),
    "utf-16.txt": "".join(f"First é {n}.\n\n" for n in range(40)),
}


@pytest.mark.parametrize("name", LARGE)
def test_parts_have_every_document_once(name, tmp_path, monkeypatch):
    coding = "utf-16" if name.startswith("utf-16") else "utf-8-sig"
    (tmp_path / name).write_bytes(LARGE[name].encode(coding))
    paths = [tmp_path / name, tmp_path / name]
    expected = list(read_documents(paths))
    for size in (1, 50, 113, 10_000):
        monkeypatch.setattr(corpus_parts, "PART_BYTES", size)
        corpus = Corpus(paths)
        assert list(corpus.documents()) == expected
        whole = name in ("one.txt", "utf-16.txt")
        assert (len(corpus.parts()) > 2) == (size < 200 and not whole)
        found = list(Corpus(paths, unique=True).documents())
        assert found == expected[: len(expected) // 2]


def test_apache_beam_may_be_absent(monkeypatch):
    monkeypatch.setitem(sys.modules, "apache_beam", None)
    monkeypatch.delitem(sys.modules, "zoo.beam.prepared_runs", raising=False)
    with pytest.raises(ImportError, match=r"`zoo.beam` needs apache-beam. Run `pip"):
        beam.__getattr__("prepare")
