"""Inputs of an ELMo, and its layers by bilm-tf's equations in plain NumPy."""

import h5py
import numpy as np
import tensorflow as tf

from zoo.text import CharacterTokenizer


def inputs_of(texts, characters=12):
    """Characters and mask of texts with the sentences' markers."""
    tokenizer = CharacterTokenizer(characters)
    words = tokenizer([f"<S> {text} </S>" for text in texts]).to_tensor("")
    ids = tokenizer.spell(words)
    return {
        "character_ids": ids,
        "padding_mask": tf.cast(ids[:, :, 0] > 0, tf.int32),
    }


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def reference(file, options, words):
    """Layers of a sentence from an open file and the vectors (T, P) of its words."""
    lstm = options["lstm"]
    layers = [np.concatenate([words, words], axis=-1)]
    sides = []
    for side in (0, 1):
        x, outputs = words[:: -1 if side else 1], []
        for layer in range(lstm["n_layers"]):
            cell = file[f"RNN_{side}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"]
            c, m = np.zeros(lstm["dim"]), np.zeros(lstm["projection_dim"])
            states = []
            for step in x:
                z = np.concatenate([step, m]) @ cell["W_0"][()] + cell["B"][()]
                i, j, f, o = np.split(z, 4)
                c = sigmoid(f + 1) * c + sigmoid(i) * np.tanh(j)
                c = np.clip(c, -lstm["cell_clip"], lstm["cell_clip"])
                m = (sigmoid(o) * np.tanh(c)) @ cell["W_P_0"][()]
                m = np.clip(m, -lstm["proj_clip"], lstm["proj_clip"])
                states.append(m)
            y = np.array(states)
            x = x + y if layer and lstm["use_skip_connections"] else y
            outputs.append(x[:: -1 if side else 1])
        sides.append(outputs)
    return layers + [np.concatenate(pair, axis=-1) for pair in zip(*sides, strict=True)]


def check_layers(elmo, texts, path, options):
    """Compares all layers with those that the equations give for a file."""
    x = inputs_of(texts)
    layers = elmo.with_outputs("layer_outputs")(x)["layer_outputs"].numpy()
    width = options["lstm"]["projection_dim"]
    with h5py.File(path) as file:
        for row, mask in zip(layers, x["padding_mask"].numpy(), strict=True):
            length = mask.sum()
            found = reference(file, options, row[0, :length, :width])
            np.testing.assert_allclose(row[:, :length], found, atol=2e-6)
            assert not row[:, length:].any()
