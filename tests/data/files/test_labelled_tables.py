import gzip
import json

import pytest

from zoo.data import hash_split, read_labelled

ROWS = [("a film", "good"), ("a dull, long film", "bad"), ('a "film"', "good")]


def test_tsv_with_header_in_any_order(tmp_path):
    path = tmp_path / "t.tsv"
    path.write_text(
        "Label\tid\tSentence\n" + "".join(f"{b}\t1\t{a}\n" for a, b in ROWS)
    )
    texts, labels = read_labelled(path)
    assert list(zip(texts, labels, strict=True)) == ROWS  # quotes are characters


def test_csv_and_gzip_and_byte_order_mark(tmp_path):
    path = tmp_path / "t.csv.gz"
    text = '\ufefftext,label\na film,good\n"a dull, long film",bad\n"a ""film""",good\n'
    path.write_bytes(gzip.compress(text.encode()))
    texts, labels = read_labelled(path)
    assert list(zip(texts, labels, strict=True)) == ROWS


def test_no_header(tmp_path):
    path = tmp_path / "t.tsv"
    path.write_text("".join(f"{b}\t{a}\n" for a, b in ROWS))
    assert read_labelled(path) == ([a for a, _ in ROWS], [b for _, b in ROWS])


def test_a_line_break_in_the_first_text(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('"two\nlines, x";pos\n"y";neg\n"z";pos\n')
    assert read_labelled(path) == (["two\nlines, x", "y", "z"], ["pos", "neg", "pos"])


def test_pairs(tmp_path):
    path = tmp_path / "t.tsv"
    path.write_text("sentence1\tsentence2\tlabel\na\tb\t1\nc\td\t0\n")
    assert read_labelled(path) == ((["a", "c"], ["b", "d"]), ["1", "0"])


def test_errors(tmp_path):
    with pytest.raises(FileNotFoundError, match="No such file"):
        read_labelled(tmp_path / "none.tsv")
    path = tmp_path / "t.tsv"
    path.write_text("a\tb\tc\nd\te\tf\n")
    with pytest.raises(ValueError, match="no column has a known name for texts"):
        read_labelled(path)
    path.write_text("text\tlabel\na film\n")
    with pytest.raises(ValueError, match="as the first, 2. Received: 1 in line 2"):
        read_labelled(path)


@pytest.mark.parametrize("label", ["", "  ", "\u00a0"])
def test_a_row_without_a_label_is_refused(tmp_path, label):
    path = tmp_path / "t.tsv"
    path.write_text(f"text\tlabel\na film\tgood\na dull film\t{label}\n", "utf-8")
    message = r"Every row of .*t\.tsv must have a label.* in line 3: .*a dull film"
    with pytest.raises(ValueError, match=f"{message}.*remove the row"):
        read_labelled(path)
    path = tmp_path / "t.csv"
    path.write_text(f"good,a film\n{label},a dull film\ngood,a plot\n", "utf-8")
    with pytest.raises(ValueError, match=r"t\.csv must have a label.* in line 2"):
        read_labelled(path)


def test_hash_split_is_fixed_and_complete():
    texts = [f"text {i}" for i in range(2000)] + ["text 7"]
    split = hash_split(texts, [("test", 0.1), ("train", 0.9)])
    assert sorted(split["test"] + split["train"]) == list(range(2001))
    assert 150 < len(split["test"]) < 250
    assert (7 in split["test"]) == (2000 in split["test"])
    more = hash_split(["new", *texts], [("test", 0.1), ("train", 0.9)])
    assert [row - 1 for row in more["test"] if row] == split["test"]


def test_pairs_without_agreement_are_left_out(tmp_path):
    names = "gold_label\tsentence1_parse\tsentence1\tsentence2\tlabel1"
    lines = ["neutral\t(a)\ta\tb\tx", "-\t(c)\tc\td\tx", "entailment\t(e)\te\tf\ty"]
    (tmp_path / "snli.txt").write_text("\n".join([names, *lines]))
    texts, labels = read_labelled(tmp_path / "snli.txt")
    assert (texts, labels) == ((["a", "e"], ["b", "f"]), ["neutral", "entailment"])
    rows = [
        {"gold_label": "-", "sentence1": "a", "sentence2": "b"},
        {"gold_label": "neutral", "sentence1": "c", "sentence2": "d"},
    ]
    (tmp_path / "snli.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert read_labelled(tmp_path / "snli.jsonl") == ((["c"], ["d"]), ["neutral"])
    (tmp_path / "none.txt").write_text("\n".join([names, lines[1]]))
    with pytest.raises(ValueError, match='rows with labels. Received: only labels "-"'):
        read_labelled(tmp_path / "none.txt")
    (tmp_path / "other.tsv").write_text("text\tlabel\na\t-\n")
    assert read_labelled(tmp_path / "other.tsv") == (["a"], ["-"])
