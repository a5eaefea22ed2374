"""What users give as text: lists, arrays, tables, tensors and datasets of strings."""

import numbers
import re
import types
from collections.abc import Iterator, MappingView, Set

import numpy as np
import tensorflow as tf

from zoo.checks.counts import whole_number
from zoo.tasks.inputs.text_sources import table_columns

TEXTS_RULE = (
    "Methods such as `fit` and `predict` take a list of strings, a tuple of such "
    "lists, or a `tf.data.Dataset` of batches. Token ids must be in a dict."
)
NESTED_TYPES = (list, tuple, np.ndarray)
SURROGATES = re.compile("[\ud800-\udfff]")  # of surrogate pairs


def holds_text(x):
    """Whether `x` of `fit` is text, not token ids. It does not read a dataset."""
    if isinstance(x, tf.data.Dataset):
        spec = x.element_spec
        spec = spec[0] if isinstance(spec, tuple) else spec
        return all(leaf.dtype == tf.string for leaf in tf.nest.flatten(spec))
    if isinstance(x, dict):
        return False
    if isinstance(x, tuple):
        return any(map(holds_text, x))
    if isinstance(x, (str, bytes)):
        return True
    if isinstance(x, list):
        return not x or any(map(_is_text_row, x))
    if hasattr(x, "to_numpy"):
        x = x.to_numpy()
    dtype = getattr(x, "dtype", None)
    if isinstance(dtype, tf.DType):
        return dtype == tf.string
    empty = isinstance(x, np.ndarray) and x.shape == (0,)
    return empty or (dtype is not None and np.dtype(dtype).kind in "OSUT")


def _is_text_row(row):
    """Whether a row of a list is a text, a list of words, or nothing."""
    if row is None or isinstance(row, (str, bytes)):
        return True
    if isinstance(row, (list, tuple)):
        return holds_text(list(row))
    return isinstance(row, (np.ndarray, tf.Tensor)) and holds_text(row)


def _is_scalar(x):
    """Whether `x` is an array or a tensor without dimensions."""
    return getattr(x, "shape", None) == ()


def refuse_input(x, text):
    """Raises TypeError if no method of a task takes `x`; `text` is `holds_text(x)`."""
    received, way = None, "Put the texts in a list."
    if isinstance(x, (str, bytes)):
        received, way = "one string", "Put it in a list: `[text]`."
    elif x is None or isinstance(x, numbers.Number) or _is_scalar(x):
        received = f"{x!r:.60}"
    elif isinstance(x, types.GeneratorType):
        return
    elif isinstance(x, (Iterator, Set, MappingView)):
        received, way = f"a {type(x).__name__}", "Use `list(texts)`."
    elif isinstance(x, dict) and any(map(_is_single, x.values())):
        received, way = "a dict of single values", "Give a batch of each."
    elif isinstance(x, dict) and x and all(map(_is_table, x.values())):
        received, way = f"a dict of tables {[*x]}", "Choose one of them by its name."
    elif isinstance(x, (list, tuple)) and not text:
        if not any(hasattr(part, "shape") for part in x):
            of = f" of {type(x[0]).__name__}s" if x else " without columns"
            received = f"a {type(x).__name__}{of}"
    elif _is_single(x):
        received = f"a {type(x).__name__}"
    if received is not None:
        raise TypeError(f"{TEXTS_RULE} Received: {received}. {way}")


def _is_single(x):
    """Whether a value of a dict is no column, batch or nest of them."""
    return not any(hasattr(x, name) for name in ("__iter__", "shape", "__getitem__"))


def _is_table(x):
    return table_columns(x) is not None


def named_columns(x):
    """A table of text as a dict of columns, or as its only column; else `x`."""
    columns = table_columns(x)
    if columns is None or not any(map(holds_text, columns.values())):
        return x
    return columns if len(columns) > 1 else next(iter(columns.values()))


def as_columns(x):
    """Texts as a tuple of string tensors (B,), one for each column.

    `x` is a list, array, series or tensor of strings, or a tuple of them: a tuple holds
    columns, a list is a batch.

    Raises:
        TypeError: if `x` is one string, a list of pairs, or not text.
        ValueError: if the columns have different lengths.
    """
    columns = tuple(map(_column, x if isinstance(x, tuple) else (x,)))
    sizes = [int(column.shape[0]) for column in columns]
    if len(set(sizes)) > 1:
        raise ValueError(
            f"Columns of text must have the same length. Received: lengths {sizes}. "
            "A tuple holds columns; put a batch in a list."
        )
    return columns


