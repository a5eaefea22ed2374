"""Baselines without neural networks, beside which fine-tuned presets are shown.

`majority` and `linear` take the rows for training and the x of the rows for the test,
see `labelled_sets.LabelledSet`, and return the predicted labels or tags.

For texts, `majority` predicts the most frequent label. `linear` is logistic regression
on TF-IDF of words and of pairs of neighbouring words. For a pair of texts, it has the
features of both, their products and their absolute differences.

For words, `majority` predicts the most frequent tag of the word, and for an unknown
word the most frequent tag of all. `linear` is a linear chain (CRF) on the forms of the
word and of its neighbours. It needs python-crfsuite.

The strength of the regularization is chosen on the rows for training.
"""

import functools

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline

from benchmarks.tables.labelled_sets import columns, hold_out
from benchmarks.tables.linear_chain import train_chain
from benchmarks.tables.stored_results import percent
from zoo import evaluation

INVERSE_PENALTIES = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)  # of logistic regression
FOLDS = 5
CHAIN_PENALTIES = (0.01, 0.1, 1.0)  # of the squared weights


class PairFeatures(TransformerMixin, BaseEstimator):
    """TF-IDF of texts, or of pairs of texts with what they share and do not share."""

    def fit(self, x, y=None):
        """Counts the words of all texts."""
        texts = x if isinstance(x[0], str) else [text for pair in x for text in pair]
        self.words_ = TfidfVectorizer(
            ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"\w+|[^\w\s]"
        ).fit(texts)
        return self

    def transform(self, x):
        """The features, a sparse matrix with a row for each text or pair."""
        if isinstance(x[0], str):
            return self.words_.transform(x)
        a, b = (self.words_.transform(side) for side in zip(*x, strict=True))
        return sparse.hstack([a, b, a.multiply(b), abs(a - b)], format="csr")


def majority_label(train, x):
    """Predicts the most frequent label."""
    return evaluation.majority_label(*columns(train), list(x))


def tuned_regression(folds, scoring=None):
    """Logistic regression on TF-IDF, tuned by cross-validation, not yet fitted."""
    model = make_pipeline(PairFeatures(), LogisticRegression(max_iter=2000))
    grid = {"logisticregression__C": INVERSE_PENALTIES}
    return GridSearchCV(model, grid, cv=folds, scoring=scoring)


def logistic_regression(train, x):
    """Predicts labels by `tuned_regression`."""
    texts, labels = zip(*train, strict=True)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    found = tuned_regression(folds).fit(list(texts), list(labels))
    return found.predict(list(x)).tolist()


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
