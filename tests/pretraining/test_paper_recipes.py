"""The recipes in the papers' sizes start, and cost what their cards say."""

import dataclasses
import math
import random

import pytest

from zoo import presets, pretraining
from zoo.pretraining.costs import cost_table, recipe_costs

# Millions of parameters, without the softmax of ELMo over words.
SIZES = {
    "bert_base_en_uncased": 110,
    "bert_large_en_uncased": 336,
    "gpt_base_en": 116.5,
    "gpt2_base_en": 124.4,
    "transformer_base_en_de": 63,
    "transformer_big_en_de": 214,
    "elmo_original_en": 93.6 + 406.8,
    "ulmfit_base_en": 44.3,
}
WORDS = [a + b for a in "bdfgklmnprst" for b in ("a", "e", "in", "or", "ust")]


def write_texts(folder, recipe):
    """Writes random text for the patterns of a recipe."""
    draw = random.Random(0)
    for pattern in (*recipe.train, *recipe.valid):
        path = folder / pattern.replace("*", "1").removesuffix(".gz")
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [" ".join(draw.choices(WORDS, k=9)) + "." for _ in range(600)]
        if ".tsv" in pattern:
            lines = ["\t".join(pair) for pair in zip(lines, lines[::-1], strict=True)]
        else:
            lines[::20] = [""] * 30
        path.write_text("\n".join(lines) + "\n")


def small(recipe):
    """The recipe with fewer layers, units, rows and updates."""
    config = {**recipe.config}
    heads = config.get("num_heads", 8)
    for name in ("hidden_dim", "lstm_dim", "projection_dim", "embedding_dim"):
        if name in config or (recipe.family == "elmo" and name.endswith("m_dim")):
            config[name] = 2 * heads
    for name in ("num_layers", "num_encoder_layers", "num_decoder_layers"):
        if name in config:
            config[name] = 1
    stages = [(length, 2, recipe.average) for length, _, _ in recipe.stages]
    patterns = {
        name: [pattern.removesuffix(".gz") for pattern in getattr(recipe, name)]
        for name in ("train", "valid")
    }
    warmup = min(recipe.warmup_steps, 1)
    return dataclasses.replace(
        recipe, config=config, stages=stages, warmup_steps=warmup, **patterns
    )


@pytest.mark.parametrize(
    "name",
    [n if "gpt2" in n else pytest.param(n, marks=pytest.mark.slow) for n in SIZES],
)
def test_a_recipe_starts(name, tmp_path):
    recipe = small(pretraining.find_recipe(name))
    write_texts(tmp_path, recipe)
    model = pretraining.run(recipe, tmp_path, tmp_path / "run", every=1)
    assert int(model.optimizer.iterations) == recipe.steps
    assert (tmp_path / "run/preset/preset.json").is_file()


@pytest.mark.parametrize(
    "name",
    [n if "ulm" in n else pytest.param(n, marks=pytest.mark.slow) for n in SIZES],
)
def test_sizes_are_those_of_the_papers(name):
    recipe = pretraining.find_recipe(name)
    costs = recipe_costs(recipe)
    assert costs[0].trained / 1e6 == pytest.approx(SIZES[name], rel=0.01)
    steps = [steps for _, _, steps in recipe.stages]
    flops = sum(n * cost.flops for n, cost in zip(steps, costs, strict=True))
    stated = float(recipe.card["expected_time"].split(": ")[1].split()[0])
    assert flops == pytest.approx(stated, rel=0.05)


def test_a_recipe_without_weights_is_no_preset():
    assert "transformer_big_en_de" not in presets.list_presets()


def test_the_bytes_of_the_ring():
    table = cost_table(pretraining.find_recipe("ulmfit_base_en"), devices=4)
    trained = recipe_costs(pretraining.find_recipe("ulmfit_base_en"), 4)[0].trained
    assert f"{math.floor(1.5 * 4 * trained):,} bytes by each of 4 devices" in table
