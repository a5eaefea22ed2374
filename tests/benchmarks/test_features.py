"""The table of names: its texts, its taggers and its rows."""

import gzip
import json

import pytest

SENTENCES = ("EU I-ORG\n\n", "UN I-ORG\nin O\n\n", "Rome I-LOC\n\n")


@pytest.fixture
def features(tmp_path, monkeypatch):
    from benchmarks.tables import features

    monkeypatch.setattr(features, "FOLDER", tmp_path)
    monkeypatch.setattr(features, "DOCUMENTS", 1)
    (tmp_path / "conll2003").mkdir()
    document = "-DOCSTART- O\n\n" + "".join(SENTENCES)
    for name in ("eng.train.gz", "eng.testa.gz"):
        with gzip.open(tmp_path / "conll2003" / name, "wt") as file:
            file.write(document * 2)
    return features


def test_documents_and_sentences_have_the_same_words(features, tmp_path):
    (words, tags), (others, truth) = features.read(tmp_path, False)
    assert words == [["EU"], ["UN", "in"], ["Rome"]] and len(others) == 6
    assert tags == [["B-ORG"], ["B-ORG", "O"], ["B-LOC"]]
    (texts, marks), (others, truth) = features.read(tmp_path, True)
    assert texts == [["EU", "UN", "in", "Rome"]] and len(others) == 2
    assert marks == [[tag for row in tags for tag in row]] and truth == marks * 2


def test_a_table_has_a_row_for_each_arm(features, tmp_path):
    assert features.table() is None
    (tmp_path / "results").mkdir()
    result = {
        "f1": 0.8,
        "baseline": 0.5,
        "seconds": 90,
        "commit": "0123456789",
        "date": "2026-01-01T00:00Z",
        "versions": {"keras": "3"},
        "hardware": "a processor",
        "cpu_seconds": 60.0,
    }
    for name, score in (("documents-0", 0.8), ("documents-1", 0.9), ("last-0", 0.7)):
        path = tmp_path / "results" / f"{name}.json"
        path.write_text(json.dumps(result | {"f1": score}))
    table = features.table()
    assert "| most frequent tag of each word | 50.0 |" in table
    assert "| fine-tuned, documents | 85.0 ± " in table
    assert "| 2 | 96.4 | 1.5 |" in table
    assert "| features: last layer | 70.0 | 1 | 94.9 | 1.5 |" in table
    assert len(features.cells()) == 8 * 3


@pytest.mark.slow
@pytest.mark.parametrize("name", ["documents", "last_four", "last_four_mixed", "all"])
def test_arms_are_trained(features, bert_of_four_layers, name):
    arm = features.ARMS[name]
    words, tags = [["EU", "in"], ["in"]], [["B-ORG", "O"], ["O"]]
    model = features.train(arm, bert_of_four_layers, words, tags, 0)
    assert [len(row) for row in model.tag(words)] == [2, 1]


@pytest.fixture
def bert_of_four_layers(tmp_path):
    import tiny

    from zoo.registry import build_backbone
    from zoo.text import WordPieceTokenizer

    backbone = build_backbone("bert", {**tiny.CONFIG, "num_layers": 4})
    backbone.tokenizer = WordPieceTokenizer(tiny.VOCABULARY)
    backbone.save_to_preset(tmp_path / "bert")
    return str(tmp_path / "bert")
