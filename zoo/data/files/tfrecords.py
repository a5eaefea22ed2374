"""Writes and reads examples of masked language models in sharded TFRecord files."""

import contextlib
import itertools

import numpy as np
import tensorflow as tf

from zoo.checks.ranges import Size, check_choice, check_values
from zoo.data.batching import untuned
from zoo.files.buckets import local_path
from zoo.files.whole_files import join_files, replacing

# From our name of a feature to its name in the files of other programs: the released
# code of BERT ("google") and the TF model garden ("garden").
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
    """Writes examples to `examples-00000-of-00004.tfrecord` and so on.

    Consecutive examples go to different files. All files appear at the end, after
    they are complete.

    Source: Devlin et al. 2019, released code `create_pretraining_data.py`. The names
    "garden" are those that the loaders of the TF model garden call v2.

    Args:
        batches: iterable of dicts of arrays (B, ...):

            - token_ids, segment_ids and padding_mask: int (B, L)
            - mask_positions and mask_ids: int (B, P)
            - mask_weights: float (B, P)
            - next_sentence, optional: int (B,), 1 if the second text does not follow
              the first one
        directory: path of the directory of the files.
        shards: int, the number of files, at least 1.
        names: str, "google" or "garden", the names of the features.

    Returns:
        list of pathlib.Path, the files.

    Raises:
        ValueError: if the names are unknown or `shards` is less than 1.
        OSError: if the disk is full or the permission to write is missing.
    """
    return write_shards([batches], directory, shards, names)


def write_shards(parts, directory, shards=1, names="google"):
    """Writes the batches of parts; the first example of each part is in the first file.

    `parts` is an iterable of iterables of batches, see `write_records`.
    """
    check_choice("names", names, sorted(NAMES))
    check_values(Size, shards=shards)
    directory = local_path(directory)
    paths = [
        directory / f"examples-{index:05}-of-{shards:05}.tfrecord"
        for index in range(shards)
    ]
    with contextlib.ExitStack() as stack:
        temporary = [stack.enter_context(replacing(path)) for path in paths]
        writers = [
            stack.enter_context(tf.io.TFRecordWriter(str(path))) for path in temporary
        ]
        for batches in parts:
            files = itertools.cycle(writers)
            for batch in batches:
                for row in zip(*batch.values(), strict=True):
                    row = dict(zip(batch, row, strict=True))
                    next(files).write(_example(row, NAMES[names]))
    return paths


def join_records(directories, output):
    """Writes a directory of what `write_shards` would have written of all parts.

    `directories` are those of single parts, with equally many files.
    """
    with replacing(output) as temporary:
        for path in directories[0].iterdir():
            files = [directory / path.name for directory in directories]
            join_files(files, temporary / path.name)


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
    # Otherwise the order of a map is arbitrary, and equal shards differ in their bytes.
    return tf.train.Example(features=features).SerializeToString(deterministic=True)


def read_records(files, batch_size, seed=None, start=0, buffer=10_000):
    """Reads batches of examples from TFRecord files.

    The files may be from `write_records`, from the released code of BERT or from the
    TF model garden.

    Args:
        files: list of paths. The examples of all files must have the same features and
            the same sequence length.
        batch_size: int, B.
        seed: int, the seed of the order of files and examples. If it is None, the
            dataset is one pass in the order of the files, and its last batch may be
            smaller.
        start: int, the number of batches to skip: the position in the data if training
            resumes.
        buffer: int, the size of the shuffle buffer, in examples.

    Returns:
        tf.data.Dataset of dicts as `write_records` takes them, int32 and float32. It
        is infinite if there is a seed.

    Raises:
        FileNotFoundError: if `files` is empty.
        ValueError: if the first file holds no examples of masked language models.
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
        batch = {ours[name]: _narrow(ours[name], v) for name, v in parsed.items()}
        if "next_sentence" in batch:
            batch["next_sentence"] = batch["next_sentence"][:, 0]
        return batch

    return records.map(parse, 2).prefetch(2).with_options(untuned())


def _narrow(name, values):
    """Values of a record as float32, or as int32 that has not wrapped."""
    if values.dtype == tf.float32:
        return values
    numbers = tf.cast(values, tf.int32)
    right = tf.reduce_all(tf.cast(numbers, values.dtype) == values)
    message = f"`{name}` of a record must hold numbers of int32."
    with tf.control_dependencies([tf.debugging.Assert(right, [message, values])]):
        return tf.identity(numbers)


def _shuffled(files, seed, buffer):
    """Returns an infinite dataset of the records, in a new order in each epoch."""

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
    """Returns the features of the first example, and our names of them."""
    if not files:
        raise FileNotFoundError(
            "There are no TFRecord files. Received: an empty list. Check the directory."
        )
    for record in tf.data.TFRecordDataset(files[:1]).take(1).as_numpy_iterator():
        found = tf.train.Example.FromString(record).features.feature
        for names in NAMES.values():
            ours = {name: key for key, name in names.items() if name in found}
            if names["token_ids"] in found and names["mask_ids"] in found:
                return {name: _spec(found[name]) for name in ours}, ours
        raise ValueError(
            f"The examples of {files[0]} must be those of a masked language model. "
            f"Received: the features {sorted(found)}. Write them with `write_records`."
        )
    raise ValueError(
        f"{files[0]} must hold at least one example. Received: an empty file. Write "
        "the files again."
    )


def _spec(feature):
    kind = feature.WhichOneof("kind")
    dtype = {"int64_list": tf.int64, "float_list": tf.float32}[kind]
    return tf.io.FixedLenFeature([len(getattr(feature, kind).value)], dtype)


def unmask(batch):
    """Restores the original token_ids, int32 (B, L), of a batch from `read_records`.

    The features whose names begin with "mask_" are removed.
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
