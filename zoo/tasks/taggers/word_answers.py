"""The answers of a tagger, in a graph: tags, probabilities, words and their places."""

import keras
import tensorflow as tf

from zoo.tasks.answering import answer_parts, compiled_function
from zoo.tasks.blocks import in_blocks

MIN_ROWS_IN_BLOCK = 32  # the least number of rows in a block; a long text has many rows


def describe_words(task, texts, x, sizes):
    """The answers to texts whose windows `x` have words of some `sizes`."""
    words, begins, ends = task.tokenizer.split(texts, "characters")
    emissions, mask = text_emissions(task, texts, x, sizes)
    shape = tf.stack([-1, tf.shape(mask)[1]])
    tags, scores = task.decoder.decode(task, emissions, mask)
    scores = tf.minimum(scores, 1.0)  # more is an error of rounding
    return {
        "tags": tf.where(mask, tf.gather(tf.constant(task.labels), tags), ""),
        "scores": tf.where(mask, scores, 0.0),
        "words": words.to_tensor("", shape=shape),
        "begins": begins.to_tensor(-1, shape=shape),
        "ends": ends.to_tensor(-1, shape=shape),
    }


def word_probabilities(task, x, temperature=1.0, batch_size=None):
    """The probabilities of the tags of words, a list of float32 (W, T) for texts."""

    def describe(temperature, texts, x, sizes):
        emissions, mask = text_emissions(task, texts, x, sizes)
        shares = task.decoder.probabilities(task, emissions, mask, temperature)
        return {"shares": shares, "sizes": sizes}

    options = {"reduce_retracing": True}
    describe = compiled_function(task, "probabilities", describe, **options)
    temperature = tf.constant(temperature, tf.float32)

    def find(texts):
        return describe(temperature, texts, *task.preprocessor.windows((texts,)))

    found = {}
    for numbers, answers in answer_parts(task, x, batch_size, find):
        rows = zip(numbers.tolist(), *answers.values(), strict=True)
        found |= {number: row[:size] for number, row, size in rows}
    return [found[number] for number in range(len(found))]


def text_emissions(task, texts, x, sizes):
    """Emissions (B, W, T) of the words of texts, and their mask (B, W); W > 0."""
    emissions = word_emissions(task, x, tf.maximum(tf.size(texts), MIN_ROWS_IN_BLOCK))
    emissions = tf.RaggedTensor.from_row_lengths(emissions, sizes)
    width = tf.maximum(tf.cast(emissions.bounding_shape(axis=1), tf.int32), 1)
    emissions = emissions.to_tensor(shape=tf.stack([-1, width, -1]))
    emissions.set_shape((None, None, len(task.labels)))
    return emissions, tf.sequence_mask(sizes, width)


def word_emissions(task, x, size):
    """Emissions (M, T) of the words of all rows, computed `size` rows at once."""
    classifier = keras.Model(task.input, task.get_layer("classifier").output)
    # Keras would take other features for inputs, in the order of their names.
    x = {name: x[name] for name in task.input}

    def emissions(block):
        found = classifier(block, training=False)
        return tf.boolean_mask(found, block["word_positions"] >= 0)

    return in_blocks(emissions, x, size, tf.zeros((0, len(task.labels))))
