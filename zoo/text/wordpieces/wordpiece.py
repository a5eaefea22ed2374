"""The WordPiece tokenizer of BERT, inside the TensorFlow graph."""

import re

import tensorflow as tf
import tensorflow_text as tf_text

from zoo.text import offsets
from zoo.text.tokenizer import Framing, Tokenizer, as_strings
from zoo.text.vocabulary import Vocabulary, save_vocabulary
from zoo.text.wordpieces import final_sigma, unicode_classes

SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_SPECIAL_STAND_INS = "\ufdd0\ufdd1\ufdd2\ufdd3\ufdd4"
# A character of one byte that normalization deletes.
_FILLER = "\x7f"
# The longest token in the model of the splitter.
_MAX_BYTES = 256


class WordPieceTokenizer(Tokenizer):
    """Splits texts into BERT's word pieces, with the same ids as Google's tokenizer.

    A text is cleaned and split on white space, punctuation and Chinese characters. With
    `lowercase`, words become lower case and lose their accents. Each word is split from
    left to right into the longest pieces of the vocabulary. All pieces but the first
    begin with `##`. A word is [UNK] if it cannot be split, or if it has more than 200
    characters.

    All ops belong to TensorFlow or TensorFlow Text, so the tokenizer runs in `tf.data`,
    `tf.function` and TF Serving.

    Source: Devlin et al. 2019, `tokenization.py` under Python 3.11. The file
    `unicode14.npz` holds the Unicode 14 data of that version; no other Unicode library
    is used. One step is missing: the order of NFD among the 25 spacing marks with a
    combining class. A text changes only if the vocabulary has two of these marks; the
    released vocabularies have none. Bytes that are not UTF-8 are dropped.

    Args:
        vocabulary: path of a `vocab.txt` file, or a sequence of str. The file has one
            token per line, and the line number is the id. The vocabulary includes
            [PAD], [UNK], [CLS], [SEP] and [MASK].
        lowercase: bool, True for "uncased" vocabularies.
        specials_in_text: bool, whether a special token that is written in a text, such
            as [MASK], keeps its meaning. Google's tokenizer splits it like other text.

    Returns:
        int32 ids, see `Tokenizer`.

    Raises:
        FileNotFoundError: if the vocabulary file does not exist.
        TypeError: if the vocabulary or the texts are not strings.
        ValueError: if a token of the vocabulary is empty, repeated or very long, or if
            a special token is missing. Also if the texts have more than one dimension.

    Example:
        >>> specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
        >>> tokenizer = WordPieceTokenizer([*specials, "un", "##able"])
        >>> tokenizer(["Unable unable", "able"]).to_list()
        [[5, 6, 5, 6], [1]]
    """

    def __init__(self, vocabulary, lowercase=True, specials_in_text=False):
        super().__init__()
        self.lowercase = lowercase
        self.specials_in_text = specials_in_text
        self._vocabulary = Vocabulary(vocabulary, SPECIALS)
        stand_ins, tokens = _stand_ins(self.vocabulary, specials_in_text)
        spelling = [t[2:] if t.startswith("##") else " " + t for t in self.vocabulary]
        model = unicode_classes.normalizer(lowercase, stand_ins)
        with tf.init_scope(), tf.device("CPU:0"):
            self._normalizer = tf_text.FastBertNormalizer(
                model_buffer=tf.constant(model)
            )
            self._splitter = tf_text.FastWordpieceTokenizer(
                tokens,
                # `final_sigma` applies the limit, which is in characters.
                max_bytes_per_word=2**30,
                unknown_token=tokens[self.unknown_id],
                token_out_type=tf.int32,
            )
            self._spelling = tf.constant(spelling)

    files = {"vocabulary": "vocabulary.txt"}
    vocabulary = property(lambda self: self._vocabulary.tokens)
    vocabulary_size = property(lambda self: len(self.vocabulary))
    pad_id = property(lambda self: self.token_to_id("[PAD]"))
    unknown_id = property(lambda self: self.token_to_id("[UNK]"))
    cls_id = property(lambda self: self.token_to_id("[CLS]"))
    sep_id = property(lambda self: self.token_to_id("[SEP]"))
    mask_id = property(lambda self: self.token_to_id("[MASK]"))

    def token_to_id(self, token):
        """Returns the id of a token; KeyError if the vocabulary does not have it."""
        if token not in self._vocabulary.ids:
            raise KeyError(
                f"`token` must be in the vocabulary. Received: token={token!r}. "
                "Call the tokenizer with it, to get its word pieces."
            )
        return self._vocabulary.ids[token]

    def __call__(self, texts):
        """Returns the ids of texts; see the class."""
        texts = as_strings(texts)
        batch = tf.reshape(texts, [-1])
        normal = self._normalizer.normalize(self._guard_specials(batch))
        ids = self._splitter.tokenize(final_sigma.settle(normal, self.lowercase))
        return ids if texts.shape.rank else ids.values

    @property
    def framing(self):
        """`[CLS] a [SEP]`, or for two texts `[CLS] a [SEP] b [SEP]`."""
        return Framing((self.cls_id,), (self.sep_id,), (self.sep_id,))

    def inputs(self, features):
        """Returns token_ids, segment_ids and padding_mask; see `Tokenizer.inputs`."""
        tokens = features["tokens"]
        segments = features.get("segment_ids")
        return {
            "token_ids": tokens,
            "segment_ids": tf.zeros_like(tokens) if segments is None else segments,
            "padding_mask": features["padding_mask"],
        }

    def byte_offsets(self, texts):
        """Returns ids, and the positions of their pieces in bytes.

        A piece is `text[start:end]`, with the deleted accents and invisible characters
        that follow it. [UNK] spans its whole word. See `Tokenizer.byte_offsets`.
        """
        normal, sources = self._normalizer.normalize_with_offsets(
            self._guard_specials(texts)
        )
        ids, starts, ends = self._splitter.tokenize_with_offsets(
            final_sigma.settle(normal, self.lowercase)
        )
        return ids, *offsets.to_source(starts, ends, sources)

    def detokenize(self, ids):
        """Joins pieces to words, and words to texts with spaces between them.

        Case, accents and spacing that tokenization removed are not restored.
        """
        joined = tf.strings.reduce_join(tf.gather(self._spelling, ids), axis=-1)
        return tf.strings.regex_replace(joined, "^ ", "")

    def save_vocabulary(self, path):
        """Writes the vocabulary to a file, one token per line."""
        save_vocabulary(self.vocabulary, path)

    def get_config(self):
        """Returns the constructor's arguments, with the content of the vocabulary."""
        return {
            "vocabulary": list(self.vocabulary),
            "lowercase": self.lowercase,
            "specials_in_text": self.specials_in_text,
        }

    def _guard_specials(self, texts):
        """Replaces special tokens by stand-ins. No byte changes its position."""
        if not self.specials_in_text:
            return texts
        # A stand-in that is already in the text is an unassigned character.
        foreign = f"[{_SPECIAL_STAND_INS}]"
        texts = tf.strings.regex_replace(texts, foreign, unicode_classes.UNKNOWN)
        for special, stand_in in zip(SPECIALS, _SPECIAL_STAND_INS, strict=True):
            filler = _FILLER * (len(special) - len(stand_in.encode()))
            texts = tf.strings.regex_replace(
                texts, re.escape(special), stand_in + filler
            )
        return texts


