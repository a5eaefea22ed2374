"""Words as ids, inside the TensorFlow graph, and what stands for unknown words."""

import collections
import re

import numpy as np
import tensorflow as tf

from zoo.text.splitting import SENTENCE_BEGIN, SENTENCE_END, WordSplitter
from zoo.text.vocabulary import Vocabulary, lookup, save_vocabulary
from zoo.text.wordpiece_training import read_lines

PAD, UNKNOWN = "", "<UNK>"
SPECIALS = (PAD, UNKNOWN, SENTENCE_BEGIN, SENTENCE_END)
# A token and the words that it stands for; the first that matches counts.
CLASSES = (
    ("<NUMBER>", r"[-+.,]*\p{Nd}[\p{Nd}.,:/-]*%?"),
    ("<PUNCTUATION>", r"[\pP\pS]+"),
    ("<DIGIT>", r"(?s).*\p{Nd}.*"),
    ("<CAPITALS>", r"\pP*\p{Lu}[\p{Lu}\pP]*\p{Lu}\pP*"),
    ("<CAPITALISED>", r"(?s)\pP*\p{Lu}.*"),
    ("<-ING>", r"(?s).+ing"),
    ("<-ED>", r"(?s).+ed"),
    ("<-LY>", r"(?s).+ly"),
    ("<-S>", r"(?s).+s"),
)
RESERVED = {*SPECIALS, *(token for token, _ in CLASSES)}
RESERVED |= {token.lower() for token in RESERVED}
HASHES = 2**30
MODES = ("unk", "random", "class")
# As `split_words` has it; Python's own `split` knows four more separators.
WORD = re.compile(
    "[^\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+"
)


