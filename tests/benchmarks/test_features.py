"""The table of features: its texts and its taggers."""

import gzip

import pytest

SENTENCES = ("EU I-ORG\n\n", "UN I-ORG\nin O\n\n", "Rome I-LOC\n\n")


@pytest.fixture
def features(tmp_path, monkeypatch):
    from benchmarks.tables import features

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
