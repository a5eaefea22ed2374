"""The golden BERT, and what a converted checkpoint computes."""

import dataclasses
import json
import re
import shutil

import keras
import numpy as np
from foreign_files import (
    ATOL,
    change_arrays,
    change_json,
    save_tensorflow,
    write_json,
)
from places import GOLDENS

from zoo.checkpoint import assign, open_checkpoint, revert
from zoo.layers import MaskedLMHead
from zoo.models.bert import BERT
from zoo.models.bert.tables import LAYOUTS
from zoo.models.bert.weights import read

GOLDEN = GOLDENS / "bert_hugging_face"
OUTPUTS = dict(np.load(GOLDEN / "outputs.npz"))
INPUTS = ("token_ids", "segment_ids", "padding_mask", "mask_positions")
CONVERTED = read(GOLDEN)


def compute(converted, inputs):
    """What a `Converted` computes of arrays that `INPUTS` names; as in the golden."""
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
    outputs = compute(converted, expected)
    names = names or [name for name in expected if name not in INPUTS]
    assert set(names) <= set(outputs)
    for name in names:
        np.testing.assert_allclose(outputs[name], expected[name], 0, ATOL, err_msg=name)


def difference(converted):
    """The largest difference from the golden outputs."""
    outputs = compute(converted, OUTPUTS)
    names = outputs.keys() - {"attention_scores"}
    return max(np.abs(outputs[name] - OUTPUTS[name]).max() for name in names)


def with_golden_options(converted):
    """The activation and epsilon of the golden model, where no file says them."""
    options = {"activation": "gelu", "layer_norm_epsilon": 3e-3}
    config = dataclasses.replace(converted.config, **options)
    return dataclasses.replace(converted, config=config, head_options=options)


def copy(directory, *names):
    """A directory with some files of the golden one."""
    for name in names or ("config.json", "model.safetensors", "vocab.txt"):
        shutil.copy(GOLDEN / name, directory)
    return directory


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
    config = shutil.copy(GOLDEN / "config.json", directory / "bert_config.json")
    lost = ("layer_norm_eps", "model_type", "pad_token_id")
    change_json(config, **dict.fromkeys(lost, ...))
    return directory


def save_as_garden(directory, change=lambda name: name, **more):
    """Writes the golden checkpoint under the garden's names, changed, and more."""
    directory.mkdir(exist_ok=True)
    copy(directory, "vocab.txt")
    shutil.copy(GOLDEN / "config.json", directory / "bert_config.json")
    rows = LAYOUTS["model_garden"].written(CONVERTED.config, CONVERTED.heads)
    arrays = revert(CONVERTED.weights, rows, CONVERTED.config.num_heads)
    arrays["save_counter/.ATTRIBUTES/VARIABLE_VALUE"] = np.int64(1)
    arrays = {change(name): array for name, array in arrays.items()}
    save_tensorflow(directory / "bert_model.ckpt", {**arrays, **more})
    return directory


def add_pooling(directory, pooling, *more):
    """Makes a sentence-transformers model of a checkpoint."""
    modules = [("", "models.Transformer"), ("1_Pooling", "models.Pooling"), *more]
    values = [{"path": p, "type": f"sentence_transformers.{t}"} for p, t in modules]
    (directory / "modules.json").write_text(json.dumps(values))
    write_json(directory / "1_Pooling" / "config.json", **pooling)


def rename(path, change):
    """Rewrites model.safetensors under other names, or without some arrays."""
    change_arrays(
        path, lambda arrays: {change(n): a for n, a in arrays.items() if change(n)}
    )
