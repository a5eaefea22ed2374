"""The random numbers by which samples are drawn."""

import collections

import tensorflow as tf

NUM_LEVELS = 2**24  # numbers of float32 in [0, 1) at equal distances
NUM_KEYS = 2**62


def sample_numbers(texts, options, repeats=None):
    """Numbers in [0, 1) by which samples are drawn, in a graph, float32 (R, T).

    They depend on the seed, on the text, and on `repeats`, how many equal texts come
    before it. So a text gets the same sample in every batch, and equal texts get
    different ones. R is B or, with several samples for each text, more; T is 0 without
    samples.
    """
    repeats = tf.zeros_like(texts, tf.int32) if repeats is None else repeats
    several = tf.where(options.samples, options.num_return, 1)
    samples = tf.tile(tf.range(several), tf.shape(texts))
    texts, repeats = (tf.repeat(x, several) for x in (texts, repeats))
    seeds = tf.zeros_like(samples, tf.int64) + options.seed
    keys = _hash([_hash([texts], NUM_KEYS), repeats, seeds, samples], NUM_KEYS)
    # Without samples there are none.
    count = tf.cast(options.samples, tf.int32) * options.max_new_tokens
    places = tf.range(count)
    shape = tf.stack([tf.size(keys), tf.size(places)])
    keys = tf.broadcast_to(keys[:, None], shape)
    found = _hash([keys, tf.broadcast_to(places, shape)], NUM_LEVELS)
    return tf.cast(found, tf.float32) / NUM_LEVELS


def _hash(parts, count):
    """A number below `count` from tensors of one shape, int64."""
    parts = [p if p.dtype == tf.string else tf.strings.as_string(p) for p in parts]
    return tf.strings.to_hash_bucket_fast(tf.strings.join(parts, "/"), count)


def count_repeats(texts):
    """How many equal texts come before each text, list of int."""
    counts = collections.Counter()
    repeats = []
    for text in texts:
        repeats.append(counts[text])
        counts[text] += 1
    return repeats
