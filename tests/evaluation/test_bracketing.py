"""Scores of trees against counts that the program EVALB gave for the same pairs."""

import dataclasses
import re

import numpy as np
import pytest

from zoo.evaluation import (
    assess_trees,
    bracketing_scores,
    count_brackets,
    most_frequent_tags,
    right_branching_trees,
)
from zoo.text import find_leaves, read_tree, read_trees

# Gold tree, predicted tree, and what EVALB with COLLINS.prm prints: the state, words,
# matched, gold and predicted brackets, exact match, crossing, words scored, right tags.
PAIRS = """
(TOP (S (NP (DT The) (NN cat)) (VP (VBZ sits)) (. .)))
(TOP (S (NP (DT The) (NN cat)) (VP (VBZ sits)) (. .)))
valid 4 3 3 3 1 0 3 3

(TOP (S (NP (DT The) (NN cat)) (VP (VBZ sits)) (. .)))
(TOP (S (NP (DT The) (JJ cat)) (NP (VBZ sits)) (. .)))
valid 4 2 3 3 0 0 3 2

# ADVP equals PRT.
(TOP (S (NP (PRP She)) (VP (VBD gave) (PRT (RP up)))))
(TOP (S (NP (PRP She)) (VP (VBD gave) (ADVP (RB up)))))
valid 3 4 4 4 1 0 3 2

# Equal brackets match one by one.
(TOP (S (NP (NP (NN rain))) (VP (VBZ falls))))
(TOP (S (NP (NN rain)) (VP (VBZ falls))))
valid 2 3 4 3 0 0 2 2

(TOP (S (NP (NN rain)) (VP (VBZ falls))))
(TOP (S (NP (NP (NP (NN rain)))) (VP (VBZ falls))))
valid 2 3 3 5 0 0 2 2

# Another attachment.
(TOP (S (NP (PRP We)) (VP (VBD saw) (NP (DT the) (NN man)) (PP (IN with) (NP (NNS
  dogs))))))
(TOP (S (NP (PRP We)) (VP (VBD saw) (NP (NP (DT the) (NN man)) (PP (IN with) (NP (NNS
  dogs)))))))
valid 6 6 6 7 0 0 6 6

(TOP (S (X (NN a) (NN b)) (Y (NN c) (NN d))))
(TOP (S (NN a) (X (NN b) (NN c)) (NN d)))
valid 4 1 3 2 0 1 4 4

(TOP (S (NN a) (X (NN b) (NN c))))
(TOP (S (X (NN a) (NN b)) (NN c)))
valid 3 1 2 2 0 1 3 3

# A comma changes no bracket. Brackets and dollars are words.
(TOP (S (`` ``) (S (NP (PRP It)) (VP (VBZ costs) (NP ($ $) (CD 5)))) (, ,) ('' '')
  (NP (PRP he)) (VP (VBD said)) (: ;) (-LRB- -LRB-) (. .)))
(TOP (S (`` ``) (S (NP (PRP It)) (VP (VBZ costs) (NP ($ $) (CD 5)) (, ,))) ('' '')
  (NP (PRP he)) (VP (VBD said)) (: ;) (-LRB- -LRB-) (. .)))
valid 12 7 7 7 1 0 7 7

# A phrase of punctuation only.
(TOP (S (NP (NN a)) (PRN (, ,) (: -)) (VP (VB b))))
(TOP (S (NP (NN a)) (, ,) (: -) (VP (VB b))))
valid 4 3 3 3 1 0 2 2

# A wrong tag of a comma, and another word.
(TOP (S (NP (NN a)) (, ,) (VP (VB b))))
(TOP (S (NP (NN a)) (NN ,) (VP (VB b))))
error 3 0 0 0 0 0 0 0

(TOP (S (NP (NN a)) (VP (VB b))))
(TOP (S (NP (NN a)) (VP (VB c))))
error 2 0 0 0 0 0 0 0

(TOP (S (NP (NN a)) (. .)))
(TOP (S (. a) (. .)))
skipped 2 0 0 0 0 0 0 0

# Functions and traces.
(TOP (S (NP-SBJ-1 (NN a)) (VP (VB b) (NP (-NONE- *-1)) (NP=2 (NN c)))))
(TOP (S (NP (NN a)) (VP (VB b) (NP (NN c)))))
valid 3 4 4 4 1 0 3 3

(TOP (NP (NN a) (NN b)) (VP (VB c)))
(TOP (NN a) (X (NN b) (VB c)))
valid 3 0 2 1 0 1 3 3

(TOP (NP (NN a) (NN b)))
(TOP (NN a) (NN b))
valid 2 0 1 0 0 0 2 2

(TOP (S (NP (NN x)) (. x)))
(TOP (S (NP (. x)) (NN x)))
valid 2 1 2 1 0 0 1 1
"""


def read_pairs():
    """Yields a gold tree, a predicted one and the counts of each pair."""
    for block in PAIRS.strip().split("\n\n"):
        block = re.sub("^#.*\n", "", block)
        trees, _, counts = block.rpartition("\n")
        gold, predicted = re.split(r"\n(?=\(TOP)", trees)
        state, *numbers = counts.split()
        yield read_tree(gold), read_tree(predicted), (state, *map(int, numbers))


GOLDS, PREDICTIONS, COUNTS = map(list, zip(*read_pairs(), strict=True))
# The summary that EVALB prints for all pairs together, in percent.
SUMMARY = {
    "recall": 80.85,
    "precision": 84.44,
    "f1": 82.61,
    "exact_match": 35.71,
    "tagging_accuracy": 95.45,
}


