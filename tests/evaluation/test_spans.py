"""Spans, schemes and F1, against seqeval where it is installed."""

import itertools
import random

import numpy as np
import pytest

from zoo.evaluation import (
    allowed_transitions,
    convert_tags,
    find_scheme,
    find_spans,
    span_scores,
    write_spans,
)

TYPES = ("PER", "LOC")
SCHEMES = ("IOB1", "IOB2", "BIOES", "BILOU")


def random_tags(draw, length, prefixes="BIES"):
    """Random tags, which may violate every scheme."""
    choices = ["O", "O", *(f"{p}-{t}" for p in prefixes for t in TYPES)]
    return draw.choices(choices, k=length)


def random_spans(draw, length):
    spans, place = [], 0
    while place < length:
        end = min(place + draw.randint(1, 3), length)
        if draw.random() < 0.6:
            spans.append((draw.choice(TYPES), place, end))
        place = end
    return spans


def test_known_sentences():
    iob1 = ["I-PER", "I-PER", "B-PER", "O", "I-LOC", "I-PER"]
    spans = [("PER", 0, 2), ("PER", 2, 3), ("LOC", 4, 5), ("PER", 5, 6)]
    assert find_spans(iob1) == spans
    iob2 = ["B-PER", "I-PER", "B-PER", "O", "B-LOC", "B-PER"]
    bioes = ["B-PER", "E-PER", "S-PER", "O", "S-LOC", "S-PER"]
    bilou = ["B-PER", "L-PER", "U-PER", "O", "U-LOC", "U-PER"]
    for scheme, tags in (("IOB2", iob2), ("BIOES", bioes), ("BILOU", bilou)):
        assert convert_tags(iob1, scheme) == tags and find_spans(tags) == spans
    tags = ["B-LOC", "I-LOC", "L-LOC", "L-LOC"]
    assert find_spans(tags) == [("LOC", 0, 3), ("LOC", 3, 4)]
    assert convert_tags([], "BIOES") == [] and find_spans(["O"]) == []
    assert find_spans(["B-a-b", "I-a-b"]) == [("a-b", 0, 2)]


@pytest.mark.parametrize(
    "tag",
    ["NOUN", "X-PER", "", "-", "-LRB-", "I", "B", "B-", "L-", "U", "O-PER", "b-PER"],
)
def test_tags_of_words_have_no_spans(tag):
    message = f"A tag of a span must be O, or .* Received: '{tag}'"
    with pytest.raises(ValueError, match=message):
        span_scores([["O", tag]], [["O", "O"]])
    with pytest.raises(ValueError, match=message):
        convert_tags([tag], "IOB2")
    assert find_scheme([["B-PER", "O"], [tag]]) is None
    for scheme in SCHEMES:
        with pytest.raises(ValueError, match=f"Every label must be O.*'{tag}'"):
            allowed_transitions(["O", tag], scheme)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_scheme_holds_the_same_spans(scheme):
    draw = random.Random(0)
    for _ in range(500):
        spans = random_spans(draw, 8)
        tags = write_spans(spans, 8, scheme)
        assert find_spans(tags) == spans
        for other in SCHEMES:
            assert convert_tags(convert_tags(tags, other), scheme) == tags


@pytest.mark.parametrize("prefixes", ["BI", "BIES", "I"])
def test_broken_tags_have_the_spans_of_seqeval(prefixes):
    seqeval = pytest.importorskip("seqeval.metrics.sequence_labeling")
    draw = random.Random(1)
    for _ in range(3000):
        tags = random_tags(draw, draw.randint(0, 7), prefixes)
        theirs = [(kind, a, b + 1) for kind, a, b in seqeval.get_entities(tags)]
        assert find_spans(tags) == theirs, tags


