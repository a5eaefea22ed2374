"""The scores of SQuAD: exact match and F1 of answers."""

import collections
import re
import string

import numpy as np

from zoo.checks.ranges import check_choice
from zoo.evaluation.assessment import Assessment

ARTICLES = re.compile(r"\b(a|an|the)\b")
PUNCTUATION = str.maketrans("", "", string.punctuation)
VERSIONS = ("1.1", "2.0")


def squad_scores(references, predictions, version=None, null_odds=None):
    """Computes SQuAD's exact match and F1.

    Answers are compared in lower case, without ASCII punctuation, the articles "a",
    "an" and "the", and with single spaces. F1 is that of the words of both answers. A
    question counts with its best true answer.

    Source: the official scorers `evaluate-v1.1.py` and `evaluate-v2.0.py`, whose
    results are multiplied by 100. The versions differ in answers without a word, such
    as "the": in version 1.1 their F1 is 0. In version 2.0 such a true answer is
    ignored.

    Args:
        references: list (N,) of lists of str, the true answers to each question. An
            empty list means that the text does not answer the question.
        predictions: list (N,) of str, "" for no answer.
        version: "1.1" or "2.0"; by default "2.0" if a question has no true answer, or
            with `null_odds`.
        null_odds: list (N,) of float, how much the model prefers no answer to its
            prediction. Then the best thresholds are searched, for version 2.0 only.

    Returns:
        dict of float in [0, 1]: exact and f1; with both kinds of questions also
        answerable_exact, answerable_f1 and unanswerable_accuracy; with `null_odds`
        best_exact, best_exact_threshold, best_f1 and best_f1_threshold. A question
        whose odds are above the threshold has no answer. As in the official scorer, the
        best score may need a threshold between two equal odds, which does not exist,
        and the threshold is 0 if no answer is always best. `best_null_threshold` finds
        one that gives its score.

    Raises:
        TypeError: if the true answers to a question are not a list of str.
        ValueError: if there are no questions, the lengths differ, the version is
            unknown, or version 1.1 has a question without answers, or `null_odds`.
    """
    if version is None:
        plain = null_odds is None and all(map(len, references))
        version = "1.1" if plain else "2.0"
    _check(references, predictions, version, null_odds)
    exact, f1 = (
        _row_scores(references, predictions, metric, version)
        for metric in (_exact, _f1)
    )
    scores = {"exact": float(exact.mean()), "f1": float(f1.mean())}
    answerable = np.array([len(answers) > 0 for answers in references])
    if answerable.any() and not answerable.all():
        scores["answerable_exact"] = float(exact[answerable].mean())
        scores["answerable_f1"] = float(f1[answerable].mean())
        scores["unanswerable_accuracy"] = float(exact[~answerable].mean())
    if null_odds is not None:
        for name, values in (("exact", exact), ("f1", f1)):
            odds, totals = _totals(values, references, predictions, null_odds)
            best = int(np.argmax(totals))
            scores[f"best_{name}"] = float(totals[best] / len(values))
            scores[f"best_{name}_threshold"] = float(odds[best - 1]) if best else 0.0
    return scores


def normalize_answer(text):
    """Returns a text as SQuAD's scorers compare it."""
    text = ARTICLES.sub(" ", text.lower().translate(PUNCTUATION))
    return " ".join(text.split())


def _check(references, predictions, version, null_odds):
    odds = predictions if null_odds is None else null_odds
    if not len(references) == len(predictions) == len(odds) or not len(references):
        raise ValueError(
            "`references`, `predictions` and `null_odds` must have the same length, "
            f"and must not be empty. Received: lengths {len(references)}, "
            f"{len(predictions)} and {len(odds)}."
        )
    check_choice("version", version, VERSIONS)
    for answers in references:
        if isinstance(answers, str) or not all(isinstance(a, str) for a in answers):
            raise TypeError(
                "The true answers to a question must be a list of str. Received: "
                f"{answers!r:.80}. Of a `zoo.data.Answer`, give the text."
            )
    if version == "1.1" and not (null_odds is None and all(map(len, references))):
        raise ValueError(
            'With `version="1.1"`, every question must have an answer, and there are '
            "no `null_odds`. Received: a question without an answer, or `null_odds`. "
            'Use version "2.0".'
        )


