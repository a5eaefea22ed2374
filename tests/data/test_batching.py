"""Which rows form each batch, and how long they are padded."""

import numpy as np
import pytest
import tensorflow as tf

from zoo.data import bucket_length, plan_batches
from zoo.data.batching import BATCHES_IN_POOL


def plan(lengths, batch_size, **options):
    return [batch.numpy() for batch in plan_batches(lengths, batch_size, **options)]


def draw_lengths(count, seed=0):
    return np.random.default_rng(seed).integers(1, 200, count)


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("count, batch_size", [(1, 4), (4, 4), (37, 8), (700, 4)])
def test_every_epoch_has_every_row_once(count, batch_size, shuffle):
    epochs = range(2, 5)
    options = {"shuffle": shuffle, "epochs": epochs}
    dataset = plan_batches(draw_lengths(count), batch_size, **options)
    batches, steps = [*dataset.as_numpy_iterator()], -(-count // batch_size)
    assert len(batches) == int(dataset.cardinality()) == 3 * steps
    for start in range(0, len(batches), steps):
        rows = np.concatenate(batches[start : start + steps])
        assert sorted(rows) == list(range(count))
        sizes = sorted(len(batch) for batch in batches[start : start + steps])
        assert sizes[1:] == [batch_size] * (steps - 1)


def test_the_order_depends_on_seed_and_epoch_only():
    lengths = draw_lengths(60)

    def order(**options):
        return np.concatenate(plan(lengths, 7, **options)).tolist()

    epochs = [order(seed=5, epochs=[epoch]) for epoch in (3, 4)]
    assert order(seed=5, epochs=[3, 4]) == epochs[0] + epochs[1]
    assert epochs[0] != epochs[1]
    assert order(seed=6, epochs=[3]) != epochs[0]


def test_rows_of_similar_length_share_a_batch():
    lengths = draw_lengths(8 * BATCHES_IN_POOL * 2)
    batches = plan(lengths, 8)
    spread = [np.ptp((lengths[batch] + 7) // 8) for batch in batches]
    assert max(spread) <= 2
    longest = [lengths[batch].max() for batch in batches]
    assert np.abs(np.diff(longest)).mean() > 30  # but the batches are in random order


def test_without_shuffling_the_longest_come_first():
    lengths = np.array([3, 9, 1, 9, 5])
    rows = np.concatenate(plan(lengths, 2, shuffle=False))
    assert rows.tolist() == [1, 3, 4, 0, 2]


@pytest.mark.parametrize(
    ("count", "batch_size", "token_budget", "message"),
    [
        (0, 4, None, "0 rows, batch_size=4"),
        (3, 0, None, "3 rows, batch_size=0"),
        (2, None, None, "Exactly one of `batch_size` and"),
        (2, 3, 40, "Exactly one of `batch_size` and"),
    ],
)
def test_a_plan_has_rows_and_one_size(count, batch_size, token_budget, message):
    with pytest.raises(ValueError, match=message):
        plan_batches(np.ones(count, int), batch_size, token_budget=token_budget)


@pytest.mark.shown("1-5", "40-400-True", "2000-800-True", "60-3-False")
@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("count, budget", [(1, 5), (40, 400), (2000, 800), (60, 3)])
def test_batches_hold_as_many_rows_as_the_budget_allows(count, budget, shuffle):
    lengths = draw_lengths(count)
    options = {"batch_size": None, "token_budget": budget}
    whole = plan(lengths, shuffle=shuffle, seed=3, epochs=[4, 5], **options)
    rows = np.concatenate(whole)
    assert sorted(rows[:count]) == sorted(rows[count:]) == list(range(count))
    first, last = (plan(lengths, epochs=[epoch], **options) for epoch in (0, 6))
    assert len(first) == len(last)
    sizes = [len(batch) * lengths[batch].max() for batch in whole]
    alone = [len(batch) == 1 for batch in whole]
    assert all(s <= budget or a for s, a in zip(sizes, alone, strict=True))
    if (count, budget) == (2000, 800):
        assert np.mean(sizes) > 0.8 * budget  # full
        used = [lengths[batch].sum() for batch in whole]
        assert np.sum(used) > 0.97 * np.sum(sizes)  # of tokens, not of padding
    if shuffle and count > 1:
        assert rows[:count].tolist() != rows[count:].tolist()
    if not shuffle:
        assert (np.diff(lengths[rows[:count]]) <= 0).all()


def test_buckets_are_few_and_close():
    lengths = np.arange(1, 600)
    buckets = np.array([int(bucket_length(n, 4096)) for n in lengths])
    assert (buckets >= lengths).all() and (np.diff(buckets) >= 0).all()
    assert (buckets % 8 == 0).all()
    assert (buckets[lengths > 32] <= 1.25 * lengths[lengths > 32]).all()
    for octave in (64, 128, 256):
        shapes = {b for b in buckets if octave < b <= 2 * octave}
        assert len(shapes) == 4
    assert buckets[:3].tolist() == [8, 8, 8] and buckets[64] == 80
    assert int(bucket_length(0, 512)) == 8
    # A bucket never exceeds the maximum.
    assert int(bucket_length(497, 500)) == 500
    assert int(bucket_length(3, 5)) == 5
    graph = tf.function(lambda n: bucket_length(n, 500))
    assert [int(graph(tf.constant(n))) for n in (3, 70, 497)] == [8, 80, 500]
