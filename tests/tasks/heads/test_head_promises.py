"""Promises of every head of a text task: files, neighbours and exports."""

import keras
import numpy as np
import pytest
import tensorflow as tf
import test_biattentive_head as biattentive
import test_concat_head as concat
import test_delimiter_head as delimiter
import test_separate_texts as separate
import tiny
from eager import without_graphs

import zoo

# With empty texts, alone or beside others.
TEXTS = ["a good film", "", "the " * 40 + "end", ""]
PAIRS = TEXTS, ["", "fine", "dull", ""]
CLASSIFIER = {"kind": zoo.TextClassifier, "labels": tiny.LABELS}
CHOICE, CHOICES = {"task": zoo.MultipleChoice}, {"kind": zoo.MultipleChoice}
PAIR = {"pair": True}
DELIMITER, SINGLE = {"head": "delimiter"}, {"pair": False, "pooling": "compare"}
SEPARATE = {"pooling": "separate", **CLASSIFIER}
# The function that makes the task, its options, and columns of text.
HEADS = {
    "concat-ulmfit": (concat.make, {}, TEXTS),
    "concat-elmo": (concat.make, {"family": "elmo"}, TEXTS),
    "delimiter": (delimiter.make, {}, TEXTS),
    "delimiter-choices": (
        delimiter.make,
        {**CHOICE, "num_choices": 2},
        (TEXTS, TEXTS[::-1], PAIRS[1]),
    ),
    "biattentive-bert": (biattentive.make, {}, TEXTS),
    "biattentive-pair": (biattentive.make, PAIR, PAIRS),
    "biattentive-elmo": (biattentive.make, {"family": "elmo"}, TEXTS),
    "biattentive-elmo-pair": (biattentive.make, {"family": "elmo", **PAIR}, PAIRS),
    "separate-elmo": (separate.make, CLASSIFIER, PAIRS),
    "separate-ulmfit": (separate.make, {"family": "ulmfit", **CLASSIFIER}, PAIRS),
    "separate-bert": (separate.make, {**SEPARATE, "family": "bert"}, PAIRS),
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


# The function that makes the task, options, and the options that they lead to.
KNOWN = [
    (concat.make, {"head": None}, {"head": "concat_pooling"}),
    (concat.make, {"head": None, "pooling": "mean"}, {"head": "linear"}),
    (concat.make, {"head": None, "family": "elmo"}, {"head": "linear"}),
    (delimiter.make, {}, {"head": "delimiter"}),
    (delimiter.make, {"pooling": "mean"}, {"head": "linear"}),
    (delimiter.make, {"family": "bert"}, {"head": "linear"}),
    (delimiter.make, CHOICE, {"lm_weight": 0.5}),
    (delimiter.make, PAIR, {"both_orders": False}),
    # The default width is at most that of the backbone.
    (biattentive.make, {"head_dim": None}, {"head_dim": 16}),
    (biattentive.make, {"head_dim": 8}, {"head_dim": 8}),
    (biattentive.make, {"head": "linear", "head_dim": None}, {"head_dim": "absent"}),
    # Pairs without segments are compared.
    (separate.make, {}, {"pooling": "compare"}),
    (separate.make, {"pair": False}, {"pooling": "mean"}),
    (separate.make, {"family": "ulmfit"}, {"head": "linear", "pooling": "compare"}),
    (separate.make, {"family": "ulmfit", "pair": False}, {"head": "concat_pooling"}),
    (separate.make, {"family": "bert"}, {"pooling": "pooled"}),
    (separate.make, CHOICES, {"pooling": "mean"}),
    (separate.make, {"pooling": "separate"}, {"head": "linear"}),
]
LINEAR = "`pooling` needs `head='linear'`"
WRONG = [
    (concat.make, {"head": "cubic"}, "`head` must be one of"),
    (concat.make, {"pooling": "mean"}, LINEAR),
    (biattentive.make, {"pooling": "mean"}, LINEAR),
    (biattentive.make, {"head_dim": 0}, "`head_dim` must be an integer"),
    (biattentive.make, {"head": "linear"}, "`head_dim` needs `head='biattentive'`"),
    (biattentive.make, {"head_dropout": 0.2}, r"`head_dropout` must be in \[0, 0.2\)"),
    (delimiter.make, {"family": "bert", **DELIMITER}, "that takes new special tokens"),
    (delimiter.make, {"lm_weight": -1.0}, "`lm_weight` must be 0 or"),
    (delimiter.make, {"both_orders": True}, "`both_orders` needs pairs"),
    (delimiter.make, {"head": "linear", "lm_weight": 0.5}, "needs `head='delimiter'`"),
    (delimiter.make, {"pooling": "mean", **DELIMITER}, LINEAR),
    (delimiter.make, {"num_choices": 1, **CHOICE}, "`num_choices` must be .* least 2"),
    (delimiter.make, {"head": "other", **CHOICE}, "`head` must be one of"),
    (separate.make, SINGLE, "alone. Received: pair=False. Set `pa"),
    (separate.make, {**SINGLE, **SEPARATE}, '"separate"` needs pairs of texts'),
    (separate.make, {"pooling": "compare", **CHOICES}, "and its choice as one row. Re"),
    (separate.make, {"pooling": "separate", **CHOICES}, "and its choice as one row."),
]


@pytest.mark.parametrize("make, options, expected", KNOWN)
def test_options_that_follow_from_others(make, options, expected):
    found = make(**options).options
    assert {name: found.get(name, "absent") for name in expected} == expected


@pytest.mark.parametrize("make, options, message", WRONG)
def test_options_that_do_not_fit(make, options, message):
    with pytest.raises(ValueError, match=message):
        make(**options)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, rate, epochs",
    [
        ("concat-ulmfit", 1e-2, 16),
        ("concat-elmo", 1e-2, 16),
        ("delimiter", 5e-3, 12),
        ("delimiter-choices", 5e-3, 12),
    ],
)
def test_it_learns(name, rate, epochs):
    make, options, _ = HEADS[name]
    x, y = tiny.make_texts(64)
    if name == "delimiter-choices":
        choices = [[label] * 64 for label in tiny.LABELS]
        x, y = (x, *choices), [tiny.LABELS.index(label) for label in y]
    model = make(**options, head_dropout=0.0)
    model.compile(keras.optimizers.Adam(rate))
    model.fit(x, y, batch_size=16, epochs=epochs, verbose=0)
    with without_graphs():
        assert model.evaluate(x, y, verbose=0, return_dict=True)["accuracy"] > 0.9


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
