"""The families and tasks of the contract's tables as models."""

import functools

import cases
import keras
import numpy as np

from zoo.registry import build_backbone
from zoo.tasks import TASKS
from zoo.training import AdamW

LAYERS = {"num_layers", "num_encoder_layers", "num_decoder_layers"}


def build(family, dtype=None, **fields):
    """The backbone of a family, the same at every call."""
    keras.utils.set_random_seed(1)
    return build_backbone(family.family, {**family.config, **fields}, dtype)


@functools.cache
def tokenizers():
    """Dict of the name of each row to its tokenizer, or to that of its family."""
    made = {row.name: row.tokenizer() for row in cases.FAMILIES if row.tokenizer}
    return {row.name: made.get(row.name) or made[row.family] for row in cases.FAMILIES}


def build_task(case, family=None, dtype=None, smallest=True, **options):
    """The task of a case on a family, compiled.

    The backbone has one layer, which compiles in half of the time, or with
    `smallest=False` those of the table.
    """
    family = family or cases.first_family(case)
    smallest &= case.task != "text_embedder"  # whose vectors are of two layers
    fields = {name: 1 for name in LAYERS if smallest and family.config.get(name)}
    backbone = build(family, dtype, **fields)
    tokenizer = tokenizers()[family.name]
    task = TASKS[case.task](backbone, tokenizer, **case.options)
    for layer in task.layers:  # a kernel that is 0 at first shows nothing
        if layer.name == "classifier" and not np.any(layer.get_weights()[0]):
            layer.kernel.assign(keras.random.normal(layer.kernel.shape, seed=1))
    options = {"optimizer": AdamW(1e-2, epsilon=1e-3), **options}
    task.compile(**{"run_eagerly": True, **options})
    return task
