"""Pairs of a word and a word near it, for skip-gram."""

import dataclasses

import numpy as np

from zoo.data.streams import SentenceOrder


@dataclasses.dataclass
class SkipGrams:
    """Pairs of a word and a word near it, which depend on the seed and the step only.

    - The sentences of an epoch are shuffled. A step reads the next `words_per_step`
      words. If a step ends inside a sentence, the sentence is split there.
    - A word with the share f of the corpus is kept with probability `min(1, sqrt(t /
      f))`.
    - Each kept word draws its window uniformly from 1 to `window`. Its pairs are the
      kept words of the same sentence within this distance.

    Source: Mikolov et al. 2013b, section 2.3, for subsampling; the released program
    keeps a word with probability `sqrt(t / f) + t / f`. As in the program, windows are
    random, and words are dropped before windows are applied.

    Args:
        ids: int (T,), the corpus, ids from 0; may be an array on disk.
        offsets: int (S + 1,). Sentence i has the ids from position offset [i] to offset
            [i + 1].
        window: int, maximum number of words on each side.
        threshold: float, t; None keeps every word.
        words_per_step: int, words of a step before subsampling.
        seed: int.

    Raises:
        ValueError: if the corpus has no word, or if a size is not positive.
    """

    ids: np.ndarray
    offsets: np.ndarray
    window: int = 5
    threshold: float | None = 1e-4
    words_per_step: int = 10_000
    seed: int = 0

    def __post_init__(self):
        """Counts the words and the steps of an epoch."""
        self.offsets = np.asarray(self.offsets, np.int64)
        if self.window < 1 or self.words_per_step < 1:
            raise ValueError(
                "`window` and `words_per_step` must be at least 1. Received: window="
                f"{self.window}, words_per_step={self.words_per_step}."
            )
        self.total = int(self.offsets[-1] - self.offsets[0])
        if self.total < 1:
            raise ValueError("The corpus must have words. Received: none.")
        self.counts = np.bincount(self.ids[self.offsets[0] : self.offsets[-1]])
        self.keep = np.ones(len(self.counts))
        if self.threshold is not None:
            share = np.maximum(self.counts, 1) / self.total
            self.keep = np.minimum(np.sqrt(self.threshold / share), 1.0)
        self.steps_per_epoch = -(-self.total // self.words_per_step)
        self._order = SentenceOrder(np.diff(self.offsets), self.seed)

    def words(self, step):
        """Returns the kept words of one step.

        Args:
            step: int, from 0, counted over all epochs.

        Returns:
            Three int (M,): ids, numbers of the sentences within the epoch, and windows.
        """
        epoch, number = divmod(int(step), self.steps_per_epoch)
        order, begins = self._order(epoch)
        begin = number * self.words_per_step
        places = np.arange(begin, min(begin + self.words_per_step, self.total))
        sentences = np.searchsorted(begins, places, side="right") - 1
        ids = self.ids[self.offsets[order[sentences]] + places - begins[sentences]]
        # NumPy treats [s, e] and [s, e, 0] as the same seed, so numbers begin at 1.
        draw = np.random.default_rng([self.seed, epoch, number + 1])
        kept = draw.random(len(ids)) < self.keep[ids]
        windows = draw.integers(1, self.window + 1, len(ids))
        return ids[kept], sentences[kept], windows[kept]

    def batch(self, step):
        """Returns the pairs of one step.

        Args:
            step: int, from 0, counted over all epochs.

        Returns:
            dict of centres and contexts, int32 (P,); P differs from step to step.
        """
        ids, sentences, windows = self.words(step)
        centres, contexts = [ids[:0]], [ids[:0]]
        for distance in range(1, self.window + 1):
            left, right = ids[:-distance], ids[distance:]
            together = sentences[:-distance] == sentences[distance:]
            after = together & (windows[:-distance] >= distance)
            before = together & (windows[distance:] >= distance)
            centres += [left[after], right[before]]
            contexts += [right[after], left[before]]
        return {
            "centres": np.concatenate(centres).astype("int32"),
            "contexts": np.concatenate(contexts).astype("int32"),
        }
