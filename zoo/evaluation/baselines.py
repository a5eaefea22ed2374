"""Simple predictors, whose scores show how much a model has learned.

Each is a function of texts and labels for training and of new texts. It returns the
predicted labels of the new texts. Texts are a list of str, or for pairs a tuple of
two lists; for tags and trees they are a list of lists of words. Labels may be texts.
Those by linear models are in `zoo.evaluation.tfidf_baselines`.
"""

import collections

import numpy as np

from zoo.evaluation.bracketing import PUNCTUATION, read_brackets
from zoo.evaluation.glue_scores import import_library
from zoo.evaluation.label_set_scores import label_matrix
from zoo.evaluation.text_features import TOKEN_PATTERN

MAX_ROWS, MAX_CHARACTERS = 50_000, 10_000_000  # of the texts for training
TEXTS_IN_BLOCK = 256  # texts that are compared with all texts for training at once
NEEDED_BY = "The TF-IDF baseline needs"


def sample_rows(texts, seed=0):
    """Chooses at most 50,000 rows and 10 million characters to train a baseline on.

    Args:
        texts: of all rows, see above.
        seed: int, of the random choice.

    Returns:
        list of int, row numbers in ascending order.
    """
    columns = text_columns(texts)
    order = np.random.default_rng(seed).permutation(len(columns[0]))[:MAX_ROWS]
    sizes = [sum(_characters(column[row]) for column in columns) for row in order]
    count = np.searchsorted(np.cumsum(sizes), MAX_CHARACTERS, side="right")
    return sorted(order[: max(int(count), 1)].tolist())


def text_columns(texts):
    """The columns of texts, a tuple of lists."""
    return texts if isinstance(texts, tuple) else (texts,)


def _characters(text):
    return len(text) if isinstance(text, str) else sum(map(len, text))


def _most_frequent(labels):
    """The most frequent label; of several, the first one in alphabetical order."""
    counts = collections.Counter(labels)
    return min(counts, key=lambda label: (-counts[label], label))


def majority_label(texts, labels, new_texts):
    """Predicts the most frequent label for every text."""
    return [_most_frequent(labels)] * len(text_columns(new_texts)[0])


def frequent_label_set(texts, label_sets, new_texts, labels=None):
    """Predicts the most frequent set of labels for every text.

    `labels` and the result are those of `tfidf_label_sets`. The score of a label is its
    share of the texts for training.
    """
    best = _most_frequent(tuple(sorted(row)) for row in label_sets)
    names = sorted({name for row in label_sets for name in row})
    shares = label_matrix(label_sets, names).mean(axis=0)
    count = len(text_columns(new_texts)[0])
    return with_scores([best] * count, names, np.tile(shares, (count, 1)), labels)


def with_scores(predicted, names, scores, labels):
    """Predicted sets; with `labels` also their scores, from those of `names` (N, C)."""
    if labels is None:
        return predicted
    found = np.zeros((len(predicted), len(labels)))
    found[:, [labels.index(name) for name in names]] = scores
    return predicted, found


def mean_number(texts, numbers, new_texts):
    """Predicts the mean of the numbers for every text."""
    return [float(np.mean(numbers))] * len(text_columns(new_texts)[0])


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


def copied_texts(texts, targets, new_texts):
    """Predicts that the target of every text is the text itself."""
    return list(new_texts)


def nearest_targets(texts, targets, new_texts):
    """Predicts the target of the most similar text for training.

    The similarity is the cosine of the TF-IDF of words and word pairs.
    """
    import_library("sklearn", NEEDED_BY)
    from sklearn.feature_extraction.text import TfidfVectorizer

    if without_words(texts):
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


def without_words(texts):
    """Whether all texts are empty or white space."""
    return not any(text.strip() for column in text_columns(texts) for text in column)
