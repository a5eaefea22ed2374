"""From texts to batches of token ids."""

import concurrent.futures
import dataclasses
import os

import keras
import numpy as np
import tensorflow as tf

from zoo.checks.user_warnings import warn_user
from zoo.data import plan_batches, untuned
from zoo.data.batching import as_written
from zoo.tasks.inputs.target_reading import targets_in_graph
from zoo.tasks.inputs.text_input import rows_at_once

ROWS_PER_CALL = 2048
ROWS_IN_BATCH = 32


@dataclasses.dataclass(frozen=True)
class BatchPlan:
    """Arguments of `zoo.data.plan_batches`, which say which rows form each batch."""

    batch_size: int | None = None
    shuffle: bool = False
    seed: int = 0
    epochs: object = (0,)
    token_budget: int | None = None


def array_batches(task, columns, targets, plan):
    """Tokenised batches, see `Task.finish`, of columns (N,) and targets (N, ...)."""
    rows, targets = task.per_row(columns, tokenise(task, columns), targets)
    lengths = task.row_lengths(rows, targets)
    size = rows_at_once(plan.batch_size, None if plan.token_budget else ROWS_IN_BATCH)
    order = plan.shuffle, plan.seed, plan.epochs, plan.token_budget
    return _gathered(task, rows, targets, plan_batches(lengths, size, *order))


def sorted_batches(task, columns, batch_size):
    """Batches for `predict`, the longest texts first, and the row numbers, int (N,)."""
    rows = tokenise(task, columns)
    lengths = task.preprocessor.lengths(rows)
    size = rows_at_once(batch_size, task.predict_batch_size)
    batches = _gathered(task, rows, [], plan_batches(lengths, size, False))
    return batches, np.argsort(-lengths.numpy(), kind="stable")


def _gathered(task, rows, targets, plan):
    """The batches of packed rows whose row numbers are in `plan`, a dataset."""
    # XLA compiles anew for every length, hence buckets; nothing else needs them.
    select = task.preprocessor.selector(rows, bucketed=bool(task.jit_compile))

    @as_written
    def gather(index):
        return task.finish(select(index), *(tf.gather(t, index) for t in targets))

    # One thread makes batches faster than any model takes them.
    return plan.map(gather).prefetch(2).with_options(untuned())


def dataset_batches(task, dataset, encoded=False):
    """Tokenised batches, see `Task.finish`, of a dataset of batches of text.

    Raises ValueError if it is not batched, or its targets have another type or shape.
    """
    spec = dataset.element_spec
    texts, *targets = spec if isinstance(spec, tuple) else (spec,)
    texts = tf.nest.flatten(texts)
    wrong = [text.shape for text in texts if text.shape.rank != 1]
    if wrong:
        raise ValueError(
            "A dataset of text must be batched. Received: elements of shape "
            f"{wrong[0]}. Add `.batch(32)` to single texts, join words with "
            "`tf.strings.reduce_join`, and name an unknown shape with "
            "`tf.ensure_shape(texts, [None])`."
        )

    @as_written
    def encode(x, *targets):
        columns = x if isinstance(x, tuple) else (x,)
        if not encoded:
            targets = targets_in_graph(task, columns, targets)
        return encode_batch(task, columns, *targets)

    return dataset.map(encode, tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)


def encode_batch(task, columns, *targets):
    """An example from a batch of texts, see `Task.finish`, also in a graph."""
    rows, _ = task.preprocessor.pack(columns)
    rows, targets = task.per_row(columns, rows, list(targets))
    return task.finish(task.preprocessor.dense(rows), *targets)


def packed_parts(columns, packer):
    """Packed rows and the number of truncated ones, for each part of the texts."""

    def pack(start):
        with tf.device("CPU:0"):
            rows = [column[start : start + ROWS_PER_CALL] for column in columns]
            return packer.pack(rows)

    # TensorFlow traces a tf.data pipeline for longer than this tokenises texts.
    starts = range(0, max(1, len(columns[0])), ROWS_PER_CALL)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(pack, starts))


def tokenise(task, columns):
    """Packed rows of any number of texts, and one warning about truncation."""
    parts = packed_parts(columns, task.preprocessor)
    rows = {name: tf.concat([p[name] for p, _ in parts], 0) for name in parts[0][0]}
    report_truncation(task, sum(int(cut) for _, cut in parts), len(columns[0]))
    return rows


def no_outputs(task, num_columns):
    """The outputs for no texts: those for one empty text, without their row."""
    row = task.preprocessor((tf.constant([""]),) * num_columns)
    outputs = task(row, training=False)
    return keras.tree.map_structure(lambda x: np.asarray(x)[:0], outputs)


def token_lengths(task, columns):
    """Tokens of texts before truncation, special ones included, int64 (N,)."""
    packer = task.packer(task.tokenizer, None)
    parts = packed_parts(columns, packer)
    return np.concatenate([packer.lengths(rows).numpy() for rows, _ in parts])


def read_batch(task, columns, packer=None):
    """The inputs of a model for texts (B,), dict of int32 (B, L), also in a graph.

    Outside a graph, it warns of truncated texts.
    """
    packer = packer or task.preprocessor
    rows, cut = packer.pack(columns)
    if tf.executing_eagerly():
        report_truncation(task, int(cut))
    return packer.dense(rows)


def report_truncation(task, cut, count=None, longest=None):
    """Warns once for each task that `cut` of its `count` texts are truncated."""
    if cut and not task.truncation_reported:
        task.truncation_reported = True
        share = f"At least {cut} of the" if count is None else f"{cut} of {count}"
        warn_user(
            f"{share} texts are longer than "
            f"{longest or task.preprocessor.truncates_at} tokens and were truncated. A "
            "model gives this warning once."
        )
