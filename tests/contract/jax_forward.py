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
from zoo.tasks.losses.class_loss import ClassLoss  # noqa: E402
from zoo.tasks.losses.label_set_loss import LabelSetLoss  # noqa: E402
from zoo.tasks.losses.score_metrics import (  # noqa: E402
    CLASS_SCORES,
    LabelAUC,
    LabelScore,
    SpanF1,
)


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
        weighted_metrics=[LabelScore("macro_f1", 2), LabelAUC(2)],
    )
    return model


def count_words():
    """Losses and metrics of words with padding, as tags, probabilities and sets."""
    draw = np.random.default_rng(0)
    logits = draw.normal(0, 2, (6, 5, 3)).astype("float32")
    numbers = draw.integers(-1, 3, (6, 5))
    soft = draw.dirichlet([1, 1, 1], (6, 5)) * (numbers >= 0)[..., None]
    weights = draw.integers(1, 4, (6, 5)) * (numbers >= 0)
    results = {}
    for kind, y in {"tags": numbers, "probabilities": soft}.items():
        y = keras.ops.convert_to_tensor(y.astype("int32" if y.ndim == 2 else "float32"))
        for smoothing in (0.0, 0.1):
            loss = ClassLoss(smoothing, padded=True)
            results[f"loss/{kind}/{smoothing}"] = loss(y, logits)
            results[f"loss/{kind}/{smoothing}/weighted"] = loss(y, logits, weights)
        metrics = [LabelScore(name, 3) for name in CLASS_SCORES]
        for metric in (*metrics, LabelAUC(3), SpanF1(["O", "B-A", "I-A"])):
            for rows in (slice(0, 4), slice(4, 6)):
                metric.update_state(y[rows], logits[rows], weights[rows])
            results[f"metrics/{kind}/{metric.name}"] = metric.result()
    rows = keras.ops.convert_to_tensor((soft[:, 0] > 0.3).astype("float32"))
    loss = LabelSetLoss([1.0, 2.0, 3.0])
    for weight in (weights[:, 1], weights[:, :3]):
        weight = keras.ops.convert_to_tensor(weight.astype("float32"))
        results[f"loss/sets/{len(weight.shape)}"] = loss(rows, logits[:, 0], weight)
    return {key: np.asarray(value) for key, value in results.items()}


def run(stored):
    """Outputs of stored families, and the weights of one after three updates.

    Also the losses and metrics of words.
    """
    results, names = {}, {key.partition("/")[0] for key in stored}
    for family in (family for family in cases.FAMILIES if family.name in names):
        backbone = make_backbone(family, stored)
        for key, value in backbone.predict_on_batch(family.inputs()).items():
            results[f"{family.name}/{key}"] = np.asarray(value)
    (family,) = (f for f in cases.FAMILIES if f.name == "bert_without_pooler")
    model = make_classifier(make_backbone(family, stored))
    for step in range(3):
        y, weights = np.array([0, 1, 1]), np.array([1.0, 2.0, 3.0])
        logs = model.train_on_batch(family.inputs(), y, weights, return_dict=True)
        results |= {f"logs/{step}/{name}": value for name, value in logs.items()}
    for variable in model.trainable_weights:
        value = np.asarray(variable.value)
        results[f"trained/{variable.path}"] = value
    return results | count_words()


if __name__ == "__main__":
    np.savez(sys.argv[2], **run(dict(np.load(sys.argv[1]))))
