"""Simple predictors, whose scores show how much a model has learned.

Each is a function of texts and labels for training and of new texts. It returns the
predicted labels of the new texts. Texts are a list of str, or for pairs a tuple of
two lists; for tags and trees they are a list of lists of words. Labels may be texts.
Those with TF-IDF raise ImportError if scikit-learn is not installed.
"""

import collections
import warnings

import numpy as np

from zoo.evaluation.bracketing import PUNCTUATION, read_brackets
from zoo.evaluation.glue_scores import import_library
from zoo.evaluation.label_set_scores import best_thresholds, label_matrix

MAX_ROWS, MAX_CHARACTERS = 50_000, 10_000_000  # of the texts for training
MAX_WEIGHTS = 500_000  # of a linear model, for all labels together
PAIR_BLOCKS = 4  # of features: those of both texts, products and differences
FOLDS = 3  # of the cross-validation that chooses a threshold
TEXTS_IN_BLOCK = 256  # texts that are compared with all texts for training at once
NEEDED_BY = "The TF-IDF baseline needs"
# Words, and every other character that is not white space.
TOKEN_PATTERN = r"\w+|[^\w\s]"


def sample_rows(texts, seed=0):
    """Chooses at most 50,000 rows and 10 million characters to train a baseline on.

    Args:
        texts: of all rows, see above.
        seed: int, of the random choice.

    Returns:
        list of int, row numbers in ascending order.
    """
    columns = _columns(texts)
    order = np.random.default_rng(seed).permutation(len(columns[0]))[:MAX_ROWS]
    sizes = [sum(_characters(column[row]) for column in columns) for row in order]
    count = np.searchsorted(np.cumsum(sizes), MAX_CHARACTERS, side="right")
    return sorted(order[: max(int(count), 1)].tolist())


def _columns(texts):
    return texts if isinstance(texts, tuple) else (texts,)


def _characters(text):
    return len(text) if isinstance(text, str) else sum(map(len, text))


def _most_frequent(labels):
    """The most frequent label; of several, the first one in alphabetical order."""
    counts = collections.Counter(labels)
    return min(counts, key=lambda label: (-counts[label], label))


def majority_label(texts, labels, new_texts):
    """Predicts the most frequent label for every text."""
    return [_most_frequent(labels)] * len(_columns(new_texts)[0])


def frequent_label_set(texts, label_sets, new_texts, labels=None):
    """Predicts the most frequent set of labels for every text.

    `labels` and the result are those of `tfidf_label_sets`. The score of a label is its
    share of the texts for training.
    """
    best = _most_frequent(tuple(sorted(row)) for row in label_sets)
    names = sorted({name for row in label_sets for name in row})
    shares = label_matrix(label_sets, names).mean(axis=0)
    count = len(_columns(new_texts)[0])
    return _with_scores([best] * count, names, np.tile(shares, (count, 1)), labels)


def _with_scores(predicted, names, scores, labels):
    """Predicted sets; with `labels` also their scores, from those of `names` (N, C)."""
    if labels is None:
        return predicted
    found = np.zeros((len(predicted), len(labels)))
    found[:, [labels.index(name) for name in names]] = scores
    return predicted, found


def mean_number(texts, numbers, new_texts):
    """Predicts the mean of the numbers for every text."""
    return [float(np.mean(numbers))] * len(_columns(new_texts)[0])


def most_frequent_tags(sentences, tags, new_texts):
    """Predicts the most frequent tag of each word.

    The tag of a word that does not occur in `sentences` is the most frequent tag of
    all words.
    """
    rows = zip(sentences, tags, strict=True)
    best = _most_frequent_of(
        pair for words, row in rows for pair in zip(words, row, strict=True)
    )
    default = _most_frequent(tag for row in tags for tag in row)
    return [[best.get(word, default) for word in words] for words in new_texts]


