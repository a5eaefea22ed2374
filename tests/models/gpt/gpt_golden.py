"""The golden GPTs, what a converted checkpoint computes, and files of OpenAI."""

import dataclasses
import json
import shutil

import keras
import numpy as np
from foreign_files import ATOL, save_tensorflow, write_json
from places import GOLDENS

from zoo.checkpoint import assign, open_checkpoint
from zoo.models.gpt import GPT, read

GOLDEN, MAKER = GOLDENS / "gpt_hugging_face", GOLDENS / "make_gpt.py"
KINDS = ("gpt1", "gpt2")
OUTPUTS = {kind: dict(np.load(GOLDEN / kind / "outputs.npz")) for kind in KINDS}
NAMES = ("layer_outputs", "attention_scores", "logits")
CONVERTED = {kind: read(GOLDEN / kind) for kind in KINDS}
FAULTS = {"activation": "gelu", "layer_norm_epsilon": 1e-5, "num_heads": 2}


def stored(kind):
    """The arrays that transformers wrote."""
    return dict(open_checkpoint(GOLDEN / kind / "model.safetensors"))


def copy(kind, directory, *names):
    """A directory with some files of a golden one."""
    directory.mkdir(exist_ok=True)
    every = ("config.json", "model.safetensors", "tokenizer.json")
    for name in names or every:
        shutil.copy(GOLDEN / kind / name, directory)
    return directory


def compute(converted, inputs):
    """What a `Converted` computes, dict of arrays by `NAMES`."""
    model = GPT(converted.config)
    assign(model.variables, converted.weights)
    names = ("sequence_output", "layer_outputs", "attention_scores")
    inputs = {name: inputs[name] for name in ("token_ids", "padding_mask")}
    outputs = model.with_outputs(*names)(inputs)
    outputs["logits"] = model.make_token_head()(outputs["sequence_output"])
    return {name: keras.ops.convert_to_numpy(outputs[name]) for name in NAMES}


def real(name, array, mask):
    """The part of an output that belongs to tokens, with the tokens first."""
    axis = {"layer_outputs": 2, "attention_scores": 3, "logits": 1}[name]
    array = np.moveaxis(array, axis, 1)
    return array[np.asarray(mask, bool)]


def difference(converted, kind, names=NAMES):
    """The largest absolute difference from any golden output."""
    expected = OUTPUTS[kind]
    outputs, mask = compute(converted, expected), expected["padding_mask"]
    return max(
        np.abs(real(n, outputs[n], mask) - real(n, expected[n], mask)).max()
        for n in names
    )


def check(converted, kind):
    """Compares outputs with the epsilon that only Hugging Face's files can say."""
    config = dataclasses.replace(converted.config, layer_norm_epsilon=3e-3)
    assert difference(dataclasses.replace(converted, config=config), kind) < ATOL


def write_archive(directory, parts=3, width=True):
    """Writes the golden GPT-1 as OpenAI's archive, written down independently.

    It has `parts` files; `width` says whether kernels are of convolutions, (1, D, F).
    """
    directory.mkdir(exist_ok=True)
    found = {k.removeprefix("transformer."): v for k, v in stored("gpt1").items()}
    arrays = [found["positions_embed.weight"], found["tokens_embed.weight"]]
    for i in range(2):
        for module in (
            *("attn.c_attn", "attn.c_proj", "ln_1"),
            *("mlp.c_fc", "mlp.c_proj", "ln_2"),
        ):
            for leaf in ("weight", "bias"):
                array = found[f"h.{i}.{module}.{leaf}"]
                arrays.append(array[None] if width and array.ndim == 2 else array)
    shapes = [list(array.shape) for array in arrays]
    (directory / "params_shapes.json").write_text(json.dumps(shapes))
    vector = np.concatenate([array.ravel() for array in arrays])
    for i, part in enumerate(np.array_split(vector, parts)):
        np.save(directory / f"params_{i}.npy", part)
    (directory / "hparams.json").write_text('{"n_head": 4}')
    return directory


def write_checkpoint(directory, **more):
    """Writes the golden GPT-2 as OpenAI's code does; `more` are further arrays."""
    directory.mkdir(exist_ok=True)
    arrays = {}
    for name, array in stored("gpt2").items():
        name = name.replace("transformer.", "model/").replace("h.", "h", 1)
        name = name.replace(".", "/").replace("/bias", "/b")
        end = "/g" if "ln_" in name else "/w"
        name = name.replace("te/weight", "te").replace("pe/weight", "pe")
        name = name.replace("/weight", end)
        arrays[name] = array[None] if name.endswith("/w") else array
    arrays |= more
    save_tensorflow(directory / "model.ckpt", arrays)
    sizes = {"n_vocab": 266, "n_ctx": 9, "n_embd": 8, "n_head": 4, "n_layer": 2}
    write_json(directory / "hparams.json", **sizes)
    (directory / "checkpoint").write_text('model_checkpoint_path: "model.ckpt"\n')
    return directory


def write_pair(kind, directory, vocabulary, merges, header="#version: 0.2"):
    """Writes the tokenizer of a golden model as two files."""
    model = json.loads((GOLDEN / kind / "tokenizer.json").read_text())["model"]
    (directory / vocabulary).write_text(json.dumps(model["vocab"]))
    lines = [header, *(" ".join(pair) for pair in model["merges"]), ""]
    (directory / merges).write_text("\n".join(lines), "utf-8")
    return directory
