"""Training that goes on with a `.keras` file of `zoo finetune`."""

import json

import keras
import numpy as np
import pytest
import tiny
from command_line import run
from report_runs import write_table
from tiny_bert import tiny_bert

import zoo
from zoo.programs.finetune.loading import load_trained
from zoo.registry import saved_task


def make(labels=("bad", "good"), **options):
    keras.utils.set_random_seed(1)
    backbone = tiny_bert()
    return zoo.TextClassifier(backbone, backbone.tokenizer, labels=labels, **options)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """The directory with a file of a classifier."""
    directory = tmp_path_factory.mktemp("going_on")
    make().save(directory / "m.keras")
    return directory


def test_the_task_of_a_file_is_known(saved):
    assert saved_task(saved / "m.keras") is zoo.TextClassifier


def test_a_file_goes_on_with_its_weights(saved):
    texts, wanted = ["a good film", "bad"], make().predict(["a good film", "bad"])
    for labels in (["good"], ["good", "bad"], None):
        model = load_trained(saved / "m.keras", "text_classifier", labels=labels)
        assert model.labels == ("bad", "good") and not model.new_heads
        np.testing.assert_allclose(model.predict(texts, verbose=0), wanted, atol=1e-6)


@pytest.mark.parametrize("options", [{}, {"multi_label": True}])
def test_new_labels_are_behind_the_known_ones(options, tmp_path):
    make(**options).save(tmp_path / "m.keras")
    more = ["good", "great"]
    model = load_trained(tmp_path / "m.keras", "auto", labels=more, new_labels=True)
    assert model.labels == ("bad", "good", "great")
    found = model.predict(["a good film"], verbose=0)
    wanted = make(**options).predict(["a good film"], verbose=0)
    np.testing.assert_allclose(found[:, :2], wanted, atol=1e-6)
    assert found.shape == (1, 3) and model.new_heads == ("classifier",)


def test_a_chain_has_transitions_to_new_tags(tmp_path):
    backbone = tiny_bert()
    tagger = zoo.TokenClassifier(
        backbone, backbone.tokenizer, labels=["O", "B-A"], decoder="crf"
    )
    tagger.save(tmp_path / "m.keras")
    options = {"labels": ["I-A"], "new_labels": True}
    model = load_trained(tmp_path / "m.keras", "token_classifier", **options)
    old, new = (m.get_layer("crf").get_weights() for m in (tagger, model))
    for known, larger in zip(old, new, strict=True):
        part = larger[tuple(slice(0, 2) for _ in larger.shape)]
        np.testing.assert_array_equal(part, known)
        assert larger.shape == (3,) * known.ndim


@pytest.mark.parametrize(
    "task, options, message",
    [
        ("token_classifier", {}, "task of a file must be its own, 'text_classifier'"),
        ("auto", {"labels": ["great"]}, "Received: .'great'..*use `--new-labels`"),
        (
            "auto",
            {"multi_label": True},
            "keeps its options. Received: multi_label=True",
        ),
        ("auto", {"pair": True}, "keeps its options. Received: pair=True"),
        ("auto", {"head": "concat_pooling"}, "which has 'linear'"),
    ],
)
def test_a_file_keeps_its_options(saved, task, options, message):
    with pytest.raises(ValueError, match=message):
        load_trained(saved / "m.keras", task, **options)


@pytest.mark.slow
def test_the_command_goes_on(tmp_path):
    tiny_bert().save_to_preset(tmp_path / "preset")
    texts, labels = tiny.make_texts(60, seed=1)
    data = write_table(tmp_path / "a.tsv", texts, labels)
    more = write_table(tmp_path / "b.tsv", texts, ["great"] * 10 + labels[10:])
    files = [tmp_path / f"{name}.keras" for name in "abcd"]
    rest = ("--epochs", 1, "--learning-rate", 0.003)
    run("finetune", tmp_path / "preset", "--data", data, "--output", files[0], *rest)
    run("finetune", files[0], "--data", data, "--output", files[1], *rest)
    losses = [
        json.loads((tmp_path / f"{name}_report/report.json").read_text())["history"]
        for name in "ab"
    ]
    assert losses[1]["loss"][0] < losses[0]["loss"][0]
    command = ("finetune", files[1], "--data", more, *rest)
    output = run(*command, "--output", files[2], code=1)
    assert "The rows must have labels of" in output and "'great'" in output
    run(*command, "--output", files[2], "--new-labels", "--keep-optimizer")
    model = zoo.load_model(files[2])
    assert model.labels == ("bad", "good", "great") and model.optimizer.built
    assert not zoo.load_model(files[1]).optimizer.built
    assert files[1].stat().st_size < 0.7 * files[2].stat().st_size