def test_scores_are_those_of_seqeval():
    metrics = pytest.importorskip("seqeval.metrics")
    draw = random.Random(2)
    true = [random_tags(draw, 9) for _ in range(50)]
    found = [[t if draw.random() < 0.7 else "O" for t in tags] for tags in true]
    scores = span_scores(true, found)
    for name in ("f1", "precision", "recall"):
        expected = getattr(metrics, f"{name}_score")(true, found)
        assert scores[name] == pytest.approx(expected)
    report = metrics.classification_report(true, found, output_dict=True)
    for kind in TYPES:
        ours, theirs = scores["types"][kind], report[kind]
        assert ours["support"] == theirs["support"]
        assert ours["f1"] == pytest.approx(theirs["f1-score"])


def test_sentences_without_spans():
    assert span_scores([["O"]], [["O"]])["f1"] == 0.0
    nothing = {"precision": 0.0, "recall": 0.0, "f1": 0.0, "types": {}}
    assert span_scores([], []) == nothing


@pytest.mark.parametrize("scheme", SCHEMES)
def test_allowed_is_what_a_scheme_can_write(scheme):
    """Of all sentences of three words: those that some spans are written as."""
    prefixes = {"BIOES": "BIES", "BILOU": "BILU"}.get(scheme, "BI")
    labels = ["O", *(f"{p}-{t}" for p in prefixes for t in TYPES)]
    allowed = allowed_transitions(labels, scheme)
    end = len(labels)
    for numbers in itertools.product(range(end), repeat=3):
        tags = [labels[number] for number in numbers]
        fine = all(allowed[pair] for pair in itertools.pairwise((end, *numbers, end)))
        assert fine == (convert_tags(tags, scheme) == tags), tags
    assert np.shape(allowed) == (end + 1, end + 1)


def test_impossible_spans_are_refused():
    with pytest.raises(ValueError, match="not overlap"):
        write_spans([("PER", 0, 2), ("LOC", 1, 3)], 4, "IOB2")
    with pytest.raises(ValueError, match="`scheme` must be one of"):
        convert_tags(["O"], "IOB")
    with pytest.raises(ValueError, match="Received: 'E-PER'"):
        allowed_transitions(["O", "E-PER"], "IOB2")
    with pytest.raises(ValueError, match="2 tags for 1 words in sentence 0"):
        span_scores([["O"]], [["O", "O"]])
    with pytest.raises(ValueError, match="the same number of sentences"):
        span_scores([["O"]], [])


@pytest.mark.parametrize(
    ("sentences", "scheme"),
    [
        ([["B-PER", "I-PER", "O"], ["O"]], "IOB2"),
        ([["I-PER", "B-PER", "O"]], "IOB1"),
        ([["B-PER", "E-PER", "S-LOC"]], "BIOES"),
        ([["S-PER"], ["O"]], "BIOES"),
        ([["B-PER", "L-PER", "U-LOC"]], "BILOU"),
        ([["U-PER"], ["O"]], "BILOU"),
        ([["B-PER", "L-PER", "S-LOC"]], None),
        ([("B-PER", "O"), ()], "IOB2"),
        ([["I-PER", "E-PER", "B-LOC"]], None),
        ([["NN", "VB"]], None),
        ([["B", "O"]], None),
        ([["O", "O"]], None),
        ([["I-PER", "B-PER"]] * 200 + [["O", "B-PER"]] * 2, "IOB1"),
        ([["I-PER", "B-PER"]] * 100 + [["O", "B-PER"]] * 2, None),
        ([["B-PER"]] * 200 + [["S-PER"]], None),
        ([], None),
    ],
)
def test_the_scheme_is_found(sentences, scheme):
    assert find_scheme(sentences) == scheme


@pytest.mark.external
@pytest.mark.parametrize(
    ("name", "scheme"),
    [
        ("conll2003/eng.train.gz", "IOB1"),
        ("conll2003/eng.testb.gz", "IOB1"),
        ("wikigold/train.conll.gz", "IOB1"),
        ("btc/a.conll.gz", "IOB2"),
        ("ud_ewt/test.pos.tsv.gz", None),
    ],
)
def test_the_scheme_of_real_files(shared, name, scheme):
    from zoo.data import read_conll

    for documents in (False, *([True] if "eng" in name else [])):
        tags = read_conll(shared / "data" / name, documents=documents)[1]
        assert find_scheme(tags) == scheme
