"""Trains a language model on sentences of a tagger, and stores its outputs."""

import keras
import numpy as np
import tensorflow as tf

import zoo
from zoo.data import WordPacker
from zoo.text import CharacterTokenizer
from zoo.training import AdamW, WarmupLinearDecay

OUTPUT, ROWS = "layer_outputs", 64


class Remembered(keras.layers.Layer):
    """Stores the output of a model for rows, float32 in memory.

    The stored rows do not depend on the padding. The layer is for training only: the
    stored outputs are not part of a saved model.

    Args:
        model: keras.Model from a dict to a dict of one output (B, N, L, D). The output
            of a row must not depend on other rows.
        key: str, the input (B, L, C) of characters that identifies a row.
        pad: int, the character id of padding after a word.
    """

    def __init__(self, model, key, pad):
        super().__init__()
        self.model = model
        self.key = key
        self.pad = pad
        self.rows = {}
        self.compute = tf.function(model, reduce_retracing=True)

    def call(self, inputs):
        """Returns the stored rows."""
        found = tf.numpy_function(
            self.look, [inputs[self.key], inputs["padding_mask"]], "float32", False
        )
        found.set_shape(self.model.output[OUTPUT].shape)
        return {OUTPUT: found}

    def names(self, ids, mask):
        """The keys of the rows of ids (B, L, C) and bool mask (B, L), list of bytes."""
        real = mask[:, :, None] & (ids != self.pad)
        return [row[inside].tobytes() for row, inside in zip(ids, real, strict=True)]

    def read(self, inputs):
        """Computes the rows of a batch and stores them."""
        inputs = {name: inputs[name] for name in self.model.input}
        ids, mask = inputs[self.key].numpy(), inputs["padding_mask"].numpy() > 0
        outputs = self.compute(inputs, training=False)[OUTPUT].numpy()
        for name, output, real in zip(
            self.names(ids, mask), outputs, mask, strict=True
        ):
            self.rows[name] = output[:, real]

    def look(self, ids, mask):
        """Returns the stored rows, an array; KeyError if a row is not stored."""
        mask = mask > 0
        _, layers, _, width = self.model.output[OUTPUT].shape
        result = np.zeros((len(ids), layers, mask.shape[1], width), np.float32)
        for row, name, real in zip(result, self.names(ids, mask), mask, strict=True):
            row[:, real] = self.rows[name]
        return result


def remembering(backbone, sentences):
    """Changes a backbone of ELMo, so that it reads each of these sentences once."""
    inputs, pad = backbone.make_inputs(backbone.config), backbone.config.pad_character
    layer = Remembered(
        backbone.with_outputs(OUTPUT),
        backbone.tokens,
        backbone.config.vocabulary_size - 1 if pad is None else pad,
    )
    texts = [" ".join(row) for row in sorted(sentences, key=len)]
    packer = WordPacker(CharacterTokenizer(backbone.config.max_characters), None)
    for start in range(0, len(texts), ROWS):
        layer.read(packer((tf.constant(texts[start : start + ROWS]),)))
    model = keras.Model(inputs, layer(inputs))
    backbone.with_outputs = lambda *names: model
    return backbone


def adapt(preset, train, dev, epochs, directory, rows=32):
    """Trains a language model on sentences, as in Peters et al. 2018, section 3.4.

    Returns the perplexity on `dev` before and after the training.
    """
    keras.utils.set_random_seed(0)
    model = zoo.from_preset(preset, task="bidirectional_lm")
    longest, words = model.tokenizer.max_characters, model.tokenizer.vocabulary
    model.tokenizer = CharacterTokenizer(longest, words)  # so that no word is split
    model.sequence_length = None
    train, dev = ([" ".join(row) for row in part] for part in (train, dev))
    steps = -(-len(train) // rows) * epochs
    rate = WarmupLinearDecay(1e-3, min(50, steps), steps)
    model.compile(AdamW(rate, weight_decay=0.0, global_clipnorm=10.0))
    found = [model.evaluate(dev, verbose=0, return_dict=True)["perplexity"]]
    model.fit(train, batch_size=rows, epochs=epochs, verbose=2, seed=0)
    found += [model.evaluate(dev, verbose=0, return_dict=True)["perplexity"]]
    model.save_to_preset(directory)
    return found
