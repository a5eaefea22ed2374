"""Masked-language-model examples in sharded TFRecord files."""

import contextlib
import pathlib

import numpy as np
import tensorflow as tf

from zoo.data.batching import untuned
from zoo.files import replacing

# Our name of a feature, and that of the two programs that write and read such files.
NAMES = {
    "google": {
        "token_ids": "input_ids",
        "padding_mask": "input_mask",
        "segment_ids": "segment_ids",
        "mask_positions": "masked_lm_positions",
        "mask_ids": "masked_lm_ids",
        "mask_weights": "masked_lm_weights",
        "next_sentence": "next_sentence_labels",
    }
}
NAMES["garden"] = {
    **NAMES["google"],
    "token_ids": "input_word_ids",
    "segment_ids": "input_type_ids",
}


def write_records(batches, directory, shards=1, names="google"):
    """Writes examples to `examples-00000-of-00004.tfrecord` and so on, in turn.

    Source: Devlin et al. 2019, released code `create_pretraining_data.py`; "garden"
    are the names that the TF model garden's loaders call v2.

    Args:
        batches: iterable of dicts of arrays (B, ...): token_ids, segment_ids and
            padding_mask int (B, L); mask_positions and mask_ids int (B, P),
            mask_weights float (B, P); optionally next_sentence int (B,), 1 where the
            second text is from elsewhere.
        directory: where the files appear, each when it is complete.
        shards: int, files.
        names: "google" or "garden".

    Returns:
        list of pathlib.Path.

    Raises:
        ValueError: if the names are unknown or there is no shard.
    """
    if names not in NAMES or shards < 1:
        raise ValueError(
            f"`names` must be one of {sorted(NAMES)} and `shards` positive. Received: "
            f"names={names!r}, shards={shards}."
        )
    directory = pathlib.Path(directory)
    paths = [
        directory / f"examples-{index:05}-of-{shards:05}.tfrecord"
        for index in range(shards)
    ]
    count = 0
    with contextlib.ExitStack() as stack:
        temporary = [stack.enter_context(replacing(path)) for path in paths]
        writers = [
            stack.enter_context(tf.io.TFRecordWriter(str(path))) for path in temporary
        ]
        for batch in batches:
            for row in zip(*batch.values(), strict=True):
                example = _example(dict(zip(batch, row, strict=True)), NAMES[names])
                writers[count % shards].write(example)
                count += 1
    return paths


def _example(row, names):
    features = {}
    for key, value in row.items():
        values = np.ravel(value)
        if key == "mask_weights":
            feature = tf.train.Feature(float_list=tf.train.FloatList(value=values))
        else:
            feature = tf.train.Feature(int64_list=tf.train.Int64List(value=values))
        features[names[key]] = feature
    features = tf.train.Features(feature=features)
    # Maps are in any order otherwise, and the same shard would differ in its bytes.
    return tf.train.Example(features=features).SerializeToString(deterministic=True)


def read_records(files, batch_size, seed=None, start=0, buffer=10_000):
    """Batches of the examples in TFRecord files, ours, Google's or the garden's.

    Args:
        files: list of paths, all of one length and with the same features.
        batch_size: int, B.
        seed: int, of the order; None for one pass in the order of the files, the last
            batch as short as it comes.
        start: int, batches to leave out; the data position when training resumes.
        buffer: int, examples that are shuffled together.

    Returns:
        tf.data.Dataset of dicts as `write_records` takes them, int32 and float32;
        without end if there is a seed.

    Raises:
        FileNotFoundError: if there are no files.
        ValueError: if the first one holds no examples of this kind.
    """
    files = [str(path) for path in files]
    spec, ours = _layout(files)
    if seed is None:
        records = tf.data.TFRecordDataset(files)
    else:
        records = _shuffled(files, seed, buffer)
    records = records.batch(batch_size, drop_remainder=seed is not None).skip(start)

    def parse(serialized):
        parsed = tf.io.parse_example(serialized, spec)
        batch = {
            ours[name]: value if value.dtype == tf.float32 else tf.cast(value, tf.int32)
            for name, value in parsed.items()
        }
        if "next_sentence" in batch:
            batch["next_sentence"] = batch["next_sentence"][:, 0]
        return batch

    return records.map(parse, 2).prefetch(2).with_options(untuned())


def _shuffled(files, seed, buffer):
    """All records again and again, files and records in another order each time."""

    def epoch_files(epoch):
        seeds = tf.stack([tf.constant(seed, tf.int64), epoch])
        order = tf.random.experimental.stateless_shuffle(tf.constant(files), seeds)
        return tf.data.Dataset.from_tensor_slices(order)

    endless = tf.data.Dataset.range(tf.int64.max).flat_map(epoch_files)
    cycle = min(len(files), 16)
    records = endless.interleave(tf.data.TFRecordDataset, cycle_length=cycle)
    records = records.shuffle(buffer, seed, reshuffle_each_iteration=False)
    infinite = tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY)
    return records.apply(infinite)


def _layout(files):
    """The features of the first example, and our names of them."""
    if not files:
        raise FileNotFoundError("There are no TFRecord files. Received: an empty list.")
    for record in tf.data.TFRecordDataset(files[:1]).take(1).as_numpy_iterator():
        found = tf.train.Example.FromString(record).features.feature
        for names in NAMES.values():
            ours = {name: key for key, name in names.items() if name in found}
            if names["token_ids"] in found and names["mask_ids"] in found:
                return {name: _spec(found[name]) for name in ours}, ours
        raise ValueError(
            f"The examples of {files[0]} are no masked-language-model examples. They "
            f"hold {sorted(found)}."
        )
    raise ValueError(f"{files[0]} holds no example.")


def _spec(feature):
    kind = feature.WhichOneof("kind")
    dtype = {"int64_list": tf.int64, "float_list": tf.float32}[kind]
    return tf.io.FixedLenFeature([len(getattr(feature, kind).value)], dtype)


def unmask(batch):
    """The batch before its tokens were hidden, without the mask features.

    Args:
        batch: dict of tensors, from `read_records`.

    Returns:
        dict with the original token_ids int32 (B, L) and what else is no mask.
    """
    rows, columns = tf.unstack(tf.shape(batch["mask_positions"]))
    row = tf.repeat(tf.range(rows)[:, None], columns, axis=1)
    index = tf.stack([row, batch["mask_positions"]], axis=2)
    chosen = tf.where(batch["mask_weights"] > 0)
    token_ids = tf.tensor_scatter_nd_update(
        batch["token_ids"],
        tf.gather_nd(index, chosen),
        tf.gather_nd(batch["mask_ids"], chosen),
    )
    kept = {key: value for key, value in batch.items() if not key.startswith("mask_")}
    return {**kept, "token_ids": token_ids}
