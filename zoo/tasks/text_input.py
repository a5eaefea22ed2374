"""What users call text: lists, arrays, tensors and datasets of strings."""

import numpy as np
import tensorflow as tf


def holds_text(x):
    """Whether `x` is text rather than token ids, without reading a dataset.

    Args:
        x: anything that Keras' `fit` takes as its first argument.

    Returns:
        bool.
    """
    if isinstance(x, tf.data.Dataset):
        spec = x.element_spec
        spec = spec[0] if isinstance(spec, tuple) else spec
        return all(leaf.dtype == tf.string for leaf in tf.nest.flatten(spec))
    if isinstance(x, dict):
        return False
    if isinstance(x, tuple):
        return bool(x) and all(holds_text(part) for part in x)
    if isinstance(x, (str, bytes)):
        return True
    if isinstance(x, list):
        return not x or isinstance(x[0], (str, bytes, tuple, list))
    if hasattr(x, "to_numpy"):
        x = x.to_numpy()
    dtype = getattr(x, "dtype", None)
    if isinstance(dtype, tf.DType):
        return dtype == tf.string
    return dtype is not None and np.dtype(dtype).kind in "OSUT"


def count_columns(x):
    """How many columns text has, as `holds_text` finds it: 1, or the tuple's length."""
    if isinstance(x, tf.data.Dataset):
        spec = x.element_spec
        x = spec[0] if isinstance(spec, tuple) else spec
    return len(x) if isinstance(x, tuple) else 1


