"""The ids of a corpus, in every reader of one."""

import numpy as np
import pytest

from zoo.data import DocumentStreams, PackedRows, SkipGrams, TokenStreams

READERS = {
    "sentences": lambda ids, offsets: TokenStreams(ids, offsets, 2, 2),
    "documents": lambda ids, offsets: DocumentStreams(ids, offsets, 2, 2),
    "rows": lambda ids, offsets: PackedRows(ids, offsets, 2, 2),
    "windows": lambda ids, offsets: SkipGrams(ids, offsets),
}
IDS, OFFSETS = [5, 6, 7, 8, 9, 5], [0, 2, 6]
WRONG = {
    "negative": ([5, 6, -1, 8, 9, 5], OFFSETS, "`ids` must hold integers from 0"),
    "wide": ([5, 6, 2**32, 8, 9, 5], OFFSETS, "`ids` must .* to 4294967296"),
    "unsigned": (np.array([2**63] * 6, "uint64"), OFFSETS, "`ids` must .* from 0"),
    "floats": (np.ones(6), OFFSETS, "`ids` must be an array of integers"),
    "text": (["a"] * 6, OFFSETS, "`ids` must be an array of integers"),
    "rows": ([IDS], OFFSETS, "one axis. Received: int64 of shape .1, 6"),
    "fractions": (IDS, [0, 2.5, 6], "`offsets` must be an array of integers"),
    "beyond": (IDS, [0, 2, 7], "rise from 0 to 6, .* Received: .0 2 7"),
    "falling": (IDS, [0, 4, 2, 6], "must rise from 0 to 6"),
    "before": (IDS, [-1, 2, 6], "must rise from 0 to 6"),
    "none": (IDS, np.zeros(0, int), "must rise from 0 to 6"),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("case", WRONG)
def test_wrong_ids_and_places_are_refused(reader, case):
    ids, offsets, message = WRONG[case]
    with pytest.raises(ValueError, match=message):
        READERS[reader](np.asarray(ids), np.asarray(offsets))


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("kind", ["int16", "uint32", "int64", list])
def test_integers_of_any_width_are_taken(reader, kind):
    ids = IDS if kind is list else np.array(IDS, kind)
    assert READERS[reader](ids, OFFSETS).offsets.tolist() == OFFSETS


@pytest.mark.parametrize("size", [0, 1.5, "2", None])
def test_sizes_are_integers(size):
    for reader in (TokenStreams, DocumentStreams, PackedRows):
        with pytest.raises(ValueError, match="`batch_size` must be an integer from 1"):
            reader(IDS, OFFSETS, size, 2)


@pytest.mark.parametrize(
    ("reader", "arguments", "message"),
    [
        (TokenStreams, (IDS, OFFSETS, 6, 10), "must have 60 tokens.*Received: 8"),
        (DocumentStreams, (IDS, OFFSETS, 6), "at least 7 tokens. Received: 6"),
        (PackedRows, ([1], [0, 1], 2, 4), "at least 2 tokens"),
        (SkipGrams, (np.zeros(0, int), [0, 0, 0]), "must have a word"),
        (SkipGrams, (IDS, OFFSETS, 0), "`window` must be an integer from 1 to 1,000"),
        (SkipGrams, (IDS, OFFSETS, 1, None, 0), "`words_per_step` must be an integer"),
    ],
)
def test_small_corpora_and_sizes_are_refused(reader, arguments, message):
    with pytest.raises(ValueError, match=message):
        reader(*arguments)
