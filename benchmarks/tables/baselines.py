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

import collections
import pathlib
import tempfile

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline

from benchmarks.tables.labelled_sets import columns, hold_out

INVERSE_PENALTIES = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)  # of logistic regression
FOLDS = 5
CHAIN_PENALTIES = (0.01, 0.1, 1.0)  # of the squared weights
ITERATIONS = 100  # of the chain's L-BFGS
NEIGHBOURS = (-2, -1, 1, 2)


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
    (label, _), *_ = collections.Counter(y for _, y in train).most_common(1)
    return [label] * len(x)


def logistic_regression(train, x):
    """Predicts labels by logistic regression on TF-IDF, tuned by cross-validation."""
    texts, labels = zip(*train, strict=True)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    model = make_pipeline(PairFeatures(), LogisticRegression(max_iter=2000))
    grid = {"logisticregression__C": INVERSE_PENALTIES}
    found = GridSearchCV(model, grid, cv=folds).fit(list(texts), list(labels))
    return found.predict(list(x)).tolist()


def frequent_tag(train, x):
    """Predicts the most frequent tag of every word."""
    counts = collections.defaultdict(collections.Counter)
    for words, tags in train:
        for word, tag in zip(words, tags, strict=True):
            counts[word][tag] += 1
    (most, _), *_ = sum(counts.values(), collections.Counter()).most_common(1)
    best = {word: count.most_common(1)[0][0] for word, count in counts.items()}
    return [[best.get(word, most) for word in words] for words in x]


def shape(word):
    """The kinds of the characters, without repetitions: `Xx` for Paris, `d.d` for 0.25.

    `X` is upper case, `x` lower case and `d` a digit. Others stand for themselves.
    """
    forms = ""
    for sign in word:
        if sign.isdigit():
            form = "d"
        elif sign.isalpha():
            form = "X" if sign.isupper() else "x"
        else:
            form = sign
        forms += form if forms[-1:] != form else ""
    return forms


def word_features(words):
    """The features of every word of a sentence, a list of lists of str."""
    lower, shapes = [word.lower() for word in words], [shape(word) for word in words]
    rows = []
    for place, word in enumerate(words):
        row = [
            "bias",
            f"word={word}",
            f"lower={lower[place]}",
            f"shape={shapes[place]}",
        ]
        row += [f"prefix={lower[place][:size]}" for size in range(1, 4)]
        row += [f"suffix={lower[place][-size:]}" for size in range(1, 5)]
        for step in NEIGHBOURS:
            inside = 0 <= place + step < len(words)
            near = lower[place + step] if inside else "-"
            form = shapes[place + step] if inside else "-"
            row += [f"{step}:lower={near}", f"{step}:shape={form}"]
        rows.append(row)
    return rows


def train_chain(train, penalty, path):
    """Trains a chain and returns the tagger of python-crfsuite, which reads `path`."""
    import pycrfsuite  # optional: only this baseline needs it

    trainer = pycrfsuite.Trainer(verbose=False)
    for words, tags in train:
        trainer.append(word_features(words), tags)
    options = {"c1": 0.0, "c2": penalty, "max_iterations": ITERATIONS}
    trainer.set_params({**options, "feature.possible_transitions": True})
    trainer.train(str(path))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(path))
    return tagger


def chain(train, x):
    """Predicts tags by a linear chain, tuned on a tenth of the rows for training."""
    rows, held_out = hold_out(train)
    words, tags = columns(held_out)
    gold = np.concatenate(tags)

    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "chain"

        def right(penalty):
            tagger = train_chain(rows, penalty, path)
            said = [tagger.tag(word_features(row)) for row in words]
            return np.sum(np.concatenate(said) == gold)

        tagger = train_chain(train, max(CHAIN_PENALTIES, key=right), path)
        return [tagger.tag(word_features(row)) for row in x]


def baselines(labelled):
    """The baselines of a labelled set, dict of name to function."""
    if labelled.words:
        return {"majority": frequent_tag, "linear": chain}
    return {"majority": majority_label, "linear": logistic_regression}