def _row_scores(references, predictions, metric, version):
    """The score of each prediction with its best true answer, float (N,)."""
    best = []
    for answers, predicted in zip(references, predictions, strict=True):
        answers = [normalize_answer(answer) for answer in answers]
        if version == "2.0":
            answers = [answer for answer in answers if answer] or [""]
        predicted = normalize_answer(predicted)
        best.append(max(metric(answer, predicted, version) for answer in answers))
    return np.array(best)


def _exact(answer, predicted, version):
    return float(answer == predicted)


def _f1(answer, predicted, version):
    words, found = answer.split(), predicted.split()
    if not words or not found:
        return float(words == found and version == "2.0")
    common = collections.Counter(words) & collections.Counter(found)
    same = sum(common.values())
    return 2 * same / (len(words) + len(found))


def best_null_threshold(references, predictions, null_odds):
    """The threshold for no answer that gives the largest F1.

    A question whose odds are above the threshold has no answer. Unlike the official
    scorer, no threshold is between equal odds, and if no answer is always best, the
    threshold is below all odds.

    Args:
        references, predictions, null_odds: see `squad_scores`, also for errors.

    Returns:
        float.
    """
    _check(references, predictions, "2.0", null_odds)
    scores = _row_scores(references, predictions, _f1, "2.0")
    odds, totals = _totals(scores, references, predictions, null_odds)
    totals[1:-1][odds[1:] == odds[:-1]] = -np.inf
    best = int(np.argmax(totals))
    return float(odds[best - 1]) if best else min(0.0, float(odds[0]) - 1)


def _totals(scores, references, predictions, null_odds):
    """The odds in ascending order (N,), and sums of scores (N + 1,)."""
    # Each sum is that of the scores if the first ones have their predictions and the
    # others no answer.
    order = np.argsort(null_odds, kind="stable")
    answerable = np.array([len(answers) > 0 for answers in references])
    written = np.array([bool(text) for text in predictions])
    gains = np.where(answerable, scores, -1.0 * written)[order]
    totals = np.concatenate([[0.0], np.cumsum(gains)]) + np.sum(~answerable)
    return np.asarray(null_odds, "float64")[order], totals


def assess_answers(references, predictions):
    """Assesses answers to questions.

    Args:
        references, predictions: see `squad_scores`.

    Returns:
        `Assessment` with f1 and exact. The error of a row is 1 - F1.
    """
    version = "1.1" if all(map(len, references)) else "2.0"
    _check(references, predictions, version, None)
    f1, exact = (
        _row_scores(references, predictions, metric, version)
        for metric in (_f1, _exact)
    )
    statistics = {
        "f1": lambda rows: float(f1[rows].mean()),
        "exact": lambda rows: float(exact[rows].mean()),
    }
    proportions = {"exact": (exact, None)}
    return Assessment(len(exact), statistics, 1 - f1, proportions=proportions)


def no_answers(texts, answers, new_texts):
    """Predicts that no context has an answer, see `zoo.evaluation.baselines`."""
    return [""] * len(new_texts[0])


def most_similar_sentences(texts, answers, new_texts):
    """Predicts the sentence of the context that has the rarest words of the question.

    A sentence has the sum of the weights of the question's words that are in it. The
    weight of a word is the logarithm of the number of sentences of the context, divided
    by the number of those that have the word. Of equal sentences, it is the first one.
    """
    found = []
    for question, context in zip(*new_texts, strict=True):
        sentences = re.split(r"(?<=[.!?])\s+", context)
        sentences = [sentence for sentence in sentences if sentence.strip()] or [""]
        words = [{*normalize_answer(sentence).split()} for sentence in sentences]
        counts = collections.Counter(word for word_set in words for word in word_set)
        asked = {*normalize_answer(question).split()}
        scores = [
            sum(np.log(len(words) / counts[word]) for word in word_set & asked)
            for word_set in words
        ]
        found.append(sentences[int(np.argmax(scores))])
    return found
