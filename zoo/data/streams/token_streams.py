"""Contiguous streams of tokens, for language models that carry states over."""

import dataclasses

import numpy as np

from zoo.checks.counts import check_corpus
from zoo.checks.ranges import Size, check_values


@dataclasses.dataclass
class ShuffledCorpus:
    """The base class of batches of a corpus whose texts are permuted in each epoch.

    The order depends on the epoch and on `seed`, a field of every subclass, only.
    """

    ids: np.ndarray
    offsets: np.ndarray

    added_places = 0  # of each text, beside one for each of its ids

    def __post_init__(self):
        """Checks the corpus, and counts the places of all texts."""
        self.ids, self.offsets = check_corpus(self.ids, self.offsets)
        self._sizes = np.diff(self.offsets) + self.added_places
        self.places = int(self._sizes.sum())
        self._order = None, None

    def _find(self, epoch, places):
        """The texts of places, numbered in epoch and corpus, and the places in them."""
        if self._order[0] != epoch:
            order = np.arange(len(self._sizes))
            if self.seed is not None:
                order = np.random.default_rng([self.seed, epoch]).permutation(order)
            begins = np.concatenate([[0], np.cumsum(self._sizes[order])])
            self._order = epoch, (order, begins)
        order, begins = self._order[1]
        numbers = np.searchsorted(begins, places, side="right") - 1
        return numbers, order[numbers], places - begins[numbers]

    def _read(self, epoch, places):
        """The number of the text of each place of an epoch, and the id at the place."""
        numbers, texts, inside = self._find(epoch, places)
        return numbers, self.ids[self.offsets[texts] + inside]


@dataclasses.dataclass
class TokenStreams(ShuffledCorpus):
    """Batches of consecutive tokens. They depend on seed and step only.

    1. The sentences `<S> words </S>` are permuted in each epoch and concatenated.
    2. The result is split into `batch_size` streams of equal length.
    3. Each step takes the next `steps` tokens of every stream. Row r of a step
       therefore continues row r of the previous step.
    4. The tokens at the end of the streams that do not fill a step are ignored.

    The forward streams never read `</S>` and never predict `<S>`. The backward streams
    read every sentence from its end, never read `<S>` and never predict `</S>`.

    Source: Peters et al. 2018, released code `bilm/data.py`. There all rows take their
    sentences from one queue. Here each row has its own share of the corpus, so any step
    can be computed without the previous steps.

    Args:
        ids: int (T,), the corpus; also an array on disk.
        offsets: int (S + 1,). Sentence i has the ids from offsets[i] to offsets[i + 1].
        batch_size: int, B.
        steps: int, L, tokens of a row in one step.
        begin_id, end_id: int, ids of `<S>` and `</S>`.
        seed: int, seed of the permutations; None to keep the order of the sentences.

    Raises:
        ValueError: if the corpus is too small for one step.
    """

    batch_size: int
    steps: int
    begin_id: int = 0
    end_id: int = 1
    seed: int | None = 0

    # A sentence of n words has n + 1 places, each with a token to read and a token to
    # predict.
    added_places = 1

    def __post_init__(self):
        """Counts the steps of an epoch."""
        super().__post_init__()
        check_values(Size, batch_size=self.batch_size, steps=self.steps)
        self.steps_per_epoch = self.places // self.batch_size // self.steps
        if self.steps_per_epoch < 1:
            raise ValueError(
                f"The corpus must have {self.batch_size * self.steps} tokens for one "
                f"step of {self.batch_size} rows. Received: {self.places}. Decrease "
                "`batch_size` or `steps`."
            )

    @property
    def shapes(self):
        """The shapes of the features of a batch, dict."""
        names = "forward", "backward", "forward_targets", "backward_targets"
        return dict.fromkeys(names, (self.batch_size, self.steps))

    def batch(self, step):
        """Returns the tokens of one step.

        Args:
            step: int, from 0, counted over all epochs.

        Returns:
            dict of int32 (B, L): forward and backward, the tokens to read, and
            forward_targets and backward_targets, the tokens to predict. The backward
            tokens are in the order of the text, so position L - 1 is read first.
        """
        epoch, number = divmod(int(step), self.steps_per_epoch)
        rows = np.arange(self.batch_size)[:, None] * (self.places // self.batch_size)
        places = rows + number * self.steps + np.arange(self.steps)
        _, sentences, inside = self._find(epoch, places)
        first, last = self.offsets[sentences], self.offsets[sentences + 1] - 1
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
