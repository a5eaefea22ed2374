"""The table of the ablation: what it shows, and that it is up to date."""

import json

import pytest
from places import ROOT

FOLDER = ROOT / "benchmarks" / "ablation"


@pytest.fixture
def ablation():
    """The module under test; `benchmarks` is importable from the checkout only."""
    from benchmarks.tables import ablation

    return ablation


def one_run(accuracy, told=None):
    valid = {} if told is None else {"next_sentence_accuracy": told}
    valid["perplexity"] = 100 * accuracy
    scores = {"dev": {"accuracy": {"mean": accuracy, "deviation": 0.0}}}
    return {"valid": valid, "mrpc": scores, "sst2": scores}


def test_a_table(ablation):
    results = {
        "full": [one_run(0.7, 0.6), one_run(0.72, 0.62)],
        "no_next_sentence": [one_run(0.69), one_run(0.69)],
        "left_to_right": [one_run(0.5), one_run(0.6)],
    }
    lines = ablation.render(results).splitlines()
    scores = "71.0 (70.0 to 72.0)"
    told = "61.0 (60.0 to 62.0)"
    assert lines[2].startswith(f"| BERT | {scores} | {told} | {scores} | {scores} | 84")
    assert lines[4].startswith("| LTR, no NSP | 55.0 (50.0 to 60.0) |  | 55.0")
    assert len({line.count("|") for line in lines}) == 1


def test_recipes_differ_in_what_is_ablated_only(ablation):
    full, no_pairs, causal = (
        json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
        for name in ablation.PAPER
    )
    objectives = [recipe.pop("objective") for recipe in (full, no_pairs, causal)]
    told = [objective.pop("next_sentence") for objective in objectives]
    assert told == [True, False, False]
    names = [objective.pop("name") for objective in objectives]
    assert names == ["masked_lm", "masked_lm", "causal_lm"]
    assert causal["config"].pop("causal") is True
    assert full == no_pairs == causal and objectives[:2] == objectives[1:]


def test_readme_shows_the_results(ablation):
    found = ablation.results()
    if any(len(runs) < len(ablation.SEEDS) for runs in found.values()):
        pytest.skip("The ablation was not run to its end yet.")
    text = (FOLDER / "README.md").read_text("utf-8")
    assert ablation.insert(text, ablation.render(found)) == text


def test_examples_are_shared_between_recipes(ablation, tmp_path):
    first = tmp_path / "full-1"
    (first / "examples" / "train-64").mkdir(parents=True)
    (first / "examples" / "train-64" / "a").write_text("rows")
    (first / "vocabulary.txt").write_text("words")
    ablation.share(tmp_path, "left_to_right", 1)
    assert not (tmp_path / "left_to_right-1").exists()  # not all of them are there
    (first / "log.csv").write_text("epoch\n")
    ablation.share(tmp_path, "left_to_right", 0)
    assert not (tmp_path / "left_to_right-0").exists()
    ablation.share(tmp_path, "left_to_right", 1)
    found = tmp_path / "left_to_right-1"
    assert (found / "examples" / "train-64" / "a").read_text() == "rows"
    assert (found / "vocabulary.txt").read_text() == "words"
