"""The data of the table of defaults: what is read, chosen and counted."""

import dataclasses
import gzip
import random

import pytest
import tiny


@pytest.fixture
def sets():
    """The module under test; `benchmarks` is importable from the checkout only."""
    from benchmarks.tables import labelled_sets

    return labelled_sets


def write(path, lines):
    """Writes lines to a gzip file, in a new folder if necessary."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)


def write_sets(folder, count=40):
    """Every labelled set as its files hold it, `count` rows each."""
    for seed, part in enumerate(("train", "test")):
        texts, names = tiny.make_texts(count, seed)
        labels = [tiny.LABELS.index(name) for name in names]
        rows = list(zip(texts, reversed(texts), labels, strict=True))
        dev = "train" if part == "train" else "dev"
        lines = [f"{a}\t{label}" for a, _, label in rows]
        write(folder / f"glue/SST-2/{dev}.tsv.gz", ["sentence\tlabel", *lines])
        lines = [f"{label}\t0\t0\t{a}\t{b}" for a, b, label in rows]
        header = "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String"
        write(folder / f"glue/MRPC/{dev}.tsv.gz", [header, *lines])
        lines = [f"{label + 1}\t{label + 1}\t{a}\t{b}" for a, b, label in rows]
        write(folder / f"snli20k/{part}.tsv.gz", [*lines, "0\t0\tno\tlabel"])
        lines = [f"{label}\t{a}" for a, _, label in rows]
        write(folder / f"imdb/{part}.tsv.gz", lines)
        lines = [line.replace("\t", " ") for line in lines]
        write(folder / f"trec6/{part}.txt.gz", lines)
        write_tagged(folder, part, texts)


def write_tagged(folder, part, texts):
    """Words with tags, as the files of CoNLL and of UD hold them."""
    names, speech = [], []
    for text, tags in zip(texts, tiny.make_tags(texts), strict=True):
        pairs = list(zip(text.split(), tags, strict=True))
        names += [f"{word} X Y {tag.replace('B-', 'I-')}" for word, tag in pairs] + [""]
        speech += [f"{word}\t{tag[0]}" for word, tag in pairs] + [""]
    file = {"train": "train", "test": "testb"}[part]
    write(folder / f"conll2003/eng.{file}.gz", ["-DOCSTART- X Y O", "", *names])
    write(folder / f"ud_ewt/{part}.pos.tsv.gz", speech)
    name = {"train": "b", "test": "f"}[part]
    write(folder / f"btc/{name}.conll.gz", [*names, "O", ""])  # a tag without a word


def test_every_set_is_read(sets, tmp_path):
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


def test_a_part_never_changes(sets):
    rows = [(f"text {number}", str(number % 2)) for number in range(50)]
    shuffled = random.Random(0).sample(rows, len(rows))
    assert sets.choose(rows, 10) == sets.choose(shuffled, 10)
    assert sets.choose(rows, 10) == sets.choose(rows)[:10] != rows[:10]
    assert [x for x, _ in sets.choose(rows, 3)] == ["text 43", "text 19", "text 26"]
    with pytest.raises(ValueError, match="must have 51 rows. Received: 50"):
        sets.choose(rows, 51)


def test_a_tenth_is_held_out(sets):
    train, held_out = sets.hold_out(list(range(25)))
    assert held_out == [0, 1] and train == list(range(2, 25))


def test_columns(sets):
    assert sets.columns([("a", "0"), ("b", "1")]) == (["a", "b"], ["0", "1"])
    pairs = [(("a", "b"), "0"), (("c", "d"), "1")]
    assert sets.columns(pairs) == ((["a", "c"], ["b", "d"]), ["0", "1"])
    assert sets.columns([(["a"], ["O"])]) == ([["a"]], [["O"]])


def test_counts(sets):
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
