"""Cards of shipped presets: what they show, and that they are up to date."""

import shutil

import pytest
from places import ROOT

from benchmarks.tables.preset_card import (
    card,
    held_out,
    main,
    percent,
    plain_baselines,
    read_json,
    ship,
    write_json,
)

SHIPPED = sorted(path.parent for path in ROOT.glob("presets/*/*/log.csv"))
BERT = ROOT / "presets/bert/bert_mini_en_uncased_books"


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_shipped_cards_are_up_to_date(path):
    assert (path / "README.md").read_text("utf-8") == card(path), (
        f"run `python -m benchmarks.tables.preset_card {path.relative_to(ROOT)}`"
    )
    recipe, record = (read_json(path / name) for name in ("recipe.json", "preset.json"))
    assert record.get("defaults", {}) == recipe.get("defaults", {})


@pytest.fixture
def run(tmp_path):
    """The run of a shipped preset, as `zoo pretrain` leaves it."""
    folder = tmp_path / "run"
    recipe, record = (read_json(BERT / name) for name in ("recipe.json", "preset.json"))
    del recipe["card"], recipe["defaults"]
    record.update(licence="old", defaults={})
    write_json(folder / "recipe.json", recipe)
    write_json(folder / "preset/preset.json", record)
    for name in (record["weights"]["file"], *record["tokenizer"]["files"]):
        (folder / "preset" / name).write_text(name)
    shutil.copy(BERT / "log.csv", folder)
    return folder


@pytest.fixture
def preset(tmp_path):
    """A folder that holds a recipe only."""
    folder = tmp_path / BERT.name
    folder.mkdir()
    shutil.copy(BERT / "recipe.json", folder)
    return folder


def test_a_run_is_shipped(run, preset, tmp_path):
    """New results replace those with the same settings."""
    results = read_json(BERT / "glue.json", list)
    older = {**results[0], "difference": 0.5}
    write_json(preset / "glue.json", [older, results[1]])
    for number, result in enumerate(results):
        if number != 1:
            write_json(tmp_path / f"glue/{number}.json", result)
    write_json(tmp_path / "glue/sst2-1000-preset-0.001-0.json", {"dev": []})
    write_json(tmp_path / "glue/settings.json", {})
    arguments = [str(preset), "--run", str(run), "--glue", str(tmp_path / "glue")]
    main(arguments, standalone_mode=False)
    for name in ("preset.json", "glue.json", "README.md", "log.csv"):
        assert (preset / name).read_text() == (BERT / name).read_text(), name
    assert (preset / "weights.safetensors").read_text() == "weights.safetensors"
    assert "<svg" in (preset / "masked_lm_loss.svg").read_text()


def test_a_run_of_another_recipe_is_not_shipped(run, preset):
    recipe = read_json(run / "recipe.json")
    write_json(run / "recipe.json", {**recipe, "seed": -1, "another": 0.9})
    with pytest.raises(ValueError, match="another recipe: another, seed"):
        ship(run, preset)
    assert not (preset / "preset.json").exists()


def test_scores_that_no_shipped_card_has():
    assert percent({"mean": 0.5, "deviation": None}) == "50.0"
    brackets = {"f1": 0.714, "precision": 0.7, "recall": 0.729, "exact_match": 0.2}
    scores = "precision 70.0 %, recall 72.9 %, F1 71.4 %"
    assert held_out({"a": brackets}) == [f"- `a`: labelled brackets: {scores}"]
    results = {"task": "qnli", "examples": 2241, "metric": "accuracy"}
    assert plain_baselines(results) == ""
