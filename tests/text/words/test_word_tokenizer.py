"""Ids of words against their rules in plain Python, and growing vocabularies."""

import re

import numpy as np
import pytest
import tensorflow as tf
from python_process import run_python

from zoo.data import Packer, WordPacker
from zoo.text import WordTokenizer
from zoo.text.words.word_tokenizer import CLASSES

VOCABULARY = ["the", "cat", "Paris", "paris", "Bonn", "0000", "1st", "\u00e9t\u00e9"]
LONG = "x" * 10_000
WORDS = """the The THE cat Cat Paris PARIS paris Bonn bonn 0000 1984 1st 2nd dog Dog DOG
\u00e9t\u00e9 \u00c9T\u00c9 <S> </S> <UNK> <s> <NUMBER> , ... -- $ U.S. I 'Tis running
ing Running walked ED quickly ly cats s \u0130I \u03a3\u03a3 12 3.5% -7 1,000.50 x1 1
\u0664 " \u00abA\u00bb \U0001f600""".split()
WORDS += [LONG, LONG + "ing", "\x00", "a\x00", "cat\x00", ""]
OPTIONS = [
    {"unknown": unknown, "lowercase": lowercase, "digits_to_zero": digits}
    for unknown in ("unk", "random", "class")
    for lowercase in (False, True)
    for digits in (False, True)
]


def class_of(word):
    """The class of an unknown word, rule by rule."""
    punctuation = [not c.isalnum() and not c.isspace() and c != "\x00" for c in word]
    letters = [c for c, p in zip(word, punctuation, strict=True) if not p]
    rules = {
        "<NUMBER>": re.fullmatch(r"[-+.,]*\d[\d.,:/-]*%?", word),
        "<PUNCTUATION>": all(punctuation),
        "<DIGIT>": re.search(r"\d", word),
        "<CAPITALS>": len(letters) > 1 and all(c.isupper() for c in letters),
        "<CAPITALISED>": letters and letters[0].isupper(),
    }
    rules |= {f"<-{s.upper()}>": re.fullmatch(f"(?s).+{s}", word) for s in SUFFIXES}
    return next((token for token, rule in rules.items() if rule), "<UNK>")


SUFFIXES = ["ing", "ed", "ly", "s"]


def plain_id(tokenizer, word):
    """The rule in plain Python; None for an id from a hash."""
    tokens = list(tokenizer.tokens)
    key = re.sub("[0-9]", "0", word) if tokenizer.digits_to_zero else word
    keys = [key, key.lower()]
    if tokenizer.lowercase:
        tokens = [t.lower() for t in tokenizer.specials] + list(tokenizer.vocabulary)
        keys = keys[1:]
    for key in keys:
        if key in tokens:
            return tokens.index(key)
    if tokenizer.unknown == "class":
        return tokenizer.tokens.index(class_of(word))
    return 1 if tokenizer.unknown == "unk" else None


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_every_word_has_the_id_of_the_rules(options):
    tokenizer = WordTokenizer(VOCABULARY, **options)
    found = tokenizer.ids(WORDS)
    assert found.dtype == tf.int32
    for word, number in zip(WORDS, found.numpy().tolist(), strict=True):
        expected = plain_id(tokenizer, word)
        if expected is None:
            low = tokenizer.vocabulary_size
            assert low <= number < low + 2**30, word
        else:
            assert number == expected, word


def test_the_order_of_ids():
    tokenizer = WordTokenizer(["b", "a"])
    assert tokenizer.tokens == ("", "<UNK>", "<S>", "</S>", "b", "a")
    assert tokenizer.vocabulary == ("b", "a") and tokenizer.vocabulary_size == 6
    classes = WordTokenizer(["b"], unknown="class")
    assert classes.tokens[4:] == (*(token for token, _ in CLASSES), "b")
    assert tokenizer.ids(classes.tokens[:4]).numpy().tolist() == [0, 1, 2, 3]
    WordTokenizer(["<NUMBER>"])  # no special token without classes


