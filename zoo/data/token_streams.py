"""Running text as contiguous streams, for language models that carry a state."""

import dataclasses

import numpy as np


class SentenceOrder:
    """The order of sentences in an epoch, a function of the seed and the epoch only.

    Args:
        sizes: int (S,), places that each sentence takes.
        seed: int; None leaves the sentences in order.

    Inputs:
        int, the epoch.

    Returns:
        int (S,), the sentences in their order, and int (S + 1,), where each begins
        among all places. Those of the latest epoch are kept.
    """

    def __init__(self, sizes, seed):
        self.sizes = sizes
        self.seed = seed
        self.latest = None, None

    def __call__(self, epoch):
        """Permutes the sentences; see the class."""
        if self.latest[0] != epoch:
            order = np.arange(len(self.sizes))
            if self.seed is not None:
                order = np.random.default_rng([self.seed, epoch]).permutation(order)
            begins = np.concatenate([[0], np.cumsum(self.sizes[order])])
            self.latest = epoch, (order, begins)
        return self.latest[1]


@dataclasses.dataclass
class TokenStreams:
    """Batches of neighbouring tokens, a function of the seed and the step only.

    The sentences of an epoch are permuted, each is `<S> words </S>`, and the whole is
    cut into as many streams as a batch has rows; a step takes the next tokens of every
    stream, so that row r goes on where row r of the step before ended. `</S>` is never
    read and `<S>` never predicted; the other way round in the backward streams, which
    read every sentence from its end. What is left at the end of the streams, fewer
    tokens than a step takes, is dropped.

    Source: Peters et al. 2018, released code `bilm/data.py`; there every row takes its
    sentences from one queue, here from a part of the corpus of its own, so that any
    step can be made without those before it.

    Args:
        ids: int (T,), the corpus; an array on disk will do.
        offsets: int (S + 1,): sentence i holds the ids from offset [i] to [i + 1].
        batch_size: int, B.
        steps: int, L, tokens of a row in one step.
        begin_id, end_id: int, of `<S>` and `</S>`.
        seed: int, of the permutations; None leaves the sentences in order.

    Raises:
        ValueError: if the corpus is too small for one step.
    """

    ids: np.ndarray
    offsets: np.ndarray
    batch_size: int
    steps: int
    begin_id: int = 0
    end_id: int = 1
    seed: int | None = 0

    def __post_init__(self):
        """Counts the steps of an epoch."""
        self.offsets = np.asarray(self.offsets, np.int64)
        # A sentence of n words has n + 1 places: as many are read as predicted.
        self.places = int(self.offsets[-1] - self.offsets[0]) + len(self.offsets) - 1
        self.steps_per_epoch = self.places // self.batch_size // self.steps
        if self.steps_per_epoch < 1:
            raise ValueError(
                f"The corpus must have {self.batch_size * self.steps} tokens for one "
                f"step of {self.batch_size} rows. Received: {self.places}."
            )
        self._order = SentenceOrder(np.diff(self.offsets) + 1, self.seed)

    def batch(self, step):
        """The tokens of one step.

        Args:
            step: int, from 0 over all epochs.

        Returns:
            dict of int32 (B, L): forward and backward, the tokens that are read, and
            forward_targets and backward_targets, those to predict. The backward ones
            stand in the order of the text: position L - 1 is read first.
        """
        epoch, number = divmod(int(step), self.steps_per_epoch)
        order, begins = self._order(epoch)
        rows = np.arange(self.batch_size)[:, None] * (self.places // self.batch_size)
        places = rows + number * self.steps + np.arange(self.steps)
        sentences = np.searchsorted(begins, places, side="right") - 1
        inside = places - begins[sentences]
        first = self.offsets[order[sentences]]
        last = self.offsets[order[sentences] + 1] - 1
        read = {
            "forward": self._take(first + inside - 1, inside == 0, self.begin_id),
            "forward_targets": self._take(
                first + inside, first + inside > last, self.end_id
            ),
            "backward": self._take(last - inside + 1, inside == 0, self.end_id),
            "backward_targets": self._take(
                last - inside, last - inside < first, self.begin_id
            ),
        }
        for name in ("backward", "backward_targets"):
            read[name] = np.ascontiguousarray(read[name][:, ::-1])
        return read

    def _take(self, places, edge, marker):
        inside = np.clip(places, 0, len(self.ids) - 1)
        return np.where(edge, marker, self.ids[inside]).astype("int32")
