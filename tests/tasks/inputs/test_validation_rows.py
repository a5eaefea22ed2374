"""The rows that are held out for validation have all labels in their shares."""

import collections

import numpy as np
import pytest
from light_fits import Seen, make

from zoo.data.held_out import held_out_rows
from zoo.programs.finetune.labelled_rows import split_off
from zoo.tasks.answering import as_numpy
from zoo.tasks.inputs.reading import read_data

RARE = ["good"] * 992 + ["bad"] * 8


def split(task, x, y, share):
    """Texts and targets for training and for validation, two pairs of lists."""
    parts = read_data(task, (x, y, None)).split(share)
    return tuple(
        (as_numpy(part.columns[0]).tolist(), part.labels().tolist()) for part in parts
    )


@pytest.mark.parametrize("share", [0.01, 0.1, 0.2, 0.5, 0.9])
@pytest.mark.parametrize("seed", range(3))
def test_every_label_has_its_share(classifier, share, seed):
    labels = np.random.default_rng(seed).permutation(RARE)
    texts = [f"{row} {label}" for row, label in enumerate(labels)]
    train, held_out = split(classifier, texts, labels, share)
    assert sorted(train[0] + held_out[0]) == sorted(texts)
    assert len(train[0]) == int(1000 * (1 - share))  # as many as in Keras
    for x, y in (train, held_out):
        assert [classifier.labels.index(text.split()[1]) for text in x] == y
    counts = collections.Counter(classifier.labels[number] for number in held_out[1])
    assert abs(counts["bad"] - 8 * share) < 1 and counts["bad"] >= 1
    last = np.flatnonzero(labels == "bad")[-counts["bad"] :]
    rows = [int(text.split()[0]) for text in held_out[0]]
    assert rows == sorted(rows) and {*last} <= {*rows}


def test_rows_are_chosen_by_the_largest_remainders():
    draw = np.random.default_rng(0)
    for _ in range(300):
        classes = draw.integers(0, draw.integers(1, 6), draw.integers(2, 60))
        count = int(draw.integers(1, len(classes)))
        rows = held_out_rows(classes, count)
        assert len({*rows}) == count
        for one in {*classes}:
            share = count * np.sum(classes == one) / len(classes)
            assert abs(np.sum(classes[rows] == one) - share) < 1


def test_fit_holds_out_the_labels_in_their_shares(tokenizer):
    """The last tenth of the rows has one label only."""
    texts, labels = ["so dull"] * 8 + ["good film"] * 72, ["bad"] * 8 + ["good"] * 72
    model = make(tokenizer)
    seen = Seen(model)
    options = {"batch_size": 80, "validation_split": 0.1, "verbose": 0}
    assert "val_loss" in model.fit(texts, labels, **options).history
    (labels,) = seen.labels
    assert (len(labels), labels.count(0)) == (72, 7)


def test_other_targets_hold_out_the_last_rows(models):
    x, y = ["a", "b", "c", "d"], [0.5, 1.0, 2.0, 3.0]
    expected = (x[:3], [[value] for value in y[:3]]), (["d"], [[3.0]])
    assert split(models("text_regressor"), x, y, 0.25) == expected


def test_files_are_split_in_the_shares_of_the_labels():
    texts = [f"text {row}" for row in range(1000)]
    train, held_out = split_off(texts, RARE, stratified=True)
    counts = collections.Counter(held_out[1])
    assert 80 < len(held_out[1]) < 120 and counts["bad"] == 1
    assert sorted(train[0] + held_out[0]) == sorted(texts)
    assert split_off(texts, RARE, stratified=True) == [train, held_out]
    # Equal texts are together, whatever their labels are.
    texts = [f"text {row // 2}" for row in range(1000)]
    train, held_out = split_off(texts, RARE, stratified=True)
    assert not {*train[0]} & {*held_out[0]} and {*held_out[1]} == {"good", "bad"}
    pairs = texts, ["the same"] * 1000
    assert split_off(pairs, RARE, stratified=True)[0][0][0] == train[0]