def right_branching_trees(trees, sentences):
    """Predicts trees in which every word opens a phrase up to the end of the sentence.

    The tag of a word is its most frequent one, and of an unknown word the most frequent
    one of the words with the same last three characters, else of all words. The label
    of a phrase is the most frequent one of the phrases of several words that begin with
    the same tag, of the first phrase that of the sentences. Punctuation and the last
    word open no phrase.

    Args:
        trees: list of trees for training, see `zoo.evaluation.count_brackets`.
        sentences: list of lists of words.

    Returns:
        list of trees.
    """
    found = [read_brackets(tree) for tree in trees]
    leaves = [(word, tag) for _, row in found for tag, word in row]
    by_word = _most_frequent_of(leaves)
    by_ending = _most_frequent_of((word[-3:], tag) for word, tag in leaves)
    default = _most_frequent(tag for _, tag in leaves)
    labels = _most_frequent_of(
        (row[begin][0], label)
        for brackets, row in found
        for label, begin, end in brackets
        if end - begin > 1
    )
    first = _most_frequent(tree[0] for tree in trees)
    predicted = []
    for words in sentences:
        leaves = [
            (by_word.get(word) or by_ending.get(word[-3:], default), word)
            for word in words
        ]
        phrase = []
        for place, (tag, word) in reversed([*enumerate(leaves)]):
            phrase.insert(0, (tag, word))
            inside = 0 < place < len(leaves) - 1
            if inside and tag not in PUNCTUATION:
                phrase = [(labels.get(tag, first), *phrase)]
        predicted.append((first, *phrase))
    return predicted


def _most_frequent_of(pairs):
    """The most frequent value of each key, a dict."""
    values = collections.defaultdict(list)
    for key, value in pairs:
        values[key].append(value)
    return {key: _most_frequent(found) for key, found in values.items()}


def tfidf_label(texts, labels, new_texts):
    """Predicts labels by TF-IDF of words and word pairs, and logistic regression.

    The features of a pair are those of both texts, their products, the absolute values
    of their differences, and the sum of the products, which is the cosine of the texts.
    """
    import_library("sklearn", NEEDED_BY)
    if len(set(labels)) < 2 or _without_words(texts):
        return majority_label(texts, labels, new_texts)
    classes = np.unique(labels)
    return classes[_tfidf_shares(texts, labels, new_texts).argmax(axis=1)].tolist()


def _tfidf_shares(texts, labels, new_texts):
    """The probabilities (N, C) of the sorted labels for new texts."""
    from sklearn.linear_model import LogisticRegression
    from threadpoolctl import threadpool_limits

    classes = len(set(labels))
    features, held_out = _tfidf(texts, new_texts, classes if classes > 2 else 1)
    model = LogisticRegression(C=10.0, max_iter=100)
    # Threads that wait for each other take longer than one on a busy machine. The
    # warnings are about the limit of iterations, and about labels that occur once.
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore", UserWarning)
        model.fit(features, labels)
    return model.predict_proba(held_out)


def tfidf_label_sets(texts, label_sets, new_texts, labels=None):
    """Predicts sets of labels by TF-IDF, and a logistic regression for each label.

    The features are those of `tfidf_label`. The threshold of the probabilities, one for
    all labels, has the highest micro F1 in a cross-validation of the texts.

    Args:
        label_sets: list of tuples of labels.
        labels: tuple of str (C,), those of the scores, or None for no scores.

    Returns:
        list of tuples of labels; or with `labels` a pair of them and the probability of
        each label, float (N, C), 0 for a label without a text for training.
    """
    import_library("sklearn", NEEDED_BY)
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from threadpoolctl import threadpool_limits

    names = sorted({name for row in label_sets for name in row})
    count = len(_columns(new_texts)[0])
    if not names or _without_words(texts):
        return frequent_label_set(texts, label_sets, new_texts, labels)
    features, held_out = _tfidf(texts, new_texts, len(names))
    true = label_matrix(label_sets, names)
    known, found = np.zeros(true.shape), np.zeros((count, len(names)))
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore", UserWarning)
        for i, column in enumerate(true.T):
            rarer = min(column.sum(), (~column).sum())
            if rarer < 2:
                known[:, i] = found[:, i] = column.mean()
                continue
            model = LogisticRegression(C=10.0, max_iter=100)
            found[:, i] = model.fit(features, column).predict_proba(held_out)[:, 1]
            folds = StratifiedKFold(min(FOLDS, rarer), shuffle=True, random_state=0)
            known[:, i] = cross_val_predict(
                model, features, column, cv=folds, method="predict_proba"
            )[:, 1]
    chosen = found >= best_thresholds(true, known)
    pairs = (zip(names, row, strict=True) for row in chosen)
    predicted = [tuple(name for name, yes in row if yes) for row in pairs]
    return _with_scores(predicted, names, found, labels)


