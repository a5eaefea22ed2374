"""The base class of all tokenizers: framing of rows, inputs of models, and files."""

from typing import NamedTuple

import tensorflow as tf

from zoo.checks.ranges import check_choice
from zoo.ragged_rows import row_ids
from zoo.text import offsets
from zoo.text.contents import decode, encode, without_paths
from zoo.text.white_space import split_words

# Name to class, see `register_tokenizer`.
KINDS = {}


class Framing(NamedTuple):
    """The special tokens of a row: before, between and after its texts.

    Args:
        begin: tuple of tokens before the first text.
        between: tuple of tokens between two texts. They belong to the first of the two.
        end: tuple of tokens after the last text.
    """

    begin: tuple = ()
    between: tuple = ()
    end: tuple = ()


class Tokenizer(tf.Module):
    """The base class of tokenizers: texts to ragged rows of tokens.

    A subclass defines `__call__`, `pad_id`, `vocabulary_size` and `get_config`. It also
    defines `framing` if its rows have special tokens, and `inputs` if a model reads
    more than tokens and their mask.

    Attributes:
        framing: `Framing`, by default without special tokens.
        files: dict of the name of a constructor argument to the name of its file in a
            preset directory. A `.txt` file holds a list of str, one per line. A `.json`
            file holds any plain value but a str, such as tokens with line breaks. Any
            other file holds bytes, which `get_config` gives in base64.
        tokens_are_words: bool, whether tokens are the words themselves, as strings.
        unwritten_ids: tuple of int, tokens that a generated text must not have.
        lossless: bool, whether `detokenize` restores the white space of a text.
        end_id: int, the token that ends a text; None if a tokenizer has none.
        start_id: int, what a language model reads first in a text without tokens.
        unknown_id: int, the token of a word without tokens, by default `pad_id`.
        mask_id: int, the token that a masked language model predicts; None for none.

    Inputs:
        texts: str, or a list, array or tensor (B,) of strings.

    Returns:
        tf.RaggedTensor (B, None) of tokens. For a single str, a tensor (None,).
    """

    framing = Framing()
    unwritten_ids = ()
    lossless = False
    start_id = end_id = unknown_id = mask_id = None
    split = staticmethod(split_words)
    files = {}
    tokens_are_words = False
    word_prefix = 0  # the number of tokens before the first piece of each word

    @property
    def target_pad_id(self):
        """The id that pads rows of texts that a model shall write."""
        return self.pad_id

    def inputs(self, features):
        """Makes the inputs of a model from padded rows of tokens.

        Args:
            features: dict of (B, L): tokens; padding_mask int32, 1 = token; and, for
                rows of several texts, segment_ids int32, the number of the text.

        Returns:
            dict of int32 (B, L, ...), with padding_mask; by default it and token_ids.
        """
        return {
            "token_ids": features["tokens"],
            "padding_mask": features["padding_mask"],
        }

    def pieces(self, words):
        """The tokens of words (N,), ragged (N, None), at least one for each word."""
        tokens = self(words)
        empty = tf.cast(tokens.row_lengths() == 0, tf.int64)
        unknown = self.pad_id if self.unknown_id is None else self.unknown_id
        unknown = tf.fill([tf.reduce_sum(empty)], unknown)
        return tf.concat([tokens, tf.RaggedTensor.from_row_lengths(unknown, empty)], 1)

    def row_pieces(self, words):
        """The tokens of the words of texts (B, None), ragged; by default `pieces`."""
        return self.pieces(words.values)

    def tokenize_with_offsets(self, texts, unit="bytes"):
        """Returns tokens and their positions in the original texts.

        Args:
            texts: str, or a list, array or tensor (B,) of strings.
            unit: "bytes" of UTF-8, or "characters" as Python counts them.

        Returns:
            tokens: tf.RaggedTensor (B, None).
            starts, ends: tf.RaggedTensor int32 (B, None). A token is
                `text[start:end]`, or a part of it, see `byte_offsets`. For a single
                str, all are tensors (None,).

        Raises:
            ValueError: if `unit` is neither of the two.
        """
        way = "Python strings count characters."
        check_choice("unit", unit, ("bytes", "characters"), way)
        texts = as_strings(texts)
        batch = tf.reshape(texts, [-1])
        tokens, *spans = self.byte_offsets(batch)
        if unit == "characters":
            spans = [offsets.to_characters(span, batch) for span in spans]
        parts = (tokens, *(tf.cast(span, tf.int32) for span in spans))
        return parts if texts.shape.rank else tuple(part.values for part in parts)

    def byte_offsets(self, texts):
        """Returns tokens, starts and ends in bytes, ragged (B, None).

        By default the texts are split on white space, and each token has the position
        of its whole word.
        """
        words, starts, ends = self.split(texts)
        pieces = self.row_pieces(words)
        splits = tf.gather(pieces.row_splits, words.row_splits)
        first = tf.cast(starts.values, tf.int64)
        size = tf.cast(ends.values, tf.int64) - first
        begins, limits = self.offsets_in_words(pieces, size)
        owner = tf.gather(first, row_ids(pieces))
        return tuple(
            tf.RaggedTensor.from_row_splits(part, splits)
            for part in (pieces.values, owner + begins, owner + limits)
        )

    def offsets_in_words(self, pieces, sizes):
        """Where pieces (N, None) begin and end in words of `sizes` (N,) bytes."""
        sizes = tf.gather(sizes, row_ids(pieces))
        return tf.zeros_like(sizes), sizes

    def detokenize_unfinished(self, ids):
        """Joins the ids of texts that are not at their end; see `detokenize`."""
        return self.detokenize(ids)

    def id_to_token(self, id, target=False):
        """Returns the token of an id, str; with `target`, of texts that are written."""
        tokens = self.all_tokens(target)
        return tokens[checked_id(id, len(tokens))]

    def all_tokens(self, target=False):
        """Returns all tokens in the order of their ids; by default `vocabulary`."""
        return self.vocabulary

    def get_config(self):
        """Returns the constructor's arguments as plain values, with all content."""
        raise NotImplementedError

    @classmethod
    def from_config(cls, config):
        """Builds the tokenizer that `get_config` described."""
        return cls(**without_paths(config, cls.files))

    def __reduce__(self):
        """Pickles and copies the tokenizer by its configuration."""
        return type(self).from_config, (self.get_config(),)

    def to_files(self):
        """Returns a dict of plain arguments, and a dict of file name to bytes."""
        arguments, contents = self.get_config(), {}
        for name, file in self.files.items():
            if arguments.get(name) is not None:
                contents[file] = encode(arguments.pop(name), file)
        return arguments, contents

    @classmethod
    def from_files(cls, arguments, contents):
        """Builds the tokenizer that `to_files` described."""
        found = {
            name: decode(contents[file], file)
            for name, file in cls.files.items()
            if file in contents
        }
        return cls(**without_paths(arguments, cls.files), **found)


