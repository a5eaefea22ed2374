"""The rows that `fit` holds out for validation."""

import numbers

import numpy as np
import tensorflow as tf

from zoo.data.held_out import held_out_rows
from zoo.tasks.inputs.text_input import as_columns
from zoo.tasks.inputs.text_sources import plain_column


def check_share(share):
    """`validation_split` as a float in [0, 1), checked; 0 for None."""
    number = isinstance(share, numbers.Real) and not isinstance(share, bool)
    if share is not None and not (number and 0 <= share < 1):
        raise ValueError(
            "`validation_split` must be a number in [0, 1), the share of the rows that "
            f"are held out. Received: {share!r:.60}. Leave it out for none."
        )
    return float(share or 0)


def check_parts(data):
    """Raises ValueError unless a tuple of `validation_data` has 1 to 3 parts."""
    if isinstance(data, tuple) and len(data) not in (1, 2, 3):
        raise ValueError(
            "`validation_data` must be a dataset or a tuple of texts, labels and, "
            f"optionally, weights. Received: {len(data)} parts. Leave it out for none."
        )


def split_rows(data, share, classes=None):
    """Splits rows for validation off.

    As many rows are held out as in Keras, which takes the last ones. Here they are the
    last ones of each class, so that all classes have their shares. Without classes,
    they are those of Keras.

    Args:
        data: tuple of texts, targets and weights. Targets and weights may be None.
        share: float in (0, 1).
        classes: int (N,), the class of each row, or None.

    Returns:
        two tuples like `data`, for training and for validation.

    Raises:
        ValueError: if a part would have no rows, or the texts are a dataset.
    """
    x, *others = data
    if isinstance(x, tf.data.Dataset):
        raise ValueError(
            "`validation_split` needs arrays. Received: a dataset. Use its `take` and "
            "`skip`, and `validation_data`."
        )
    count = len(as_columns(x)[0])
    cut = int(count * (1 - share))
    if not 0 < cut < count:
        raise ValueError(
            "`validation_split` must leave rows on both sides. Received: "
            f"{share} of {count} rows. Use `validation_data`."
        )
    held_out = np.arange(cut, count)
    if classes is not None:
        held_out = held_out_rows(classes, count - cut)
    train = np.delete(np.arange(count), held_out)

    def part(value, rows):
        value = plain_column(value)
        value = value.to_numpy() if hasattr(value, "to_numpy") else value
        if isinstance(value, (list, tuple)):
            return [value[row] for row in rows]
        return tf.gather(value, rows) if tf.is_tensor(value) else value[rows]

    parts = []
    for rows in (train, held_out):
        pair = isinstance(x, tuple)
        texts = tuple(part(c, rows) for c in x) if pair else part(x, rows)
        parts.append((texts, *(None if o is None else part(o, rows) for o in others)))
    return tuple(parts)
