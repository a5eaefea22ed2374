"""Vocabularies in files and lists: one token per line, the line number is the id."""

import collections.abc
import os

import numpy as np
import tensorflow as tf

from zoo.files.path_checks import existing_file
from zoo.files.whole_files import replacing


class Vocabulary:
    """A list of tokens in the order of their ids, and a dict from token to id.

    Args:
        source: path of a UTF-8 text file with one token per line, or a sequence of str.
            White space around a token is removed.
        required: tokens that the vocabulary must include.

    Attributes:
        tokens: tuple of str; the index is the id.
        ids: dict of token to id.

    Raises:
        FileNotFoundError: if the file does not exist.
        TypeError: if `source` is neither a path nor a sequence of str.
        ValueError: if a token is empty or repeated, or if a required token is missing.
    """

    def __init__(self, source, required=()):
        tokens = _read(source) if isinstance(source, (str, os.PathLike)) else source
        if not isinstance(tokens, collections.abc.Sequence):
            tokens = [tokens]
        wrong = [token for token in tokens if not isinstance(token, str)]
        if wrong:
            raise TypeError(
                "`vocabulary` must be a path or a sequence of str. Received: "
                f"{wrong[0]!r}. Decode bytes with `.decode()`, arrays with `.tolist()`."
            )
        self.tokens = tuple(map(strip_token, tokens))
        self.ids = {token: i for i, token in enumerate(self.tokens)}
        self._check(required)

    def _check(self, required):
        if "" in self.ids:
            raise ValueError(
                "`vocabulary` must not have empty tokens. Received an empty one at "
                f"id {self.ids['']}. Remove the empty line, or write a token into it."
            )
        if len(self.ids) < len(self.tokens):
            token, first = next(
                (t, i) for i, t in enumerate(self.tokens) if self.ids[t] != i
            )
            raise ValueError(
                "`vocabulary` must not have repeated tokens. Received "
                f"{token!r} at ids {first} and {self.ids[token]}. Remove or rename "
                "one of the two lines."
            )
        missing = [token for token in required if token not in self.ids]
        if missing:
            raise ValueError(
                f"`vocabulary` must include the special tokens {list(required)}. "
                f"Received {len(self.tokens)} tokens without {missing}. Add them, or "
                "name the vocabulary's own special tokens in the arguments."
            )


def strip_token(line):
    """A line of a vocabulary without white space at its ends."""
    # Google's Chinese vocabulary has the token U+2028, which is white space. It is
    # kept, though no text has it as a token.
    return line.strip() or line.strip(" \t\r\n")


def constant(values):
    """A tensor of int32, uint8 or strings that every graph can read."""
    with tf.init_scope(), tf.device("CPU:0"):
        return tf.constant(values)


def lookup(keys, default, values=None):
    """A table of int or str to int32, or str like `default`, for exported models."""
    values = range(len(keys)) if values is None else values
    with tf.init_scope(), tf.device("CPU:0"):
        keys = tf.constant(keys if isinstance(keys, np.ndarray) else [*keys])
        values = tf.constant([*values], tf.constant(default).dtype)
        initializer = tf.lookup.KeyValueTensorInitializer(keys, values)
        return tf.lookup.StaticHashTable(initializer, default)


def save_vocabulary(vocabulary, path):
    """Writes a vocabulary to a text file, one token per line; whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text("".join(f"{token}\n" for token in vocabulary), "utf-8")


def _read(path):
    way = "Give the path of a vocab.txt file, or a list of tokens."
    path = existing_file(path, "`vocabulary` must be an existing file.", way)
    lines = path.read_bytes().decode("utf-8").split("\n")
    return lines[:-1] if not strip_token(lines[-1]) else lines
