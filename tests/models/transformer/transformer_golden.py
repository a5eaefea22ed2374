"""What a converted Transformer computes, and what its golden outputs can see."""

import dataclasses
import json

import keras
import numpy as np
import tensorflow as tf

from zoo.checkpoint import assign
from zoo.models.transformer import Transformer

ATOL = 5e-6


def save_tensorflow(prefix, arrays):
    """Writes a name-based TensorFlow checkpoint."""
    tf.raw_ops.SaveV2(
        prefix=str(prefix),
        tensor_names=list(arrays),
        shape_and_slices=[""] * len(arrays),
        tensors=list(arrays.values()),
    )


def build(converted, **changes):
    """A model and its head, with the weights of a converted checkpoint.

    Args:
        converted: `Converted`.
        **changes: fields of the config to change.
    """
    model = Transformer(dataclasses.replace(converted.config, **changes))
    head = model.make_token_head()
    head.build((None, None, model.config.hidden_dim))
    assign([*model.variables, *head.variables], converted.weights)
    return model, head


def compute(converted, source, target, start=0, mask=None, **changes):
    """The output of the encoder (B, L, D), and the logits of a target (B, T, V)."""
    model, head = build(converted, **changes)
    first = np.full((len(target), 1), start, "int32")
    inputs = {
        "encoder_token_ids": np.asarray(source, "int32"),
        "decoder_token_ids": np.concatenate([first, target[:, :-1]], axis=1),
    }
    if mask is None:
        mask = np.not_equal(source, model.config.pad_id)
    inputs["encoder_padding_mask"] = np.asarray(mask, "int32")
    outputs = model(inputs)
    logits = head(outputs["decoder_sequence_output"])
    found = {
        "encoder_sequence_output": outputs["encoder_sequence_output"],
        "token_logits": logits,
    }
    return {name: keras.ops.convert_to_numpy(y) for name, y in found.items()}


def check(found, expected, mask):
    """Compares both outputs, that of the encoder where there are tokens."""
    for name, at in (("encoder_sequence_output", mask), ("token_logits", ...)):
        np.testing.assert_allclose(found[name][at], expected[name][at], 0, ATOL, name)


def step_by_step(converted, source, target, start=0):
    """The logits of `compute`, from one step for each token."""
    model, head = build(converted)
    count = target.shape[1]
    source = {"encoder_token_ids": np.asarray(source, "int32")}
    states = model.make_states(len(target), count, source)
    read, logits = np.full(len(target), start, "int32"), []
    for place in range(count):
        outputs, states = model.step(read[:, None], states)
        logits.append(head(outputs["decoder_sequence_output"]))
        read = target[:, place]
    return np.concatenate(logits, axis=1)


def split_values(golden, name):
    """The variables of a model of a golden file, dict of name to array."""
    found, place = {}, 0
    for key, shape in json.loads(str(golden[f"{name}/shapes"])).items():
        count = int(np.prod(shape))
        found[key] = golden[f"{name}/values"][place : place + count].reshape(shape)
        place += count
    return found


def save_objects(directory, arrays):
    """Writes an object-based checkpoint, with what is not a weight."""
    end = "/.ATTRIBUTES/VARIABLE_VALUE"
    first = next(iter(arrays))
    slot = first.replace("/.ATTR", "/.OPTIMIZER_SLOT/optimizer/m/.ATTR")
    others = {
        "_CHECKPOINTABLE_OBJECT_GRAPH": np.array(b"graph"),
        f"save_counter{end}": np.int64(1),
        f"optimizer/iter{end}": np.int64(1),
        slot: arrays[first],
    }
    save_tensorflow(directory / "ckpt-1", {**arrays, **others})
