"""Simple predictors by TF-IDF and linear models whose settings are tuned.

Each is a function of texts and targets for training and of new texts, see
`zoo.evaluation.baselines`. Texts and pairs have the features of `TextFeatures`. A
cross-validation of the rows for training chooses the strength of the regularization,
and for pairs the `SIDES`. All raise ImportError if scikit-learn is not installed.
"""

import functools
import warnings

import numpy as np

from zoo.evaluation.baselines import (
    frequent_label_set,
    majority_label,
    mean_number,
    text_columns,
    with_scores,
    without_words,
)
from zoo.evaluation.glue_scores import import_library
from zoo.evaluation.label_set_scores import best_thresholds, label_matrix
from zoo.evaluation.text_features import SIDES, TextFeatures

STRENGTHS = (0.1, 0.3, 1.0, 3.0, 10.0)  # the inverse of the weight of the penalty
FOLDS = 3
MAX_TUNING_ROWS = 3000
MAX_ITERATIONS = 100  # of logistic regression
NEEDED_BY = "The TF-IDF baseline needs"


def tfidf_label(texts, labels, new_texts):
    """Predicts labels by logistic regression."""
    import_library("sklearn", NEEDED_BY)
    if len(set(labels)) < 2 or without_words(texts):
        return majority_label(texts, labels, new_texts)
    names, numbers = np.unique(labels, return_inverse=True)
    true = numbers[:, None] == np.arange(len(names))
    found, *_ = _tuned(_label_shares, _accuracy, texts, true, new_texts)
    return names[found.argmax(axis=1)].tolist()


def tfidf_label_sets(texts, label_sets, new_texts, labels=None):
    """Predicts sets of labels by a logistic regression for each label.

    The threshold of the probabilities, one for all labels, has the highest micro F1 in
    the cross-validation.

    Args:
        texts, new_texts: see `zoo.evaluation.baselines`.
        label_sets: list of tuples of labels.
        labels: tuple of str (C,), those of the scores, or None for no scores.

    Returns:
        list of tuples of labels; or with `labels` a pair of them and the probability of
        each label, float (N, C), 0 for a label without a text for training.
    """
    import_library("sklearn", NEEDED_BY)
    names = sorted({name for row in label_sets for name in row})
    if not names or without_words(texts):
        return frequent_label_set(texts, label_sets, new_texts, labels)
    true = label_matrix(label_sets, names)
    found, *held_out = _tuned(_each_share, _precision, texts, true, new_texts)
    chosen = found >= best_thresholds(*held_out)
    pairs = (zip(names, row, strict=True) for row in chosen)
    predicted = [tuple(name for name, yes in row if yes) for row in pairs]
    return with_scores(predicted, names, found, labels)


def tfidf_choice(texts, labels, new_texts):
    """Predicts the choice that logistic regression takes for the likeliest right one.

    Args:
        texts, new_texts: tuples of lists: texts, first choices, second choices, ...
        labels: list of str, numbers of the right choices.

    Returns:
        list of str.
    """
    import_library("sklearn", NEEDED_BY)
    pairs, new_pairs = map(_pairs_with_choices, (texts, new_texts))
    if without_words(pairs):
        return majority_label(texts, labels, new_texts)
    count = len(texts) - 1
    right = np.array([[str(i) == label] for label in labels for i in range(count)])
    found, *_ = _tuned(_each_share, _precision, pairs, right, new_pairs, group=count)
    return [str(number) for number in found.reshape(-1, count).argmax(axis=1)]


def _pairs_with_choices(texts):
    """Each text beside each of its choices, a tuple of two lists."""
    first, *choices = texts
    rows = zip(first, zip(*choices, strict=True), strict=True)
    pairs = [(text, choice) for text, row in rows for choice in row]
    return tuple(map(list, zip(*pairs, strict=True))) or ([], [])


