"""Columns and tables of other packages, as lists, arrays and dicts."""

from collections.abc import Iterator, MappingView, Set

import keras
import numpy as np
import tensorflow as tf

KNOWN_TYPES = (str, bytes, list, tuple, dict, np.ndarray, tf.data.Dataset)
READ_OTHERWISE = (keras.utils.PyDataset, Iterator, MappingView, Set)


def plain_column(values):
    """A column of another package as a list; other values do not change.

    Such columns are those of Arrow and of Hugging Face's datasets, a `deque`, and any
    other object that has a length and rows. What has a dtype is an array already.
    """
    if isinstance(values, (*KNOWN_TYPES, *READ_OTHERWISE)) or hasattr(values, "dtype"):
        return values
    if hasattr(values, "to_pylist"):
        return values.to_pylist()
    rows = hasattr(values, "__len__") and hasattr(values, "__getitem__")
    return list(values) if rows and not hasattr(values, "shape") else values


def plain_columns(x):
    """`plain_column` for each column of a tuple, or for the only one."""
    return tuple(map(plain_column, x)) if isinstance(x, tuple) else plain_column(x)


def table_columns(x):
    """The columns of a table of pandas, Polars, Arrow or `datasets`; or None."""
    if isinstance(x, KNOWN_TYPES) or not hasattr(x, "__len__"):
        return None
    names = getattr(x, "column_names", None)
    if names is None and hasattr(x, "to_numpy"):
        names = getattr(x, "columns", None)
    if names is None:
        return None
    return {name: plain_column(x[name]) for name in names}
