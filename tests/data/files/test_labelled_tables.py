"""Splits of labelled texts; `test_users_files` has the files."""

from zoo.data import hash_split


def test_hash_split_is_fixed_and_complete():
    texts = [f"text {i}" for i in range(2000)] + ["text 7"]
    split = hash_split(texts, [("test", 0.1), ("train", 0.9)])
    assert sorted(split["test"] + split["train"]) == list(range(2001))
    assert 150 < len(split["test"]) < 250
    assert (7 in split["test"]) == (2000 in split["test"])
    more = hash_split(["new", *texts], [("test", 0.1), ("train", 0.9)])
    assert [row - 1 for row in more["test"] if row] == split["test"]
