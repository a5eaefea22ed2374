"""What tokenizers of a source and a target have in common."""

import os

import tensorflow as tf

from zoo.files.path_checks import existing_file
from zoo.ragged_rows import before, keep
from zoo.text.tokenizer import Tokenizer


class SourceTargetTokenizer(Tokenizer):
    """The base class of tokenizers for models that read a source and write a target.

    A subclass makes its two sides for `_set_sides`. It defines `_encode`, the ids of
    texts of a side, and `detokenize`, which joins the ids of a target to texts again.

    Attributes:
        pad_id, start_id, end_id: ints. A model reads `start_id` before the first token
            of a target, and ends the target with `end_id`.
        target_vocabulary_size: int, or None if both sides share one vocabulary.
    """

    def _set_sides(self, source, target=None):
        """Sets both sides and their sizes; without a target, they share one side."""
        self._source = source
        self._target = source if target is None else target
        self.vocabulary_size = self._count(source)
        self.target_vocabulary_size = None if target is None else self._count(target)

    def _count(self, side):
        """The number of tokens of a side, int."""
        return len(side.tokens)

    def __call__(self, texts):
        """Returns the ids of the source; see the class."""
        return self._encode(self._source, texts)

    def targets(self, texts):
        """Returns the ids of texts that a model shall write; as `__call__`."""
        return self._encode(self._target, texts)

    def all_tokens(self, target=False):
        """The tokens of the source, or of the target; see `Tokenizer`."""
        return (self._target if target else self._source).tokens

    def written(self, ids):
        """The tokens of rows before their first end token, without padding, ragged."""
        ids = before(tf.cast(ids, tf.int32), self.end_id)
        return keep(ids, ids.values != self.pad_id)


def read_entries(entries, name):
    """The entries of a file or a list, which may have spaces and repetitions."""
    if not isinstance(entries, (str, os.PathLike)):
        entries = tuple(entries)
        wrong = [entry for entry in entries if not isinstance(entry, str)]
        if wrong:
            raise TypeError(
                f"`{name}` must be a path or a sequence of str. Received: {wrong[0]!r}."
            )
        return entries
    path = existing_file(entries, f"`{name}` must be an existing file.")
    try:
        return tuple(path.read_bytes().decode("utf-8").removesuffix("\n").split("\n"))
    except UnicodeDecodeError as error:
        raise ValueError(f"`{path}` must be UTF-8. Received: {error}.") from error