def test_a_hash_is_of_the_word_that_is_looked_up():
    """Fixed numbers: another fingerprint would change every saved model."""
    tokenizer = WordTokenizer(["the"], unknown="random")
    ids = tokenizer.ids(["a", "A", "b", "a"]).numpy() - tokenizer.vocabulary_size
    assert ids.tolist() == [920614371, 205255700, 516485398, 920614371]
    lower = WordTokenizer(["the"], lowercase=True, unknown="random")
    assert len(set(lower.ids(["dog", "Dog", "DOG"]).numpy())) == 1
    many = tokenizer.ids([f"word{i}" for i in range(20_000)]).numpy()
    assert len(set(many)) >= 19_998  # two to the 30 hashes


@pytest.mark.parametrize("shape", [(), (6,), (2, 3), (1, 2, 3), (0,), (0, 3), (2, 0)])
def test_any_shape(shape):
    tokenizer = WordTokenizer(VOCABULARY, unknown="class")
    words = np.array(WORDS[: int(np.prod(shape))], object).reshape(shape)
    ids = tokenizer.ids(tf.constant(words, tf.string, shape))
    expected = [plain_id(tokenizer, word) for word in words.ravel()]
    assert ids.shape == shape and ids.numpy().ravel().tolist() == expected
    ragged = tokenizer.ids(tf.ragged.constant([["the", "x1"], [], ["cat"]]))
    assert ragged.to_list() == [[13, 6], [], [14]]


def test_broken_utf8_is_an_unknown_word():
    for unknown in ("unk", "random", "class"):
        tokenizer = WordTokenizer(["the"], True, True, unknown)
        ids = tokenizer.ids([b"\xff", b"a\xff9", b"\xe2\x82"]).numpy()
        known = [*range(2, 4), tokenizer.tokens.index("the")]
        assert (ids >= 1).all() and not np.isin(ids, known).any()
        if unknown == "unk":
            assert (ids == 1).all()
        if unknown == "random":
            assert (ids >= tokenizer.vocabulary_size).all()


TEXTS = ["The cat  sat in Paris , 1984 .", "", f"{LONG} the", " \t", "dog dog dog"]


@pytest.mark.shown("unk-WordPacker", "class-Packer")
@pytest.mark.parametrize("packer", [Packer, WordPacker])
@pytest.mark.parametrize("unknown", ["unk", "random", "class"])
def test_batches_the_same_eagerly_and_in_a_dataset(packer, unknown):
    tokenizer = WordTokenizer(VOCABULARY, unknown=unknown)
    pack = packer(tokenizer, 9)
    eager = pack((tf.constant(TEXTS),))
    dataset = tf.data.Dataset.from_tensors(tf.constant(TEXTS)).repeat(2)
    batches = list(dataset.map(lambda texts: pack((texts,)), 2))
    assert len(batches) == 2
    for batch in batches:
        tf.nest.map_structure(np.testing.assert_array_equal, batch, eager)
    rows = [["<S>", *text.split()[:7], "</S>"] for text in TEXTS]
    ids, mask = eager["word_ids"].numpy(), eager["padding_mask"].numpy()
    assert ids.dtype == np.int32 and (ids[mask == 0] == 0).all()
    for row, found, real in zip(rows, ids, mask, strict=True):
        assert found[real > 0].tolist() == tokenizer.ids(row).numpy().tolist()


def test_made_within_a_function_or_a_strategy(two_replicas):
    made = []

    @tf.function
    def run(words):
        if not made:
            made.append(WordTokenizer(VOCABULARY))
        return made[0].ids(words)

    assert run(tf.constant(["cat", "x"])).numpy().tolist() == [5, 1]
    with two_replicas.scope():
        tokenizer = WordTokenizer(VOCABULARY)
    found = two_replicas.run(tokenizer.ids, [tf.constant(["cat", "x"])])
    for ids in two_replicas.experimental_local_results(found):
        assert ids.numpy().tolist() == [5, 1]


LOCALE_PROGRAM = """
from zoo.text import WordTokenizer
print(WordTokenizer(["istanbul", "i\u0307x", "\u03bf\u03c2"], True).ids(
    ["ISTANBUL", "\u0130X", "\u039f\u03a3"]).numpy().tolist())
"""


@pytest.mark.slow
@pytest.mark.parametrize("locale", ["C", "tr_TR.UTF-8"])
def test_case_is_the_same_in_every_locale(locale):
    """In Turkish, the lower case of I is not i."""
    done = run_python(LOCALE_PROGRAM, LC_ALL=locale, PYTHONUTF8="1")
    assert done.stdout.strip() == "[4, 5, 6]"
