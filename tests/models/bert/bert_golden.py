"""The golden BERT, and what a converted checkpoint computes."""

import json
import re
import shutil

import keras
import numpy as np
import tensorflow as tf
from places import GOLDENS

from zoo.checkpoint import assign, open_checkpoint, save_checkpoint
from zoo.layers import MaskedLMHead
from zoo.models.bert import BERT

GOLDEN = GOLDENS / "bert_hugging_face"
OUTPUTS = dict(np.load(GOLDEN / "outputs.npz"))
INPUTS = ("token_ids", "segment_ids", "padding_mask", "mask_positions")
ATOL = 5e-6


def save_tensorflow(prefix, arrays):
    """Writes a name-based TensorFlow checkpoint."""
    tf.raw_ops.SaveV2(
        prefix=str(prefix),
        tensor_names=list(arrays),
        shape_and_slices=[""] * len(arrays),
        tensors=list(arrays.values()),
    )


def compute(converted, inputs):
    """What a converted checkpoint and its heads compute.

    Args:
        converted: `Converted`.
        inputs: dict with the arrays that INPUTS names.

    Returns:
        dict of str to array, the names as in the golden file.
    """
    model = BERT(converted.config)
    head = MaskedLMHead(
        model.named_layers["token_embedding"],
        name="masked_lm_head",
        **converted.head_options,
    )
    heads = {"masked_lm_head": head} if "masked_lm_head" in converted.heads else {}
    for name in set(converted.heads) - {"masked_lm_head"}:
        units = converted.weights[f"{name}/bias"].shape[0]
        heads[name] = keras.layers.Dense(units, name=name)
    for layer in heads.values():
        layer.build((None, None, converted.config.hidden_dim))
    variables = [v for layer in heads.values() for v in layer.variables]
    assign([*model.variables, *variables], converted.weights)
    names = ["sequence_output", "layer_outputs", "attention_scores"]
    names += ["pooled_output"] if converted.config.pooler else []
    outputs = model.with_outputs(*names)({k: inputs[k] for k in INPUTS[:3]})
    sequence = outputs["sequence_output"]
    for name, layer in heads.items():
        if name == "masked_lm_head":
            outputs["masked_lm_logits"] = layer(sequence, inputs["mask_positions"])
        else:
            pooled = outputs.get("pooled_output", sequence)
            over = sequence if name == "spans" else pooled
            outputs[f"{name}_logits"] = layer(over)
    return {name: keras.ops.convert_to_numpy(y) for name, y in outputs.items()}


def check(converted, expected, names=None):
    """Compares every output with the expected ones."""
    outputs = compute(converted, expected)
    names = names or [name for name in expected if name not in INPUTS]
    assert set(names) <= set(outputs)
    for name in names:
        np.testing.assert_allclose(outputs[name], expected[name], 0, ATOL, err_msg=name)


def copy(directory, *names):
    """A directory with some files of the golden one."""
    for name in names or ("config.json", "model.safetensors", "vocab.txt"):
        shutil.copy(GOLDEN / name, directory)
    return directory


def change_json(path, **changes):
    """Updates a JSON file."""
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def google_name(name):
    """Google's name for one of transformers', written down independently."""
    name = name.replace(".", "/").replace("layer/", "layer_")
    name = re.sub(r"embeddings/weight", "embeddings", name)
    name = name.replace("LayerNorm/weight", "LayerNorm/gamma")
    name = name.replace("LayerNorm/bias", "LayerNorm/beta")
    name = name.replace("seq_relationship/weight", "seq_relationship/output_weights")
    name = name.replace("seq_relationship/bias", "seq_relationship/output_bias")
    name = name.replace("predictions/bias", "predictions/output_bias")
    return name.replace("/weight", "/kernel")


def save_as_google(directory):
    """Writes the golden checkpoint as Google's code would have; returns the path."""
    directory.mkdir()
    copy(directory, "vocab.txt")
    arrays = {}
    for name, array in open_checkpoint(GOLDEN / "model.safetensors").items():
        name = google_name(name)
        arrays[name] = array.T if name.endswith("/kernel") else array
        arrays[f"{name}/adam_m"] = arrays[f"{name}/adam_v"] = np.zeros(1, "float32")
    arrays["global_step"] = np.int64(7)
    save_tensorflow(directory / "bert_model.ckpt", arrays)
    values = json.loads((GOLDEN / "config.json").read_text())
    for name in ("layer_norm_eps", "model_type", "pad_token_id"):
        del values[name]
    (directory / "bert_config.json").write_text(json.dumps(values))
    return directory


def rename(path, change):
    """Rewrites model.safetensors under other names, or without some arrays."""
    path = path / "model.safetensors"
    arrays = {change(name): array for name, array in open_checkpoint(path).items()}
    arrays.pop(None, None)
    save_checkpoint(path, arrays)
