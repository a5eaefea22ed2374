"""Texts to words, and words to ids, inside the TensorFlow graph."""

import collections
import itertools

import numpy as np
import tensorflow as tf

from zoo.checks.number_rules import numbers_checked
from zoo.checks.ranges import check_choice
from zoo.files.lines import corpus_lines
from zoo.text.vocabulary import Vocabulary, lookup, save_vocabulary
from zoo.text.words.splitting import SENTENCE_BEGIN, SENTENCE_END, WordSplitter

PAD, UNKNOWN = "", "<UNK>"
SPECIALS = (PAD, UNKNOWN, SENTENCE_BEGIN, SENTENCE_END)
# A token and the pattern of the words that it replaces. The first match is used.
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
NUM_HASHES = 2**30
WORDS_AT_ONCE = 2**16  # that are normalized at once
MODES = ("unk", "random", "class")


class WordTokenizer(WordSplitter):
    """Splits texts into words, and maps words to ids.

    Ids are, in this order: 0 for padding, `<UNK>`, `<S>`, `</S>`, the classes if
    `unknown="class"`, and the words of the vocabulary. A word that is not in the
    vocabulary is looked up in lower case. If that fails, too, `unknown` says which id
    the word has:

    - "unk": the id of `<UNK>`;
    - "random": `vocabulary_size` + a hash of the word in [0, 2**30).
      `zoo.layers.WordEmbedding` draws a vector from it. A word always has the same
      vector.
    - "class": the id of the first pattern in `CLASSES` that matches the word, or else
      of `<UNK>`. The patterns are: number, punctuation, contains a digit, capitals,
      capitalised, -ing, -ed, -ly, -s. They are applied before lower-casing.

    Source: Dhingra et al. 2017, for random vectors that are the same for each
    occurrence of a word. Lower case is defined by Unicode and does not depend on the
    locale.

    Args:
        vocabulary: path of a text file with one word per line, or a sequence of str,
            for example from `count_words`. Special tokens are not part of it.
        lowercase: bool, whether words become lower case before they are looked up.
        digits_to_zero: bool, whether ASCII digits become 0 before words are looked up,
            as in TagLM.
        unknown: "unk", "random" or "class", see above.

    Returns:
        string words, see `Tokenizer`.

    Raises:
        FileNotFoundError: if the vocabulary file does not exist.
        TypeError: if the vocabulary has an entry that is not a str.
        ValueError: if the vocabulary has an empty, repeated or special word, or if
            `unknown` is not one of the three options.

    Example:
        >>> tokenizer = WordTokenizer(["the", "cat"], unknown="class")
        >>> tokenizer.ids(tokenizer("The cat purred 12 times")).numpy().tolist()
        [13, 14, 10, 4, 12]
    """

    def __init__(
        self, vocabulary, lowercase=False, digits_to_zero=False, unknown="unk"
    ):
        super().__init__()
        self.lowercase = lowercase
        self.digits_to_zero = digits_to_zero
        self.unknown = check_choice("unknown", unknown, MODES)
        self._vocabulary = Vocabulary(vocabulary)
        classes = [token for token, _ in CLASSES] if unknown == "class" else []
        self.specials = (*SPECIALS, *classes)
        # Words are looked up after `normalize`, so special tokens are normalized, too.
        keys = [s.lower() if lowercase else s for s in self.specials]
        taken = [key for key in keys if key in self._vocabulary.ids]
        if taken:
            raise ValueError(
                "`vocabulary` must not have special tokens; the tokenizer adds them. "
                f"Received: {taken}. Remove these lines."
            )
        keys += self.vocabulary
        self._table = lookup(keys, default=-1)

    vocabulary = property(lambda self: self._vocabulary.tokens)
    tokens = property(lambda self: self.specials + self.vocabulary)
    vocabulary_size = property(lambda self: len(self.specials) + len(self.vocabulary))
    unknown_id = 1
    files = {"vocabulary": "vocabulary.txt"}

    def all_tokens(self, target=False):
        """The special tokens and the vocabulary; see `Tokenizer`."""
        return self.tokens

    def normalize(self, words):
        """Applies `lowercase` and `digits_to_zero` to words, string (...)."""
        words = tf.convert_to_tensor(words, tf.string)
        if self.digits_to_zero:
            words = tf.strings.regex_replace(words, "[0-9]", "0")
        return to_lower(words) if self.lowercase else words

    def ids(self, words):
        """Returns the ids of words, dense or ragged, int32; "" is padding."""
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
        """Returns word_ids and padding_mask (B, L); see `Tokenizer.inputs`."""
        ids = self.ids(features["tokens"])
        return {"word_ids": ids, "padding_mask": features["padding_mask"]}

    def save_vocabulary(self, path):
        """Writes the vocabulary to a file, one word per line."""
        save_vocabulary(self.vocabulary, path)

    def get_config(self):
        """Returns the constructor's arguments, with the content of the vocabulary."""
        return {
            "vocabulary": list(self.vocabulary),
            "lowercase": self.lowercase,
            "digits_to_zero": self.digits_to_zero,
            "unknown": self.unknown,
        }


