"""Where texts are split into sentences, eagerly and inside tf.data."""

import pytest
import tensorflow as tf

from zoo.data import split_sentences
from zoo.text.english.sentence_splitting import split_into_sentences

# Texts to their sentences and the white space after each of them but the last.
TABLE = (
    ("", [""], []),
    (" \u2028\n", [""], []),
    ("Hello", ["Hello"], []),
    ("He slept. She woke!  Why?", ["He slept.", "She woke!", "Why?"], [" ", "  "]),
    ("\n  Hello. \r\n", ["Hello."], []),
    ('"Go." He went… So?! (I.) 5 do.', ['"Go."', "He went…", "So?!", "(I.)", "5 do."]),
    ("No capital. so no end.", ["No capital. so no end."], []),
    ("1.5 is e.g. A lot.It is", ["1.5 is e.g. A lot.It is"], []),
    (
        "Mr. J. R. R. Bunce of St. Ives. Yes.",
        ["Mr. J. R. R. Bunce of St. Ives.", "Yes."],
    ),
    (
        "At 5 p.m. He is taller than I. End",
        ["At 5 p.m.", "He is taller than I.", "End"],
    ),
    ("No. I see No. 5 on p. 7. Oh", ["No.", "I see No. 5 on p. 7.", "Oh"]),
    (
        "1. One. 2. Two.\n3. In 1990. He",
        ["1. One.", "2. Two.", "3. In 1990.", "He"],
        None,
    ),
    (
        "Title\nA line\nthat goes on.\r\nEnd",
        ["Title", "A line\nthat goes on.", "End"],
        None,
    ),
    (
        "a\n \nb\nC\nD\u20285",
        ["a", "b", "C", "D", "5"],
        ["\n \n", "\n", "\n", "\u2028"],
    ),
    ("Oui.\u00a0Non.\u3000\tÉté", ["Oui.", "Non.", "Été"], ["\u00a0", "\u3000\t"]),
    ("漢字。 \x00 🎉. \ufffdA. B\\1 $1", ["漢字。 \x00 🎉. \ufffdA. B\\1 $1"], []),
)
LONG = "A b c. " * 10_000


@pytest.fixture(scope="module")
def rows():
    """The texts, and their sentences and separators."""
    texts = [text for text, *_ in TABLE]
    return texts, *(part.to_list() for part in split_into_sentences(texts))


def test_sentences_and_the_white_space_after_them(rows):
    for (text, expected, *gaps), sentences, separators in zip(
        TABLE, *rows[1:], strict=True
    ):
        sentences, separators = (
            [part.decode() for part in row] for row in (sentences, separators)
        )
        assert sentences == expected, text
        pairs = zip(sentences, separators, strict=True)
        assert "".join(map("".join, pairs)) == text.strip()
        gaps = gaps[0] if gaps else [" "] * (len(expected) - 1)
        assert gaps is None or separators == [*gaps, ""]


def test_a_dataset_has_the_same_sentences(rows):
    texts, sentences, separators = rows
    dataset = tf.data.Dataset.from_tensor_slices(texts).batch(4)
    found = [[], []]
    for parts in dataset.map(split_into_sentences):
        for side, part in zip(found, parts, strict=True):
            side += part.to_list()
    assert found == [sentences, separators]


def test_most_texts_are_split_as_those_of_a_corpus(rows):
    texts, sentences, _ = rows
    same = {3, 5, 6, 7}
    for number in same:
        found = [sentence.decode() for sentence in sentences[number]]
        expected = split_sentences(texts[number].replace("…", "!"))
        assert [sentence.replace("…", "!") for sentence in found] == expected


def test_long_texts_and_other_bytes():
    texts = tf.constant([LONG, b"caf\xe9. Bien. \xff", "a\x1eb. C"])
    sentences, _ = split_into_sentences(texts)
    assert sentences.row_lengths().numpy().tolist() == [10_000, 2, 2]
    assert sentences[1:].to_list() == [[b"caf\xe9.", b"Bien. \xff"], [b"a b.", b"C"]]
    assert split_into_sentences(tf.constant([], tf.string))[0].to_list() == []
