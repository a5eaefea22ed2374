"""Texts from files of several formats."""

import gzip
import json

import pytest

from zoo.data import read_texts


def write(path, content):
    path.write_bytes(content.encode())
    return path


def test_documents_give_sentences_and_paragraphs(tmp_path):
    path = write(tmp_path / "a.txt", "It works. So it  does.\nOne only\n\nLast.\n")
    sentences = ["It works.", "So it does.", "It works. So it does."]
    assert list(read_texts(path)) == [*sentences, "One only", "Last."]
    # Unknown words of WikiText are left out.
    path = write(tmp_path / "a.tokens", " = Title = \n\n The <unk> was 1 @,@ 000 . \n")
    assert list(read_texts(path)) == ["The was 1,000 ."]


def test_columns_of_a_table(tmp_path):
    path = tmp_path / "a.tsv.gz"
    path.write_bytes(gzip.compress('0\tsays "hi\tb\n1\t\td\n'.encode()))
    assert list(read_texts(path, [1, 2])) == ['says "hi', "b", "d"]
    with pytest.raises(ValueError, match="at least 4 columns, .* 3 in line 1"):
        list(read_texts(path, [3]))
    path = write(tmp_path / "a.tsv", f"0\ta\rb\r\n\n1\t{'c' * 200_000}\n\n")
    assert list(read_texts(path, [1])) == ["a b", "c" * 200_000]
    path = write(tmp_path / "a.conll", "We\tO\nsaw\tO\n\nHim\tO\n")
    assert list(read_texts(path, "words")) == ["We saw", "Him"]


def test_names_in_json_at_any_depth(tmp_path):
    value = {"data": [{"context": "a b", "qas": [{"question": "c?", "id": "x"}]}]}
    value["context"] = {"question": "inner"}
    path = write(tmp_path / "a.json", json.dumps(value))
    assert list(read_texts(path, ["context", "question"])) == ["a b", "c?", "inner"]


def test_other_fields_and_other_content_are_errors(tmp_path):
    for fields in ([1, "a"], ("a",), "columns"):
        with pytest.raises(ValueError, match='or "words". Received'):
            list(read_texts(write(tmp_path / "a.txt", "x"), fields))
    for content in ("{", "[" * 100_000):
        with pytest.raises(ValueError, match="JSON"):
            list(read_texts(write(tmp_path / "a.json", content), ["a"]))
