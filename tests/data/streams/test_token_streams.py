"""Streams against lists of sentences, put one behind the other."""

import numpy as np
import pytest

from zoo.data import TokenStreams

SENTENCES = [[5, 6, 7], [8], [], [9, 10], [11, 12, 13, 14], [15]] * 3
IDS = np.array([word for words in SENTENCES for word in words])
OFFSETS = np.cumsum([0, *map(len, SENTENCES)])


def reference(streams, epoch, backward):
    """The tokens that are read and predicted in an epoch, (B, N) each."""
    order = np.arange(len(SENTENCES))
    if streams.seed is not None:
        order = np.random.default_rng([streams.seed, epoch]).permutation(order)
    read, targets = [], []
    for number in order:
        words = SENTENCES[number][:: -1 if backward else 1]
        edges = (1, 0) if backward else (0, 1)
        read += [edges[0], *words]
        targets += [*words, edges[1]]
    size = len(read) // streams.batch_size
    return [
        np.array(part[: size * streams.batch_size]).reshape(streams.batch_size, size)
        for part in (read, targets)
    ]


@pytest.mark.parametrize("seed", [None, 0, 7])
@pytest.mark.parametrize("batch_size, steps", [(1, 1), (3, 4), (2, 5), (4, 9)])
def test_steps_continue_the_previous_steps(seed, batch_size, steps):
    streams = TokenStreams(IDS, OFFSETS, batch_size, steps, seed=seed)
    count = streams.steps_per_epoch
    for epoch in (1, 0):  # in any order
        batches = [streams.batch(epoch * count + step) for step in range(count)]
        for side in ("forward", "backward"):
            expected = reference(streams, epoch, side == "backward")
            for name, wanted in zip((side, f"{side}_targets"), expected, strict=True):
                turn = slice(None, None, -1 if side == "backward" else None)
                parts = [batch[name][:, turn] for batch in batches]
                found = np.concatenate(parts, axis=1)
                np.testing.assert_array_equal(found, wanted[:, : count * steps])
                assert parts[0].dtype == np.int32


def test_every_epoch_has_another_order():
    streams = TokenStreams(IDS, OFFSETS, 2, 5, seed=3)
    first, second = (streams.batch(n * streams.steps_per_epoch) for n in (0, 1))
    assert (first["forward"] != second["forward"]).any()
    again = TokenStreams(IDS, OFFSETS, 2, 5, seed=3)
    np.testing.assert_array_equal(again.batch(0)["forward"], first["forward"])
