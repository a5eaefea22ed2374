"""BLEU and chrF against values worked out by hand, and against sacrebleu's own."""

import math
import sys

import numpy as np
import pytest
import sacrebleu

from zoo.evaluation import assess_texts, group_references, translation_scores


def test_bleu_by_hand():
    # 4 of 5 words, 3 of 4 pairs, 2 of 3 triples, 1 of 2 quadruples; no brevity.
    found = translation_scores(["a b c d x"], ["a b c d e"])
    expected = 100 * math.exp(sum(map(math.log, (4 / 5, 3 / 4, 2 / 3, 1 / 2))) / 4)
    assert found["bleu"] == pytest.approx(expected)
    assert "tok:13a" in found["bleu_signature"] and "nrefs:1" in found["bleu_signature"]
    # The same with a brevity penalty of exp(1 - 6 / 5).
    found = translation_scores(["a b c d x"], ["a b c d e f"])
    assert found["bleu"] == pytest.approx(expected * math.exp(1 - 6 / 5))


def test_every_reference_counts():
    hypotheses = ["the cat sits here now", "good morning to you all"]
    references = [["a cat sits here now", "the cat sits there now"], ["good morning"]]
    found = translation_scores(hypotheses, references)
    alone = translation_scores(hypotheses, [r[0] for r in references])
    assert found["bleu"] > alone["bleu"] and found["chrf"] >= alone["chrf"]
    padded = [["a cat sits here now", "good morning"], ["the cat sits there now", ""]]
    assert found["bleu"] == sacrebleu.corpus_bleu(hypotheses, padded).score
    assert "nrefs:var" in found["bleu_signature"]
    assert found["chrf"] == sacrebleu.corpus_chrf(hypotheses, padded).score


def test_equal_texts_have_all_points():
    found = translation_scores(["un deux trois quatre"], [["un deux trois quatre"]])
    assert found["bleu"] == pytest.approx(100) and found["chrf"] == pytest.approx(100)
    assert translation_scores(["", "x"], ["a b c d e", "y"])["bleu"] == 0


def test_groups():
    found = group_references(["b", "a", "b", "b"], ["1", "2", "3", "1"])
    assert found == (["b", "a"], [["1", "3"], ["2"]])
    with pytest.raises(ValueError, match="same length"):
        group_references(["a"], [])


@pytest.mark.parametrize(
    ("hypotheses", "references"),
    (([], []), (["a"], []), (["a"], [[]]), (["a"], [""]), (["a", "b"], ["a"])),
)
def test_nothing_to_compare(hypotheses, references):
    with pytest.raises(ValueError, match="There must be a hypothesis"):
        translation_scores(hypotheses, references)


HYPOTHESES = ["the cat sits here now", "good morning to you all", "a b", "no"]
REFERENCES = [
    ["a cat sits here now", "the cat sits there now"],
    ["good morning to you"],
    ["x", "a b", "y"],
    ["yes"],
]


def test_an_assessment_has_the_scores_of_any_rows():
    found = assess_texts(REFERENCES, HYPOTHESES)
    for rows in ([0, 1, 2, 3], [1], [2, 0, 2, 1, 0]):
        texts, right = ([side[r] for r in rows] for side in (HYPOTHESES, REFERENCES))
        expected = translation_scores(texts, right)
        for name in ("bleu", "chrf"):
            score = found.statistics[name](np.array(rows))
            assert score == pytest.approx(expected[name]), (name, rows)
    assert found.values()["exact_match"] == 0.25
    assert found.worst(9) == [3, 0, 1] and found.errors[2] == 0
    one = translation_scores(HYPOTHESES[1:2], REFERENCES[1:2])
    assert found.errors[1] == pytest.approx(1 - one["chrf"] / 100)


def test_an_assessment_without_sacrebleu(monkeypatch):
    monkeypatch.setitem(sys.modules, "sacrebleu.metrics", None)
    with pytest.warns(UserWarning, match="BLEU and chrF need sacrebleu. Run `pip"):
        found = assess_texts(REFERENCES, HYPOTHESES)
    assert found.values() == {"exact_match": 0.25}
    assert found.errors.tolist() == [1, 1, 0, 1]
    with pytest.raises(ImportError, match="BLEU and chrF need sacrebleu"):
        translation_scores(HYPOTHESES, REFERENCES)
    with pytest.raises(ValueError, match="There must be a hypothesis"):
        assess_texts([], [])
