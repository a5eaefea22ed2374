"""Files whose rows have sets of labels."""

import json

import pytest

from zoo.data import find_separator, read_classes

TEXTS, SETS = ["one", "two", "three"], [("a", "b"), (), ("c",)]
HEADER = "text,labels\n"
FILES = {
    "separator": ("a.csv", HEADER + "one,a|b\ntwo,\nthree,c\n", {"separator": "|"}),
    "spaces": ("a.csv", HEADER + "one,a ; b\ntwo, \nthree,c\n", {"separator": ";"}),
    "repeated": ("a.csv", HEADER + "one,a|b|a\ntwo,\nthree,c\n", {"separator": "|"}),
    "json in csv": (
        "a.csv",
        HEADER + 'one,"[""a"", ""b""]"\ntwo,[]\nthree,"[""c""]"\n',
        {},
    ),
    "lists with a separator": (
        "a.csv",
        HEADER + 'one,"["" a"", ""b""]"\ntwo,[]\nthree,c\n',
        {"separator": "|"},
    ),
    "json lines": (
        "a.jsonl",
        "".join(
            json.dumps({"text": text, "label": row}) + "\n"
            for text, row in zip(TEXTS, SETS, strict=True)
        ),
        {},
    ),
    "columns": (
        "a.csv",
        "text,a,b,c\none,1,true,0\ntwo,0,0,\nthree,0.0,False,1.0\n",
        {"label_column": ["a", "b", "c"]},
    ),
    "pairs": (
        "a.tsv",
        "text1\ttext2\tlabel\none\tx\ta|b\ntwo\ty\t\nthree\tz\tc\n",
        {"separator": "|"},
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_forms_of_sets(name, tmp_path):
    file, content, options = FILES[name]
    path = tmp_path / file
    path.write_text(content)
    texts, labels = read_classes(path, **options)
    wanted = (TEXTS, [*"xyz"]) if name == "pairs" else TEXTS
    assert texts == wanted and labels == SETS
    # A model with a separator reads the same file without the option.
    separator = options.pop("separator", "%")
    assert read_classes(path, **options, default_separator=separator)[1] == SETS


def test_labels_that_are_numbers_are_str(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "one", "label": [1, true, 0.5]}\n')
    assert read_classes(tmp_path / "a.jsonl")[1] == [("1", "True", "0.5")]


@pytest.mark.parametrize("label", ["a|b", "[a", "[1"])
def test_single_labels_that_look_like_sets_are_labels(label, tmp_path):
    (tmp_path / "a.csv").write_text(HEADER + f"one,{label}\ntwo,b\n")
    assert read_classes(tmp_path / "a.csv")[1] == [label, "b"]


@pytest.mark.parametrize(
    "content, options, message",
    [
        ("one,[]\ntwo,a\n", {}, "a list of labels. Received: 'a' in line 3"),
        ("one,a||b\n", {"separator": "|"}, r"labels between '\|'.*'a\|\|b' in line 2"),
        ('one,"[""a"", null]"\n', {}, "a list of labels. Received: .* in line 2"),
        ('one,"[""a"", NaN]"\n', {}, "a list of labels. Received: .* in line 2"),
        ('one,"[""a"", """"]"\n', {}, "a list of labels. Received: .* in line 2"),
        ("one, \n", {}, "must have a label, a text or a number. .*with `separator`"),
        ("one,a\n", {"separator": ""}, "of at least one character. Received: ''"),
        ("one,a\n", {"separator": 5}, "of at least one character. Received: 5"),
        ("one,|a\n", {"separator": "|"}, r"labels between '\|'. Received: '\|a'"),
        ("one,1\n", {"label_column": []}, "`label_column` must be one column"),
        ("one,2\n", {"label_column": ["labels"]}, "must hold 0 or 1. Received: '2'"),
        (
            "one,1\n",
            {"label_column": ["labels", "labels"]},
            "must have a column of its own",
        ),
        ("one,1\n", {"label_column": ["labels", "x"]}, "`label_column` must be one"),
        ("", {"separator": "|"}, "Received: only a header|must have rows"),
    ],
)
def test_wrong_files(content, options, message, tmp_path):
    (tmp_path / "a.csv").write_text(HEADER + content)
    with pytest.raises(ValueError, match=message):
        read_classes(tmp_path / "a.csv", "text", **options)


def test_a_separator_is_found_in_labels_that_look_like_sets():
    joined = ["a|b", "b|c", "a", "c", "a|c", "b"]
    assert find_separator(joined * 3) == "|"
    assert find_separator([label.replace("|", ", ") for label in joined]) == ","
    # Ordinary labels with such characters.
    assert find_separator(["New York", "New Jersey", "Los Angeles", "Boston"]) is None
    assert find_separator(["3/4", "1/2", "7/8"]) is None
    assert find_separator(["positive", "negative"]) is None
    assert find_separator(["O", "B-PER"]) is None
