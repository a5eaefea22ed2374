"""Documents as rows of a fixed length, for causal language models with positions."""

import dataclasses

import numpy as np

from zoo.checks.ranges import Size, check_values
from zoo.data.streams.token_streams import ShuffledCorpus


@dataclasses.dataclass
class PackedRows(ShuffledCorpus):
    """Rows of consecutive tokens, without padding. They depend on seed and step only.

    1. The documents are permuted in each epoch and concatenated.
    2. The result is split into rows of `length` tokens, of which only the last one may
       have padding. A document goes on in the next row where a row ends.
    3. The rows are permuted, so that the rows of a long document are in many batches.

    Source: Radford et al. 2018, section 4.1 (contiguous sequences of 512 tokens); Krell
    et al. 2021 for masks between documents. Krell et al. do not split documents.

    Args:
        ids: int (T,), token ids of the documents, with their special tokens; also an
            array on disk.
        offsets: int (D + 1,). Document i has the ids from offsets[i] to offsets[i + 1].
        batch_size: int, B. The last batch of an epoch may have fewer rows.
        length: int, L, tokens of a row.
        separate: bool, whether documents in a row are separate. If not, they are one
            text, and the last token of a document predicts the first of the next one.
        seed: int, of the permutations; None to keep the order.
        end_id: int, the token that every document begins with, if there is one. It is
            also predicted at the end of the document before it.

    Raises:
        ValueError: if there are less than two tokens.
    """

    batch_size: int
    length: int
    separate: bool = False
    seed: int | None = 0
    end_id: int | None = None

    def __post_init__(self):
        """Counts the steps of an epoch."""
        super().__post_init__()
        check_values(Size, batch_size=self.batch_size, length=self.length)
        if self.places < 2:
            raise ValueError(
                "A language model needs at least 2 tokens to learn from. Received: "
                f"{self.places}. Give more text."
            )
        self.rows = -(-(self.places - 1) // self.length)
        self.steps_per_epoch = -(-self.rows // self.batch_size)
        self._row_order = None, None

    @property
    def shapes(self):
        """The shapes of the features of a batch, dict."""
        names = "token_ids", "padding_mask", "next_ids", "next_mask"
        return dict.fromkeys(names, (None, self.length))

    def batch(self, step):
        """Returns the rows of one step.

        Args:
            step: int, from 0, counted over all epochs.

        Returns:
            dict of int32 (B, L): token_ids; padding_mask, 0 for padding, else the
            number of the document in the row, which is 1 unless they are `separate`;
            next_ids, the token to predict at each of them; next_mask, 1 where there is
            one.
        """
        epoch, number = divmod(int(step), self.steps_per_epoch)
        chosen = self._rows(epoch)[number * self.batch_size :][: self.batch_size]
        places = chosen[:, None] * self.length + np.arange(self.length + 1)
        known = places < self.places
        places = np.minimum(places, self.places - 1)
        numbers, tokens = self._read(epoch, places)
        numbers = numbers - numbers[:, :1] if self.separate else 0 * numbers
        numbers = np.where(known, numbers + 1, 0)
        tokens = np.where(known, tokens, 0)
        same = (numbers[:, 1:] == numbers[:, :-1]) | (tokens[:, 1:] == self.end_id)
        found = {
            "token_ids": tokens[:, :-1],
            "padding_mask": numbers[:, :-1],
            "next_ids": tokens[:, 1:],
            "next_mask": known[:, 1:] & same,
        }
        return {k: np.ascontiguousarray(v.astype("int32")) for k, v in found.items()}

    def _rows(self, epoch):
        """The order of the rows in an epoch, int (N,)."""
        if self.seed is None:
            return np.arange(self.rows)
        if self._row_order[0] != epoch:
            random = np.random.default_rng([self.seed, epoch, 2])
            self._row_order = epoch, random.permutation(self.rows)
        return self._row_order[1]
