"""Converts the files of fastai and awd-lstm-lm to our configuration and weights."""

import dataclasses
import functools
from pathlib import Path

from zoo import family
from zoo.backbone.config import make_config
from zoo.checkpoint import Converted, convert, open_state_dict, warn_user
from zoo.family import Layout, check_size, choose_file
from zoo.models.ulmfit.fastai_vocabulary import (
    EXPORT,
    check_tokens,
    find_pad_id,
    read_tokenizer,
)
from zoo.models.ulmfit.fastai_writing import write_contents
from zoo.models.ulmfit.model import ULMFiT, ULMFiTConfig
from zoo.models.ulmfit.tables import shapes, table
from zoo.models.ulmfit.torch_names import common_names

__all__ = ["LAYOUTS", "read", "recognise"]

FASTAI, SALESFORCE = "fastai", "awd_lstm_lm"
TORCH_STARTS = (b"PK", b"\x80\x02\x8a\x0a")  # of files of `torch.save`
BACKWARD_NAMES = ("bwd", "backward")
RANDOM_STATE = "rng_state"  # such a .pth of Hugging Face's Trainer is no model
# fastai's defaults for a classifier; those of a language model are ours.
CLASSIFIER_DROPOUTS = {
    "embedding_dropout": 0.05,
    "input_dropout": 0.4,
    "weight_dropout": 0.5,
    "hidden_dropout": 0.3,
}
CLASSIFIER_OPTIONS = {"head": "concat_pooling", "head_dropout": 0.4}


def recognise(directory):
    """The name of the layout of an AWD-LSTM; see `zoo.family.recognise`."""
    return family.recognise(LAYOUTS, directory)


def list_files(layout, directory):
    """The names of the checkpoints of a layout in a directory, list of str."""
    found = {}
    for path in sorted(directory.glob("*")):
        known = path.suffix in (".pth", ".h5", ".pt") and path.is_file()
        if known and not path.name.startswith(RANDOM_STATE):
            found[path.name] = _find_layout(path)
    found = {name: kind for name, kind in found.items() if kind}
    if not found and (directory / EXPORT).is_file():
        found[EXPORT] = FASTAI
    return [name for name, kind in found.items() if kind == layout]


def _find_layout(path):
    """The layout of a file, or None; "fastai" for a damaged .pth or .h5 of torch."""
    if path.suffix == ".h5":
        with open(path, "rb") as file:
            if not file.read(8).startswith(TORCH_STARTS):
                return None
    try:
        names = [*open_state_dict(path)]
    except ValueError:
        return None if path.suffix == ".pt" else FASTAI
    if not any("rnns.0." in name for name in names):
        return None
    return SALESFORCE if "decoder.weight" in names else FASTAI


def read(directory, layout=None, file=None):
    """Reads an AWD-LSTM; every array in it must be accounted for.

    The dropouts are in no file; they are fastai's defaults. A file or directory with
    "bwd" or "backward" in its name holds a backward model; the field `reverse` of the
    config says it for other names.

    Source: fastai 0.7, 1.0 and 2.8, Merity's awd-lstm-lm.

    Args:
        directory: str or `Path` with a file of `torch.save`: a language model, an
            encoder (`save_encoder`) or a text classifier, alone or with the state of
            its optimizer; and its tokenizer, the pickled list of its tokens, `*.pkl`.
        layout: str, "fastai" for fastai 0.7, 1 or 2, or "awd_lstm_lm" for Merity et
            al.; by default the one that is recognised.
        file: str, the name of the checkpoint to read where there are several.

    Returns:
        `Converted`. A language model has the head "lm_head", a classifier the head
        "classifier" and numbers as labels.

    Raises:
        FileNotFoundError: if there is no checkpoint.
        ValueError: if a file is damaged or holds code, such as an `export.pkl`, or if
            `ULMFiT` cannot compute the model.
    """
    directory = Path(directory)
    layout = layout or recognise(directory) or FASTAI
    path = _choose(directory, layout, file)
    arrays = common_names(open_state_dict(path), f"`{path}`")
    heads = ()
    if any(name.startswith("decoder.") for name in arrays):
        heads = ("lm_head",)
    elif "linear_1.weight" in arrays:
        heads = ("classifier",)
    config = _read_config(arrays, path, heads)
    tokenizer = read_tokenizer(path) if layout == FASTAI else _no_tokenizer(path)
    if tokenizer:
        check_tokens(tokenizer["vocabulary"], config.vocabulary_size, path)
        pad_id = find_pad_id(tokenizer["vocabulary"])
        config = dataclasses.replace(config, pad_id=pad_id)
    elif layout == SALESFORCE:  # the id 1 is a word
        config = dataclasses.replace(config, pad_id=None)
    num_classes = len(arrays["linear_1.weight"]) if "classifier" in heads else 0
    if num_classes == 1:
        raise ValueError(
            f"`{path}` must hold a classifier of two or more classes. Received: one "
            "output. Save the encoder with `save_encoder`, and train a new head."
        )
    expected = shapes(config, heads, num_classes)
    return Converted(
        layout=layout,
        config=config,
        weights=convert(arrays, table(config, heads), expected),
        heads=heads,
        tokenizer=tokenizer,
        labels=tuple(map(str, range(num_classes))) or None,
        classifies="texts" if num_classes else None,
        options=dict(CLASSIFIER_OPTIONS) if num_classes else {},
    )