class WordTokenizer(WordSplitter):
    """Text to words, and words to ids, with a choice of what unknown words become.

    Ids: 0 where no word is, then `<UNK>`, `<S>`, `</S>`, then the classes if
    `unknown="class"`, then the vocabulary in its order. A word that is not in it as
    written is looked up in lower case. If that fails, too, its id is, by `unknown`,

    - "unk": that of `<UNK>`;
    - "random": `vocabulary_size` + a hash of the word in [0, 2**30), of which
      `zoo.layers.WordEmbedding` makes a vector: every word its own, always the same;
    - "class": that of the first of `CLASSES` that fits the word as written (number,
      punctuation, holding a digit, capitals, capitalised, -ing, -ed, -ly, -s), or
      `<UNK>`.

    Source: Dhingra et al. 2017 for vectors that are random but one per word. Lower
    case is Unicode's, the same in every locale.

    Args:
      vocabulary: path of a text file with one word per line, or a sequence of str,
        such as `count_words` gives; without special tokens.
      lowercase: bool, whether words are lowered before they are looked up.
      digits_to_zero: bool, whether ASCII digits become 0 before, as in TagLM.
      unknown: str, see above.

    Inputs:
      texts: str, or a list, array or tensor (B,) of strings.

    Returns:
      tf.RaggedTensor string (B, None) of words; of one str, a tensor string (None,).

    Raises:
      FileNotFoundError: there is no such vocabulary file.
      TypeError: the vocabulary is not strings.
      ValueError: it has an empty, repeated or special word, or `unknown` is none of
        the three.

    Example:
      >>> tokenizer = WordTokenizer(["the", "cat"], unknown="class")
      >>> tokenizer.ids(tokenizer("The cat purred 12 times")).numpy().tolist()
      [13, 14, 10, 4, 12]
    """

    def __init__(
        self, vocabulary, lowercase=False, digits_to_zero=False, unknown="unk"
    ):
        super().__init__()
        if unknown not in MODES:
            raise ValueError(
                f"`unknown` must be one of {list(MODES)}. Received: {unknown!r}."
            )
        self.lowercase = lowercase
        self.digits_to_zero = digits_to_zero
        self.unknown = unknown
        self._vocabulary = Vocabulary(vocabulary)
        classes = [token for token, _ in CLASSES] if unknown == "class" else []
        self.specials = (*SPECIALS, *classes)
        # Words are looked up as `normalize` makes them, hence special ones as well.
        keys = [s.lower() if lowercase else s for s in self.specials]
        taken = [key for key in keys if key in self._vocabulary.ids]
        if taken:
            raise ValueError(
                "`vocabulary` must be without special tokens, which come before it. "
                f"Received: {taken}. Remove these lines."
            )
        keys += self.vocabulary
        self._table = lookup(keys, default=-1)

    vocabulary = property(lambda self: self._vocabulary.tokens)
    tokens = property(lambda self: self.specials + self.vocabulary)
    vocabulary_size = property(lambda self: len(self.specials) + len(self.vocabulary))
    unknown_id = 1
    files = {"vocabulary": "vocabulary.txt"}

    def normalize(self, words):
        """What of words (...) is looked up: digits and case by the options."""
        words = tf.convert_to_tensor(words, tf.string)
        if self.digits_to_zero:
            words = tf.strings.regex_replace(words, "[0-9]", "0")
        return to_lower(words) if self.lowercase else words

    def ids(self, words):
        """Returns the words' ids.

        Args:
          words: string (...), dense or ragged; "" where no word is.

        Returns:
          int32 (...).
        """
        if isinstance(words, tf.RaggedTensor):
            return words.with_flat_values(self.ids(words.flat_values))
        words = tf.convert_to_tensor(words, tf.string)
        flat = tf.reshape(words, [-1])
        plain = self.normalize(flat)
        ids = self._table.lookup(plain)
        if not self.lowercase:
            ids = _fill(ids, lambda w: self._table.lookup(to_lower(w)), plain)
        stand_ins = {
            "unk": lambda plain, word: tf.ones_like(plain, tf.int32),
            "random": lambda plain, word: self.vocabulary_size + hashes(plain),
            "class": lambda plain, word: classify(word),
        }
        ids = _fill(ids, stand_ins[self.unknown], plain, flat)
        return tf.reshape(ids, tf.shape(words))

    def inputs(self, features):
        """Word_ids and padding_mask, (B, L); see `Tokenizer.inputs`."""
        ids = self.ids(features["tokens"])
        return {"word_ids": ids, "padding_mask": features["padding_mask"]}

    def save_vocabulary(self, path):
        """Writes the vocabulary to a file, one word per line."""
        save_vocabulary(self.vocabulary, path)

    def get_config(self):
        """Returns the constructor's arguments, with the vocabulary's content."""
        return {
            "vocabulary": list(self.vocabulary),
            "lowercase": self.lowercase,
            "digits_to_zero": self.digits_to_zero,
            "unknown": self.unknown,
        }


def to_lower(words):
    """Words in lower case.

    TensorFlow's rule is that of the machine's locale: in a Turkish one I becomes a
    dotless i. So what locales disagree on goes first. A character 0, where TensorFlow
    cuts the word, becomes the one for broken text.
    """
    words = tf.strings.regex_replace(tf.strings.lower(words), "\u0130", "i\u0307")
    words = tf.strings.regex_replace(words, r"\x00", "\ufffd")
    return tf.strings.lower(words, encoding="utf-8")


def hashes(words):
    """Fingerprints of words, int32 in [0, 2**30), the same on every machine."""
    return tf.cast(tf.strings.to_hash_bucket_fast(words, HASHES), tf.int32)


def classify(words):
    """The ids of words' classes: of the first in `CLASSES` that fits, or of <UNK>.

    Args:
      words: string (N,).

    Returns:
      int32 (N,).
    """
    ids = tf.fill(tf.shape(words), SPECIALS.index(UNKNOWN))
    for number, (_, pattern) in reversed(list(enumerate(CLASSES, len(SPECIALS)))):
        ids = tf.where(tf.strings.regex_full_match(words, pattern), number, ids)
    return ids


def _fill(ids, function, *words):
    """Puts `function` of the words where an id is missing, that is, -1."""
    places = tf.where(ids < 0)
    found = function(*(tf.gather_nd(part, places) for part in words))
    return tf.tensor_scatter_nd_update(ids, places, found)


