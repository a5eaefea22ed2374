"""Pretraining of a GPT on packed rows, by a recipe."""

import json

import numpy as np
import pytest
import tiny
from eager import without_graphs
from runs import assert_stopping_changes_nothing

import zoo
from zoo import pretraining
from zoo.pretraining import Recipe


def recipe(**fields):
    """Six updates of a tiny GPT, in two stages."""
    return Recipe(
        **{
            "family": "gpt",
            "objective": {"name": "causal_rows"},
            "config": {**tiny.GPT_CONFIG, "vocabulary_size": 300},
            "finetuning_config": {"dropout": 0.3},
            "train": ["*.txt"],
            "valid": ["a.txt"],
            "stages": [[16, 4, 4], [24, 4, 2]],
            "learning_rate": 0.01,
            "warmup_steps": 2,
            **fields,
        }
    )


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of a run to its end."""
    folder = tmp_path_factory.mktemp("rows")
    tiny.write_corpus(folder / "a.txt")
    with without_graphs():
        pretraining.run(recipe(), folder, folder / "run", every=3)
    return folder


@pytest.mark.usefixtures("eagerly")
def test_a_run_ends_in_a_preset(finished):
    report = json.loads((finished / "run" / "report.json").read_text())
    assert report["tokens"] == 16 * 4 * 4 + 24 * 4 * 2
    valid = report["valid"]["a.txt"]
    np.testing.assert_allclose(valid["perplexity"], np.exp(valid["loss"]), rtol=1e-5)
    model = zoo.from_preset(finished / "run" / "preset")
    assert type(model) is zoo.CausalLM and model.sequence_length == 24
    assert model.backbone.config.dropout == 0.3 and model.tokenizer.start_token
    assert model.tokenizer.vocabulary_size == model.backbone.config.vocabulary_size
    found = model.generate("the film", max_new_tokens=3, stream=True)
    assert all(text.startswith("the film") for text in found)


@pytest.mark.slow
@pytest.mark.usefixtures("eagerly")
def test_a_run_in_parts_is_the_whole_run(finished, tmp_path):
    assert_stopping_changes_nothing(recipe(), finished, tmp_path / "run", every=3)


@pytest.mark.slow
def test_a_model_goes_on_from_a_preset(finished):
    fields = {"start": str(finished / "run" / "preset"), "config": {}, "valid": []}
    fields["objective"] = {"name": "causal_rows", "separate": True}
    options = {"temperature": 0.7}
    first = zoo.from_preset(finished / "run" / "preset", generation=options)
    first.save_to_preset(finished / "first")
    fields["start"] = str(finished / "first")
    model = pretraining.run(recipe(**fields), finished, finished / "on", every=3)
    assert model.options["generation"] == options and not model.options["packing"]
    assert model.tokenizer.vocabulary == first.tokenizer.vocabulary
