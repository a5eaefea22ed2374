"""Integers that users give are checked before they become int32."""

import numpy as np
import pytest
import tensorflow as tf

from zoo.data import read_records
from zoo.data.files.tfrecords import NAMES

X = ["a film"], ["a good film"]
WRAPS = 2**32


@pytest.mark.parametrize(
    "y",
    [
        np.array([[WRAPS, WRAPS + 3]]),
        np.array([[-WRAPS, 3 - WRAPS]]),
        np.array([[2**64 - 1, 2**64 - 1]], "uint64"),
        np.array([[WRAPS, WRAPS + 3]], "uint64"),
        np.array([[0.0, 3.5]]),
        np.array([[False, True]]),
    ],
    ids=["int64", "negative", "no answer", "uint64", "float", "bool"],
)
def test_positions_of_answers_do_not_wrap(models, y):
    model = models("question_answerer")
    for call in (model.fit, model.evaluate, model.train_on_batch):
        with pytest.raises(ValueError, match="must be in its context|an int array"):
            call(X, y)
    rows = tf.data.Dataset.from_tensors((X, y))
    errors = ValueError, tf.errors.InvalidArgumentError
    with pytest.raises(errors, match="must be in its context|integers of shape"):
        model.evaluate(rows, verbose=0)


@pytest.mark.parametrize(
    "value", [WRAPS + 5, -WRAPS, 5.5, np.nan, np.uint64(2**63)], ids=str
)
def test_token_ids_do_not_wrap(classifier, value):
    ids = np.array([[2, value, 3]])
    x, y, message = {"token_ids": ids}, np.array([1]), "`token_ids` must hold integers"
    calls = {
        "list": lambda: classifier({"token_ids": ids.tolist()}),
        "array": lambda: classifier(x),
        "predict": lambda: classifier.predict(x, verbose=0),
        "answer": lambda: classifier.answer(x),
        "fit": lambda: classifier.fit(x, y, verbose=0),
        "validation": lambda: classifier.fit(["film"], y, validation_data=(x, y)),
        "train_on_batch": lambda: classifier.train_on_batch(x, y),
        "backbone": lambda: classifier.backbone.predict(ids, verbose=0),
        "backbone called": lambda: classifier.backbone(ids),
    }
    for call in calls.values():
        with pytest.raises(ValueError, match=message):
            call()
    with pytest.raises(tf.errors.InvalidArgumentError, match="(?i)indices|not in"):
        classifier.predict(tf.data.Dataset.from_tensors(x), verbose=0)


def test_token_ids_of_other_types(classifier):
    expected = classifier.predict({"token_ids": np.array([[2, 5, 3]])}, verbose=0)
    for kind in ("int64", "uint8", "uint64", "float32", "float64"):
        x = {"token_ids": np.array([[2, 5, 3]], kind)}
        for data in (x, tf.data.Dataset.from_tensors(x)):
            found = classifier.predict(data, verbose=0)
            np.testing.assert_allclose(found, expected, atol=1e-6)


def test_numbers_of_records_do_not_wrap(tmp_path):
    path, names = tmp_path / "a.tfrecord", NAMES["google"]
    values = {"token_ids": [WRAPS], "mask_positions": [0], "mask_ids": [0]}
    features = {
        names[key]: tf.train.Feature(int64_list=tf.train.Int64List(value=value))
        for key, value in values.items()
    }
    example = tf.train.Example(features=tf.train.Features(feature=features))
    with tf.io.TFRecordWriter(str(path)) as writer:
        writer.write(example.SerializeToString())
    with pytest.raises(tf.errors.InvalidArgumentError, match="`token_ids` of a record"):
        list(read_records([path], 1))
