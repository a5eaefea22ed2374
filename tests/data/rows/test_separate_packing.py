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


def check(found, prefix, expected):
    """Compares the features that begin with a prefix, or that do not."""
    names = [name for name in found if name.startswith("pair_") == bool(prefix)]
    found = {name.removeprefix(prefix): found[name] for name in names}
    tf.nest.map_structure(np.testing.assert_array_equal, found, expected)


def test_each_column_is_a_single_text(packers):
    both, single = packers
    found = both((TEXTS, OTHERS))
    check(found, "", single((TEXTS,)))
    check(found, "pair_", single((OTHERS,)))
    check(both((TEXTS,)), "", single((TEXTS,)))


@pytest.mark.parametrize("bucketed", [False, True])
def test_rows_are_selected_from_each_column(packers, bucketed):
    both, single = packers
    select = both.selector(both.pack((TEXTS, OTHERS))[0], bucketed)
    index = tf.constant([2, 0])
    for prefix, column in (("", TEXTS), ("pair_", OTHERS)):
        own = single.selector(single.pack((column,))[0], bucketed)
        check(select(index), prefix, own(index))
    (inside,) = tf.data.Dataset.from_tensors(index).map(select)
    tf.nest.map_structure(np.testing.assert_array_equal, inside, select(index))


def test_lengths_and_truncated_rows_are_those_of_the_longer_text(packers):
    both, single = packers
    rows, cut = both.pack((TEXTS, OTHERS))
    lengths = [single.lengths(single.pack((column,))[0]) for column in (TEXTS, OTHERS)]
    np.testing.assert_array_equal(both.lengths(rows), np.max(lengths, axis=0))
    assert int(cut) == 2  # the second text of row 1, and the first of row 2
    with pytest.raises(ValueError, match="one column of texts or two. Received: 3"):
        both.pack((TEXTS, OTHERS, TEXTS))
