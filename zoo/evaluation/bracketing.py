"""Scores of constituency trees, as the program EVALB counts them.

A tree is a nested tuple: a phrase is `(label, child, ...)`, a leaf is `(tag, word)`.
"""

import collections
import dataclasses
import re

import numpy as np

from zoo.evaluation.assessment import Assessment
from zoo.evaluation.bootstrap import bootstrap_interval

# COLLINS.prm. It deletes TOP only; the other names of the outer bracket are added.
OUTER_LABELS = {"", "TOP", "ROOT", "S1"}
PUNCTUATION = {",", ":", "``", "''", "."}
TRACE = "-NONE-"
EQUAL_LABELS = {"PRT": "ADVP"}
MAX_SENTENCE_WORDS = 40  # words of a sentence in the second table of EVALB
STATES = ("valid", "error", "skipped")
ASSESSED_SCORES = (
    "f1",
    "precision",
    "recall",
    "exact_match",
    "tagging_accuracy",
    "errors",
)
COUNTS = ("matched", "gold", "predicted", "exact", "crossing", "words", "tags")
TOTALS = (*COUNTS, *STATES)  # the columns of a table of sentences


@dataclasses.dataclass(frozen=True)
class BracketCounts:
    """The counts of a sentence. All but `state` and `length` are 0 unless it is valid.

    Args:
        state: "valid"; "error" if the two trees have different words after those of
            punctuation are removed; "skipped" if the predicted tree then has none.
        length: words of the gold tree, punctuation included.
        matched, gold, predicted: brackets in both trees, and in each of them.
        exact: 1 if all brackets match, else 0.
        crossing: predicted brackets that cross a bracket of the gold tree.
        words: words without punctuation.
        tags: words whose tag is right.
    """

    state: str
    length: int
    matched: int = 0
    gold: int = 0
    predicted: int = 0
    exact: int = 0
    crossing: int = 0
    words: int = 0
    tags: int = 0


def count_brackets(gold, predicted, punctuation="own"):
    """Compares two trees of a sentence.

    A bracket is the label of a phrase and its first and last word. Brackets without
    words, `TOP` and leaves do not count. Functions such as `-SBJ` are removed from
    labels. `ADVP` equals `PRT`. Of equal brackets in a tree, as many match as the other
    tree has.

    Source: Collins 1997; `evalb.c` of Sekine and Collins with `COLLINS.prm`, which
    removes the words with the tags , : `` '' and . from both trees.

    Args:
        gold, predicted: trees, see the module.
        punctuation: "own": a word is removed from a tree if its tag there is that of
            punctuation, as in EVALB. So a wrong tag of a comma is an error. "gold": it
            is removed from both trees by its tag in the gold tree, for which the trees
            must have the same words.

    Returns:
        BracketCounts.
    """
    brackets, leaves = read_brackets(gold)
    predicted_brackets, found = read_brackets(predicted)
    length = len(leaves)
    removed = [[tag in PUNCTUATION for tag, _ in row] for row in (leaves, found)]
    if punctuation == "gold" and length == len(found):
        removed[1] = removed[0]
    brackets, leaves = _without(brackets, leaves, removed[0])
    predicted_brackets, found = _without(predicted_brackets, found, removed[1])
    if not found:
        return BracketCounts("skipped", length)
    if _words(leaves) != _words(found):
        return BracketCounts("error", length)
    matched = (brackets & predicted_brackets).total()
    sizes = brackets.total(), predicted_brackets.total()
    pairs = zip(leaves, found, strict=True)
    return BracketCounts(
        "valid",
        length,
        matched,
        *sizes,
        int(matched == sizes[0] == sizes[1]),
        _crossing(brackets, predicted_brackets),
        len(leaves),
        sum(_canonical(left[0]) == _canonical(right[0]) for left, right in pairs),
    )


def _words(leaves):
    """The words of leaves; a parser writes "_" for white space inside of a word."""
    return ["_".join(word.split()) for _, word in leaves]


def _canonical(label):
    return EQUAL_LABELS.get(label, label)


def read_brackets(tree):
    """Lists the phrases and the leaves of a tree, without traces.

    Returns:
        list of (label, begin, end), and list of (tag, word). A phrase has the words
        begin to end - 1. Functions are removed from labels.
    """
    brackets, leaves, left = [], [], [tree]
    while left:
        node = left.pop()
        if isinstance(node, list):
            label, begin = node
            brackets.append((label, begin, len(leaves)))
        elif len(node) == 2 and isinstance(node[1], str):
            leaves += [node] if node[0] != TRACE else []
        else:
            left.append([re.split("[-=]", node[0], maxsplit=1)[0], len(leaves)])
            left.extend(reversed(node[1:]))
    return brackets, leaves


def _without(brackets, leaves, removed):
    """Brackets as a Counter and leaves, without some of the words."""
    kept = np.cumsum([0, *(not gone for gone in removed)]).tolist()
    counts = collections.Counter(
        (_canonical(label), kept[begin], kept[end])
        for label, begin, end in brackets
        if kept[begin] < kept[end] and label not in OUTER_LABELS
    )
    rows = zip(leaves, removed, strict=True)
    return counts, [leaf for leaf, gone in rows if not gone]


