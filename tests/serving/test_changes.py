"""A new version of a model that clients of the last one find changed."""

import re
import warnings

import numpy as np
import pytest
import tensorflow as tf
import tiny

import zoo
from zoo import registry, text
from zoo.serving import Signature, write_version
from zoo.serving.changes import describe_changes, facts_file

CHANGED = "Clients of version 1 in .*m may fail with the new one: "


def make_signature(names=("text",), dtype="float32", width=2, outputs=("scores",)):
    """A signature of texts whose outputs are zeros."""

    def answer(**inputs):
        rows = tf.shape(inputs[names[0]])[0]
        return {name: tf.zeros([rows, width], dtype) for name in outputs}

    specs = {name: tf.TensorSpec([None], tf.string) for name in names}
    return Signature(answer, specs, {name: np.array(["a"]) for name in names})


def write(directory, signatures=None, version=None, **facts):
    """Exports a version without the check in the C loader."""
    return write_version(
        directory / "m",
        signatures or {"serving_default": make_signature()},
        [],
        version,
        check=False,
        extra_files=facts_file(**facts),
    )


def default(**options):
    return {"signatures": {"serving_default": make_signature(**options)}}


# What the second version has, and what a client is told of it.
CHANGES = {
    "inputs": (
        default(names=("text", "text_pair")),
        "input 'text_pair' of 'serving_default' is new",
    ),
    "an input": (
        default(names=("question",)),
        "input 'question' of 'serving_default' is new; input 'text' of .* is gone",
    ),
    "outputs": (
        default(outputs=("value",)),
        "output 'scores' of 'serving_default' is gone; output 'value' of .* is new",
    ),
    "type": (
        default(dtype="int32"),
        r"output 'scores' .* is int32 \(\?, 2\) instead of",
    ),
    "shape": (
        default(width=3),
        r".*float32 \(\?, 3\) instead of float32 \(\?, 2\)",
    ),
    "signatures": (
        {"signatures": {"serving_default": make_signature(), "b": make_signature()}},
        "signature 'b' is new",
    ),
    "labels": (
        {"labels": ["good", "bad"]},
        r"labels is \['good', 'bad'\] instead of \['bad', 'good'\]",
    ),
    "length": ({"sequence_length": 16}, "sequence_length is 16 instead of 32"),
}
FIRST = {"labels": ["bad", "good"], "sequence_length": 32}


@pytest.mark.parametrize("kind", CHANGES)
def test_a_warning_lists_what_clients_find_changed(tmp_path, kind):
    options, message = CHANGES[kind]
    write(tmp_path, **FIRST)
    with pytest.warns(UserWarning, match=f"{CHANGED}{message}") as found:
        second = write(tmp_path, **{**FIRST, **options})
    told = re.search("new one: (.*). Change them", str(found[0].message))[1]
    assert describe_changes(second) == f"warning: since version 1, {told}"


def test_the_same_model_again_is_no_change(tmp_path):
    first = write(tmp_path, **FIRST)
    assert describe_changes(first) == "there is no earlier version"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = write(tmp_path, **FIRST)
        other = write(tmp_path)  # an export of earlier code has no labels
        (tmp_path / "m" / "7").mkdir()
        write(tmp_path, **FIRST, version=9)  # and version 7 is no model
        before = write(tmp_path, **FIRST, version=3 if other.name != "3" else 4)
    assert "same names, types and labels as in version 1" in describe_changes(again)
    assert "version 3" in describe_changes(before)


def test_a_warning_that_is_an_error_publishes_nothing(tmp_path):
    write(tmp_path, labels=["a", "b"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="labels is .'b', 'a'. instead of"):
            write(tmp_path, labels=["b", "a"])
    assert [path.name for path in (tmp_path / "m").iterdir()] == ["1"]


def test_a_task_tells_its_labels_and_its_length(tmp_path, monkeypatch):
    monkeypatch.setattr("zoo.serving.export._check_answers", lambda *arguments: None)
    backbone = registry.build_backbone("bert", tiny.CONFIG)
    tokenizer = text.WordPieceTokenizer(tiny.VOCABULARY)
    options = {"sequence_length": 16}
    for labels in (["bad", "good"], ["good", "bad"]):
        model = zoo.TextClassifier(backbone, tokenizer, labels, **options)
        if labels[0] == "bad":
            model.export(tmp_path / "m")
            continue
        with pytest.warns(UserWarning, match=r"labels is \['good', 'bad'\] instead of"):
            model.export(tmp_path / "m")
    told = describe_changes(tmp_path / "m" / "2")
    assert told.startswith("warning: since version 1, labels is")