def _no_tokenizer(path):
    """None, with a warning that the layout has no tokens."""
    warn_user(
        f"The layout of {path} has no file of tokens. The model has no tokenizer; it "
        "takes the ids of tokens."
    )


def _choose(directory, layout, file):
    """The path of the checkpoint to read."""
    wanted = (
        f"An AWD-LSTM of layout {layout!r} is a directory with a state dict, such as "
        "model.pth, and its tokens, such as itos.pkl"
    )
    path = choose_file(list_files(layout, directory), directory, file, wanted)
    if path.name == EXPORT:
        raise ValueError(
            f"`{path}` is a file of `Learner.export`, which holds code that Python "
            "runs when it loads the file. Load it with fastai, write its weights with "
            "`learn.save('model', with_opt=False)`, and write its tokens with "
            "`pickle.dump(list(tokens), file)`, where `tokens` is `learn.dls.vocab`, "
            "or `learn.dls.vocab[0]` of a classifier."
        )
    return path


def _read_config(arrays, path, heads):
    """The config of a model, from the shapes of its arrays."""
    where = f"`{path}`"
    layers = {name.split(".")[1] for name in arrays if name.startswith("rnns.")}
    embedding = arrays.get("encoder.weight")
    if not layers or embedding is None or embedding.ndim != 2:
        raise ValueError(
            f"{where} must hold an AWD-LSTM: encoder.weight, and weights of rnns.0, "
            f"rnns.1 and so on. Received: {sorted(arrays)[:6]}."
        )
    lstm = arrays.get("rnns.0.weight_hh_l0")
    first = arrays.get("rnns.0.linear.weight", lstm)
    if first is None:
        raise ValueError(
            f"{where} must hold layers of LSTM or QRNN. Received: "
            f"{[name for name in arrays if name.startswith('rnns.0.')]}."
        )
    name = path.stem + " " + path.resolve().parent.name
    fields = {
        "vocabulary_size": embedding.shape[0],
        "embedding_dim": embedding.shape[1],
        "lstm_dim": len(first) // (3 if lstm is None else 4),
        "num_layers": len(layers),
        "cell": "qrnn" if lstm is None else "lstm",
        "reverse": any(word in name.lower() for word in BACKWARD_NAMES),
        "output_bias": "lm_head" not in heads or "decoder.bias" in arrays,
        **(CLASSIFIER_DROPOUTS if "classifier" in heads else {}),
    }
    config = make_config(ULMFiTConfig, fields, where)
    stored = sum(array.size for array in arrays.values())
    check_size(ULMFiT.weight_shapes(config), where, stored)
    return config


FASTAI_WRITING = {"write": write_contents, "holds": lambda contents: ("lm_head",)}
LAYOUTS = tuple(
    Layout(
        name,
        functools.partial(list_files, name),
        functools.partial(read, layout=name),
        files=functools.partial(list_files, name),
        **written,
    )
    for name, written in ((FASTAI, FASTAI_WRITING), (SALESFORCE, {}))
)