def tfidf_number(texts, numbers, new_texts):
    """Predicts numbers by ridge regression."""
    import_library("sklearn", NEEDED_BY)
    if without_words(texts):
        return mean_number(texts, numbers, new_texts)
    true = np.asarray(numbers, float)[:, None]
    found, *_ = _tuned(_ridge, _closeness, texts, true, new_texts)
    return found[:, 0].tolist()


def _label_shares(strength, features, true, new_features):
    """The probabilities (M, C) of labels, of which each row has one."""
    from sklearn.linear_model import LogisticRegression

    if true.any(axis=0).sum() < 2:
        return np.tile(true.mean(axis=0), (new_features.shape[0], 1))
    model = LogisticRegression(C=strength, max_iter=MAX_ITERATIONS)
    model.fit(features, true.argmax(axis=1))
    shares = np.zeros((new_features.shape[0], true.shape[1]))
    shares[:, model.classes_] = model.predict_proba(new_features)
    return shares


def _each_share(strength, features, true, new_features):
    """The probability (M, C) of each label, of which a row has any number."""
    both = (np.stack([~column, column], axis=1) for column in true.T)
    shares = [_label_shares(strength, features, y, new_features) for y in both]
    return np.stack([share[:, 1] for share in shares], axis=1)


def _ridge(strength, features, true, new_features):
    """Numbers (M, 1)."""
    from sklearn.linear_model import Ridge

    model = Ridge(alpha=1 / strength, solver="sparse_cg", max_iter=1000)
    return model.fit(features, true[:, 0]).predict(new_features)[:, None]


def _accuracy(true, shares):
    return np.mean(true.argmax(axis=1) == shares.argmax(axis=1))


def _precision(true, shares):
    """The average precision of all decisions about labels."""
    from sklearn.metrics import average_precision_score

    return average_precision_score(true.ravel(), shares.ravel())


def _closeness(true, found):
    return -np.mean(np.square(true - found))


def _tuned(predict, score, texts, true, new_texts, group=1):
    """Predicts with the best settings.

    Args:
        predict: function of a strength, features, targets and new features.
        score: function of targets and of what is predicted for them.
        texts, new_texts: see `zoo.evaluation.baselines`.
        true: array (N, C), the targets.
        group: int, the number of consecutive rows that stay together.

    Returns:
        The predictions (M, C) for the new texts; and for the rows of the
        cross-validation, the targets and the predictions by models of other rows.
    """
    from threadpoolctl import threadpool_limits

    columns, outputs = text_columns(texts), true.shape[1]
    extract = TextFeatures(columns, outputs if outputs > 2 else 1)
    known, parts = extract(columns), _fold_rows(len(true), group)
    rows = np.concatenate(parts)

    @functools.cache
    def held_out(strength, sides):
        found = np.zeros((len(true), outputs))
        for part in parts:
            train = np.setdiff1d(rows, part) if len(parts) > 1 else part
            data = known[sides][train], true[train], known[sides][part]
            found[part] = predict(strength, *data)
        return found[rows]

    def score_of(settings):
        return score(true[rows], held_out(*settings))

    # Threads that wait for each other take longer than one on a busy machine. The
    # warnings are about the limit of iterations, and about rows without a label.
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore", UserWarning)
        best = max(((value, SIDES[0]) for value in STRENGTHS), key=score_of)
        if extract.pairs:
            best = max(((best[0], sides) for sides in SIDES), key=score_of)
        strength, sides = best
        new = extract(text_columns(new_texts))[sides]
        found = predict(strength, known[sides], true, new)
    return found, true[rows], held_out(*best)


def _fold_rows(count, group):
    """The rows of each fold, of at most 3,000 rows; a list of int arrays."""
    groups = np.random.default_rng(0).permutation(count // group)
    groups = groups[: max(MAX_TUNING_ROWS // group, 1)]
    parts = np.array_split(groups, min(FOLDS, len(groups)))
    return [np.ravel(part[:, None] * group + np.arange(group)) for part in parts]
