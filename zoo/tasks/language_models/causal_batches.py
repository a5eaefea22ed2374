"""How a causal language model trains: on texts, on streams, or on packed rows."""

import dataclasses

import keras
import numpy as np
import tensorflow as tf

from zoo.checks.ranges import CheckedFields, Size
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
from zoo.tasks.inputs.windows import TOKENS_IN_WINDOW

PACKINGS = ("streams", "documents")
BATCH_SIZE = 32


@dataclasses.dataclass(frozen=True)
class RowOptions(CheckedFields):
    """The options of `zoo.CausalLM` that say what its rows are in training."""

    rows: Size | None = None
    window: Size = TOKENS_IN_WINDOW
    jitter: bool = False
    packing: str | None = None

    def check_backbone(self, backbone):
        """Raises ValueError if a backbone cannot be trained on such rows."""
        if self.rows and not backbone.carries_states:
            raise ValueError(
                "`rows` needs a recurrent backbone, which has states to carry. "
                f"Received: rows={self.rows} and one of family {backbone.family!r}. "
                "Leave `rows` out."
            )
        known = self.packing in PACKINGS and not self.rows and backbone.caches
        if self.packing is not None and not known:
            raise ValueError(
                f"`packing` must be one of {PACKINGS}, and needs a backbone whose rows "
                f"can hold several documents. Received: packing={self.packing!r}, rows="
                f"{self.rows} and one of family {backbone.family!r}. A recurrent "
                "backbone takes `rows`."
            )


ROW_OPTIONS = tuple(field.name for field in dataclasses.fields(RowOptions))


def connect_streams(backbone, rows):
    """The inputs of a model for streams, and the vectors of their tokens."""
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


def check_answers(rows):
    """Raises ValueError if a model was built for streams."""
    if rows:
        raise ValueError(
            "A model with `rows` can only be trained and evaluated. Received: rows="
            f"{rows}. Save it with `save_to_preset`, and load this preset with "
            "`rows=None`."
        )


def check_texts(task, data, plan):
    """Raises ValueError unless streams or packed rows can be made of data."""
    rows, packing = task.options["rows"], task.options["packing"]
    size = rows and rows * task.distribute_strategy.num_replicas_in_sync
    wrong = not isinstance(data, Texts) or plan.token_budget
    if wrong or (size and plan.batch_size not in (None, size)):
        kind = f"rows={rows}" if rows else f"packing={packing!r}"
        also = ", and each of its batches has these rows" if rows else ""
        raise ValueError(
            f"A model with `{kind}` takes a list of texts{also}. Received: "
            f"{type(data).__name__}, batch_size={plan.batch_size}, token_budget="
            f"{plan.token_budget}. Build it with other options."
        )


def training_rows(task, texts, batch_size, shuffle, seed):
    """`zoo.data.DocumentStreams` or `PackedRows` of texts, for all replicas.

    `texts` are bytes (N,), `batch_size` the packed rows of a batch on all replicas, by
    default 32. `shuffle` holds for texts, packed rows and the lengths of windows.
    Raises ValueError if there are fewer tokens than streams, or less than two.
    """
    parts = list(tokenize_texts(texts, task.tokenizer))
    ids, lengths = map(np.concatenate, zip(*parts, strict=True))
    documents = ids, np.concatenate([[0], np.cumsum(lengths)])
    options, seed = task.options, seed if shuffle else None
    if options["rows"]:
        rows = options["rows"] * task.distribute_strategy.num_replicas_in_sync
        jitter = shuffle and options["jitter"]
        return DocumentStreams(
            *documents, rows, options["window"], task.backbone.reverse, jitter, seed
        )
    return PackedRows(
        *documents,
        rows_at_once(batch_size, BATCH_SIZE),
        task.sequence_length,
        options["packing"] == "documents",
        seed,
        task.tokenizer.end_id if task.tokenizer.framing.begin else None,
    )


def row_batches(source, epochs, finish):
    """The batches of some epochs of `DocumentStreams` or `PackedRows`, finished."""
    count, numbers = source.steps_per_epoch, epoch_numbers(epochs)
    steps = numbers.flat_map(
        lambda epoch: tf.data.Dataset.range(epoch * count, (epoch + 1) * count)
    )
    total = tf.data.experimental.assert_cardinality(count * int(numbers.cardinality()))
    batches = document_batches(source, steps).map(as_written(finish))
    return batches.apply(total).prefetch(2).with_options(untuned())
