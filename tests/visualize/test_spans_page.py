"""The page of spans in texts: what it contains, and what it refuses."""

import html
import re

import pytest

from zoo.text import phrase_spans
from zoo.visualize import save_spans_page, spans_page

TEXT = "Ann Lee met <b>Bo</b> & co."
NAMES = [
    {"begin": 0, "end": 7, "label": "PER", "score": 0.75},
    {"begin": 12, "end": 21, "label": "<i>"},
]
TREE = (
    "S",
    ("NP", ("DT", "the"), ("NN", "cat")),
    ("VP", ("VB", "sat"), ("PP", ("IN", "on"), ("NP", ("PRP", "it")))),
)


def paragraph(page):
    """The text that a reader sees, without labels."""
    (body,) = re.findall("<p .*?>(.*)</p>", page, re.DOTALL)
    return html.unescape(re.sub("<small>.*?</small>|<[^>]*>", "", body))


def test_spans_are_marked_in_the_text(tmp_path):
    page = spans_page([TEXT], [NAMES], title="<x>")
    assert paragraph(page) == TEXT and "<b>" not in page and "<i>" not in page
    assert 'title="score 0.750">Ann Lee<small>PER</small></mark> met' in page
    assert "&lt;b&gt;Bo&lt;/b&gt;<small>&lt;i&gt;</small></mark>" in page
    assert "<title>&lt;x&gt;</title>" in page and "<script" not in page
    assert "default-src 'none'" in page
    colors = re.findall("--color: (#[0-9a-f]{6})", page)
    assert colors[:2] == colors[2:] and colors[0] != colors[1]
    path = save_spans_page(tmp_path / "a/spans.html", [TEXT], [NAMES], "<x>")
    assert path.read_text("utf-8") == page


def test_phrases_lie_in_each_other():
    text, spans = phrase_spans(TREE)
    assert text == "the cat sat on it"
    parts = [(s["label"], text[s["begin"] : s["end"]]) for s in spans]
    expected = [("S", text), ("NP", "the cat"), ("VP", "sat on it")]
    assert parts == [*expected, ("PP", "on it"), ("NP", "it")]
    page = spans_page([text], [spans])
    assert paragraph(page) == text
    levels = re.findall("--level: (.);", page.split("<p ")[1])
    assert levels == ["3", "0", "2", "1", "0"] and "--levels: 3" in page
    assert page.count("<mark") == page.count("</mark>") == 5 + 4  # with the legend


def test_equal_spans_and_empty_lists():
    twice = [{"begin": 0, "end": 3, "label": name} for name in ("A", "B")]
    page = spans_page(["abc", ""], [twice, []])
    assert "abc<small>B</small></mark><small>A</small></mark>" in page
    assert page.count("<p ") == 2
    assert "<ul" not in spans_page(["abc"], [[]])
    page = spans_page(["abc"], [[{"begin": 1, "end": 2}]])  # such as an answer
    assert ">b</mark>c" in page and "<ul" not in page and "<small>" not in page
    nothing = {"text": "", "score": 0.9, "begin": -1, "end": -1}  # no answer
    assert "<mark" not in spans_page(["abc"], [[nothing]])


def test_impossible_spans_and_one_text_for_a_list():
    for places in ([(0, 0)], [(-2, 2)], [(2, 9)], [(2, 5), (0, 3)]):  # these two cross
        spans = [{"begin": a, "end": b, "label": str(a)} for a, b in places]
        with pytest.raises(ValueError, match="must lie in its text"):
            spans_page(["abcdef"], [spans])
    with pytest.raises(ValueError, match="a list for each. Received: 'abc'"):
        spans_page("abc", [[]])
    with pytest.raises(ValueError, match=r"Received: \['abc'\] and \[\[\], \[\]\]"):
        spans_page(["abc"], [[], []])
