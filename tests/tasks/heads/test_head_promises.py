"""Promises of every head of a text task: files, neighbours and exports."""

import numpy as np
import pytest
import tensorflow as tf
import test_biattentive_head as biattentive
import test_concat_head as concat
import test_delimiter_head as delimiter
import test_separate_texts as separate
import tiny

import zoo

# With empty texts, alone or beside others.
TEXTS = ["a good film", "", "the " * 40 + "end", ""]
PAIRS = TEXTS, ["", "fine", "dull", ""]
CLASSIFIER = {"kind": zoo.TextClassifier, "labels": tiny.LABELS}
# The function that makes the task, its options, and columns of text.
HEADS = {
    "concat-ulmfit": (concat.make, {}, TEXTS),
    "concat-elmo": (concat.make, {"family": "elmo"}, TEXTS),
    "delimiter": (delimiter.make, {}, TEXTS),
    "delimiter-choices": (
        delimiter.make,
        {"task": zoo.MultipleChoice, "num_choices": 2},
        (TEXTS, TEXTS[::-1], PAIRS[1]),
    ),
    "biattentive-bert": (biattentive.make, {}, TEXTS),
    "biattentive-pair": (biattentive.make, {"pair": True}, PAIRS),
    "biattentive-elmo": (biattentive.make, {"family": "elmo"}, TEXTS),
    "biattentive-elmo-pair": (
        biattentive.make,
        {"family": "elmo", "pair": True},
        PAIRS,
    ),
    "separate-elmo": (separate.make, CLASSIFIER, PAIRS),
    "separate-ulmfit": (separate.make, {"family": "ulmfit", **CLASSIFIER}, PAIRS),
}


def made(name):
    """The task of a row, with other weights than new ones, and its columns."""
    make, options, x = HEADS[name]
    model = make(**options)
    for weight in model.weights:
        weight.assign(weight + 0.05)
    return model, x


def rows_of(x, rows):
    """Some rows of columns of text."""
    return tuple(column[rows] for column in x) if isinstance(x, tuple) else x[rows]


@pytest.mark.usefixtures("eagerly")
@pytest.mark.shown(
    *("concat-ulmfit", "delimiter-choices", "biattentive-pair", "separate-elmo")
)
@pytest.mark.parametrize("name", HEADS)
def test_a_file_and_a_preset_hold_it(name, tmp_path):
    model, x = made(name)
    x = rows_of(x, slice(2))
    expected = model.predict(x, verbose=0)
    assert np.ptp(expected) > 1e-4
    model.save(tmp_path / "model.keras")
    model.save_to_preset(tmp_path / "preset")
    for path, load in (("model.keras", zoo.load_model), ("preset", zoo.from_preset)):
        loaded = load(tmp_path / path)
        assert (loaded.options, loaded.pair) == (model.options, model.pair)
        found = loaded.predict(x, verbose=0)
        np.testing.assert_allclose(found, expected, atol=1e-6)
    assert loaded.new_heads == ()


@pytest.mark.usefixtures("eagerly")
@pytest.mark.shown("concat-ulmfit", "separate-elmo")
@pytest.mark.parametrize("name", HEADS)
def test_neighbours_and_padding_do_not_change_an_answer(name):
    model, x = made(name)
    together = model.predict(x, verbose=0)
    assert np.isfinite(together).all()
    for row in range(len(TEXTS)):
        alone = model.predict(rows_of(x, slice(row, row + 1)), verbose=0)
        np.testing.assert_allclose(alone[0], together[row], atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("name", HEADS)
def test_an_export_answers_the_same(name, tmp_path):
    model, x = made(name)
    version = model.export(tmp_path / "export")
    served = tf.saved_model.load(version).signatures["serving_default"]
    columns = x if isinstance(x, tuple) else (x,)
    answers = served(
        **dict(zip(model.columns, map(tf.constant, columns), strict=False))
    )
    scores = model.answer(x)["scores"]
    np.testing.assert_allclose(answers["scores"], scores, atol=1e-5)
    failed = [found for found in zoo.serving.diagnose(version) if not found.passed]
    assert not failed, zoo.serving.format_findings(failed)
