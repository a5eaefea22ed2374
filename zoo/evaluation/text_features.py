"""Features of texts and of pairs of texts for linear models."""

import numpy as np

MAX_WEIGHTS = 500_000  # of a linear model, for all outputs together
PAIR_BLOCKS = 4  # of features as wide as the vocabulary, at most
CHARACTERS = (2, 4)  # the shortest and the longest n-gram within a word
MAX_CHARACTER_FEATURES = 50_000
# Of the overlaps, whose mean square is 1 before. Larger ones make the training slower.
OVERLAP_WEIGHT = 0.3
# What else a pair has: nothing, what is in one text and not in the other, or all.
SIDES = ("none", "difference", "both")
# Words, and every other character that is not white space.
TOKEN_PATTERN = r"\w+|[^\w\s]"


class TextFeatures:
    """Features of texts, or of pairs of texts; needs scikit-learn.

    A text has the TF-IDF of its words and word pairs. For the vectors a and b of a
    pair, the features are `|a - b|`, `a b` by element, and the overlaps: the cosines of
    a and b and of the TF-IDF of character n-grams, the share of the words that both
    texts have, of all words and of the words of each text, the weight of the other
    words of each text, and the lengths. `sides` adds `a - b`, or a and b.

    Args:
        columns: tuple of lists of str, one for texts and two for pairs, from which the
            words and their weights are learned.
        outputs: int, of the linear model; more outputs have fewer features.
    """

    def __init__(self, columns, outputs):
        from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

        texts = [text for column in columns for text in column]
        self.pairs = len(columns) > 1
        blocks = PAIR_BLOCKS if self.pairs else 1
        self.words = TfidfVectorizer(
            ngram_range=(1, 2),
            sublinear_tf=True,
            token_pattern=TOKEN_PATTERN,
            max_features=MAX_WEIGHTS // (outputs * blocks) + 1,
        ).fit(texts)
        if self.pairs:
            self.characters = TfidfVectorizer(
                analyzer="char_wb",
                ngram_range=CHARACTERS,
                sublinear_tf=True,
                max_features=MAX_CHARACTER_FEATURES,
            ).fit(texts)
            self.counts = CountVectorizer(token_pattern=TOKEN_PATTERN)
            known = self.counts.fit_transform(texts)
            rows = np.bincount(known.indices, minlength=known.shape[1])
            self.weights = np.log((1 + len(texts)) / (1 + rows)) + 1
            overlaps = self._overlaps(columns)
            self.mean = overlaps.mean(axis=0)
            self.deviation = np.maximum(overlaps.std(axis=0), 1e-9)

    def __call__(self, columns):
        """The features, a dict of each of `SIDES` to a sparse matrix (N, F).

        All sides of single texts are the same.
        """
        if not self.pairs:
            return dict.fromkeys(SIDES, self.words.transform(columns[0]))
        from scipy.sparse import csr_matrix, hstack

        a, b = map(self.words.transform, columns)
        overlaps = (self._overlaps(columns) - self.mean) / self.deviation
        shared = [abs(a - b), a.multiply(b), csr_matrix(OVERLAP_WEIGHT * overlaps)]
        sides = dict(zip(SIDES, ([], [a - b], [a, b]), strict=True))
        return {name: hstack([*shared, *more], "csr") for name, more in sides.items()}

    def _overlaps(self, columns):
        """What the texts of pairs share, float (N, 10)."""
        cosines = []
        for vectorizer in (self.words, self.characters):
            a, b = map(vectorizer.transform, columns)
            cosines.append(np.asarray(a.multiply(b).sum(axis=1)).ravel())
        counts = [self.counts.transform(column) for column in columns]
        lengths = [np.log1p(np.asarray(c.sum(axis=1)).ravel()) for c in counts]
        first, second = (c.sign() for c in counts)
        both = first.multiply(second) @ self.weights
        sides = [side @ self.weights for side in (first, second)]
        rest = [side - both for side in sides]
        shares = [both / np.maximum(side, 1e-9) for side in (*sides, sum(sides) - both)]
        apart = abs(lengths[0] - lengths[1])
        return np.stack([*cosines, *shares, *rest, *lengths, apart], axis=1)
