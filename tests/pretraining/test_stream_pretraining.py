"""Pretraining of a language model over words, by a recipe."""

import json

import numpy as np
import pytest
import tiny
from eager import without_graphs

import zoo
from zoo import pretraining
from zoo.pretraining import Recipe
from zoo.pretraining.bidirectional_lm import StreamPretraining


def recipe(objective=(), **fields):
    """Ten updates of a tiny ELMo."""
    return {
        "family": "elmo",
        "objective": {
            "name": "bidirectional_lm",
            "tokenizer": {"max_characters": 12, "punctuation": True},
            "num_words": 40,
            "num_samples": 16,
            **dict(objective),
        },
        "config": {**tiny.ELMO_CONFIG, "dropout": 0.1},
        "finetuning_config": {"dropout": 0.3},
        "train": ["*.txt"],
        "valid": ["a.txt"],
        "stages": [[5, 4, 10]],
        "learning_rate": 0.01,
        "warmup_steps": 2,
        "clip_norm": 10.0,
        **fields,
    }


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of a run to its end."""
    folder = tmp_path_factory.mktemp("streams")
    tiny.write_corpus(folder / "a.txt", documents=3)
    with without_graphs():
        pretraining.run(Recipe(**recipe()), folder, folder / "run", every=5)
    return folder


@pytest.mark.usefixtures("eagerly")
def test_a_run_ends_in_a_preset(finished):
    report = json.loads((finished / "run" / "report.json").read_text())
    assert report["tokens"] == 5 * 4 * 10
    perplexity = report["valid"]["a.txt"]["perplexity"]
    assert 5 < perplexity < 60
    model = zoo.from_preset(finished / "run" / "preset")
    assert type(model) is zoo.BidirectionalLM and model.options["rows"] is None
    assert model.backbone.config.dropout == 0.3
    assert model.tokenizer.punctuation and len(model.tokenizer.vocabulary) == 40
    answers = model.answer(["the film, good!", ""])
    assert answers["words"].tolist() == [6, 1]
    texts, _ = tiny.make_texts(40)
    # Of the same kind as what it was trained on; by itself, without a state.
    found = model.evaluate(texts, return_dict=True, verbose=0)["perplexity"]
    assert abs(np.log(found) - np.log(perplexity)) < 0.5
    backbone = zoo.from_preset(finished / "run" / "preset", task=None)
    assert "softmax/kernel" in backbone.spare_heads
    record = json.loads((finished / "run" / "preset" / "preset.json").read_text())
    assert record["valid"] == report["valid"] and record["tokens_seen"] == 200


@pytest.mark.slow
def test_a_finished_run_is_not_run_again(finished):
    log = (finished / "run" / "log.csv").read_bytes()
    weights = (finished / "run" / "preset" / "weights.safetensors").read_bytes()
    pretraining.run(Recipe(**recipe()), finished, finished / "run", every=5)
    assert (finished / "run" / "log.csv").read_bytes() == log
    again = (finished / "run" / "preset" / "weights.safetensors").read_bytes()
    assert again == weights


def test_frequent_words_are_predicted_and_others_read(finished):
    run = StreamPretraining(Recipe(**recipe()), finished, finished / "run")
    assert len(run.corpus.words) > 40 == len(run.tokenizer.vocabulary)
    assert run.tokenizer.vocabulary == run.corpus.words[:40]
    model = run.build()
    assert model.get_layer("softmax").vocabulary_size == 40
    (x, y, weight), *_ = run.batches(model, 3).take(1)
    assert y.shape == weight.shape == (4, 2, 5)
    assert (y.numpy() == 2).any() and y.numpy().max() < 40


@pytest.mark.parametrize("optimizer", ["adagrad", "adamw"])
def test_the_recipe_names_the_optimizer(finished, optimizer):
    fields = recipe(optimizer=optimizer, decay="none", accumulator=0.25)
    run = StreamPretraining(Recipe(**fields), finished, finished / "run")
    model = run.build()
    config = model.optimizer.get_config()
    assert type(model.optimizer).__name__.lower() == optimizer
    assert config["global_clipnorm"] == 10.0
    if optimizer == "adagrad":
        assert config["initial_accumulator_value"] == 0.25
    assert float(model.optimizer._learning_rate(1000)) == pytest.approx(0.01)


def test_states_go_through_one_stage(tmp_path):
    tiny.write_corpus(tmp_path / "a.txt")
    stages = [[5, 4, 4], [6, 4, 6]]
    with pytest.raises(ValueError, match="must have one stage. Received"):
        pretraining.run(
            Recipe(**recipe(stages=stages)), tmp_path, tmp_path / "run", every=5
        )
