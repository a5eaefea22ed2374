"""The table of features: its texts and its taggers."""

import pytest
from tiny_inputs import make_bert, write

from benchmarks.tables import features

DOCUMENT = "-DOCSTART- O||EU I-ORG||UN I-ORG|in O||Rome I-LOC|".split("|")


def test_documents_and_sentences_have_the_same_words(monkeypatch, tmp_path):
    monkeypatch.setattr(features, "DOCUMENTS", 1)
    for name in ("eng.train.gz", "eng.testa.gz"):
        write(tmp_path / "conll2003" / name, DOCUMENT * 2)
    (words, tags), (others, truth) = features.read(tmp_path, False)
    assert words == [["EU"], ["UN", "in"], ["Rome"]] and len(others) == 6
    assert tags == [["B-ORG"], ["B-ORG", "O"], ["B-LOC"]]
    (texts, marks), (others, truth) = features.read(tmp_path, True)
    assert texts == [["EU", "UN", "in", "Rome"]] and len(others) == 2
    assert marks == [[tag for row in tags for tag in row]] and truth == marks * 2


@pytest.mark.slow
@pytest.mark.parametrize("name", ["documents", "last_four", "last_four_mixed", "all"])
def test_arms_are_trained(tmp_path, name):
    make_bert(num_layers=4).save_to_preset(tmp_path)
    words, tags = [["EU", "in"], ["in"]], [["B-ORG", "O"], ["O"]]
    model = features.train(features.ARMS[name], str(tmp_path), words, tags, 0)
    assert [len(row) for row in model.tag(words)] == [2, 1]
