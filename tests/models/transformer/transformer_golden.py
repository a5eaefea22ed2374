"""What other programs computed with Transformers, and what we compute."""

import collections
import dataclasses
import functools
import json
import pathlib
import tempfile

import numpy as np
from fairseq_files import FAIRSEQ, NAMES
from foreign_files import save_tensorflow, write_json
from places import GOLDENS

import zoo
from zoo.checkpoint import assign
from zoo.models.transformer import Transformer, weights

FILES = ("transformer_model_garden", "transformer_opennmt", "tensor2tensor")
GARDEN, OPENNMT, TENSOR2TENSOR = (
    dict(np.load(GOLDENS / f"{name}.npz")) for name in FILES
)
MARIAN = GOLDENS / "marian"
T2T_NAMES = ("pre_norm", "post_norm", "shared_input")
OPENNMT_NAMES = ("pre_norm", "post_norm", "shared", "shared_input")
SPACE = "transformer/body/target_space_embedding/kernel"  # of tensor2tensor


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


def write_garden(directory, name="norm_first", prefix="model/", **options):
    values = {**json.loads(str(GARDEN[f"{name}/options"])), **options}
    write_json(directory / "transformer_config.json", **values)
    arrays = split_values(GARDEN, name)
    arrays = {prefix + key.removeprefix("model/"): v for key, v in arrays.items()}
    save_objects(directory, arrays)
    return directory


def write_opennmt(directory, name="pre_norm", **options):
    given = json.loads(str(OPENNMT[f"{name}/options"])).get("ffn_activation", ...)
    values = {"num_heads": 2, "ffn_activation": given, **options}
    write_json(directory / "transformer_config.json", **values)
    save_objects(directory, split_values(OPENNMT, name))
    return directory


def write_tensor2tensor(directory, name="pre_norm", arrays=None, **options):
    values = json.loads(str(TENSOR2TENSOR[f"{name}/hparams"]))
    if name == "shared_input":
        values["target_space_id"] = 31
    values |= options
    write_json(directory / "hparams.json", **values)
    found = split_values(TENSOR2TENSOR, name)
    arrays = {"global_step": np.int64(7), **(arrays or found)}
    moved = np.zeros((32, 8), "float32")
    moved[8] = 0.1
    arrays |= {f"training/{SPACE}/Adam": moved, "losses_avg/x": np.float32(0)}
    save_tensorflow(directory / "model.ckpt-7", arrays)
    return directory


@dataclasses.dataclass(frozen=True)
class Golden:
    """The files of a model, and what its program computed.

    Args:
        write: function of a path, which may write files there; returns a directory.
        source, target: ids (B, L), (B, T); the first token of a target is the start.
        outputs: arrays, as `OUTPUTS` names them.
        inside: where the logits of a target are compared; by default everywhere.
    """

    write: collections.abc.Callable
    source: np.ndarray
    target: np.ndarray
    outputs: tuple
    inside: object = ...


OUTPUTS = ("encoder_sequence_output", "token_logits", "decoder_sequence_output")


def list_goldens():
    for name in NAMES:
        y = np.load(FAIRSEQ / name / "outputs.npz")
        ids, outputs = (y["source"][:4], y["target"]), (y["encoder"], y["logits"])
        yield f"fairseq {name}", Golden(lambda _, n=name: FAIRSEQ / n, *ids, outputs)
    for name in ("joint", "separate"):
        y = np.load(MARIAN / name / "outputs.npz")
        ids = y["token_ids"], y["decoder_token_ids"]
        outputs = y["encoder_output"], y["logits"], y["decoder_output"]
        yield f"marian {name}", Golden(lambda _, n=name: MARIAN / n, *ids, outputs)
    for program, y, write, names, part in (
        ("tensor2tensor", TENSOR2TENSOR, write_tensor2tensor, T2T_NAMES, "/outputs"),
        ("model_garden", GARDEN, write_garden, ("norm_first", "norm_after"), ""),
        ("opennmt", OPENNMT, write_opennmt, OPENNMT_NAMES, ""),
    ):
        source, target, inside = y["inputs"], y["targets"], ...
        if program == "opennmt":  # whose target has its start; padding has no meaning
            inside = target != 0
        else:
            start = np.zeros_like(target[:, :1])
            target = np.concatenate([start, target[:, :-1]], axis=1)
        for name in names:
            outputs = tuple(y[f"{name}{part}/{key}"] for key in OUTPUTS[:2])
            make = functools.partial(write, name=name)
            yield f"{program} {name}", Golden(make, source, target, outputs, inside)


GOLDEN = dict(list_goldens())


@functools.cache
def converted(name):
    with tempfile.TemporaryDirectory() as directory:
        return weights.read(GOLDEN[name].write(pathlib.Path(directory, "model")))


@functools.cache
def translator(name):
    """The task of a golden of files; no test may change it."""
    return zoo.from_preset(GOLDEN[name].write(None))


@functools.lru_cache(maxsize=1)
def make_model(config):
    model = Transformer(config)
    head = model.make_token_head()
    head.build((None, None, config.hidden_dim))
    return model, head


def build(converted, **changes):
    """A model and its head with the weights of a `Converted`, fields of it changed."""
    model, head = make_model(dataclasses.replace(converted.config, **changes))
    assign([*model.variables, *head.variables], converted.weights)
    return model, head


def compute(model, head, source, target):
    """The outputs of a model, as `OUTPUTS` names them."""
    found = model(
        {
            "encoder_token_ids": source.astype("int32"),
            "encoder_padding_mask": (source != model.config.pad_id).astype("int32"),
            "decoder_token_ids": target.astype("int32"),
        }
    )
    decoded = found["decoder_sequence_output"]
    found = found["encoder_sequence_output"], head(decoded), decoded
    return tuple(map(np.asarray, found))


def difference(name, weights=None, **changes):
    """The largest difference from the outputs of the program where there are tokens.

    Args:
        name: str, of a golden.
        weights: dict of arrays that replace those of the golden.
        **changes: fields of the config.
    """
    golden, source = GOLDEN[name], converted(name)
    changed = {**source.weights, **(weights or {})}
    model = build(dataclasses.replace(source, weights=changed), **changes)
    found = compute(*model, golden.source, golden.target)
    where = golden.source != source.config.pad_id, golden.inside, golden.inside
    return max(
        np.abs(y[place] - expected[place]).max()
        for y, expected, place in zip(found, golden.outputs, where, strict=False)
    )


def step_by_step(name):
    """The logits of a golden, from one step for each token."""
    golden = GOLDEN[name]
    model, head = build(converted(name))
    source = {"encoder_token_ids": golden.source.astype("int32")}
    states = model.make_states(len(golden.target), golden.target.shape[1], source)
    logits = []
    for token in golden.target.astype("int32").T:
        outputs, states = model.step(token[:, None], states)
        logits.append(head(outputs["decoder_sequence_output"]))
    return np.concatenate(logits, axis=1)
