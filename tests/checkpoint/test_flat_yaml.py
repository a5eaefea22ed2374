"""The subset of YAML that Marian writes."""

import pytest

from zoo.checkpoint import read_flat_yaml

VERSION = "v1.9.0 1234abc 2020-02-26 10:00:00 +0000"
# Lines, and the key and the value that they have.
ENTRIES = [
    ("a: 1", "a", 1),
    ("b-c: -2.5e-3", "b-c", -0.0025),
    ("true-word: True", "true-word", True),
    ('empty: ""', "empty", ""),
    ("none:", "none", None),
    ("words: one two: three", "words", "one two: three"),
    ("quoted: 'it''s'", "quoted", "it's"),
    (f"version: {VERSION}", "version", VERSION),
    ("list:\n  - 1\n  - x y", "list", [1, "x y"]),
    ("nothing:\n  []", "nothing", []),
    ("flow: [1, 2]", "flow", [1, 2]),
    ('"\\u2581a": 3', "\u2581a", 3),
    ('">>de<<": 4', ">>de<<", 4),
    ('":": 5', ":", 5),
    ('"\\xA0": 6', "\xa0", 6),
    # A loader of YAML 1.1 makes False, an octal number, a str and seconds of these.
    ("no: 7", "no", 7),
    ("8: 010", "8", 10),
    ("eps: 1e-09", "eps", 1e-09),
    ("time: 10:00:00", "time", "10:00:00"),
    ("\u2581the: 7", "\u2581the", 7),
]


def test_values_and_lists():
    text = "\n".join(["# a comment", *(lines for lines, _, _ in ENTRIES), ""])
    assert read_flat_yaml(text, "the text") == {k: value for _, k, value in ENTRIES}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb", "the text must be YAML .* line 2, 'b'"),
        ("a: !!python/object:os.system x", "values of this form are not supported"),
        ("a: &anchor 1", "values of this form are not supported"),
        ("a: *anchor", "values of this form are not supported"),
        ("a: |\n  text", "line 1"),
        ("a:\n  b: 1", "line 2"),
        ("a: 1\na: 2", "the key 'a' occurs twice"),
        ("- 1", "line 1"),
        ("a: 1\n- 2", "'a' has a value already"),
        ("a:\n  - - 1", "line 2"),
        ("a: 'x", "line 1"),
        ('a: "x', "line 1"),
        ("{a: 1}", "line 1"),
    ],
)
def test_anything_else_raises_an_error(text, message):
    with pytest.raises(ValueError, match=message):
        read_flat_yaml(text, "the text")
