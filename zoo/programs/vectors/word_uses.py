"""The uses of a word in texts: their vectors, their neighbours, and a map of them."""

import collections
import dataclasses
import unicodedata

import numpy as np

from zoo import visualize
from zoo.checks.number_rules import check_number, numbers_checked
from zoo.evaluation import group_vectors
from zoo.programs.vectors.layer_vectors import word_vectors
from zoo.programs.vectors.model_and_texts import load_model, read_strings

MAX_USES = 500
EXCERPT_WORDS = 6  # words on each side of an excerpt


@dataclasses.dataclass(frozen=True)
class WordUses:
    """Uses of words in texts, with a vector for each use.

    Args:
        words: list of str (N,), the word of each use, as it is asked for.
        sentences: list of lists of str (N,), the words of the text of each use.
        places: int (N,), the number of the word in its text, from 0.
        vectors: float32 (N, D).
    """

    words: list
    sentences: list
    places: np.ndarray
    vectors: np.ndarray

    def __len__(self):
        """The number of uses."""
        return len(self.words)

    def excerpt(self, number, width=EXCERPT_WORDS):
        """A use with the words on both sides of it, str; the word is in brackets.

        Args:
            number: int, of the use.
            width: int, the most words on each side.
        """
        words, place = self.sentences[number], int(self.places[number])
        before, after = words[max(place - width, 0) : place], words[place + 1 :]
        return " ".join([*before, f"[{words[place]}]", *after[:width]])

    @property
    def directions(self):
        """The vectors divided by their lengths, float32 (N, D)."""
        norms = np.linalg.norm(self.vectors, axis=1, keepdims=True)
        return self.vectors / np.maximum(norms, 1e-12)

    def similarities(self):
        """The cosines between the vectors of all uses, float32 (N, N)."""
        return self.directions @ self.directions.T

    def neighbours(self, number, count=5):
        """The most similar uses in other texts.

        Args:
            number: int, of a use.
            count: int, the most neighbours.

        Returns:
            list of dict: use int, its number, similarity float, the cosine, and text
            str, see `excerpt`.
        """
        count = check_number("neighbours", count)
        similar = self.directions @ self.directions[number]
        candidates = [
            i for i, s in enumerate(self.sentences) if s != self.sentences[number]
        ]
        best = sorted(candidates, key=lambda use: -similar[use])[:count]
        return [
            {"use": i, "similarity": float(similar[i]), "text": self.excerpt(i)}
            for i in best
        ]

    def groups(self, count=2, seed=0):
        """Divides the uses into groups of similar vectors.

        Args:
            count, seed: see `zoo.evaluation.group_vectors`, also for errors.

        Returns:
            list of lists of int, the numbers of the uses of each group.
        """
        return group_vectors(self.directions, count, seed)

    def plot(self, path, labels=None, title="", shown=0):
        """Plots the vectors in the plane of their main directions.

        Args:
            path: str or path, file to write: .svg, .png or .pdf.
            labels: sequence of str (N,), each with its color; by default the words.
            title: str.
            shown: int, the number of uses of each label whose excerpts are written
                beside their points, the first ones.

        Returns:
            pathlib.Path of the file.
        """
        labels = list(self.words if labels is None else labels)
        counts, texts = collections.Counter(), []
        for number, label in enumerate(labels):
            counts[label] += 1
            texts.append(self.excerpt(number, 3) if counts[label] <= shown else "")
        return visualize.plot_map(self.vectors, labels, path, title, texts)


@numbers_checked()
def find_uses(preset, words, texts, layers=(-1,), *, limit=MAX_USES, **options):
    """Finds words in texts, and computes their vectors there.

    A text is split at white space, and punctuation at both ends of a word is split off.
    Upper case is ignored in the search. The vector of a word is that of its first
    token.

    Source: Peters et al. 2018, section 5.3 and table 4.

    Args:
        preset: see `zoo.from_preset`; or a backbone with a tokenizer, or a task.
        words: str, or list of str. If two words differ only in case, the result has the
            last one.
        texts: list or iterator of str; or a `pathlib.Path` of a text file, or a list of
            them, see `zoo.embed`.
        layers: list of int, whose vectors are concatenated: 0 for the embeddings, in
            TagLM the first LSTMs, and -1 for the last layer.
        limit: int, the most uses of each word. Later ones are ignored.
        **options: of `zoo.from_preset`.

    Returns:
        `WordUses`, in the order of the texts.

    Raises:
        FileNotFoundError, TypeError: see `zoo.embed`.
        ValueError: if a word is not in the texts or is not one word, options are given
            for a model, or the model does not have a layer.
    """
    words = [words] if isinstance(words, str) else list(words)
    found = _search({word.lower(): word for word in words}, texts, limit)
    known = {use[0].lower() for use in found}
    missing = [word for word in words if word.lower() not in known]
    if missing or not words:
        raise ValueError(
            "Every word must be in the texts, and must be one word without punctuation "
            f"at its ends. Received: {', '.join(map(repr, missing or words))} without "
            "a use."
        )
    model = load_model(preset, options)
    places = {}  # of each different text
    for _, sentence, place in found:
        places.setdefault(sentence, {})[place] = None
    wanted = [*map(list, places.values())]
    vectors, _ = word_vectors(model, [*map(list, places)], layers, places=wanted)
    keys = [(sentence, place) for sentence in places for place in places[sentence]]
    numbers = {key: number for number, key in enumerate(keys)}
    rows = [numbers[sentence, place] for _, sentence, place in found]
    return WordUses(
        [use[0] for use in found],
        [list(use[1]) for use in found],
        np.array([use[2] for use in found], "int64"),
        vectors[rows].reshape(len(rows), -1),
    )


def _search(words, texts, limit):
    """The uses of words in texts: list of word, words of the text, and place."""
    found, counts = [], dict.fromkeys(words, 0)
    for text in read_strings(texts):
        split = tuple(_split(text))
        for place, word in enumerate(split):
            known = counts.get(word.lower(), limit)
            if known < limit:
                counts[word.lower()] += 1
                found.append((words[word.lower()], split, place))
        if min(counts.values(), default=limit) >= limit:
            break
    return found


def _split(text):
    """The words of a text, and the punctuation around them, list of str."""
    found = []
    for piece in text.split():
        marks = [unicodedata.category(character)[0] in "PS" for character in piece]
        if all(marks):
            found += piece
            continue
        begin, end = marks.index(False), len(marks) - marks[::-1].index(False)
        found += [*piece[:begin], piece[begin:end], *piece[end:]]
    return found
