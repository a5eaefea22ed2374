"""The table of the ablation: its recipes and what they share."""

import json

from places import ROOT

from benchmarks.tables import ablation

FOLDER = ROOT / "benchmarks" / "ablation"


def test_recipes_differ_in_what_is_ablated_only():
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


def test_examples_are_shared_between_recipes(tmp_path):
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
