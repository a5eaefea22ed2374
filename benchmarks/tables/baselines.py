"""Baselines without neural networks, beside which fine-tuned presets are shown.

`majority` and `linear` take the rows for training and the x of the rows for the test,
see `labelled_sets.LabelledSet`, and return the predicted labels or tags.

For texts, `majority` predicts the most frequent label, and `linear` is
`zoo.evaluation.tfidf_label`, as in the report of `zoo finetune`.

For words, `majority` predicts the most frequent tag of the word, and for an unknown
word the most frequent tag of all. `linear` is a linear chain (CRF) on the forms of the
word and of its neighbours. It needs python-crfsuite. The strength of its regularization
is chosen on the rows for training.
"""

import functools

import numpy as np

from benchmarks.tables.labelled_sets import columns, hold_out, text_columns
from benchmarks.tables.linear_chain import train_chain
from benchmarks.tables.stored_results import percent
from zoo import evaluation

CHAIN_PENALTIES = (0.01, 0.1, 1.0)  # of the squared weights


def majority_label(train, x):
    """Predicts the most frequent label."""
    return evaluation.majority_label(*columns(train), list(x))


def logistic_regression(train, x):
    """Predicts labels by logistic regression on TF-IDF, see `zoo.evaluation`."""
    return evaluation.tfidf_label(*columns(train), text_columns(x))


def frequent_tag(train, x):
    """Predicts the most frequent tag of every word."""
    return evaluation.most_frequent_tags(*columns(train), x)


def chain(train, x):
    """Predicts tags by a linear chain, tuned on a tenth of the rows for training."""
    rows, held_out = hold_out(train)
    words, tags = columns(held_out)
    gold = np.concatenate(tags)

    def right(penalty):
        said = train_chain(*columns(rows), 0.0, penalty)(words)
        return np.sum(np.concatenate(said) == gold)

    best = max(CHAIN_PENALTIES, key=right)
    return train_chain(*columns(train), 0.0, best)(x)


def run_baselines(run, name, labelled):
    """The baselines of a labelled set, dict of name to result or None; see `Run`."""

    def compute(predict):
        train, test = (run.parts(name, labelled)[part] for part in ("train", "test"))
        x, y = map(list, zip(*test, strict=True))
        return labelled.assess(train, y, predict(train, x))

    known = labelled.baselines or BASELINES[labelled.words]
    return {
        baseline: run.stored(f"{name}-{baseline}", functools.partial(compute, predict))
        for baseline, predict in known.items()
    }


# Whether rows are words with tags, to the baselines.
BASELINES = {
    False: {"majority": majority_label, "linear": logistic_regression},
    True: {"majority": frequent_tag, "linear": chain},
}


def baseline_rows(results, width):
    """The rows of a table about `run_baselines`, of `width` cells."""
    titles = {"majority": "majority", "linear": "TF-IDF"}
    return [
        [title, percent(results[name]), *[""] * (width - 2)]
        for name, title in titles.items()
        if results[name]
    ]
