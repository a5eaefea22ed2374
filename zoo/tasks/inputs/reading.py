"""Reads what a user gives to a task: texts, targets and weights of any form."""

import keras
import numpy as np
import tensorflow as tf

from zoo.backbone.token_inputs import check_inputs
from zoo.tasks.inputs.target_reading import read_targets
from zoo.tasks.inputs.text_input import (
    as_columns,
    holds_text,
    join_words,
    named_columns,
    refuse_input,
)
from zoo.tasks.inputs.text_sources import plain_column, plain_columns
from zoo.tasks.inputs.text_streams import is_stream, text_stream
from zoo.tasks.inputs.texts import TextDataset, Texts, TokenIds


class Columns(tuple):
    """Columns of text that were read, a tuple of string tensors (N,)."""


def read_texts(task, x):
    """Reads and checks texts alone, see `read_data`; labels in `x` are ignored."""
    x = read_columns(task, text_stream(task, unpack_rows(task, x)[0]))
    if isinstance(x, Columns):
        return Texts(task, x, [])
    if not isinstance(x, tf.data.Dataset) or not holds_text(x):
        return TokenIds(task, x)
    if isinstance(x.element_spec, tuple):
        x = x.map(lambda texts, *_: (texts,))
    data = TextDataset(task, x)
    task.check_columns(data.num_columns)
    return data


def read_data(task, data, name=None, run=None):
    """Reads and checks what a user gives: x, y and sample_weight, as of `fit`.

    `name` is the method or the argument that `x` was given to, if it needs labels.
    `run` of `fit` has the size and the order of the batches of a stream. Returns
    `Texts`, `TextDataset` or `TokenIds`.

    Raises:
        TypeError: if `x` is not a batch, such as one string or a list of pairs.
        ValueError: if there are no texts or no labels though they are needed, labels
            are unknown, or lengths differ.
    """
    x, y, weights = data
    x, y = unpack_rows(task, x, y)
    encoded = is_stream(x)
    if encoded:
        targets = ()
        if y is not None:
            targets = (y,) if weights is None else (y, weights)
        x = text_stream(task, x, targets, run)
        if isinstance(x, tf.data.Dataset):
            y, weights = None, None
    x = read_columns(task, x, training=run is not None)
    y, weights = plain_column(y), plain_column(weights)
    if name:
        _check_data(task, x, y, name)
    if isinstance(x, Columns):
        return Texts(task, x, read_targets(task, x, y, weights))
    if not isinstance(x, tf.data.Dataset) or not holds_text(x):
        return TokenIds(task, x, y, weights)
    if y is not None or weights is not None:
        raise ValueError(
            "A dataset holds its own targets and weights. Received: a dataset and `y` "
            "or `sample_weight`. Zip them into the dataset."
        )
    data = TextDataset(task, x, encoded)
    task.check_columns(data.num_columns, training=run is not None)
    return data


def _check_data(task, x, y, name):
    """Raises ValueError if there are no texts, or no labels though they are needed."""
    labelled, way = y is not None, "Give the texts and their labels."
    if isinstance(x, tf.data.Dataset):
        labelled = isinstance(x.element_spec, tuple) and len(x.element_spec) > 1
        way = "Make it a dataset of pairs `(texts, labels)`."
    elif not isinstance(x, (dict, list, tuple, np.ndarray, tf.Tensor)):
        return  # a generator of batches, which Keras reads
    if isinstance(x, Columns) and not len(x[0]):
        raise ValueError(
            f"`{name}` needs at least one text. Received: 0 texts. Only `predict` and "
            "`answer` take an empty list."
        )
    if not labelled and not task.pretrains:
        raise ValueError(
            f"{type(task).__name__} needs labels. Received: `{name}` without labels. "
            f"{way}"
        )


def read_validation_data(task, data):
    """`validation_data` of `fit`, a dataset or a tuple of 1 to 3 parts; or None."""
    if data is None:
        return None
    if isinstance(data, tuple) and len(data) not in (1, 2, 3):
        raise ValueError(
            "`validation_data` must be a dataset or a tuple of texts, labels and, "
            f"optionally, weights. Received: {len(data)} parts. Leave it out for none."
        )
    # A tuple holds arguments; a list may, as in Keras, unless it holds texts.
    texts = isinstance(data, list) and (
        len(data) not in (1, 2, 3) or isinstance(data[0], (str, bytes))
    )
    parts = data, None, None
    if not texts and unpack_rows(task, data, None)[1] is None:
        parts = keras.utils.unpack_x_y_sample_weight(data)
    return read_data(task, parts, "validation_data")


def unpack_rows(task, x, y=None):
    """Columns and targets of a list of `task.row_class`, such as `zoo.data.Question`.

    Their attributes are the columns and `answers`. Other data do not change.
    """
    kind = task.row_class
    if kind is None or not isinstance(x, list):
        return x, y
    if not all(isinstance(row, kind) for row in x):
        return x, y
    columns = tuple([getattr(row, name) for row in x] for name in task.columns)
    return columns, [row.answers for row in x] if y is None else y


def read_columns(task, x, training=False):
    """`Columns` of texts; a dataset of batches of texts; or other data, unchanged.

    A dict or a table with the names of the columns becomes a tuple, and a column of
    another package a list.

    Raises:
        TypeError: if no method of a task takes `x`.
        ValueError: if the names or the number of columns are not those of the task, or
            arrays of token ids lack the inputs of the model.
    """
    x = plain_columns(named_columns(x))
    text = holds_text(x)
    refuse_input(x, text)
    if isinstance(x, tf.data.Dataset):
        return _dataset_of_columns(task, x) if text else x
    if isinstance(x, dict):
        known = not {*task.columns}.isdisjoint(x)
        if known or (x and all(map(holds_text, x.values()))):
            x = choose_columns(task, x)
            text = holds_text(x)
    x = join_words(x) if task.joins_words else x
    if not text:
        check_inputs(x, task.input)
        return x
    check_preprocessor(task)
    columns = Columns(as_columns(x))
    task.check_columns(len(columns), training)
    return columns


def _dataset_of_columns(task, dataset):
    """A dataset of texts whose dicts are tuples."""
    check_preprocessor(task)
    spec = dataset.element_spec
    spec = spec[0] if isinstance(spec, tuple) else spec
    if not isinstance(spec, dict):
        return dataset
    return dataset.map(lambda x, *targets: (choose_columns(task, x), *targets))


def check_preprocessor(task):
    """Raises TypeError if a task has no preprocessor, and so does not take text."""
    if task.preprocessor is None:
        raise TypeError(
            "A model without a preprocessor takes token ids. Received: strings. Set "
            "`sequence_length`, which makes one, or load it with a tokenizer."
        )


def choose_columns(task, named):
    """A tuple of the columns of a task from a dict that has exactly these."""
    names = task.columns[: len(named)]
    if {*named} != {*names} or len(names) < len(task.required_columns):
        raise ValueError(
            "A dict or a table of texts must have the names "
            f"{list_columns(task)}. Received: {list(named)}. Select the text, such as "
            "`x[name]`, and give labels as `y`."
        )
    return tuple(named[name] for name in names)


def list_columns(task):
    """The names of the columns for an error message."""
    names = ", ".join(f"`{name}`" for name in task.columns)
    optional = ", ".join(f"`{name}`" for name in task.optional_columns)
    return f"{names} ({optional} is optional)" if optional else names