def _stand_ins(vocabulary, specials_in_text):
    """Makes the vocabulary independent of the Unicode version of the splitter.

    Each unassigned character of the vocabulary becomes one of the private plane.
    Returns pairs of character and replacement for the normalizer, where the stand-ins
    of special tokens are surrounded by spaces; and the vocabulary with the stand-ins in
    it.
    """
    longest = max(vocabulary, key=lambda token: len(token.encode()))
    if len(longest.encode()) > _MAX_BYTES:
        raise ValueError(
            f"`vocabulary` must have tokens of at most {_MAX_BYTES} bytes. Received: "
            f"{longest[:20]!r}..., {len(longest.encode())} bytes. Shorten it."
        )
    kinds = unicode_classes.classes()
    alphabet = sorted(set("".join(vocabulary)))
    dropped = (unicode_classes.SPACE, unicode_classes.DELETE)
    dropped = {c for c in alphabet if kinds[ord(c)] in dropped}
    unassigned = [c for c in alphabet if kinds[ord(c)] == unicode_classes.UNASSIGNED]
    stand_ins = dict(zip(unassigned, map(chr, unicode_classes.PRIVATE), strict=False))
    table = str.maketrans(stand_ins)
    void = unicode_classes.UNKNOWN
    # No text can produce a token with a space or a deleted character. It gets a name
    # that the splitter cannot find.
    tokens = [
        f"[{i}{void}]" if dropped & set(token) else token.translate(table)
        for i, token in enumerate(vocabulary)
    ]
    if specials_in_text:
        for special, stand_in in zip(SPECIALS, _SPECIAL_STAND_INS, strict=True):
            tokens[vocabulary.index(special)] = stand_in
            stand_ins[stand_in] = f" {stand_in} "
    return tuple(stand_ins.items()), tokens