@pytest.mark.parametrize("number", range(len(COUNTS)))
def test_counts_are_those_of_evalb(number):
    counts = count_brackets(GOLDS[number], PREDICTIONS[number])
    assert dataclasses.astuple(counts) == COUNTS[number]


def test_scores_are_those_of_evalb():
    scores = bracketing_scores(GOLDS, PREDICTIONS, samples=50)
    assert {name: round(100 * scores[name], 2) for name in SUMMARY} == SUMMARY
    assert round(scores["crossing"], 2) == 0.21
    assert (scores["sentences"], scores["errors"], scores["skipped"]) == (17, 2, 1)
    low, high = scores.pop("f1_interval")
    assert low < scores["f1"] < high
    short = scores.pop("up_to_40")
    assert short == scores


def test_an_assessment_has_the_scores_of_any_rows():
    found = assess_trees(GOLDS, PREDICTIONS)
    for rows in (range(len(GOLDS)), [3, 3, 0], [len(GOLDS) - 1]):
        trees = [GOLDS[r] for r in rows], [PREDICTIONS[r] for r in rows]
        expected = bracketing_scores(*trees, samples=1)
        assert next(iter(found.statistics)) == "f1"
        for name, statistic in found.statistics.items():
            assert statistic(np.array(rows)) == expected[name], (name, rows)
    assert found.errors[0] == 0 and found.errors[1] == pytest.approx(1 / 3)
    states = [counts[0] for counts in COUNTS]
    errors = dict(zip(states, found.errors, strict=True))
    assert errors["error"] == 1 and errors["skipped"] == 0


def test_long_sentences_have_no_part_in_the_second_table():
    long = ("S", *(("NN", "word"),) * 41)
    short = ("S", *(("NN", "word"),) * 40)
    scores = bracketing_scores([long, short], [("X", *long[1:]), short], samples=1)
    assert scores["f1"] == 0.5 and scores["sentences"] == 2
    assert scores["up_to_40"]["f1"] == 1.0 and scores["up_to_40"]["sentences"] == 1


def test_gold_tags_can_tell_what_is_punctuation():
    gold, predicted = GOLDS[10], PREDICTIONS[10]
    counts = count_brackets(gold, predicted, "gold")
    assert (counts.state, counts.matched, counts.words) == ("valid", 3, 2)
    shorter = ("S", *predicted[1][1:-1])
    assert count_brackets(gold, shorter, "gold").state == "error"


def test_spaces_in_words_names_of_the_outer_bracket_and_deep_trees():
    gold = read_tree("(TOP (NP (CD 10\u00a0000) (NNS cats)))")
    parsed = read_tree("(TOP (NP (CD 10_000) (NNS cats)))")
    assert count_brackets(gold, parsed, "gold") == count_brackets(gold, gold, "gold")
    for label in ("", "ROOT", "S1"):
        counts = count_brackets((label, GOLDS[0][1]), GOLDS[0])
        assert counts.gold == counts.matched == 3
    tree = ("NN", "deep")
    for _ in range(10_000):
        tree = ("NP", tree)
    assert count_brackets(tree, tree).matched == 10_000


@pytest.mark.parametrize(
    ("golds", "predictions", "punctuation", "message"),
    [
        ([], [], "own", "the same number of trees, at least 1. Received: 0 and 0"),
        (GOLDS, GOLDS[1:], "own", "Received: 17 and 16"),
        (GOLDS, GOLDS, "none", "`punctuation` must be own or gold. Received: 'none'"),
    ],
)
def test_wrong_arguments_raise_errors(golds, predictions, punctuation, message):
    with pytest.raises(ValueError, match=message):
        bracketing_scores(golds, predictions, punctuation)


def test_right_branching_is_what_it_says():
    texts = (
        "(S (NP (DT the) (NN cat)) (VP (VBZ sits) (PP (IN on) (NP (NN it)))))",
        "(S (NP (DT a) (NN dog)) (VP (VBZ runs) (RB away)) (. .))",
    )
    trees = [*map(read_tree, texts)]
    words = "the dog . sits quickrins on Xyz".split()
    (found,) = right_branching_trees(trees, [words])
    tags = [tag for tag, _ in find_leaves(found)]
    # "quickrins" has no known ending, "Xyz" neither.
    assert tags == ["DT", "NN", ".", "VBZ", "NN", "IN", "NN"]
    assert found == read_tree(
        "(S (DT the) (S (NN dog) (. .) (VP (VBZ sits) (S (NN quickrins) "
        "(PP (IN on) (NN Xyz))))))"
    )
    (found,) = right_branching_trees(trees, [["muns"]])
    assert found == ("S", ("VBZ", "muns"))
    # The most frequent tag is the first of equal ones.
    tags = most_frequent_tags([["a", "a", "b"]], [["Y", "X", "Z"]], [["a", "c"]])
    assert tags == [["X", "X"]]


@pytest.mark.external
def test_right_branching_on_gum(shared):
    folder = shared / "data" / "gum_trees"
    train, gold = (read_trees(folder / f"{n}.ptb.gz") for n in ("train", "test"))
    sentences = [[word for _, word in find_leaves(tree)] for tree in gold]
    found = right_branching_trees(train, sentences)
    scores = bracketing_scores(gold, found, samples=1)
    assert round(scores["f1"], 4) == 0.2997 and scores["errors"] == 20
    scores = bracketing_scores(gold, found, "gold", samples=1)
    assert round(scores["f1"], 4) == 0.2984 and scores["errors"] == 0
