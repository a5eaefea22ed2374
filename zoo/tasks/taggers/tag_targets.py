"""Targets of taggers, a tag or the probabilities of all tags for every word."""

import numpy as np
import tensorflow as tf

from zoo.tasks.inputs.targets import label_ids, probability_rows
from zoo.tasks.inputs.text_input import check_targets
from zoo.text.white_space import split_words


def check_words(tokenizer, columns, rows):
    """Raises ValueError unless there is a label for every word."""
    check_targets(columns, rows)
    words = tokenizer.split(columns[0])[0].row_lengths().numpy().tolist()
    for row, (count, labels) in enumerate(zip(words, rows, strict=True)):
        if count != len(labels):
            raise ValueError(
                "A sentence must have a label for every word. Received: "
                f"{len(labels)} labels for {count} words in row {row}. Words are "
                "separated by white space."
            )


def encode_tags(rows, labels):
    """Targets of words, checked.

    Args:
        rows: list with a list for each sentence, of tags or of rows of probabilities.
        labels: tuple of str (T,).

    Returns:
        array of str (B,), the class numbers of the words of each sentence. If there are
        probabilities, tf.RaggedTensor float32 (B, None, T), where a tag has 1.

    Raises:
        ValueError: if a tag is unknown, or probabilities are wrong.
    """
    soft = [
        any(isinstance(word, (list, tuple, np.ndarray)) for word in r) for r in rows
    ]
    if not any(soft):
        flat = [label for row in rows for label in row]
        numbers = iter(label_ids(flat, labels).tolist() if flat else ())
        texts = [" ".join(str(next(numbers)) for _ in row) for row in rows]
        return np.array(texts, object)
    parts = [
        _probabilities(row, labels, f"y[{number}]")
        if soft[number]
        else np.eye(len(labels), dtype="float32")[label_ids(row, labels) if row else []]
        for number, row in enumerate(rows)
    ]
    lengths = [len(row) for row in rows]
    return tf.RaggedTensor.from_row_lengths(np.concatenate(parts), lengths)


def _probabilities(row, labels, name):
    """The probabilities of the tags of the words of a sentence, float32 (W, T)."""
    found = probability_rows(row, labels, name)
    if found is None:
        raise ValueError(
            f"`{name}` must hold a tag for every word, or {len(labels)} probabilities "
            f"for every word. Received: {row!r:.80}."
        )
    return found


def dense_tags(targets, positions):
    """Targets of a batch, and whether a place has a word.

    Args:
        targets: see `encode_tags`, strings as a tensor.
        positions: int32 (B, W), -1 for padding.

    Returns:
        int32 (B, W), -1 for padding; or float32 (B, W, T), 0 for padding. And float32
        (B, W), 0 or 1.
    """
    shape = tf.shape(positions)
    if isinstance(targets, tf.RaggedTensor):
        size = targets.shape[-1]
        dense = targets.to_tensor(0.0, shape=tf.concat([shape, [size]], 0))
        dense = tf.where((positions >= 0)[..., None], dense, 0.0)
        return dense, tf.cast(positions >= 0, tf.float32)
    numbers = numbers_of_words(targets, tf.int32)
    dense = tf.where(positions >= 0, numbers.to_tensor(-1, shape=shape), -1)
    return dense, tf.cast(dense >= 0, tf.float32)


def numbers_of_words(texts, dtype=tf.float32):
    """Numbers that are separated by white space, tf.RaggedTensor, of strings (B,)."""
    words = split_words(texts)[0]
    return words.with_values(tf.strings.to_number(words.values, dtype))
