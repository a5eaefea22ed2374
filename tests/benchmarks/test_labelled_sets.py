"""The data of the table of defaults: what is read, chosen and counted."""

import dataclasses
import random

import pytest
from tiny_inputs import write_sets, write_tagged

from benchmarks.tables import labelled_sets as sets
from zoo.data import read_conll


def test_every_set_is_read(tmp_path):
    write_sets(tmp_path)
    for name, kind in sets.LABELLED_SETS.items():
        kind = dataclasses.replace(kind, train=20, test=None)
        parts = kind.load(tmp_path)
        assert [len(parts[part]) for part in ("train", "test")] == [20, 40], name
        x, y = parts["train"][0]
        if kind.words:
            assert len(x) == len(y) and isinstance(x, list)
        else:
            pair = name in ("mrpc", "snli_5000")
            assert isinstance(x, tuple if pair else str) and isinstance(y, str)
        assert not {str(x) for x, _ in parts["train"]} & {str(parts["test"][0][0])}
    pairs = sets.LABELLED_SETS["snli_5000"].read(tmp_path, "train")
    assert len(pairs) == 40 and {label for _, label in pairs} == {"1", "2"}
    tags = sets.LABELLED_SETS["conll2003_3000"].read(tmp_path, "test")
    assert {tag for _, row in tags for tag in row} == {"O", "B-GOOD"}


def test_lines_without_a_word_are_ignored(tmp_path):
    write_tagged(tmp_path, 12)
    with pytest.raises(ValueError, match="must have a word"):
        read_conll(tmp_path / "btc/f.conll.gz")
    words, tags = sets.read_words(tmp_path / "btc/f.conll.gz")
    assert [*map(len, words)] == [*map(len, tags)] and len(words) == 12
    plain = tmp_path / "btc/a.conll.gz"
    assert sets.read_words(plain) == read_conll(plain)


def test_a_part_never_changes():
    rows = [(f"text {number}", str(number % 2)) for number in range(50)]
    shuffled = random.Random(0).sample(rows, len(rows))
    assert sets.choose(rows, 10) == sets.choose(shuffled, 10)
    assert sets.choose(rows, 10) == sets.choose(rows)[:10] != rows[:10]
    assert [x for x, _ in sets.choose(rows, 3)] == ["text 43", "text 19", "text 26"]
    with pytest.raises(ValueError, match="must have 51 rows. Received: 50"):
        sets.choose(rows, 51)


def test_a_tenth_is_held_out():
    train, held_out = sets.hold_out(list(range(25)))
    assert held_out == [0, 1] and train == list(range(2, 25))


def test_columns():
    assert sets.columns([("a", "0"), ("b", "1")]) == (["a", "b"], ["0", "1"])
    pairs = [(("a", "b"), "0"), (("c", "d"), "1")]
    assert sets.columns(pairs) == ((["a", "c"], ["b", "d"]), ["0", "1"])
    assert sets.columns([(["a"], ["O"])]) == ([["a"]], [["O"]])


def test_counts():
    texts, names, speech = (
        sets.LABELLED_SETS[name] for name in ("trec6", "conll2003_3000", "ud_ewt_3000")
    )
    assert texts.count(["0", "1"], ["0", "0"]) == [[1, 1, 1], [0, 1, 1]]
    gold, said = [["B-A", "I-A", "O"]], [["B-A", "O", "O"]]
    assert names.count(gold, said) == [[0, 1, 1]]
    assert speech.count(gold, said) == [[2, 3, 3]]
    gold, said = [["B-A", "I-A"], ["I-A", "I-B"]], [["B-A", "E-A"], ["S-A", "S-A"]]
    assert names.count(gold, said) == [[1, 1, 1], [1, 2, 2]]  # in any scheme
    assert (texts.metric, names.metric) == ("accuracy", "span F1")
