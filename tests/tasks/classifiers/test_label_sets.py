"""Classifiers whose texts have sets of labels: targets, thresholds, files."""

import json

import keras
import numpy as np
import pytest
import tensorflow as tf
import tiny
from command_line import run
from tiny_tasks import make_tiny_task

import zoo
from zoo.tasks.losses.label_set_loss import LabelSetLoss

LABELS = ["bad", "good", "long"]
TEXTS, KINDS = tiny.make_texts(12, seed=2)
SETS = [["bad"], ["good", "long"], [], ["long", "bad"]] * 3
ROWS = np.array([[1, 0, 0], [0, 1, 1], [0, 0, 0], [1, 0, 1]] * 3, "float32")


def make(**options):
    options = {"labels": LABELS, "multi_label": True, "seed": 3, **options}
    return make_tiny_task(zoo.TextClassifier, **options)


def bytes_of(rows):
    """Rows of names as an array of bytes, padded with empty ones."""
    width = max(map(len, rows))
    return np.array([[*row, *[""] * (width - len(row))] for row in rows], "S")


FORMS = {
    "lists": lambda: SETS,
    "tuples": lambda: [tuple(row) for row in SETS],
    "sets": lambda: [{*row} for row in SETS],
    "an array of lists": lambda: np.array([[*row] for row in SETS], object),
    "strings": lambda: ["bad", " good | long ", "", "long|bad"] * 3,
    "padded bytes": lambda: bytes_of(SETS),
    "ragged": lambda: tf.ragged.constant(SETS),
    "a tensor of strings": lambda: tf.constant(["|".join(row) for row in SETS]),
    "floats": lambda: ROWS,
    "integers": lambda: ROWS.astype("int64"),
    "bool": lambda: ROWS.astype(bool),
    "lists of floats": lambda: ROWS.tolist(),
    "a tensor": lambda: tf.constant(ROWS),
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_targets(form):
    np.testing.assert_array_equal(make().encode_labels(FORMS[form]()), ROWS)


def test_probabilities_are_targets():
    soft = ROWS * 0.75 + 0.125
    np.testing.assert_array_equal(make().encode_labels(soft), soft)


@pytest.mark.parametrize(
    "y, message",
    [
        (["worse"], "must hold labels of the model. Received: ..worse"),
        ("bad|good", "must be a list with the labels of each text"),
        ({"bad"}, "must be a list with the labels of each text"),
        (3, "must be a list with the labels of each text"),
        ([["bad", "worse"]], "must hold labels of the model. Received: ..worse"),
        (["bad;good"], "must hold labels of the model"),
        ([["bad", "bad"]], "each label of a text once"),
        ([["bad", ""]], "each label of a text once"),
        ([["bad", None]], "each label of a text once"),
        ([["bad", float("nan")]], "each label of a text once"),
        ([None], "a list of labels for each text"),
        ([3], "a list of labels for each text"),
        (np.zeros((2, 3, 1)), "one row for each text"),
        (np.zeros((2, 4)), r"for each of the 3 labels. Received: \[0.0, 0.0, 0.0, 0.0"),
        (np.array([[0.0, 1.0, np.nan]]), r"number in \[0, 1\] for each of the 3"),
        ([[0.0, 1.0, 2.0]], r"must hold labels of the model. Received: \['0.0', '1.0'"),
    ],
)
def test_wrong_targets(y, message):
    with pytest.raises(ValueError, match=message):
        make().encode_labels(y)


def test_two_readings_are_an_error():
    model = make(labels=["0", "1"])
    with pytest.raises(ValueError, match="clear about lists of labels and rows"):
        model.encode_labels([[0, 1], [1, 0]])
    found = model.encode_labels(np.array([[0, 1], [1, 0]]))
    np.testing.assert_array_equal(found, [[0, 1], [1, 0]])
    np.testing.assert_array_equal(model.encode_labels([["0"], []]), [[1, 0], [0, 0]])


@pytest.mark.parametrize(
    "options, message",
    [
        ({"threshold": 1.5}, r"`threshold` must be a number in \[0, 1\]"),
        ({"threshold": float("nan")}, r"`threshold` must be a number in \[0, 1\]"),
        ({"threshold": [0.5, 0.5]}, "one for each of the 3 labels"),
        ({"threshold": [0.5, 0.5, "a"]}, r"`threshold\[2\]` must be a number"),
        ({"threshold": {"worse": 0.5}}, "must name labels of the model"),
        ({"pos_weight": 0.0}, "`pos_weight` must be a positive number"),
        ({"pos_weight": [1.0, 2.0]}, "one for each of the 3 labels"),
        ({"pos_weight": {"worse": 2.0}}, "must name labels of the model"),
        ({"separator": ""}, "`separator` must be a str that is in no label"),
        ({"separator": 5}, "`separator` must be a str that is in no label"),
        ({"labels": ["a", " "]}, "Labels of sets must not be empty"),
        ({"separator": "o"}, r"`separator` must .* Received: 'o', .*\['good', 'long'"),
        ({"multi_label": "yes"}, "`multi_label` must be true or false"),
        ({"multi_label": False, "threshold": 0.3}, "Only a model with `multi_label"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(ValueError, match=message):
        make(**options)


def test_a_separator_is_chosen_that_is_in_no_label():
    model = make(labels=["a|b", "c;d"])
    assert model.options["separator"] == ","
    assert model.encode_labels(["c;d,a|b", ""]).tolist() == [[1, 1], [0, 0]]
    assert make(separator=" ").encode_labels(["bad long"]).tolist() == [[1, 0, 1]]


def test_the_loss_is_that_of_pytorch():
    """Values of `BCEWithLogitsLoss(pos_weight=...)`, by its formula in float64."""
    generator = np.random.default_rng(0)
    logits, true = generator.normal(0, 4, (5, 3)), ROWS[:5]
    weights = np.array([0.5, 2.0, 7.0])
    share = 1 / (1 + np.exp(-logits))
    wanted = -(weights * true * np.log(share) + (1 - true) * np.log1p(-share))
    found = LabelSetLoss(weights).call(true, logits.astype("float32"))
    np.testing.assert_allclose(found, wanted.mean(axis=1), rtol=1e-5)
    extreme = LabelSetLoss().call([[1.0, 0.0]], [[-3e4, -3e4]])
    np.testing.assert_allclose(extreme, [1.5e4])
    assert LabelSetLoss.from_config(LabelSetLoss(weights).get_config()).pos_weight == [
        *weights
    ]


def test_answers_are_those_above_the_threshold():
    model = make(threshold={"bad": 0.2, "good": 0.9, "long": 0.5})
    assert model.options["threshold"] == [0.2, 0.9, 0.5]
    logits = np.log(np.array([[0.3, 0.8, 0.6], [0.1, 0.95, 0.4], [0.1, 0.1, 0.1]]))
    logits -= np.log1p(-np.exp(logits))
    found = {k: v.numpy() for k, v in model.answers(tf.constant(logits)).items()}
    assert found["labels"].tolist() == [
        [b"long", b"bad", b""],
        [b"good", b"", b""],
        [b""] * 3,
    ]
    np.testing.assert_allclose(found["scores"][0], [0.6, 0.3, 0], rtol=1e-6)
    assert found["all_labels"][2].tolist() == [b"bad", b"good", b"long"]
    np.testing.assert_allclose(found["all_scores"][2], [0.1] * 3, rtol=1e-6)


def test_learns_evaluates_and_survives_files(tmp_path):
    model = make(pos_weight={"good": 2.0})
    model.compile(keras.optimizers.Adam(1e-2), weighted_metrics=["accuracy", "mse"])
    y = [["long", "good"] if kind == "good" else [] for kind in KINDS]
    y[0] = ["bad"]
    before = model.evaluate(TEXTS, y, verbose=0, return_dict=True)
    data = tf.data.Dataset.from_tensor_slices((TEXTS, ["|".join(row) for row in y]))
    model.fit(data.batch(4), epochs=30, verbose=0)
    after = model.evaluate(TEXTS, y, verbose=0, return_dict=True)
    assert after["loss"] < before["loss"] / 3 and after["accuracy"] > 0.9
    truth, logits = model.encode_labels(y), model.predict(TEXTS, verbose=0)
    shares = 1 / (1 + np.exp(-logits))
    np.testing.assert_allclose(after["mse"], ((shares - truth) ** 2).mean(), rtol=1e-4)
    threshold = model.find_thresholds(TEXTS, y, per_label=True)
    assert model.options["threshold"] == threshold and len(threshold) == 3
    answers = model.answer(TEXTS)
    found = [{*filter(None, row)} for row in answers["labels"]]
    assert sum(a == {*b} for a, b in zip(found, y, strict=True)) >= 11
    model.save(tmp_path / "a.keras")
    model.save_to_preset(tmp_path / "preset")
    model.export(tmp_path / "export")
    again = [
        zoo.load_model(tmp_path / "a.keras").answer(TEXTS),
        zoo.from_preset(tmp_path / "preset").answer(TEXTS),
        zoo.serving.ask(tmp_path / "export", TEXTS),
    ]
    for other in again:
        assert other["labels"].tolist() == answers["labels"].tolist()
        np.testing.assert_allclose(other["all_scores"], answers["all_scores"], 1e-5)
    lines = run("predict", tmp_path / "export", *TEXTS).splitlines()
    for line, row in zip(lines, model.files.answer_rows(model, TEXTS), strict=True):
        scores = pytest.approx(row["scores"], 1e-5)
        assert json.loads(line) == {"labels": row["labels"], "scores": scores}


def test_hugging_face_writes_and_reads_the_kind_of_problem(tmp_path):
    model = make(pooling="pooled", config={"vocabulary_size": len(tiny.VOCABULARY)})
    model.save_to_preset(tmp_path / "hf", layout="hugging_face")
    config = json.loads((tmp_path / "hf/config.json").read_text())
    assert config["problem_type"] == "multi_label_classification"
    found = zoo.from_preset(tmp_path / "hf")
    assert found.options["multi_label"] and found.labels == tuple(LABELS)
    wanted = model.answer(TEXTS)["all_scores"]
    np.testing.assert_allclose(found.answer(TEXTS)["all_scores"], wanted, 1e-5)
    with pytest.raises(ValueError, match="keras-nlp has no classifier with sets"):
        model.save_to_preset(tmp_path / "nlp", layout="keras_nlp")


def test_a_saved_head_of_another_kind_is_not_used(tmp_path):
    make(threshold=[0.1, 0.2, 0.3]).save_to_preset(tmp_path / "preset")
    single = zoo.from_preset(tmp_path / "preset", multi_label=False)
    assert "threshold" not in single.options and "classifier" in single.new_heads
    other = zoo.from_preset(tmp_path / "preset", labels=["a", "b"])
    assert other.options["threshold"] == 0.5 and other.options["multi_label"]
    same = zoo.from_preset(tmp_path / "preset", labels=LABELS)
    assert same.options["threshold"] == [0.1, 0.2, 0.3] and not same.new_heads


def test_neighbours_refuse_sets(tmp_path):
    model = make()
    with pytest.raises(ValueError, match="must give one label for a text"):
        zoo.TextEnsemble([model, make()])
    with pytest.raises(ValueError, match="Make the model with `pos_weight`"):
        model.fit(TEXTS, SETS, class_weight="balanced", verbose=0)
    with pytest.raises(ValueError, match="needs a model with `multi_label=True`"):
        make(multi_label=False).find_thresholds(TEXTS, ["bad"] * 12)
    for loss in ("sparse_categorical_crossentropy", "categorical_crossentropy"):
        with pytest.raises(ValueError, match="`loss` must fit the outputs"):
            model.compile(loss=loss)
