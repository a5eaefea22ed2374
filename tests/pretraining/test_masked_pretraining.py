"""Pretraining by a recipe: its examples, its order, and that nothing can disturb it."""

import copy
import importlib.util
import json

import numpy as np
import pytest
import tensorflow as tf
import tiny
from runs import assert_killing_changes_nothing, start_run, weights_of

from zoo import pretraining
from zoo.pretraining import Recipe, running
from zoo.pretraining.masked_lm import MaskedPretraining

KILLED = 3


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A recipe with its tokenizer and its files of examples."""
    folder = tmp_path_factory.mktemp("pretraining")
    tiny.write_corpus(folder / "a.txt")
    recipe = Recipe(**tiny.recipe({"next_sentence": True}))
    (folder / "run").mkdir()
    return MaskedPretraining(recipe, folder, folder / "run")


def of_recipe(prepared, options=(), **fields):
    """The same examples under another recipe."""
    other = copy.copy(prepared)
    other.recipe = Recipe(**tiny.recipe(options, **fields))
    return other


def take(dataset):
    return list(dataset.as_numpy_iterator())


def assert_equal(ours, theirs):
    tf.nest.map_structure(np.testing.assert_array_equal, ours, theirs)


def test_every_length_has_its_examples(prepared):
    assert set(prepared.files) == {16, 24, "valid"}
    shards = prepared.recipe.options.shards
    assert all(len(files) == shards for files in prepared.files.values())
    assert 0 < prepared.tokens() < 16 * 8 * 2 + 24 * 4 * 2


@pytest.mark.shown("3-True")
@pytest.mark.parametrize("dynamic", [True, False])
@pytest.mark.parametrize("start", [1, 2, 3])
def test_batches_from_a_step_on_are_those_of_the_whole_run(prepared, start, dynamic):
    run = of_recipe(prepared, {"next_sentence": True, "dynamic": dynamic})
    model = run.build()
    whole, rest = take(run.batches(model, 0)), take(run.batches(model, start))
    shapes = [x["token_ids"].shape for x, _, _ in whole]
    assert shapes == [(8, 16), (8, 16), (4, 24), (4, 24)]
    assert len(rest) == 4 - start
    for ours, theirs in zip(rest, whole[start:], strict=True):
        assert_equal(ours, theirs)


@pytest.mark.parametrize("dynamic", [True, False])
def test_masks_are_drawn_anew_only_if_asked(prepared, dynamic):
    """The second pass over so few examples must meet the same rows."""
    run = of_recipe(prepared, {"dynamic": dynamic}, stages=[[16, 8, 120]])
    model = run.build()
    seen = {}
    for x, y, weight in take(run.batches(model, 0)):
        columns = np.take_along_axis(x["token_ids"], x["mask_positions"], 1)
        assert (columns[weight > 0] != y[weight > 0]).mean() > 0.5
        for row in range(len(y)):
            ids = x["token_ids"][row].copy()
            chosen = weight[row] > 0
            ids[x["mask_positions"][row][chosen]] = y[row][chosen]
            places = tuple(x["mask_positions"][row][chosen])
            seen.setdefault(tuple(ids), set()).add(places)
    several = max(len(places) for places in seen.values())
    assert several > 1 if dynamic else several == 1


def test_the_interval_is_checked_before_anything_is_prepared(tmp_path):
    with pytest.raises(ValueError, match="every=3, steps=4"):
        pretraining.run(Recipe(**tiny.recipe()), tmp_path, tmp_path / "run", every=3)
    assert not (tmp_path / "run").exists()


def test_settings_of_the_end_are_checked_at_the_start(prepared, tmp_path):
    tiny.write_corpus(tmp_path / "a.txt")
    for fields, message in (
        ({"droput": 0.1}, "Unknown option of `finetuning_config`.*'droput'"),
        ({"dropout": 3.0}, "`dropout` of `finetuning_config` of"),
        ({"num_heads": 5}, "finetuning_config.*`num_heads` must divide"),
    ):
        with pytest.raises(ValueError, match=message):
            wrong = Recipe(**tiny.recipe(finetuning_config=fields))
            pretraining.run(wrong, tmp_path, tmp_path / "run", every=2)
        assert not (tmp_path / "run" / "checkpoint.keras").exists()
    running.begin(Recipe(**tiny.recipe()), tmp_path / "run")  # may be corrected


def test_other_files_are_another_run(tmp_path):
    recipe, run = Recipe(**tiny.recipe()), tmp_path / "run"
    run.mkdir()
    (tmp_path / "a.txt").write_text("a")
    sizes = running.check_files(recipe, tmp_path, run)
    assert sizes == {"a.txt": 1}
    (run / "files.json").write_text(json.dumps(sizes))
    for data in (tmp_path, tmp_path / "none"):
        assert running.check_files(recipe, data, run) == sizes
    (tmp_path / "b.txt").write_text("b")
    with pytest.raises(ValueError, match="other files: b.txt of 2 differ"):
        running.check_files(recipe, tmp_path, run)
    (tmp_path / "b.txt").unlink()
    (tmp_path / "a.txt").write_text("longer")
    with pytest.raises(ValueError, match="other files: a.txt of 1 differ"):
        running.check_files(recipe, tmp_path, run)


@pytest.mark.slow
def test_jax_pretrains_what_tensorflow_reads(tmp_path):
    if importlib.util.find_spec("jax") is None:
        pytest.skip("JAX is not installed: `pip install .[jax]`.")
    tiny.write_corpus(tmp_path / "a.txt")
    recipe = tiny.recipe({"next_sentence": True}, stages=[[16, 8, 10]])
    (tmp_path / "r.json").write_text(json.dumps(recipe))
    assert start_run(tmp_path, "run", KERAS_BACKEND="jax").wait() == 0
    written = weights_of(tmp_path / "run")
    assert start_run(tmp_path, "run").wait() == 0  # nothing left to do but the preset
    assert weights_of(tmp_path / "run") == written


@pytest.mark.slow
def test_kill_9_changes_no_bit(tmp_path):
    """Killed at three random moments of its training, it ends as if undisturbed."""
    tiny.write_corpus(tmp_path / "a.txt")
    stages = [[16, 8, 150], [24, 4, 150]]
    recipe = tiny.recipe({"next_sentence": True}, stages=stages, ema=0.9)
    (tmp_path / "r.json").write_text(json.dumps(recipe))
    assert_killing_changes_nothing(tmp_path, KILLED)
    rows = [
        (tmp_path / name / "log.csv").read_text().splitlines()
        for name in ("whole", "parts")
    ]
    head = rows[0][0].split(",")
    kept = [i for i, n in enumerate(head) if n not in ("hours_left", "tokens_per_s")]
    whole, parts = (
        [[line.split(",")[i] for i in kept] for line in lines] for lines in rows
    )
    assert whole[-1] == parts[-1]
