"""A program that computes with layers, models and training on JAX.

They must not import TensorFlow; the table of families does.

Arguments: the file of the inputs, made by `test_processes.py`, and of the results.
"""

import sys

import keras
import numpy as np

import zoo.layers
import zoo.models
from zoo.family import FAMILIES
from zoo.training import AdamW

if "tensorflow" in sys.modules and keras.backend.backend() == "jax":
    sys.exit("zoo.layers, zoo.models or zoo.training imports TensorFlow.")

import cases  # isort: skip # noqa: E402


def set_weights(model, stored, prefix):
    """Assigns the arrays that are called prefix and path."""
    for variable in model.weights:
        variable.assign(stored[f"{prefix}/{variable.path}"])


def make_backbone(family, stored):
    """The family's backbone with the stored weights."""
    backbone_class = FAMILIES[family.family].backbone
    backbone = backbone_class(backbone_class.config_class(**family.config))
    set_weights(backbone, stored, family.name)
    return backbone


def make_classifier(backbone):
    """A plain Keras model on a backbone, for arrays of token ids."""
    inputs = backbone.make_inputs(backbone.config)
    x = zoo.layers.Pooling("mean", name="pooling")(
        backbone(inputs)["sequence_output"], inputs["padding_mask"]
    )
    outputs = keras.layers.Dense(2, kernel_initializer="ones", name="head")(x)
    model = keras.Model(inputs, outputs)
    model.compile(
        AdamW(1e-2, epsilon=1e-3, bias_correction=False, global_clipnorm=0.1),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    return model


def run(stored):
    """Outputs of stored families, and the weights of one after three updates."""
    results, names = {}, {key.partition("/")[0] for key in stored}
    for family in (family for family in cases.FAMILIES if family.name in names):
        backbone = make_backbone(family, stored)
        for key, value in backbone.predict_on_batch(family.inputs()).items():
            results[f"{family.name}/{key}"] = np.asarray(value)
    (family,) = (f for f in cases.FAMILIES if f.name == "bert_without_pooler")
    model = make_classifier(make_backbone(family, stored))
    for _ in range(3):
        model.train_on_batch(family.inputs(), np.array([0, 1, 1]))
    for variable in model.trainable_weights:
        value = np.asarray(variable.value)
        results[f"trained/{variable.path}"] = value
    return results


if __name__ == "__main__":
    np.savez(sys.argv[2], **run(dict(np.load(sys.argv[1]))))
