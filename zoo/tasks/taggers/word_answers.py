"""The answers of a tagger, in a graph: tags, probabilities, words and their places."""

import keras
import tensorflow as tf

from zoo.tasks.blocks import in_blocks

MIN_ROWS_IN_BLOCK = 32  # the least number of rows in a block; a long text has many rows


def describe_words(task, texts, x, sizes):
    """The answers to texts whose windows `x` have words of some `sizes`."""
    words, begins, ends = task.tokenizer.split(texts, "characters")
    emissions = word_emissions(task, x, tf.maximum(tf.size(texts), MIN_ROWS_IN_BLOCK))
    emissions = tf.RaggedTensor.from_row_lengths(emissions, sizes)
    width = tf.maximum(tf.cast(words.bounding_shape(axis=1), tf.int32), 1)
    shape = tf.stack([-1, width])
    emissions = emissions.to_tensor(shape=tf.concat([shape, [-1]], 0))
    emissions.set_shape((None, None, len(task.labels)))
    mask = tf.sequence_mask(sizes, width)
    tags, scores = task.decoder.decode(task, emissions, mask)
    scores = tf.minimum(scores, 1.0)  # more is an error of rounding
    return {
        "tags": tf.where(mask, tf.gather(tf.constant(task.labels), tags), ""),
        "scores": tf.where(mask, scores, 0.0),
        "words": words.to_tensor("", shape=shape),
        "begins": begins.to_tensor(-1, shape=shape),
        "ends": ends.to_tensor(-1, shape=shape),
    }


def word_emissions(task, x, size):
    """Emissions (M, T) of the words of all rows, computed `size` rows at once."""
    classifier = keras.Model(task.input, task.get_layer("classifier").output)
    # Keras would take other features for inputs, in the order of their names.
    x = {name: x[name] for name in task.input}

    def emissions(block):
        found = classifier(block, training=False)
        return tf.boolean_mask(found, block["word_positions"] >= 0)

    return in_blocks(emissions, x, size, tf.zeros((0, len(task.labels))))
