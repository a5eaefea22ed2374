"""The base class of all tokenizers: framing of rows, inputs of models, and files."""

import base64
import json
from typing import NamedTuple

import tensorflow as tf

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
            file holds any plain value, such as tokens with line breaks. Any other file
            holds bytes, which `get_config` gives in base64.
        tokens_are_words: bool, whether tokens are the words themselves, as strings.
        unwritten_ids: tuple of int, tokens that a generated text must not have.
        lossless: bool, whether `detokenize` restores the white space of a text.
        end_id: int, the token that ends a text; None if a tokenizer has none.
        start_id: int, what a language model reads first in a text without tokens.

    Inputs:
        texts: str, or a list, array or tensor (B,) of strings.

    Returns:
        tf.RaggedTensor (B, None) of tokens. For a single str, a tensor (None,).
    """

    framing = Framing()
    unwritten_ids = ()
    lossless = False
    start_id = end_id = None
    files = {}
    tokens_are_words = False

    @property
    def target_pad_id(self):
        """The id that pads rows of texts that a model shall write."""
        return self.pad_id

    def inputs(self, features):
        """Makes the inputs of a model from padded rows of tokens.

        Args:
            features: dict of tensors (B, L): tokens; padding_mask int32, 1 = token;
                and, for rows of several texts, segment_ids int32, the number of the
                text.

        Returns:
            dict of int32 (B, L, ...), with padding_mask; by default it and token_ids.
        """
        return {
            "token_ids": features["tokens"],
            "padding_mask": features["padding_mask"],
        }

    def detokenize_unfinished(self, ids):
        """Joins the ids of texts that are not at their end; see `detokenize`."""
        return self.detokenize(ids)

    def id_to_token(self, id):
        """Returns the token of an id; by default that of the attribute `vocabulary`.

        Args:
            id: int.

        Returns:
            str.

        Raises:
            ValueError: if there is no such id.
        """
        if not 0 <= id < len(self.vocabulary):
            raise ValueError(
                f"`id` must be in [0, {len(self.vocabulary)}). Received: id={id}."
            )
        return self.vocabulary[id]

    def get_config(self):
        """Returns the constructor's arguments as plain values, with all content."""
        raise NotImplementedError

    @classmethod
    def from_config(cls, config):
        """Builds the tokenizer that `get_config` described."""
        return cls(**config)

    def __reduce__(self):
        """Pickles and copies the tokenizer by its configuration."""
        return type(self).from_config, (self.get_config(),)

    def to_files(self):
        """Separates the configuration into plain values and files.

        Returns:
            dict of arguments, and dict of file name to bytes.

        Raises:
            ValueError: if an entry of a `.txt` file has a line break.
        """
        arguments, contents = self.get_config(), {}
        for name, file in self.files.items():
            if arguments.get(name) is not None:
                contents[file] = _encode(arguments.pop(name), file)
        return arguments, contents

    @classmethod
    def from_files(cls, arguments, contents):
        """Builds the tokenizer that `to_files` described.

        Args:
            arguments: dict of plain values.
            contents: dict of file name to bytes.

        Returns:
            The tokenizer.
        """
        found = {
            name: _decode(contents[file], file)
            for name, file in cls.files.items()
            if file in contents
        }
        return cls(**arguments, **found)


def register_tokenizer(kind):
    """Registers a class of tokenizers by its name, and returns the class."""
    KINDS[kind.__name__] = kind
    return kind


def restore_tokenizer(description, contents=None):
    """Builds a tokenizer from its description.

    Args:
        description: dict of class_name and arguments.
        contents: dict of file name to bytes, see `Tokenizer.from_files`.

    Returns:
        `Tokenizer`.

    Raises:
        ValueError: if the class is unknown.
    """
    arguments = dict(description)
    name = arguments.pop("class_name", None)
    if name not in KINDS:
        raise ValueError(
            f"`class_name` must be one of {sorted(KINDS)}. Received: {name!r}. "
            "Register the family that the tokenizer belongs to first."
        )
    return KINDS[name].from_files(arguments, contents or {})


def describe_tokenizer(tokenizer):
    """Returns the dict that `restore_tokenizer` reads; None for None."""
    if tokenizer is None:
        return None
    return {"class_name": type(tokenizer).__name__, **tokenizer.get_config()}


def _encode(value, file):
    if file.endswith(".json"):
        return (json.dumps(value, ensure_ascii=False) + "\n").encode("utf-8")
    if not file.endswith(".txt"):
        return base64.b64decode(value)
    broken = [entry for entry in value if "\n" in entry]
    if broken:
        raise ValueError(
            f"An entry of {file} must not have a line break. Received: {broken[0]!r}. "
            "Use a tokenizer that keeps its vocabulary in a JSON file."
        )
    return "".join(f"{entry}\n" for entry in value).encode("utf-8")


def _decode(content, file):
    if file.endswith(".json"):
        return json.loads(content)
    if not file.endswith(".txt"):
        return content
    return tuple(content.decode("utf-8").split("\n")[:-1])
