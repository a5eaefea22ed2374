"""From texts to answers, in Python and in an exported graph."""

import keras
import numpy as np
import tensorflow as tf


class Answering:
    """How a task answers texts.

    A task with an answer for each row of its outputs gives `answers`. Another one sets
    `answers_tokens` to False and gives `answer_batch`.

    Attributes:
        answers_tokens: bool, whether each row of the outputs has an answer. Then
            `answer` uses `predict`, and an export also takes tokens.
        answer_pads: dict of the name of an answer (B, W), which has a length of its
            own in each text, to what pads it.
    """

    answers_tokens = True
    answer_pads = {}

    def answers(self, outputs):
        """From the graph's outputs to a client's answer, a dict of tensors (B, ...)."""
        raise NotImplementedError

    def answer_batch(self, *texts):
        """From string tensors (B,) to `answers`, in a graph; what an export serves."""
        return self.answers(self(self.preprocessor(texts), training=False))

    def answer(self, x, batch_size=None):
        """What the exported model answers, as numpy.

        Args:
            x: texts, or a tuple of columns of texts.
            batch_size: int, 32 by default.

        Returns:
            dict of numpy arrays (B, ...); strings as str objects.
        """
        if self.answers_tokens:
            outputs = self.predict(x, batch_size, verbose=0)
            answers = self.answers(keras.tree.map_structure(tf.constant, outputs))
            return {key: as_numpy(value) for key, value in answers.items()}
        columns = self.text_columns(x)
        if not self.takes_text(x):
            raise TypeError(f"`answer` takes text. Received: {type(x).__name__}.")
        lengths = sum(tf.strings.length(column) for column in columns)
        order = tf.argsort(lengths, direction="DESCENDING", stable=True)
        parts, size = [], batch_size or 32
        for start in range(0, max(len(columns[0]), 1), size):
            rows = order[start : start + size]
            found = self.answer_eagerly(*(tf.gather(c, rows) for c in columns))
            parts.append({key: as_numpy(value) for key, value in found.items()})
        return join_rows(parts, np.argsort(order.numpy()), self.answer_pads)

    def answer_eagerly(self, *texts):
        """`answer_batch` outside a graph."""
        return self.answer_batch(*texts)


def join_rows(parts, order, pads):
    """Joins dicts of arrays of rows, and puts the rows in an order.

    Args:
        parts: list of dict of numpy arrays (B, ...).
        order: int (N,).
        pads: dict of the name of an array (B, W) to what pads it to the same W.
    """
    joined = {}
    for key in parts[0]:
        arrays = [part[key] for part in parts]
        if key in pads:
            width = max(array.shape[1] for array in arrays)
            arrays = [
                np.pad(
                    array,
                    ((0, 0), (0, width - array.shape[1])),
                    constant_values=pads[key],
                )
                for array in arrays
            ]
        joined[key] = np.concatenate(arrays)[order]
    return joined


def as_numpy(tensor):
    """A tensor as numpy, strings as an object array of str."""
    array = tensor.numpy()
    if tensor.dtype != tf.string:
        return array
    texts = [value.decode("utf-8", "replace") for value in array.ravel()]
    return np.array(texts, dtype=object).reshape(array.shape)
