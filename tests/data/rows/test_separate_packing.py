"""Each column of texts in a row of its own."""

import numpy as np
import pytest
import tensorflow as tf
import tiny

from zoo.data import Packer, SeparatePacker
from zoo.text import CharacterTokenizer, WordPieceTokenizer

TEXTS = ["a good film", "", "the story was so very dull in the end"]
OTHERS = ["bad", "the plot , the music and the actor and", ""]
TOKENIZERS = {
    "word pieces": lambda: WordPieceTokenizer(tiny.VOCABULARY),
    "characters": lambda: CharacterTokenizer(12, tiny.WORDS),
}


@pytest.fixture(params=TOKENIZERS)
def packers(request):
    """The packer, and the one of single texts, for rows of 8 tokens."""
    tokenizer = TOKENIZERS[request.param]()
    return SeparatePacker(tokenizer, 8), Packer(tokenizer, 8)


def check(found, expected, prefix):
    for name, value in expected.items():
        np.testing.assert_array_equal(found[prefix + name], value, err_msg=name)


def test_each_column_is_a_single_text(packers):
    both, single = packers
    found = both((TEXTS, OTHERS))
    first, second = single((TEXTS,)), single((OTHERS,))
    assert len(found) == len(first) + len(second)
    check(found, first, "")
    check(found, second, "pair_")
    alone = both((TEXTS,))
    assert alone.keys() == first.keys()
    check(alone, first, "")


@pytest.mark.parametrize("bucketed", [False, True])
def test_rows_are_selected_from_each_column(packers, bucketed):
    both, single = packers
    select = both.selector(both.pack((TEXTS, OTHERS))[0], bucketed)
    index = tf.constant([2, 0])
    for prefix, column in (("", TEXTS), ("pair_", OTHERS)):
        own = single.selector(single.pack((column,))[0], bucketed)
        check(select(index), own(index), prefix)
    (inside,) = tf.data.Dataset.from_tensors(index).map(select)
    check(inside, select(index), "")


def test_lengths_and_truncated_rows_are_those_of_the_longer_text(packers):
    rows, cut = packers[0].pack((TEXTS, OTHERS))
    lengths = [
        packers[1].lengths(packers[1].pack((column,))[0]) for column in (TEXTS, OTHERS)
    ]
    np.testing.assert_array_equal(packers[0].lengths(rows), np.max(lengths, axis=0))
    assert int(cut) == 2  # the second text of row 1, and the first of row 2


def test_three_columns_raise(packers):
    with pytest.raises(ValueError, match="one column of texts or two. Received: 3"):
        packers[0].pack((TEXTS, OTHERS, TEXTS))
