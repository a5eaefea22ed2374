"""What `zoo.probe` asks of the layers of a model: words, texts, or phrases of trees."""

import dataclasses
from collections.abc import Callable

import numpy as np

from zoo.evaluation import (
    most_frequent_tags,
    read_brackets,
    tfidf_label,
)
from zoo.programs.vectors.layer_vectors import text_vectors, word_vectors
from zoo.tasks import Parser, TextClassifier, TokenClassifier
from zoo.text import read_tree


@dataclasses.dataclass(frozen=True)
class Examples:
    """Vectors of layers with their labels, from rows of a file.

    Args:
        make: function of a model, texts and labels of rows to vectors float32
            (N, layers, D) and a list of N labels.
        predict: function of texts and labels of rows for training, and of texts and
            labels of the others, to the labels that a plain baseline predicts for the
            examples of the others.
        sparse: bool, whether most examples may have the label "O", so that F1 is the
            score.
    """

    make: Callable
    predict: Callable
    sparse: bool = False


def _flat(rows):
    return [label for row in rows for label in row]


def _words(sentences):
    return [row.split() if isinstance(row, str) else row for row in sentences]


def words_and_tags(model, sentences, tags):
    """The vectors of words, and their tags."""
    vectors, counts = word_vectors(model, sentences)
    if counts.tolist() != [len(row) for row in tags]:
        raise ValueError(
            "A sentence must have a tag for every word. Received: "
            f"{len(vectors)} words and {len(_flat(tags))} tags."
        )
    return vectors, _flat(tags)


def texts_and_labels(model, texts, labels):
    """The mean vectors of texts, and their labels."""
    if isinstance(texts, tuple):
        raise ValueError(
            "A probe reads single texts. Received: pairs of texts. Name one column."
        )
    return text_vectors(model, texts), list(labels)


def phrases_and_labels(model, sentences, trees):
    """The vectors of the first and the last word of phrases, and their labels.

    Only phrases of several words count.
    """
    read = [read_brackets(read_tree(tree)) for tree in trees]
    vectors, counts = word_vectors(model, sentences)
    sizes = [len(leaves) for _, leaves in read]
    if counts.tolist() != sizes:
        raise ValueError(
            "A sentence must have the words of its tree, separated by spaces. "
            f"Received: {len(vectors)} words, and trees with {sum(sizes)}."
        )
    starts = np.cumsum(counts) - counts
    found = [(first, row) for first, (brackets, _) in zip(starts, read, strict=True)
             for row in _phrases(brackets)]  # fmt: skip
    begins = np.array([first + begin for first, (_, begin, _) in found], "int64")
    ends = np.array([first + end - 1 for first, (_, _, end) in found], "int64")
    both = np.concatenate([vectors[begins], vectors[ends]], axis=-1)
    return both, [label for _, (label, _, _) in found]


def _phrases(brackets):
    return [row for row in brackets if row[0] and row[2] - row[1] > 1]


def _labels_and_ends(trees):
    """The labels of the phrases of trees, and their first and last words."""
    found = []
    for brackets, leaves in map(read_brackets, map(read_tree, trees)):
        for label, begin, end in _phrases(brackets):
            found.append((label, (leaves[begin][1], leaves[end - 1][1])))
    return [label for label, _ in found], [ends for _, ends in found]


def _most_frequent_phrases(texts, trees, new_texts, new_trees):
    """The most frequent label of phrases with the same first and last word.

    Without such phrases, it is that of those with the same first word, or of all.
    """
    labels, known = _labels_and_ends(trees)
    _, asked = _labels_and_ends(new_trees)
    (whole,) = most_frequent_tags([known], [labels], [asked])
    known_first, asked_first = [[first for first, _ in e] for e in (known, asked)]
    (part,) = most_frequent_tags([known_first], [labels], [asked_first])
    seen = {*known}
    return [a if e in seen else b for e, a, b in zip(asked, whole, part, strict=True)]


EXAMPLES = {
    TokenClassifier: Examples(
        words_and_tags,
        lambda x, y, texts, _: _flat(most_frequent_tags(_words(x), y, _words(texts))),
        sparse=True,
    ),
    TextClassifier: Examples(
        texts_and_labels, lambda x, y, texts, _: tfidf_label(x, y, texts)
    ),
    Parser: Examples(phrases_and_labels, _most_frequent_phrases),
}
