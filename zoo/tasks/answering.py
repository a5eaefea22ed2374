"""From texts to answers, in Python and in an exported graph."""

import threading

import keras
import numpy as np
import tensorflow as tf

from zoo.serving.answer_rows import join_rows
from zoo.tasks.inputs.text_input import rows_at_once

MAX_FUNCTIONS = 8  # compiled ones of a model, some 40 MB each
FUNCTIONS_LOCK = threading.Lock()


def answer_texts(model, x, batch_size=None):
    """The answers to texts, a dict of numpy arrays (B, ...); see `Task.answer`."""
    if model.answers_tokens:
        outputs = model.predict(x, batch_size, verbose=0)
        answers = model.answers(keras.tree.map_structure(tf.constant, outputs))
        return {key: as_numpy(value) for key, value in answers.items()}
    order, parts = zip(*answer_parts(model, x, batch_size), strict=True)
    return join_rows(parts, np.argsort(np.concatenate(order)))


def answer_parts(model, x, batch_size=None, answer=None):
    """Yields row numbers, int (M,), and answers (M, ...) of texts of similar length.

    `answer` is a function of columns of texts, by default the model's own.
    """
    answer = answer or model.answer_eagerly
    columns = model.text_columns(x)
    lengths = sum(tf.strings.length(column) for column in columns)
    order = tf.argsort(lengths, direction="DESCENDING", stable=True)
    size = rows_at_once(batch_size, model.predict_batch_size)
    for start in range(0, max(len(columns[0]), 1), size):
        rows = order[start : start + size]
        found = answer(*(tf.gather(c, rows) for c in columns))
        yield rows.numpy(), {key: as_numpy(value) for key, value in found.items()}


def compiled_function(model, key, function, signature=None, **options):
    """A function as a `tf.function`, one for each key until the model changes.

    The last `MAX_FUNCTIONS` keys are kept. AutoGraph does not rewrite it, which would
    take several seconds, so conditions and loops on tensors must be `tf.cond` and
    `tf.while_loop`.
    """
    backend = keras.backend.backend()
    if backend != "tensorflow":
        raise ValueError(
            f"Answers of {type(model).__name__} need the backend TensorFlow. Received: "
            f"{backend!r}. Use `save_to_preset` after the training, and load the "
            "preset with KERAS_BACKEND=tensorflow."
        )
    if model.answer_function is None:
        model.answer_function = {}
    functions = model.answer_function  # Keras makes another dict of it
    with FUNCTIONS_LOCK:
        found = functions.pop(key, None) or tf.function(
            function, signature, autograph=False, **options
        )
        functions[key] = found  # the latest one is the last one
        if len(functions) > MAX_FUNCTIONS:
            functions.pop(next(iter(functions)))
    return found


def answer_compiled(model, texts):
    """`answer_batch` of a task with one column of texts (B,), compiled."""
    signature = [tf.TensorSpec([None], tf.string)]
    return compiled_function(model, "answer", model.answer_batch, signature)(texts)


def as_numpy(tensor):
    """A tensor as numpy, strings as an object array of str."""
    array = tensor.numpy()
    if tensor.dtype != tf.string:
        return array
    texts = [value.decode("utf-8", "replace") for value in array.ravel()]
    return np.array(texts, dtype=object).reshape(array.shape)