def count_words(texts, minimum=5, limit=None, lowercase=False, digits_to_zero=False):
    """Makes a vocabulary for `WordTokenizer`: the words seen often enough.

    Args:
      texts: iterable of str (or UTF-8 bytes) or of `pathlib.Path`: a str is a text,
        a path a UTF-8 file with any number of lines, `.gz` and `.xz` unpacked.
      minimum: int, words seen less often are left out.
      limit: int, number of words at most; None for no limit.
      lowercase, digits_to_zero: bool, as the tokenizer's.

    Returns:
      list of str, from the most frequent word on, ties by the alphabet.

    Raises:
      TypeError: `texts` is a single str, or holds something else.
      ValueError: `minimum` is less than 1.
    """
    if minimum < 1:
        raise ValueError(f"`minimum` must be at least 1. Received: {minimum}.")
    written = collections.Counter()
    for line in read_lines(texts):
        written.update(WORD.findall(line))
    tokenizer = WordTokenizer([], lowercase, digits_to_zero)
    plain = tokenizer.normalize([w.encode("utf-8", "ignore") for w in written])
    counts = collections.Counter()
    for word, count in zip(plain.numpy().tolist(), written.values(), strict=True):
        counts[word.decode()] += count
    words = [w for w, count in counts.items() if count >= minimum and _is_word(w)]
    return sorted(words, key=lambda word: (-counts[word], word))[:limit]


def extend_tokenizer(tokenizer, words):
    """Adds words to a vocabulary, all ids staying what they are.

    Words that the vocabulary has are left out, and so are those that no text can
    give: with white space, capitals under `lowercase`, digits under `digits_to_zero`.

    Args:
      tokenizer: `WordTokenizer`; it is not changed.
      words: sequence of str, such as those of a file of pretrained vectors.

    Returns:
      `WordTokenizer`, and list of int, the places in `words` of those that it has
      more, in the order of their ids.

    Raises:
      TypeError: `words` is a single str.

    Example:
      >>> old = WordTokenizer(["the"])
      >>> new, places = extend_tokenizer(old, ["a", "the", "cat", "a"])
      >>> new.vocabulary, places
      (('the', 'a', 'cat'), [0, 2])
    """
    if isinstance(words, str):
        raise TypeError(
            "`words` must be a sequence of str. Received a single str. Put it in a "
            "list."
        )
    plain = tokenizer.normalize(list(words)).numpy().tolist()
    known, places = set(tokenizer.vocabulary), []
    for place, (word, found) in enumerate(zip(words, plain, strict=True)):
        if word not in known and word.encode() == found and _is_word(word):
            known.add(word)
            places.append(place)
    config = tokenizer.get_config()
    config["vocabulary"] += [words[place] for place in places]
    return type(tokenizer).from_config(config), places


def match_vectors(tokenizer, words, vectors):
    """Finds the vectors of a vocabulary's words among pretrained ones.

    A word, or special token, without a vector of its own has that of the same word in
    lower case.

    Args:
      tokenizer: `WordTokenizer`.
      words: sequence of str (N,), as `zoo.checkpoint.read_vectors` gives them.
      vectors: float (N, D).

    Returns:
      int64 (K,), ids of words that have a vector, and float (K, D), these vectors.

    Raises:
      ValueError: there are not as many words as vectors, or these differ in width.
    """
    if len(words) != len(vectors):
        raise ValueError(
            "There must be a vector for every word. Received: "
            f"{len(words)} words and {len(vectors)} vectors."
        )
    shapes = sorted({np.shape(vector) for vector in vectors})
    if len(shapes) > 1:
        raise ValueError(f"`vectors` must be of one width. Received: shapes {shapes}.")
    places = {}
    for place, word in enumerate(words):
        places.setdefault(word, place)
    tokens = tokenizer.tokens[1:]
    lowered = (word.decode() for word in to_lower(tokens).numpy().tolist())
    found = [
        places.get(token, places.get(lower, -1))
        for token, lower in zip(tokens, lowered, strict=True)
    ]
    found = np.array(found, np.int64)
    ids = np.flatnonzero(found >= 0)
    return ids + 1, np.asarray(vectors)[found[ids]]


def _is_word(word):
    """Whether a text can give the word, and a file of one word per line hold it."""
    return bool(WORD.fullmatch(word)) and word == word.strip() and word not in RESERVED
