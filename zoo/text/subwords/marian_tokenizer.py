"""The texts of Marian's translators: pieces of SentencePiece, ids of a vocabulary."""

import base64

import tensorflow as tf

from zoo.ragged_rows import before, keep
from zoo.text.subwords.sentencepiece import load_model, read_model
from zoo.text.subwords.sentencepiece_model import SPACE
from zoo.text.subwords.source_target import SourceTargetTokenizer
from zoo.text.tokenizer import Framing
from zoo.text.vocabulary import constant, lookup

END, UNKNOWN, PAD = "</s>", "<unk>", "<pad>"
CODE = r"(?s)\A(>>.*?<<)"  # the language that a text shall be translated to


class MarianTokenizer(SourceTargetTokenizer):
    """Splits texts into pieces, which have the ids of a vocabulary.

    The ids of the SentencePiece models are not used. A code such as `>>fra<<` at the
    very beginning of a text is one token. Rows end with `</s>`. The decoder starts with
    `<pad>`.

    Source: `MarianTokenizer` of Hugging Face. It also finds the special tokens in a
    text: with it, a text that contains `</s>` ends there. Here they are plain text.

    Args:
        source_model, target_model: bytes, the contents of `source.spm` and
            `target.spm`; or their paths; or base64, as in `get_config`.
        vocabulary: dict of piece to id, the content of `vocab.json`. The ids are 0 to
            V - 1.
        target_vocabulary: dict of piece to id, for the target, or None if both sides
            share one vocabulary.

    Attributes:
        pad_id, start_id, end_id, unknown_id: ints, the same on both sides.

    Returns:
        int32 ids, without the end, see `Tokenizer`.

    Raises:
        FileNotFoundError: if there is no file at a path.
        ValueError: if a model cannot be read, if the ids of a vocabulary are not 0 to
            V - 1, if it lacks `</s>`, `<unk>` or `<pad>`, or if both vocabularies have
            these tokens at different ids.

    Example:
        >>> from zoo.text import train_sentencepiece
        >>> model = train_sentencepiece(["a cat", "a dog"], 270)
        >>> vocabulary = {"<pad>": 0, "</s>": 1, "<unk>": 2, "▁a": 3}
        >>> MarianTokenizer(model, model, vocabulary)("a").numpy().tolist()
        [3]
    """

    files = {
        "source_model": "source.spm",
        "target_model": "target.spm",
        "vocabulary": "vocab.json",
        "target_vocabulary": "target_vocab.json",
    }

    def __init__(self, source_model, target_model, vocabulary, target_vocabulary=None):
        super().__init__()
        self._models = read_model(source_model), read_model(target_model)
        source = target = order_pieces(vocabulary, "vocabulary")
        if target_vocabulary:
            target = order_pieces(target_vocabulary, "target_vocabulary")
        lists = source, target
        marks = [tuple(map(side.index, (PAD, END, UNKNOWN))) for side in lists]
        if marks[0] != marks[1]:
            raise ValueError(
                "Both vocabularies must have the same special tokens. Received: ids "
                f"{marks[0]} and {marks[1]} of <pad>, </s> and <unk>."
            )
        self.pad_id, self.end_id, self.unknown_id = marks[0]
        self.start_id = self.pad_id
        self.framing = Framing((), (self.end_id,), (self.end_id,))
        sides = zip(self._models, lists, strict=True)
        self._set_sides(*(_Side(*side, self.unknown_id) for side in sides))
        if not target_vocabulary:
            self.target_vocabulary_size = None
        self._spelling = constant(target)

    def _encode(self, side, texts):
        """The ids of texts on one side."""
        texts = tf.convert_to_tensor(texts, tf.string)
        if texts.shape.rank == 0:
            return self._encode(side, texts[None])[0]
        texts = tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8")
        coded = tf.strings.regex_full_match(texts, CODE + ".*")
        codes = tf.strings.regex_replace(
            texts, CODE + ".*", r"\1", replace_global=False
        )
        rest = tf.strings.regex_replace(texts, CODE, "", replace_global=False)
        codes = tf.RaggedTensor.from_row_lengths(
            tf.boolean_mask(codes, coded), tf.cast(coded, tf.int64)
        )
        found = tf.concat([codes, side.pieces.tokenize(rest)], axis=1)
        return found.with_values(side.ids.lookup(found.values))

    def detokenize(self, ids):
        """Joins ids (B, T) of the target, up to the first end token, to texts (B,)."""
        ids = before(ids, self.end_id)
        known = (ids.values != self.pad_id) & (ids.values != self.unknown_id)
        ids = keep(ids, known)
        pieces = ids.with_values(tf.gather(self._spelling, ids.values))
        texts = self._target.pieces.detokenize(pieces)
        # In pieces that only the model of the source has.
        texts = tf.strings.regex_replace(texts, SPACE, " ")
        return tf.strings.strip(texts)

    def get_config(self):
        """The models in base64, and the vocabularies."""
        models = [base64.b64encode(model).decode() for model in self._models]
        source, target = (
            {piece: number for number, piece in enumerate(side.tokens)}
            for side in (self._source, self._target)
        )
        return {
            "source_model": models[0],
            "target_model": models[1],
            "vocabulary": source,
            "target_vocabulary": target if self.target_vocabulary_size else None,
        }


class _Side(tf.Module):
    """The pieces of a model, and their ids in a vocabulary."""

    def __init__(self, model, tokens, unknown):
        super().__init__()
        self.tokens = tokens
        self.pieces, self.ids = load_model(model, tf.string), lookup(tokens, unknown)


def order_pieces(vocabulary, name):
    """The pieces of a dict of piece to id in the order of their ids, checked."""
    known = isinstance(vocabulary, dict) and all(
        type(number) is int for number in vocabulary.values()
    )
    if not known or sorted(vocabulary.values()) != list(range(len(vocabulary))):
        numbers = len({*vocabulary.values()}) if known else 0
        raise ValueError(
            f"`{name}` must be a dict of every piece to its id, from 0 without gaps. "
            f"Received: {len(vocabulary) if known else repr(vocabulary)[:80]} pieces "
            f"with {numbers} ids."
            + (f" The highest is {max(vocabulary.values())}." if numbers else "")
        )
    missing = [mark for mark in (END, UNKNOWN, PAD) if mark not in vocabulary]
    if missing:
        raise ValueError(
            f"`{name}` must have the pieces </s>, <unk> and <pad>. Received: one "
            f"without {', '.join(missing)}."
        )
    return tuple(sorted(vocabulary, key=vocabulary.get))