def to_lower(words):
    """Returns words in lower case."""
    # TensorFlow's own rule depends on the locale: in a Turkish locale, I becomes a
    # dotless i. The characters on which locales disagree are therefore replaced first.
    # TensorFlow truncates a word at the character 0, so this character becomes U+FFFD.
    words = tf.strings.regex_replace(tf.strings.lower(words), "\u0130", "i\u0307")
    words = tf.strings.regex_replace(words, r"\x00", "\ufffd")
    return tf.strings.lower(words, encoding="utf-8")


def hashes(words):
    """Returns fingerprints of words, int32 in [0, 2**30), equal on all machines."""
    return tf.cast(tf.strings.to_hash_bucket_fast(words, NUM_HASHES), tf.int32)


def classify(words):
    """Ids of the first class in `CLASSES` that matches each word (N,), or of <UNK>."""
    ids = tf.fill(tf.shape(words), SPECIALS.index(UNKNOWN))
    for number, (_, pattern) in reversed(list(enumerate(CLASSES, len(SPECIALS)))):
        ids = tf.where(tf.strings.regex_full_match(words, pattern), number, ids)
    return ids


def _fill(ids, function, *words):
    """Replaces missing ids (-1) by the result of `function` for their words."""
    places = tf.where(ids < 0)
    found = function(*(tf.gather_nd(part, places) for part in words))
    return tf.tensor_scatter_nd_update(ids, places, found)


@numbers_checked()
def count_words(texts, minimum=5, limit=None, lowercase=False, digits_to_zero=False):
    """Makes a vocabulary for `WordTokenizer` from the frequent words of texts.

    Args:
        texts: iterable of str (or UTF-8 bytes) or of `pathlib.Path`. A str is a text. A
            path is a UTF-8 file with any number of lines, plain, `.gz` or `.xz`.
        minimum: int, lowest count of a word; rarer words are ignored.
        limit: int, maximum number of words; None for no limit.
        lowercase, digits_to_zero: bool, as in `WordTokenizer`.

    Returns:
        list of str, the most frequent word first. Equally frequent words are sorted
        alphabetically.

    Raises:
        TypeError: if `texts` is a single str, or has an entry of another type.
        ValueError: if `minimum` is less than 1.
    """
    written = collections.Counter()
    for line in corpus_lines(texts):
        written.update(line.split())
    tokenizer = WordTokenizer([], lowercase, digits_to_zero)
    counts, words = collections.Counter(), iter(written.items())
    while batch := list(itertools.islice(words, WORDS_AT_ONCE)):
        plain = tokenizer.normalize([w.encode("utf-8", "ignore") for w, _ in batch])
        for word, (_, count) in zip(plain.numpy().tolist(), batch, strict=True):
            counts[word.decode()] += count
    words = [w for w, count in counts.items() if count >= minimum and _is_word(w)]
    # Ctrl-C cannot end a sort, and two plain ones are faster than one by pairs.
    return sorted(sorted(words), key=counts.get, reverse=True)[:limit]


def extend_tokenizer(tokenizer, words):
    """Adds words to the vocabulary of a tokenizer. The existing ids do not change.

    A word is ignored if the vocabulary already has it, or if no text can produce it. No
    text can produce a word with white space, a capital under `lowercase`, or a digit
    under `digits_to_zero`.

    Args:
        tokenizer: `WordTokenizer`; it is not changed.
        words: sequence of str, for example the words of a file of pretrained vectors.

    Returns:
        `WordTokenizer`, and list of int: the positions in `words` of the words that
        were added, in the order of their ids.

    Raises:
        TypeError: if `words` is a single str.

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
    """Finds pretrained vectors for the words of a vocabulary.

    A word or special token without a vector of its own gets the vector of the same word
    in lower case.

    Args:
        tokenizer: `WordTokenizer`.
        words: sequence of str (N,), from `zoo.checkpoint.read_vectors`.
        vectors: float (N, D).

    Returns:
        int64 (K,), the ids of words with a vector; and float (K, D), the vectors.

    Raises:
        ValueError: if the numbers of words and vectors differ, or if vectors differ in
            width.
    """
    if len(words) != len(vectors):
        raise ValueError(
            "`vectors` must have a vector for every word. Received: "
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
    """Whether a text can produce the word, and a vocabulary file can hold it."""
    return word.split() == [word] and word not in RESERVED