def as_columns(x):
    """Texts as a tuple of string tensors, one for each column.

    A tuple holds columns, a list is a batch.

    Args:
        x: list, array, series or tensor of strings, or a tuple of them.

    Returns:
        tuple of string tensors (B,).

    Raises:
        TypeError: if `x` is one string, a list of pairs, or holds something else than
            strings.
        ValueError: if the columns differ in length.
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
    """Sentences of words as texts; anything else as it is.

    Args:
        x: list of lists of str, or what `fit` takes.

    Returns:
        list of str, words parted by a space; white space in a word becomes "_", and a
        word of nothing but halves of characters U+FFFD.

    Raises:
        ValueError: if a word is empty.
    """
    if not isinstance(x, list) or not x or not isinstance(x[0], (list, tuple)):
        return x
    texts = []
    for row, words in enumerate(x):
        words = ["_".join(word.split()) for word in words]
        if "" in words:
            raise ValueError(
                f"A word must have characters. Received: an empty one in row {row}."
            )
        words = [word.encode("utf-8", "ignore").decode() or "\ufffd" for word in words]
        texts.append(" ".join(words))
    return texts


def _column(values):
    if isinstance(values, (str, bytes)):
        raise TypeError(
            "Text comes as a batch. Received: one string. Put it in a list: "
            "`[text]`; or a pair in a tuple of lists: `([a], [b])`."
        )
    if isinstance(values, list) and values and isinstance(values[0], (list, tuple)):
        raise TypeError(
            "Pairs are a tuple of two columns, not a list of pairs. Received: a list "
            f"of {type(values[0]).__name__}s. Use `tuple(map(list, zip(*pairs)))`."
        )
    if hasattr(values, "to_numpy"):
        values = values.to_numpy()
    if isinstance(values, (list, np.ndarray)):
        for row, value in enumerate(values):
            if not isinstance(value, (str, bytes)):
                raise TypeError(
                    "Every text must be a string. Received: "
                    f"{value!r} of type {type(value).__name__} in row {row}."
                )
        values = np.asarray(
            [v.encode("utf-8", "ignore") if isinstance(v, str) else v for v in values],
            dtype=object,
        )
    tensor = tf.convert_to_tensor(values, tf.string)
    if tensor.shape.rank != 1:
        raise TypeError(
            "A column of texts has one dimension. Received: a tensor of shape "
            f"{tuple(tensor.shape)}."
        )
    return tensor


def split_rows(data, fraction):
    """Cuts the last `fraction` of the rows off, as Keras does.

    Args:
        data: tuple of texts, targets and weights; each but the texts may be None.
        fraction: float in (0, 1).

    Returns:
        two tuples like `data`.

    Raises:
        ValueError: if one of them would have no rows, or the texts are a dataset.
    """
    if isinstance(data[0], tf.data.Dataset):
        raise ValueError(
            "`validation_split` needs arrays. Received: a dataset. Use its `take` and "
            "`skip`, and `validation_data`."
        )
    count = len(as_columns(data[0])[0])
    cut = int(count * (1 - fraction))
    if not 0 < cut < count:
        raise ValueError(
            "`validation_split` must leave rows on both sides. Received: "
            f"{fraction} of {count} rows."
        )

    def part(value, rows):
        if value is None:
            return None
        return (value.to_numpy() if hasattr(value, "to_numpy") else value)[rows]

    x, *others = data
    parts = []
    for rows in (slice(None, cut), slice(cut, None)):
        pair = isinstance(x, tuple)
        texts = tuple(part(c, rows) for c in x) if pair else part(x, rows)
        parts.append((texts, *(part(other, rows) for other in others)))
    return tuple(parts)


def label_names(labels):
    """The names of a model's outputs, checked.

    Args:
        labels: list of str, or int, their number, which names them "0", "1", ...

    Returns:
        list of str.

    Raises:
        ValueError: if there are fewer than two, or one occurs twice.
    """
    names = list(map(str, range(labels) if isinstance(labels, int) else labels))
    if len(names) < 2 or len(set(names)) < len(names):
        raise ValueError(
            "`labels` must be two or more different names, or their number. "
            f"Received: {names}."
        )
    return names


def label_ids(y, labels, name="y"):
    """Class numbers from class names or numbers, checked.

    Args:
        y: list, array or series (B,) of str among `labels`, or of int.
        labels: tuple of str, the names, in the order of the outputs.
        name: str, what to call `y` in a message.

    Returns:
        int64 array (B,).

    Raises:
        ValueError: if a label is unknown or out of range.
    """
    y = y.to_numpy() if hasattr(y, "to_numpy") else y
    y = y.numpy() if isinstance(y, tf.Tensor) else np.asarray(y)
    if y.dtype.kind == "O" and not any(isinstance(v, (str, bytes)) for v in y.ravel()):
        y = np.array(y.tolist())
    if y.dtype.kind in "OSUT":
        y = np.array([v.decode() if isinstance(v, bytes) else v for v in y.ravel()])
        known = {label: index for index, label in enumerate(labels)}
        unknown = sorted({str(value) for value in y.tolist()} - set(known))
        if unknown:
            raise ValueError(
                f"`{name}` must hold labels of the model. Received: {unknown[:5]}. The "
                f"labels are {list(labels)}."
            )
        return np.array([known[value] for value in y.tolist()], np.int64)
    if y.dtype.kind == "f" and not np.array_equal(y, y.astype(np.int64)):
        raise ValueError(
            f"`{name}` must hold class numbers. Received: fractions, such as "
            f'{y[y != y.astype(np.int64)].ravel()[0]}. Use `task="text_regressor"`?'
        )
    y = y.astype(np.int64).reshape(-1)
    wrong = y[(y < 0) | (y >= len(labels))]
    if wrong.size:
        raise ValueError(
            f"`{name}` must be in [0, {len(labels)}). Received: {wrong[0]}, for the "
            f"labels {list(labels)}."
        )
    return y


def label_tensor(y, labels):
    """`label_ids` for a tensor in a tf.data pipeline; a bad label stops the run."""
    if y.dtype == tf.string:
        matches = tf.equal(tf.reshape(y, (-1, 1)), tf.constant(labels)[None])
        message = f"`y` must hold labels of the model, which are {list(labels)}."
        check = tf.debugging.Assert(
            tf.reduce_all(tf.reduce_any(matches, axis=1)), [message, y]
        )
        with tf.control_dependencies([check]):
            return tf.argmax(tf.cast(matches, tf.int32), axis=1)
    given = tf.reshape(y, (-1,))
    y = tf.cast(given, tf.int64)
    check = tf.debugging.Assert(
        tf.reduce_all(
            (y >= 0) & (y < len(labels)) & (tf.cast(y, given.dtype) == given)
        ),
        [f"`y` must be in [0, {len(labels)}), the labels being {list(labels)}.", y],
    )
    with tf.control_dependencies([check]):
        return tf.identity(y)
