"""Ids of a language's characters and words against the rule in plain Python."""

import pytest
import tensorflow as tf

from zoo.text import UnicodeSpeller

SPECIALS = ["<bos>", "<eos>", "<oov>", "<pad>", "<bow>", "<eow>"]
CHARACTERS = [*SPECIALS[:2], "\u3000", *"aeht\u00e9\u4e2d\U0001f600", *SPECIALS[2:]]
WORDS = ["<oov>", "<bos>", "<eos>", "<pad>", "the", "\u4e2d\u4e2d", "tt", "\u3000"]
IDS = {character: i for i, character in enumerate(CHARACTERS)}


def plain(word, length, width):
    """The rule; the ids of the two markers are swapped."""
    body = [IDS.get(character, IDS["<oov>"]) for character in word[: length - 2]]
    body = [IDS[word]] if word in ("<bos>", "<eos>") else body
    row = [IDS["<eow>"], *body, IDS["<bow>"]]
    return [i + 1 for i in [*row, *[IDS["<pad>"]] * (width - len(row))]]


TEXT = ["the", "<bos>", "<eos>", "<BOS>", "\u00e9te\u0301", "\u4e2d\U0001f600", "x\x00"]
TEXT += ["t" * 60, "<pad>", "<oov>", "<bow>"]


@pytest.mark.parametrize("length", [3, 4, 12, 50])
def test_every_word_is_its_characters(length):
    speller = UnicodeSpeller(CHARACTERS, max_characters=length)
    found = speller.spell(TEXT)
    assert found.dtype == tf.int32 and found.shape == (len(TEXT), length)
    expected = [plain(word, length, length) for word in TEXT]
    assert found.numpy().tolist() == expected
    graph = tf.function(speller.spell)(tf.constant([TEXT, TEXT[::-1]]))
    assert graph.numpy().tolist() == [expected, expected[::-1]]
    assert speller.vocabulary_size == len(CHARACTERS) + 1


def test_rows_are_no_longer_than_needed_and_empty_where_no_word_is():
    speller = UnicodeSpeller(CHARACTERS)
    found = speller.spell([["the", ""], ["<eos>", "a"]]).numpy()
    assert found.shape == (2, 2, 5) and not found[0, 1].any()
    assert speller.spell(tf.zeros((2, 0), tf.string)).shape == (2, 0, 3)
    found = speller.spell(["", "a"], [True, False]).numpy().tolist()
    assert found == [plain("", 50, 3), [0, 0, 0]]
    # Bytes that are no characters are dropped.
    speller = UnicodeSpeller(CHARACTERS, WORDS)
    found = speller.spell([b"t\xffe", b"t\xe4\xb8"]).numpy().tolist()
    assert found == [plain("te", 50, 4), plain("t", 50, 4)]
    assert speller.word_ids([b"t\xffe", b"\xe4\xb8"]).numpy().tolist() == [0, 0]


def test_words_have_numbers_as_they_are_cut():
    speller = UnicodeSpeller(CHARACTERS, WORDS, max_characters=4)
    words = ["the", "tt", "\u4e2d\u4e2d", "\u4e2d\u4e2d\u4e2d", "ttt", "The", "<pad>"]
    found = speller.word_ids(words)
    assert found.dtype == tf.int32
    assert found.numpy().tolist() == [0, 6, 5, 5, 6, 0, 0]
    long = UnicodeSpeller(CHARACTERS, WORDS)
    assert long.word_ids([words]).numpy().tolist() == [[4, 6, 5, 0, 0, 0, 3]]
    with pytest.raises(ValueError, match="need a vocabulary.*UnicodeSpeller"):
        UnicodeSpeller(CHARACTERS).word_ids(words)


def test_a_models_inputs_in_a_dataset():
    speller = UnicodeSpeller(CHARACTERS, WORDS)
    tokens = tf.constant([["<bos>", "the", "<eos>"], ["<bos>", "<eos>", ""]])
    mask = tf.constant([[1, 1, 1], [1, 1, 0]])
    features = {"tokens": tokens, "padding_mask": mask}
    (found,) = tf.data.Dataset.from_tensors(features).map(speller.inputs)
    assert found["word_ids"].numpy().tolist() == [[1, 4, 2], [1, 2, 3]]
    assert found["padding_mask"].numpy().tolist() == mask.numpy().tolist()
    assert found["character_ids"][0, 0].numpy().tolist() == plain("<bos>", 50, 5)
    assert not found["character_ids"][1, 2].numpy().any()
    without = UnicodeSpeller(CHARACTERS).inputs(features)
    assert without.keys() == {"character_ids", "padding_mask"}