def join_words(x):
    """Sentences of words as texts, list of str; other input does not change.

    White space inside a word becomes "_", and half of a surrogate pair U+FFFD.

    Raises:
        TypeError: if a sentence is not a list, or a word is not a string.
        ValueError: if a word is empty.
    """
    if isinstance(x, tuple):
        return tuple(map(join_words, x))
    if not holds_text(x):
        return x
    sentences = x.to_numpy() if hasattr(x, "to_numpy") else x
    if isinstance(x, tf.RaggedTensor):
        sentences = x.to_list()
    elif isinstance(x, tf.Tensor) and x.shape.rank == 2:
        sentences = x.numpy()
    if not isinstance(sentences, (list, np.ndarray)) or _is_scalar(sentences):
        return x
    if not any(isinstance(sentence, NESTED_TYPES) for sentence in sentences):
        return x
    return [_sentence(words, row) for row, words in enumerate(sentences)]


def _sentence(words, row):
    """The words of one row as a text."""
    if not isinstance(words, NESTED_TYPES):
        raise TypeError(
            "Every sentence must be a list of words, or every one a string. Received: "
            f"{words!r:.60} of type {type(words).__name__} in row {row}."
        )
    whole = []
    for word in words:
        if not isinstance(word, (str, bytes)):
            raise TypeError(
                f"Every word must be a string. Received: {word!r:.60} of type "
                f"{type(word).__name__} in row {row}."
            )
        word = word.decode("utf-8", "replace") if isinstance(word, bytes) else word
        word = "_".join(word.split())
        if not word:
            raise ValueError(
                "Every word must have a character other than white space. Received: "
                f"an empty word in row {row}. Remove it and its label."
            )
        whole.append(encode_text(word).decode())
    return " ".join(whole)


def encode_text(text):
    """A str in UTF-8, and bytes as they are.

    Half of a surrogate pair, which has no UTF-8, becomes U+FFFD.
    """
    if isinstance(text, bytes):
        return text
    try:
        return text.encode()
    except UnicodeEncodeError:
        return SURROGATES.sub("\ufffd", text).encode()


def _column(values):
    """One column of text as a string tensor (B,)."""
    if isinstance(values, (str, bytes)):
        raise TypeError(
            "A column of texts must be a list. Received: one string. Put it in a list: "
            "`[text]`, or `([text], [text_pair])` for two columns."
        )
    values = values.to_numpy() if hasattr(values, "to_numpy") else values
    shape = getattr(values, "shape", None)
    if shape is not None and len(shape) != 1:
        raise TypeError(
            "A column of texts must have one dimension. Received: an array of shape "
            f"{tuple(shape)}. Give two columns in a tuple: `(x[:, 0], x[:, 1])`."
        )
    if isinstance(values, NESTED_TYPES):
        for row, value in enumerate(values):
            if not isinstance(value, (str, bytes)):
                raise _no_string(value, row, values)
        try:
            return tf.constant(np.fromiter(values, object, len(values)), tf.string)
        except ValueError:  # half of a surrogate pair has no UTF-8
            values = np.fromiter(map(encode_text, values), object, len(values))
    elif getattr(values, "dtype", None) != tf.string:
        raise TypeError(
            "A column of texts must be a list, an array or a tensor of strings. "
            f"Received: {type(values).__name__}. Use `list(texts)`."
        )
    return tf.convert_to_tensor(values, tf.string)


def _no_string(value, row, values):
    """The TypeError about a text that is no string."""
    if isinstance(value, NESTED_TYPES):
        return TypeError(
            f"Every text must be a string. Received: a {type(values).__name__} of "
            f"{type(value).__name__}s. Use `tuple(map(list, zip(*pairs)))` for pairs, "
            'or `" ".join(words)` for words.'
        )
    return TypeError(
        f"Every text must be a string. Received: {value!r:.60} of type "
        f"{type(value).__name__} in row {row}. Remove the row, or use `str(text)`."
    )


def check_targets(columns, targets):
    """Raises an error unless there is one row of targets for each text of columns."""
    known = isinstance(columns, tuple) and columns and all(map(tf.is_tensor, columns))
    if not known:
        raise TypeError(
            "`columns` must be a tuple of string tensors, such as those of "
            f"`text_columns`. Received: {columns!r:.60}."
        )
    check_lengths(len(columns[0]), len(targets))


def check_lengths(count, rows):
    """Raises ValueError unless there are as many rows of targets as texts."""
    if rows != count:
        raise ValueError(
            "`x`, `y` and `sample_weight` must have the same length. Received: "
            f"{count} texts and {rows} targets or weights."
        )


def rows_at_once(batch_size, default):
    """The rows of a batch: `batch_size`, checked, or the default for None."""
    return default if batch_size is None else optional_count(batch_size, "batch_size")


def optional_count(value, name):
    """An integer of at least 1, checked; or None, which stands for the default."""
    if value is None:
        return None
    return whole_number(value, name, 1, "Leave it out for the default.")
