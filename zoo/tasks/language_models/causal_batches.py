"""How a causal language model trains: on texts, on streams, or on packed rows."""

import keras
import numpy as np
import tensorflow as tf

from zoo.data import (
    DocumentStreams,
    PackedRows,
    document_batches,
    epoch_numbers,
    tokenize_texts,
    untuned,
)
from zoo.data.batching import as_written
from zoo.layers import CarriedState, KeepState
from zoo.tasks.inputs.text_input import rows_at_once
from zoo.tasks.inputs.texts import Texts

PACKINGS = ("streams", "documents")
BATCH_SIZE = 32


class RowTraining:
    """Streams of a model that carries states, and packed rows of another model.

    A task has `options` with rows, window, jitter and packing, see `zoo.CausalLM`.
    """

    @property
    def rows_are_texts(self):
        """False for streams and packed rows, which depend on the number of tokens."""
        return not self.options["rows"] and not self.options["packing"]

    @staticmethod
    def connect_streams(backbone, inputs, rows):
        """The inputs of a model for streams, and the vectors of their tokens."""
        if not backbone.carries_states:
            raise ValueError(
                "`rows` needs a recurrent backbone, which has states to carry. "
                f"Received: rows={rows} and one of family {backbone.family!r}. Leave "
                "`rows` out."
            )
        shapes = backbone.state_shapes(backbone.config)
        name = backbone.tokens
        tokens = keras.Input((None,), rows, dtype="int32", name=name)
        fresh = keras.Input((), rows, dtype="int32", name="fresh")
        carried = CarriedState(rows, list(shapes.values()), name="carried_state")
        states = dict(zip(shapes, carried(fresh), strict=True))
        given = {name: tokens, **states}
        found = backbone.connect(backbone.config, backbone.named_layers, given)
        keep = KeepState(carried, name="keep_state")
        vectors = keep(found["sequence_output"], [found[state] for state in states])
        return {name: tokens, "fresh": fresh}, vectors

    @staticmethod
    def check_packing(backbone, packing, rows):
        """Raises ValueError if a backbone cannot be trained on packed rows."""
        if packing is None:
            return
        if packing not in PACKINGS or rows or not backbone.caches:
            raise ValueError(
                f"`packing` must be one of {PACKINGS}, and needs a backbone whose rows "
                f"can hold several documents. Received: packing={packing!r}, rows="
                f"{rows} and one of family {backbone.family!r}. A recurrent backbone "
                "takes `rows`."
            )

    def _documents(self, texts):
        """The token ids of all texts, int (T,), and their offsets, int (D + 1,)."""
        parts = list(tokenize_texts(texts, self.tokenizer))
        ids, lengths = map(np.concatenate, zip(*parts, strict=True))
        return ids, np.concatenate([[0], np.cumsum(lengths)])

    def streams(self, texts, seed=None, jitter=False):
        """The streams of texts, as `fit` and `evaluate` read them.

        Args:
            texts: list of str, or a tensor (N,).
            seed: int, of the order of the texts; None to keep it.
            jitter: bool, whether windows have random lengths.

        Returns:
            `zoo.data.DocumentStreams`, for all replicas.

        Raises:
            ValueError: if there are fewer tokens than streams.
        """
        rows = self.options["rows"] * self.distribute_strategy.num_replicas_in_sync
        window, reverse = self.options["window"], self.backbone.reverse
        documents = self._documents(texts)
        return DocumentStreams(*documents, rows, window, reverse, jitter, seed)

    def packed_rows(self, texts, batch_size=None, seed=None):
        """The packed rows of texts, as `fit` and `evaluate` read them.

        Args:
            texts: list of str, or a tensor (N,).
            batch_size: int, rows of a batch on all replicas, by default 32.
            seed: int, of the order of the texts and rows; None to keep it.

        Returns:
            `zoo.data.PackedRows`.

        Raises:
            ValueError: if there are less than two tokens.
        """
        return PackedRows(
            *self._documents(texts),
            rows_at_once(batch_size, BATCH_SIZE),
            self.sequence_length,
            self.options["packing"] == "documents",
            seed,
            self.tokenizer.end_id if self.tokenizer.framing.begin else None,
        )

    def make_batches(self, data, plan):
        """Batches of texts, of their streams, or of packed rows; see `Task`.

        Raises:
            ValueError: if a model for streams or packed rows gets a dataset, or a model
                for streams another number of rows than it was built for.
        """
        rows, packing = self.options["rows"], self.options["packing"]
        if not rows and not packing:
            return super().make_batches(data, plan)
        size = rows and rows * self.distribute_strategy.num_replicas_in_sync
        wrong = not isinstance(data, Texts) or plan.token_budget
        if wrong or (size and plan.batch_size not in (None, size)):
            kind = f"rows={rows}" if rows else f"packing={packing!r}"
            also = ", and each of its batches has these rows" if rows else ""
            raise ValueError(
                f"A model with `{kind}` takes a list of texts{also}. Received: "
                f"{type(data).__name__}, batch_size={plan.batch_size}, token_budget="
                f"{plan.token_budget}. Build it with other options."
            )
        texts = data.columns[0].numpy()
        seed = plan.seed if plan.shuffle else None
        if rows:
            jitter = plan.shuffle and self.options["jitter"]
            return self._steps_of(self.streams(texts, seed, jitter), plan.epochs)
        packed = self.packed_rows(texts, plan.batch_size, seed)
        return self._steps_of(packed, plan.epochs)

    def _steps_of(self, source, epochs):
        """The batches of some epochs of `DocumentStreams` or `PackedRows`."""
        count, numbers = source.steps_per_epoch, epoch_numbers(epochs)
        steps = numbers.flat_map(
            lambda epoch: tf.data.Dataset.range(epoch * count, (epoch + 1) * count)
        )
        total = tf.data.experimental.assert_cardinality(
            count * int(numbers.cardinality())
        )
        batches = document_batches(source, steps).map(as_written(self.finish))
        return batches.apply(total).prefetch(2).with_options(untuned())

    def check_writes(self):
        """Raises ValueError if the model was built for streams."""
        if self.options["rows"]:
            raise ValueError(
                "A model with `rows` can only be trained and evaluated. Received: rows="
                f"{self.options['rows']}. Save it with `save_to_preset`, and load this "
                "preset with `rows=None`."
            )
