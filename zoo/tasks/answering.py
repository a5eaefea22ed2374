"""From texts to answers, in Python and in an exported graph."""

import threading

import keras
import numpy as np
import tensorflow as tf

from zoo.tasks.inputs.text_input import rows_at_once

MAX_FUNCTIONS = 8  # compiled ones of a model, some 40 MB each
FUNCTIONS = threading.Lock()


class Answering:
    """How a task answers texts.

    A task whose outputs have one answer for each row defines `answers`. Another task
    sets `answers_tokens` to False and defines `answer_batch`.

    Attributes:
        answers_tokens: bool, whether each row of the outputs has an answer. If so,
            `answer` uses `predict`, and an export also takes tokens. If not, `predict`
            refuses text.
        text_methods: tuple of str, the methods that take text if `predict` does not.
        predict_batch_size: int, the texts that `predict` and `answer` read together.
        answer_pads: dict of the name of an answer (B, W) to its padding, for answers
            whose length W differs from text to text.
    """

    answers_tokens = True
    text_methods = ("answer",)
    predict_batch_size = 32
    answer_pads = {}

    def answers(self, outputs):
        """Converts the graph's outputs to an answer, a dict of tensors (B, ...)."""
        raise NotImplementedError

    def answer_batch(self, *texts):
        """Converts string tensors (B,) to `answers`, in a graph, for an export."""
        return self.answers(self(self.preprocessor(texts), training=False))

    def serving_methods(self):
        """The functions of texts in an export, dict of the name of a signature."""
        return {"serving_default": self.answer_batch}

    def answer(self, x, batch_size=None):
        """Returns what the exported model answers, as numpy.

        A pair is read as in `predict`.

        Args:
            x: texts, or a tuple of columns of texts. An empty list has no rows.
            batch_size: int, `predict_batch_size` by default.

        Returns:
            dict of numpy arrays (B, ...); strings as str objects.

        Raises:
            TypeError: if `x` is one string, or not text.
        """
        x = self.as_text(x)
        if self.answers_tokens:
            outputs = self.predict(x, batch_size, verbose=0)
            answers = self.answers(keras.tree.map_structure(tf.constant, outputs))
            return {key: as_numpy(value) for key, value in answers.items()}
        order, parts = zip(*self.answer_parts(x, batch_size), strict=True)
        return join_rows(parts, np.argsort(np.concatenate(order)), self.answer_pads)

    def answer_parts(self, x, batch_size=None):
        """Yields the answers of texts of similar length.

        Args:
            x, batch_size: see `answer`.

        Yields:
            int (M,), the numbers of the texts, and their answers, a dict of numpy
            arrays (M, ...).

        Raises:
            TypeError: see `answer`.
        """
        x = self.as_text(x)
        if not self.takes_text(x):
            raise TypeError(
                f"`answer` takes a list of texts. Received: {type(x).__name__}. Use "
                "`predict` for token ids."
            )
        columns = self.text_columns(x)
        lengths = sum(tf.strings.length(column) for column in columns)
        order = tf.argsort(lengths, direction="DESCENDING", stable=True)
        size = rows_at_once(batch_size, self.predict_batch_size)
        for start in range(0, max(len(columns[0]), 1), size):
            rows = order[start : start + size]
            found = self.answer_eagerly(*(tf.gather(c, rows) for c in columns))
            yield rows.numpy(), {key: as_numpy(value) for key, value in found.items()}

    def answer_eagerly(self, *texts):
        """`answer_batch` outside a graph."""
        return self.answer_batch(*texts)

    def compiled_function(self, key, function, signature=None, **options):
        """A function as a `tf.function`, one for each key until the model changes.

        Only the last `MAX_FUNCTIONS` keys are kept. AutoGraph does not rewrite it: that
        would take several seconds. So conditions and loops on tensors must be `tf.cond`
        and `tf.while_loop`.

        Args:
            key: object that can be hashed.
            function, signature, options: of `tf.function`.

        Raises:
            ValueError: if the backend of Keras is not TensorFlow.
        """
        backend = keras.backend.backend()
        if backend != "tensorflow":
            raise ValueError(
                f"Answers of {type(self).__name__} need the backend TensorFlow. "
                f"Received: {backend!r}. Use `save_to_preset` after the training, and "
                "load the preset with KERAS_BACKEND=tensorflow."
            )
        if self.answer_function is None:
            self.answer_function = {}
        functions = self.answer_function  # Keras makes another dict of it
        with FUNCTIONS:
            found = functions.pop(key, None) or tf.function(
                function, signature, autograph=False, **options
            )
            functions[key] = found  # the latest one is the last one
            if len(functions) > MAX_FUNCTIONS:
                functions.pop(next(iter(functions)))
        return found


def join_rows(parts, order, pads):
    """Concatenates dicts of arrays of rows, and reorders the rows.

    Args:
        parts: list of dict of numpy arrays (B, ...).
        order: int (N,).
        pads: dict of the name of an array (B, W) to its padding, where the widths W
            of the parts differ.
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
