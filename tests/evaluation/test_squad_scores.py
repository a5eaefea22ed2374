"""Exact match and F1 of answers, against literal numbers and the official scorers."""

import random

import pytest

from zoo.evaluation import (
    assess_answers,
    best_null_threshold,
    most_similar_sentences,
    no_answers,
    squad_scores,
)

WORDS = "the a an cat cat's Cat, 12 1,2 é —  … dog . THE sat An-other".split(" ")


def test_literal_scores():
    references = [["The cat sat."], ["a dog", "12"], ["Paris"]]
    scores = squad_scores(references, ["cat  sat", "12 dogs", "London"])
    assert scores == pytest.approx({"exact": 1 / 3, "f1": (1 + 2 / 3) / 3})
    scores = squad_scores([["x y"], []], ["x", ""])
    assert scores == {
        "exact": 0.5,
        "f1": pytest.approx((2 / 3 + 1) / 2),
        "answerable_exact": 0.0,
        "answerable_f1": pytest.approx(2 / 3),
        "unanswerable_accuracy": 1.0,
    }


def test_versions_differ_in_answers_without_words():
    assert squad_scores([["the"]], ["an"])["f1"] == 0
    assert squad_scores([["the"]], ["an"])["exact"] == 1
    assert squad_scores([["the"]], ["an"], "2.0") == {"exact": 1, "f1": 1}


def draw_answers(seed, count=300):
    """True answers of each question, predictions, and odds."""
    draw = random.Random(seed)

    def text(least=1):
        return " ".join(draw.choices(WORDS, k=draw.randrange(least, 5)))

    references = [[text() for _ in range(draw.randrange(4))] for _ in range(count)]
    predictions = [
        draw.choice([*row, "", text(0), text()]) if row else draw.choice(["", text(0)])
        for row in references
    ]
    return references, predictions, [draw.uniform(-9, 9) for _ in predictions]


def as_dataset(references):
    rows = [
        {"id": str(i), "answers": [{"text": t} for t in row]}
        for i, row in enumerate(references)
    ]
    return [{"paragraphs": [{"qas": rows}]}]


@pytest.mark.parametrize("seed", range(3))
def test_official_scores(seed):
    tools = pytest.importorskip("official.nlp.tools.squad_evaluate_v2_0")
    first = pytest.importorskip("official.nlp.tools.squad_evaluate_v1_1")
    references, predictions, odds = draw_answers(seed)
    by_id = {str(i): text for i, text in enumerate(predictions)}
    expected = tools.evaluate(as_dataset(references), by_id)
    found = squad_scores(references, predictions)
    names = {
        "exact": "exact",
        "f1": "f1",
        "answerable_exact": "HasAns_exact",
        "answerable_f1": "HasAns_f1",
        "unanswerable_accuracy": "NoAns_exact",
    }
    for ours, theirs in names.items():
        assert 100 * found[ours] == pytest.approx(expected[theirs], abs=1e-9), ours
    # The official scorer calls odds above 1 "no answer"; ours searches the threshold.
    low = [value - 20 for value in odds]
    by_odds = {str(i): value for i, value in enumerate(low)}
    expected = tools.evaluate(as_dataset(references), by_id, by_odds)
    found = squad_scores(references, predictions, null_odds=low)
    for name in ("exact", "f1"):
        best = found[f"best_{name}"]
        assert 100 * best == pytest.approx(expected[f"final_{name}"], abs=1e-9)
        threshold = found[f"best_{name}_threshold"]
        assert threshold == expected[f"final_{name}_thresh"]
        # A model with this threshold has it, or more: "the" counts as no answer.
        pairs = zip(predictions, low, strict=True)
        kept = ["" if o > threshold else t for t, o in pairs]
        assert squad_scores(references, kept)[name] >= best - 1e-9
    rows = [i for i, row in enumerate(references) if row]
    references, predictions = ([p[i] for i in rows] for p in (references, predictions))
    by_id = {str(i): text for i, text in enumerate(predictions)}
    expected = first.evaluate(as_dataset(references), by_id)
    found = squad_scores(references, predictions)
    second = squad_scores(references, predictions, "2.0")
    zeros = [0.0] * len(rows)
    assert squad_scores(references, predictions, null_odds=zeros)["f1"] == second["f1"]
    assert found["exact"] == pytest.approx(expected["exact_match"], abs=1e-12)
    assert found["f1"] == pytest.approx(expected["final_f1"], abs=1e-12)
    assessed = assess_answers(references, predictions).values()
    assert assessed == {"f1": found["f1"], "exact": found["exact"]}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], []), "must not be empty. Received: lengths 0, 0"),
        (([["a"]], []), "lengths 1, 0 and 0"),
        (([["a"]], ["a"], "2.0", []), "lengths 1, 1 and 0"),
        (([["a"]], ["a"], "3"), "one of '1.1', '2.0'"),
        (([[]], ["a"], "1.1"), "every question must have an answer"),
        (([["a"]], ["a"], "1.1", [0.5]), "there are no `null_odds`"),
        ((["Paris"], ["Paris"]), "a list of str. Received: 'Paris'"),
        (([[("Paris", 3)]], ["Paris"]), "give the text"),
    ],
)
def test_wrong_arguments(arguments, message):
    with pytest.raises((TypeError, ValueError), match=message):
        squad_scores(*arguments)


def test_simple_predictors():
    context = "The cat sat on a mat. Dr. Smith bought the mat in Rome! It rained."
    questions = ["Where did Smith buy a mat?", "What rained", "Who?"]
    others = (questions, [context, context, ""])
    sentences = ["Smith bought the mat in Rome!", "It rained.", ""]
    assert most_similar_sentences(None, None, others) == sentences
    assert no_answers(None, None, others) == ["", "", ""]


def test_the_best_threshold_can_be_reached():
    cases = [
        ([[], [], []], ["a", "b", "c"], [-5.0, -4.0, -3.0]),  # no answer is best
        ([["x"], []], ["x", "b"], [1.0, 1.0]),  # equal odds
        ([["x"], [], ["y"]], ["x", "b", "y"], [0.5, 2.0, 1.0]),
        ([["x"], ["y"]], ["x", "y"], [3.0, 9.0]),
    ]
    best = [1.0, 0.5, 1.0, 1.0]
    for (references, texts, odds), score in zip(cases, best, strict=True):
        threshold = best_null_threshold(references, texts, odds)
        kept = ["" if o > threshold else t for t, o in zip(texts, odds, strict=True)]
        assert squad_scores(references, kept, "2.0")["f1"] == score
    # The official scorer says that the second case has a threshold for the score 1.
    assert squad_scores(*cases[1][:2], "2.0", cases[1][2])["best_f1"] == 1.0


@pytest.mark.parametrize("seed", range(3))
def test_the_best_threshold_is_that_of_the_official_scorer(seed):
    references, predictions, odds = draw_answers(seed)
    expected = squad_scores(references, predictions, null_odds=odds)
    found = best_null_threshold(references, predictions, odds)
    assert found == expected["best_f1_threshold"]