def checked_id(id, size):
    """Returns an id, or raises ValueError if there is no such one."""
    if not 0 <= id < size:
        raise ValueError(f"`id` must be in [0, {size}). Received: id={id}.")
    return id


def as_strings(texts):
    """Texts as a string tensor, () or (B,); TypeError for other values."""
    try:
        tensor = tf.convert_to_tensor(texts, tf.string)
    except (TypeError, ValueError) as error:
        raise TypeError(
            "`texts` must be a str, or a list, array or tensor (B,) of strings. "
            f"Received: {type(texts).__name__}. Convert them to str first."
        ) from error
    if tensor.shape.rank not in (0, 1):
        raise ValueError(
            "`texts` must have zero dimensions or one dimension. Received: shape="
            f"{tensor.shape}. Reshape them to (B,)."
        )
    return tensor


def register_tokenizer(kind):
    """Registers a class of tokenizers by its name, and returns the class."""
    KINDS[kind.__name__] = kind
    return kind


def restore_tokenizer(description, contents=None):
    """Builds a tokenizer from its class_name, its arguments and its files."""
    arguments = dict(description)
    name = arguments.pop("class_name", None)
    way = "Register the family that the tokenizer belongs to first."
    check_choice("class_name", name, sorted(KINDS), way)
    return KINDS[name].from_files(arguments, contents or {})


def describe_tokenizer(tokenizer):
    """Returns the dict that `restore_tokenizer` reads; None for None."""
    if tokenizer is None:
        return None
    return {"class_name": type(tokenizer).__name__, **tokenizer.get_config()}