def tfidf_choice(texts, labels, new_texts):
    """Predicts the choice that `tfidf_label` takes for the likeliest right one.

    Args:
        texts, new_texts: tuples of lists: texts, first choices, second choices, ...
        labels: list of str, numbers of the right choices.

    Returns:
        list of str.
    """
    import_library("sklearn", NEEDED_BY)
    pairs, held_out = map(_pairs_with_choices, (texts, new_texts))
    if _without_words(pairs):
        return majority_label(texts, labels, new_texts)
    count = len(texts) - 1
    right = [int(str(i) == label) for label in labels for i in range(count)]
    scores = _tfidf_shares(pairs, right, held_out)[:, 1].reshape(-1, count)
    return [str(number) for number in scores.argmax(axis=1)]


def _pairs_with_choices(texts):
    """Each text beside each of its choices, a tuple of two lists."""
    first, *choices = texts
    rows = zip(first, zip(*choices, strict=True), strict=True)
    pairs = [(text, choice) for text, row in rows for choice in row]
    return tuple(map(list, zip(*pairs, strict=True))) or ([], [])


def tfidf_number(texts, numbers, new_texts):
    """Predicts numbers by TF-IDF as in `tfidf_label`, and ridge regression."""
    import_library("sklearn", NEEDED_BY)
    from sklearn.linear_model import Ridge

    if _without_words(texts):
        return mean_number(texts, numbers, new_texts)
    features, held_out = _tfidf(texts, new_texts, 1)
    model = Ridge(alpha=1.0, solver="sparse_cg", max_iter=1000)
    return model.fit(features, numbers).predict(held_out).tolist()


def copied_texts(texts, targets, new_texts):
    """Predicts that the target of every text is the text itself."""
    return list(new_texts)


def nearest_targets(texts, targets, new_texts):
    """Predicts the target of the most similar text for training.

    The similarity is the cosine of the TF-IDF of words and word pairs.
    """
    import_library("sklearn", NEEDED_BY)
    from sklearn.feature_extraction.text import TfidfVectorizer

    if _without_words(texts):
        return majority_label(texts, targets, new_texts)
    vectorizer = TfidfVectorizer(ngram_range=(1, 2), token_pattern=TOKEN_PATTERN)
    known = vectorizer.fit_transform(texts).T.tocsr()
    found = vectorizer.transform(new_texts)
    # A few rows at once, as most pairs of texts have a word in common.
    blocks = (
        found[i : i + TEXTS_IN_BLOCK] @ known
        for i in range(0, len(new_texts), TEXTS_IN_BLOCK)
    )
    return [targets[int(np.argmax(row.toarray()))] for rows in blocks for row in rows]


def _without_words(texts):
    return not any(text.strip() for column in _columns(texts) for text in column)


def _tfidf(texts, new_texts, outputs):
    """Features of the texts and of the new texts, two sparse matrices (N, F)."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    columns = _columns(texts)
    blocks = 1 if len(columns) == 1 else PAIR_BLOCKS
    vectorizer = TfidfVectorizer(
        ngram_range=(1, 2),
        sublinear_tf=True,
        token_pattern=TOKEN_PATTERN,
        max_features=MAX_WEIGHTS // (outputs * blocks) + 1,
    )
    found = vectorizer.fit_transform([text for column in columns for text in column])
    rows = len(columns[0])
    parts = [found[i * rows : (i + 1) * rows] for i in range(len(columns))]
    held_out = [vectorizer.transform(column) for column in _columns(new_texts)]
    return _side_by_side(parts), _side_by_side(held_out)


def _side_by_side(columns):
    if len(columns) == 1:
        return columns[0]
    from scipy.sparse import hstack

    first, second = columns
    products = first.multiply(second)
    cosine = products.sum(axis=1)
    return hstack([*columns, products, abs(first - second), cosine], "csr")
