"""Cards of shipped presets: what they show, and that they are up to date."""

import json

import pytest
from places import ROOT

from benchmarks.tables import preset_card

SHIPPED = sorted(path.parent for path in ROOT.glob("presets/*/*/log.csv"))
RECIPE = {"family": "bert", "seed": 0, "stages": [[64, 64, 10]]}
RECORD = {
    "description": "A model.",
    "licence": "old",
    "trained_on": "Books.",
    "limits": "Many.",
    "family": "bert",
    "parameters": 5364480,
    "weights": {"dtype": "float16", "file": "weights.safetensors"},
    "tokenizer": {"files": {"vocabulary.txt": "0"}},
    "tokens_seen": 1234567,
    "valid": {
        "masked_lm_accuracy": 0.345,
        "next_sentence_accuracy": 0.8,
        "perplexity": 45.34,
    },
}
RESULTS = {
    "task": "sst2",
    "examples": 1000,
    "settings": {"epochs": 5, "batch_size": 32, "pooling": "mean", "seeds": 2},
    "metric": "accuracy",
    "difference": 0.06,
    "interval": [0.04, 0.081],
    **{
        arm: {
            "rate": 0.001,
            "searched": {"0.0003": {"accuracy": 0.6}, "0.001": {"accuracy": 0.7}},
            "dev": {"accuracy": {"mean": mean, "deviation": 0.012}},
        }
        for arm, mean in (("preset", 0.71), ("random", 0.65))
    },
}


@pytest.fixture
def run(tmp_path):
    """A folder as `zoo pretrain` leaves it."""
    folder = tmp_path / "run"
    (folder / "preset").mkdir(parents=True)
    (folder / "recipe.json").write_text(json.dumps(RECIPE))
    (folder / "preset" / "preset.json").write_text(json.dumps(RECORD))
    for name in ("vocabulary.txt", "weights.safetensors"):
        (folder / "preset" / name).write_text(name)
    log = "epoch,masked_lm_loss,next_sentence_accuracy,val_loss\n0,8.0,0.5,NA\n"
    (folder / "log.csv").write_text(log)
    return folder


@pytest.fixture
def preset(tmp_path):
    """A folder that holds a recipe only."""
    folder = tmp_path / "bert_of_test"
    folder.mkdir()
    recipe = {**RECIPE, "card": {"licence": "Apache-2.0"}}
    (folder / "recipe.json").write_text(json.dumps(recipe))
    return folder


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_shipped_cards_are_up_to_date(path):
    assert (path / "README.md").read_text("utf-8") == preset_card.card(path), (
        f"run `python -m benchmarks.tables.preset_card {path.relative_to(ROOT)}`"
    )
    recipe, record = (
        preset_card.read_json(path / name) for name in ("recipe.json", "preset.json")
    )
    assert record.get("defaults", {}) == recipe.get("defaults", {})


def test_a_run_is_shipped(run, preset, tmp_path):
    glue = tmp_path / "glue"
    glue.mkdir()
    (glue / "sst2-1000-comparison.json").write_text(json.dumps(RESULTS))
    (glue / "sst2-1000-preset-0.001-0.json").write_text('{"dev": []}')
    (glue / "settings.json").write_text("{}")
    arguments = [str(preset), "--run", str(run), "--glue", str(glue)]
    preset_card.main(arguments, standalone_mode=False)
    assert json.loads((preset / "preset.json").read_text())["licence"] == "Apache-2.0"
    assert (preset / "weights.safetensors").read_text() == "weights.safetensors"
    assert "<svg" in (preset / "masked_lm_loss.svg").read_text()
    card = (preset / "README.md").read_text()
    assert card == preset_card.card(preset)
    assert "accuracy of masked tokens: 34.5 %" in card and "1,234,567 tokens" in card
    assert (
        "| sst2, 1,000 examples, 5 epochs | accuracy |  | "
        "71.0 ± 1.2 (rate 0.001) | 65.0 ± 1.2 (rate 0.001) | "
        "+6.0 (+4.0 to +8.1) | 85.9 |" in card
    )
    assert (
        "zoo evaluate-suite bert_of_test --data GLUE --output RUN1 --compare both "
        "--task sst2 --rows 1000 --epochs 5 --seeds 2 --learning-rate 0.0003 "
        "--learning-rate 0.001 --pooling mean" in card
    )


def test_scores_that_no_shipped_card_has():
    assert preset_card.percent({"mean": 0.5, "deviation": None}) == "50.0"
    brackets = {"f1": 0.714, "precision": 0.7, "recall": 0.729, "exact_match": 0.2}
    lines = preset_card.held_out({"a.ptb": brackets})
    scores = "precision 70.0 %, recall 72.9 %, F1 71.4 %"
    assert lines == [f"- `a.ptb`: labelled brackets: {scores}"]


def test_plain_baselines_learn_from_most_examples():
    results = {"task": "rte", "examples": 2241, "metric": "accuracy"}
    majority, tfidf = map(float, preset_card.plain_baselines(results).split(" / "))
    assert majority == 52.7 and 45 < tfidf < 65
    assert preset_card.plain_baselines({**results, "examples": 1000}) == ""
    assert preset_card.plain_baselines({**results, "task": "qnli"}) == ""


def test_a_run_of_another_recipe_is_not_shipped(run, preset):
    (run / "recipe.json").write_text(json.dumps({**RECIPE, "seed": 1, "ema": 0.9}))
    with pytest.raises(ValueError, match="another recipe: ema, seed"):
        preset_card.ship(run, preset)
    assert not (preset / "preset.json").exists()


def test_results_are_added_to_those_there(tmp_path):
    other = {**RESULTS, "settings": {**RESULTS["settings"], "epochs": 9}}
    newer = {**RESULTS, "difference": 0.5}
    (tmp_path / "a.json").write_text(json.dumps(newer))
    assert preset_card.collect([RESULTS, other], [tmp_path]) == [newer, other]