def _crossing(gold, predicted):
    """How many predicted brackets cross one of the gold tree."""
    spans = {(begin, end) for _, begin, end in gold}
    return sum(
        count
        for (_, begin, end), count in predicted.items()
        if any(b < begin < e < end or begin < b < end < e for b, e in spans)
    )


def bracketing_scores(golds, predictions, punctuation="own", seed=0, samples=1000):
    """Computes the scores of EVALB for a list of sentences.

    Precision, recall and F1 are those of the brackets of all valid sentences together.
    Sentences in the state "error" or "skipped" do not count, as in EVALB, so compare
    their number, too. With `punctuation="gold"` a parser's trees over the right words
    have no errors.

    Args:
        golds, predictions: lists of trees, one for each sentence.
        punctuation: "own" or "gold", see `count_brackets`.
        seed, samples: of the 95% interval of F1, see `bootstrap_interval`.

    Returns:
        dict of precision, recall, f1, exact_match, tagging_accuracy in [0, 1];
        crossing, a mean per sentence; sentences, errors and skipped, int; f1_interval,
        a tuple of two float; and up_to_40, a dict of the same for the sentences of at
        most 40 words, without an interval. A score of 0 / 0 is 0.

    Raises:
        ValueError: if the numbers of trees differ, there is none, or `punctuation` is
            unknown.
    """
    rows, table = _count_rows(golds, predictions, punctuation)
    interval = bootstrap_interval(_statistic(table, "f1"), len(rows), seed, samples)
    short = [row.length <= MAX_SENTENCE_WORDS for row in rows]
    up_to_40 = _scores(table[short])
    return {**_scores(table), "f1_interval": interval, "up_to_40": up_to_40}


def assess_trees(golds, predictions, punctuation="own"):
    """Assesses predicted trees by the scores of EVALB.

    Args:
        golds, predictions, punctuation: see `bracketing_scores`.

    Returns:
        `zoo.evaluation.Assessment` with f1, precision, recall, exact_match,
        tagging_accuracy and errors, which is a number of sentences. The error of a row
        is 1 - F1 of its sentence, and 1 in the state "error".

    Raises:
        ValueError: see `bracketing_scores`.
    """
    rows, table = _count_rows(golds, predictions, punctuation)
    statistics = {name: _statistic(table, name) for name in ASSESSED_SCORES}
    f1 = [_ratios(row)["f1"] for row in table.tolist()]
    wrong = [r.state == "error" or r.gold + r.predicted > 0 for r in rows]
    errors = np.where(wrong, 1 - np.array(f1), 0.0)
    column = dict(zip(TOTALS, table.T, strict=True))
    proportions = {
        "precision": (column["matched"], column["predicted"]),
        "recall": (column["matched"], column["gold"]),
        "exact_match": (column["exact"], column["valid"]),
        "tagging_accuracy": (column["tags"], column["words"]),
    }
    return Assessment(len(rows), statistics, errors, proportions=proportions)


def _count_rows(golds, predictions, punctuation):
    """The counts of all sentences of checked arguments, a list and a table (N, 10)."""
    if len(golds) != len(predictions) or not len(golds):
        raise ValueError(
            "`golds` and `predictions` must have the same number of trees, at least 1. "
            f"Received: {len(golds)} and {len(predictions)}."
        )
    if punctuation not in ("own", "gold"):
        raise ValueError(
            f"`punctuation` must be own or gold. Received: {punctuation!r}."
        )
    pairs = zip(golds, predictions, strict=True)
    rows = [count_brackets(*pair, punctuation) for pair in pairs]
    table = [
        [*(getattr(r, name) for name in COUNTS), *(r.state == s for s in STATES)]
        for r in rows
    ]
    return rows, np.array(table)


def _statistic(table, name):
    """A score of chosen rows of a table of sentences, a function."""
    return lambda chosen: _ratios(table[chosen].sum(axis=0).tolist())[name]


def _scores(table):
    """The scores of some sentences, from their counts."""
    totals = table.sum(axis=0).tolist()
    return {**_ratios(totals), "sentences": len(table), "skipped": totals[-1]}


def _ratios(totals):
    """The scores of some sentences, from the sums of `TOTALS`."""
    total = dict(zip(TOTALS, totals, strict=True))
    gold, predicted = total["gold"], total["predicted"]
    parts = {
        "precision": (total["matched"], predicted),
        "recall": (total["matched"], gold),
        "f1": (2 * total["matched"], gold + predicted),
        "exact_match": (total["exact"], total["valid"]),
        "tagging_accuracy": (total["tags"], total["words"]),
        "crossing": (total["crossing"], total["valid"]),
    }
    ratios = {
        name: part / whole if whole else 0.0 for name, (part, whole) in parts.items()
    }
    return {**ratios, "errors": total["error"]}
