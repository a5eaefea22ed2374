"""Documents as rows of a fixed length."""

import collections

import numpy as np

from zoo.data import PackedRows

DOCUMENTS = [np.arange(10, 17), np.arange(20, 23), np.arange(30, 42), np.array([50])]
IDS = np.concatenate(DOCUMENTS)
OFFSETS = np.concatenate([[0], np.cumsum([len(d) for d in DOCUMENTS])])


def make(**options):
    options = {"batch_size": 2, "length": 4, "seed": None, **options}
    return PackedRows(IDS, OFFSETS, **options)


def every_batch(rows, epoch=0):
    steps = range(epoch * rows.steps_per_epoch, (epoch + 1) * rows.steps_per_epoch)
    found = [rows.batch(step) for step in steps]
    return {name: np.concatenate([b[name] for b in found]) for name in found[0]}


def test_rows_are_the_text_in_order():
    rows = make()
    found = every_batch(rows)
    assert found["token_ids"].shape == (6, 4) and rows.steps_per_epoch == 3
    known = found["padding_mask"].astype(bool)
    np.testing.assert_array_equal(found["token_ids"][known], IDS[: known.sum()])
    read = found["next_mask"].astype(bool)
    np.testing.assert_array_equal(found["next_ids"][read], IDS[1:])
    assert known.sum() == len(IDS) and read.sum() == len(IDS) - 1
    assert set(found["padding_mask"].ravel()) == {0, 1}


def test_separate_documents_are_numbered_and_predict_no_other():
    found = every_batch(make(separate=True))
    assert found["padding_mask"][1].tolist() == [1, 1, 1, 2]  # 14 15 16 | 20
    assert found["next_mask"][1].tolist() == [1, 1, 0, 1]
    assert found["next_mask"].sum() == len(IDS) - len(DOCUMENTS)
    # A token that begins every document ends the one before.
    ids = np.concatenate([[0, *document] for document in DOCUMENTS])
    offsets = OFFSETS + np.arange(len(OFFSETS))
    rows = PackedRows(ids, offsets, 2, 4, separate=True, seed=None, end_id=0)
    assert every_batch(rows)["next_mask"].sum() == len(ids) - 1


def test_an_epoch_has_every_token_once_in_another_order():
    rows = make(seed=3)
    orders = []
    for epoch in range(3):
        found = every_batch(rows, epoch)
        ids = found["token_ids"][found["padding_mask"].astype(bool)]
        assert collections.Counter(ids.tolist()) == collections.Counter(IDS.tolist())
        orders.append(ids.tolist())
    assert orders[0] != orders[1] != orders[2]
    np.testing.assert_equal(make(seed=3).batch(4), rows.batch(4))
