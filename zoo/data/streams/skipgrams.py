"""Pairs of neighbouring words, for skip-gram."""

import dataclasses

import numpy as np

from zoo.checks.number_rules import check_number
from zoo.data.streams.token_streams import ShuffledCorpus


@dataclasses.dataclass
class SkipGrams(ShuffledCorpus):
    """Pairs of a word and a neighbouring word. They depend on seed and step only.

    1. The sentences are permuted in each epoch. A step takes the next `words_per_step`
       words. A sentence that is not complete at the end of a step is split there.
    2. A word with the relative frequency f is kept with probability
       `min(1, sqrt(t / f))`.
    3. Each kept word draws a window size uniformly from 1 to `window`. It forms a pair
       with each kept word of its sentence in the window.

    Source: Mikolov et al. 2013b, section 2.3, for step 2 (the released program uses
    `sqrt(t / f) + t / f`); the released program, for the window sizes and for the order
    of steps 2 and 3.

    Args:
        ids: int (T,), word ids of the corpus, from 0; also an array on disk.
        offsets: int (S + 1,). Sentence i has the ids from offsets[i] to offsets[i + 1].
        window: int, largest number of words on each side.
        threshold: float, t; None to keep every word.
        words_per_step: int, words of a step before words are removed.
        seed: int.

    Raises:
        ValueError: if the corpus has no word, or a number is out of its range.
    """

    window: int = 5
    threshold: float | None = 1e-4
    words_per_step: int = 10_000
    seed: int = 0

    def __post_init__(self):
        """Counts the words and the steps of an epoch."""
        super().__post_init__()
        for name in ("window", "words_per_step", "seed", "threshold"):
            if name != "threshold" or self.threshold is not None:
                setattr(self, name, check_number(name, getattr(self, name)))
        if self.places < 1:
            raise ValueError("The corpus must have a word. Received: none.")
        self.counts = np.bincount(self.ids[self.offsets[0] : self.offsets[-1]])
        self.keep = np.ones(len(self.counts))
        if self.threshold is not None:
            share = np.maximum(self.counts, 1) / self.places
            self.keep = np.minimum(np.sqrt(self.threshold / share), 1.0)
        self.steps_per_epoch = -(-self.places // self.words_per_step)

    def words(self, step):
        """Returns the kept words of one step.

        Args:
            step: int, from 0, counted over all epochs.

        Returns:
            Tuple of three int (M,): the ids, the number of the sentence in the epoch,
            and the window size of each word.
        """
        epoch, number = divmod(int(step), self.steps_per_epoch)
        begin = number * self.words_per_step
        places = np.arange(begin, min(begin + self.words_per_step, self.places))
        numbers, ids = self._read(epoch, places)
        # For NumPy, the seeds [s, e] and [s, e, 0] are the same, hence the 1.
        draw = np.random.default_rng([self.seed, epoch, number + 1])
        kept = draw.random(len(ids)) < self.keep[ids]
        windows = draw.integers(1, self.window + 1, len(ids))
        return ids[kept], numbers[kept], windows[kept]

    def batch(self, step):
        """Returns the pairs of one step.

        Args:
            step: int, from 0, counted over all epochs.

        Returns:
            dict of int32 (P,): centres and contexts. P differs from step to step.
        """
        ids, sentences, windows = self.words(step)
        centres, contexts = [ids[:0]], [ids[:0]]
        for distance in range(1, min(self.window, len(ids)) + 1):
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
