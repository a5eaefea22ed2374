"""Weights of the labels of sets: those of scikit-learn for each label."""

import keras
import numpy as np
import pytest
import tensorflow as tf
import tiny
from sklearn.utils.class_weight import compute_class_weight
from tiny_tasks import make_tiny_task

import zoo

LABELS = ["bad", "good", "long", "never"]
TEXTS, _ = tiny.make_texts(12, seed=2)
SETS = [["bad"], ["good", "long"], ["bad"], ["long", "bad"]] * 3
FACTORS = {"good": 3.0, "bad": 0.5}
ROW_WEIGHTS = np.linspace(0.5, 2.0, 12)


def make(loss=None, **options):
    options = {"labels": LABELS, "multi_label": True, "seed": 3, **options}
    model = make_tiny_task(zoo.TextClassifier, **options)
    names = ["accuracy", "macro_f1", "auc", "mse"]
    model.compile(keras.optimizers.SGD(0.0), loss, weighted_metrics=names)
    return model


def table(class_weight, rows):
    """The weights of the labels of texts by scikit-learn, float (B, C)."""
    columns = []
    for label, column in zip(LABELS, rows.T.astype(int), strict=True):
        weights = {0: 1.0, 1: 1.0}
        if class_weight == "balanced" and len(np.unique(column)) == 2:
            found = compute_class_weight(class_weight, classes=np.arange(2), y=column)
            weights = dict(enumerate(found))
        elif class_weight != "balanced":
            weights[1] = class_weight.get(label, 1.0)
        columns.append([weights[value] for value in column])
    return np.stack(columns, axis=-1)


@pytest.mark.parametrize("pos_weight", [None, 4.0], ids=["plain", "pos_weight"])
@pytest.mark.parametrize("weights", ["balanced", FACTORS], ids=["balanced", "names"])
def test_the_loss_is_a_mean_over_weights_of_labels(weights, pos_weight):
    rates = {"dropout": 0.0, "attention_dropout": 0.0}
    model = make(pos_weight=pos_weight, head_dropout=0.0, config=rates)
    batch = next(iter(model.batches(TEXTS, SETS, ROW_WEIGHTS, batch_size=12)))
    x, rows, row_weights = batch[0], *map(np.asarray, batch[1:])
    losses = model.default_loss().call(rows, model(x))
    wanted = np.average(losses, weights=table(weights, rows) * row_weights[:, None])
    options = {"class_weight": weights, "sample_weight": ROW_WEIGHTS}
    found = model.train_on_batch(TEXTS, SETS, return_dict=True, **options)
    assert found["loss"] == pytest.approx(wanted, rel=1e-5)


def test_fit_trains_with_weights_of_labels():
    """By name, as an array, with validation, whose loss is not weighted."""
    losses = []
    for weights in (FACTORS, [0.5, 3.0, 1.0, 1.0], None):
        model = make()
        data = {"validation_data": (TEXTS, SETS), "class_weight": weights}
        found = model.fit(TEXTS, SETS, batch_size=5, verbose=0, **data).history
        losses.append((found["loss"][0], found["val_loss"][0]))
    assert losses[0] == pytest.approx(losses[1], rel=1e-6)
    assert losses[0][1] == pytest.approx(losses[2][1], rel=1e-6)
    assert losses[0][0] != pytest.approx(losses[2][0], rel=1e-3)


def test_weights_that_do_not_fit():
    wrong = {
        "must hold labels of the model": {"worse": 2.0},
        "a weight for each of the 4 labels": [1.0, 2.0],
        "or 'balanced' for arrays": "equal",
        "finite numbers of at least 0": {"bad": -1.0},
    }
    for message, weights in wrong.items():
        with pytest.raises(ValueError, match=f"`class_weight` .*{message}"):
            make().fit(TEXTS, SETS, class_weight=weights, verbose=0)
    data = tf.data.Dataset.from_tensors((TEXTS, ["bad"] * 12))
    with pytest.raises(ValueError, match="sets of labels needs arrays.*`pos_weight`"):
        make().fit(data, class_weight=FACTORS, verbose=0)
    model = make(loss="binary_focal_crossentropy")
    with pytest.raises(ValueError, match="needs the default loss. Received"):
        model.fit(TEXTS, SETS, class_weight="balanced", verbose=0)
