"""Pretraining of an AWD-LSTM, by a recipe."""

import json

import numpy as np
import pytest
import tiny
from runs import assert_stopping_changes_nothing

import zoo
from zoo import pretraining
from zoo.pretraining import Recipe


def recipe(**fields):
    """Ten updates of a tiny ULMFiT."""
    return Recipe(
        **{
            "family": "ulmfit",
            "objective": {"name": "causal_streams", "characters": 200},
            "config": {**tiny.ULMFIT_CONFIG, "vocabulary_size": 40},
            "finetuning_config": {"hidden_dropout": 0.3},
            "train": ["*.txt"],
            "valid": ["a.txt"],
            "stages": [[7, 4, 10]],
            "learning_rate": 0.01,
            "warmup_steps": 2,
            **fields,
        }
    )


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """The folder of the text."""
    folder = tmp_path_factory.mktemp("streams")
    tiny.write_corpus(folder / "a.txt")
    return folder


@pytest.fixture(scope="module")
def finished(corpus):
    """The folder of a run to its end."""
    pretraining.run(recipe(), corpus, corpus / "run", every=5)
    return corpus


@pytest.mark.slow
def test_a_run_ends_in_a_preset(finished):
    report = json.loads((finished / "run" / "report.json").read_text())
    assert report["tokens"] == 7 * 4 * 10
    valid = report["valid"]["a.txt"]
    np.testing.assert_allclose(valid["perplexity"], np.exp(valid["loss"]), rtol=1e-5)
    model = zoo.from_preset(finished / "run" / "preset")
    assert type(model) is zoo.CausalLM and model.options["rows"] is None
    assert model.backbone.config.hidden_dropout == 0.3
    assert model.tokenizer.vocabulary_size == model.backbone.config.vocabulary_size
    assert model.generate("the film", max_new_tokens=3).startswith("the film")


@pytest.mark.slow
def test_a_run_in_parts_is_the_whole_run(finished, tmp_path):
    assert_stopping_changes_nothing(recipe(), finished, tmp_path / "run", every=5)


@pytest.mark.slow
def test_a_backward_model_goes_on_from_a_preset(finished):
    config = {**tiny.ULMFIT_CONFIG, "reverse": True, "vocabulary_size": 40}
    fields = {"config": config, "stages": [[7, 4, 2]], "valid": []}
    first = pretraining.run(recipe(**fields), finished, finished / "back", every=2)
    assert first.backbone.reverse
    fields |= {"start": str(finished / "back" / "preset"), "config": {}}
    second = pretraining.run(recipe(**fields), finished, finished / "on", every=2)
    assert second.backbone.reverse and second.tokenizer.vocabulary == (
        first.tokenizer.vocabulary
    )


def test_several_stages_are_refused(corpus):
    with pytest.raises(ValueError, match="must have one stage"):
        stages = [[7, 4, 2], [9, 4, 2]]
        pretraining.run(recipe(stages=stages), corpus, corpus / "two", every=2)


@pytest.mark.usefixtures("eagerly")
def test_a_short_file_is_refused_before_the_training(corpus, tmp_path):
    (tmp_path / "a.txt").write_text((corpus / "a.txt").read_text())
    (tmp_path / "b.valid").write_text("a\n")
    with pytest.raises(ValueError, match="6 streams need at least 7 tokens"):
        one = recipe(valid=["b.valid"], stages=[[7, 6, 2]])
        pretraining.run(one, tmp_path, tmp_path / "run", every=2)
    assert not (tmp_path / "run" / "checkpoint.keras").exists()
