"""Words for models with several inputs: word ids, characters and word pieces."""

import tensorflow as tf

from zoo.text.tokenizer import Tokenizer, describe_tokenizer, restore_tokenizer
from zoo.text.words.character_tokenizer import CharacterTokenizer
from zoo.text.words.splitting import WordSplitter
from zoo.text.words.word_tokenizer import WordTokenizer


class TaggerTokenizer(WordSplitter):
    """Splits texts into words, and makes every input that a tagger reads.

    The inputs are word ids, character ids and the inputs of language models.

    Args:
        vocabulary: path or sequence of str, see `WordTokenizer`; None for no word ids.
        lowercase, digits_to_zero, unknown: see `WordTokenizer`.
        max_characters: int, see `CharacterTokenizer`; None for no character ids.
        others: dict of name to the tokenizer of a language model that the tagger reads:
            a tokenizer of words, or `WordPieceTokenizer`.

    Returns:
        string words, see `Tokenizer`.

    Raises:
        TypeError: if `others` has a value that is not a tokenizer.
        ValueError: see `WordTokenizer` and `CharacterTokenizer`.

    Example:
        >>> tokenizer = TaggerTokenizer(["the", "cat"])
        >>> features = {"tokens": [["the", "cat"]], "padding_mask": [[1, 1]]}
        >>> sorted(tokenizer.inputs(features))
        ['character_ids', 'padding_mask', 'word_ids']
    """

    def __init__(
        self,
        vocabulary=None,
        lowercase=False,
        digits_to_zero=False,
        unknown="unk",
        max_characters=50,
        others=None,
    ):
        super().__init__()
        self.words = self.characters = None
        if vocabulary is not None:
            self.words = WordTokenizer(vocabulary, lowercase, digits_to_zero, unknown)
        if max_characters is not None:
            self.characters = CharacterTokenizer(max_characters)
        self.others = {
            name: _restored(tokenizer) for name, tokenizer in (others or {}).items()
        }
        for name, tokenizer in self.others.items():
            if not isinstance(tokenizer, Tokenizer):
                raise TypeError(
                    "`others` must hold tokenizers of words or word pieces. Received: "
                    f"{type(tokenizer).__name__} as {name!r}. Give an instance."
                )

    files = {"vocabulary": "vocabulary.txt"}

    @property
    def vocabulary_size(self):
        """The number of word ids, special ones included; 0 without a vocabulary."""
        return self.words.vocabulary_size if self.words else 0

    def inputs(self, features):
        """See `Tokenizer.inputs`; those of a model have its name as a prefix."""
        features = {k: tf.convert_to_tensor(v) for k, v in features.items()}
        tokens, mask = features["tokens"], features["padding_mask"]
        found = {}
        for tokenizer in (self.words, self.characters):
            if tokenizer:
                found |= tokenizer.inputs(features)
        for name, tokenizer in self.others.items():
            if tokenizer.tokens_are_words:
                words = with_markers(tokenizer, tokens, mask)
                inputs = tokenizer.inputs({**features, "tokens": words})
                inputs.pop("padding_mask")
            else:
                inputs = in_pieces(tokenizer, tokens, mask)
            found |= {f"{name}_{key}": value for key, value in inputs.items()}
        return {**found, "padding_mask": mask}

    def get_config(self):
        """Returns the constructor's arguments, with the content of the vocabulary."""
        config = self.words.get_config() if self.words else {}
        length = self.characters.max_characters if self.characters else None
        config["max_characters"] = length
        if self.others:
            config["others"] = {
                name: describe_tokenizer(tokenizer)
                for name, tokenizer in self.others.items()
            }
        return config

    def to_files(self):
        """See `Tokenizer.to_files`; those of a model have its name as a prefix."""
        arguments, contents = super().to_files()
        for name, tokenizer in self.others.items():
            description, files = tokenizer.to_files()
            class_name = type(tokenizer).__name__
            arguments["others"][name] = {"class_name": class_name, **description}
            contents |= {f"{name}_{file}": content for file, content in files.items()}
        return arguments, contents

    @classmethod
    def from_files(cls, arguments, contents):
        """Builds the tokenizer that `to_files` described."""
        tokenizers = {}
        for name, description in (arguments.get("others") or {}).items():
            prefix = f"{name}_"
            files = {
                file.removeprefix(prefix): content
                for file, content in contents.items()
                if file.startswith(prefix)
            }
            tokenizers[name] = restore_tokenizer(description, files)
        return super().from_files({**arguments, "others": tokenizers}, contents)


def with_markers(tokenizer, words, mask):
    """Replaces the markers of words (B, L) by those of another tokenizer."""
    markers = tokenizer.cls_id, tokenizer.sep_id
    if markers == (WordSplitter.cls_id, WordSplitter.sep_id):
        return words
    column, count = _columns(mask)
    words = tf.where((column == 0) & (count > 0), markers[0], words)
    return tf.where((column > 0) & (column == count - 1), markers[1], words)


def in_pieces(tokenizer, words, mask):
    """Splits rows of words (B, L) into token_ids int32 (B, P), `[CLS] pieces [SEP]`.

    Also word_positions int32 (B, L), one more than the position of a word's first
    piece, 0 at padding.
    """
    mask = tf.cast(mask, tf.int32)
    column, count = _columns(mask)
    inner = (column > 0) & (column < count - 1)
    pieces = tokenizer.pieces(tf.boolean_mask(words, inner))
    numbers = tf.cast(pieces.row_lengths(), tf.int32)
    lengths = tf.tensor_scatter_nd_update(mask, tf.where(inner), numbers)
    inside = tf.reduce_sum(tf.where(inner, lengths, 0), 1)
    ids = tf.concat(
        [
            tf.fill([tf.shape(mask)[0], 1], tokenizer.cls_id),
            tf.RaggedTensor.from_row_lengths(pieces.values, inside),
            tf.fill([tf.shape(mask)[0], 1], tokenizer.sep_id),
        ],
        axis=1,
    )
    places = (tf.cumsum(lengths, axis=1) - lengths + 1) * mask
    return {"token_ids": ids.to_tensor(tokenizer.pad_id), "word_positions": places}


def _columns(mask):
    """Returns the column numbers (L,) and the tokens per row (B, 1), int32."""
    mask = tf.cast(mask, tf.int32)
    return tf.range(tf.shape(mask)[1]), tf.reduce_sum(mask, 1, keepdims=True)


def _restored(tokenizer):
    """Returns the tokenizer, or builds it from a dict of its class and arguments."""
    if type(tokenizer) is CharacterTokenizer:
        # Spelling depends on `max_characters` only.
        return CharacterTokenizer(tokenizer.max_characters)
    return restore_tokenizer(tokenizer) if isinstance(tokenizer, dict) else tokenizer
