"""Gives a pretrained language model the vocabulary of another corpus."""

import dataclasses

import numpy as np

from zoo.backbone.freezing import freeze_layers, frozen_layers
from zoo.backbone.saving import model_arrays, preset_variables
from zoo.checkpoint import assign
from zoo.layers import quantized_layers
from zoo.models.ulmfit import ULMFiT
from zoo.tasks import Task
from zoo.tasks.task_saving import without_state
from zoo.text import Tokenizer

# The arrays with a row for every token.
TOKEN_TABLES = ("token_embedding/embeddings", "lm_head/output_bias")


def transfer_vocabulary(model, vocabulary):
    """Makes a copy of an ULMFiT that has another vocabulary.

    A token of both vocabularies keeps its vector and its output bias, bit for bit. A
    new token gets the mean of all old vectors and the mean of all old biases. All other
    weights are the same.

    Source: Howard and Ruder 2018, section 3.2; fastai 2 `match_embeds`.

    Args:
        model: `zoo.models.ulmfit.ULMFiT`, or a task on one, with its tokenizer; it is
            not changed.
        vocabulary: what the class of the model's tokenizer takes: a list of str in the
            order of their ids, such as `zoo.text.train_fastai_vocabulary` returns, or
            the path of a file; or a new tokenizer, for example with rules of another
            version.

    Returns:
        A model of the same class with the new tokenizer. A task is compiled if `model`
        is; the state of its optimizer is new.

    Raises:
        TypeError: if the vocabulary is not a list of str.
        ValueError: if the model is not an ULMFiT with a tokenizer, if it is quantized,
            or if special tokens are missing in the vocabulary.
    """
    task = model if isinstance(model, Task) else None
    old = task.backbone if task else model
    _check(model, old)
    tokenizer = vocabulary
    if not isinstance(vocabulary, Tokenizer):
        options = {**old.tokenizer.get_config(), "vocabulary": vocabulary}
        tokenizer = type(old.tokenizer)(**options)
    config = dataclasses.replace(
        old.config,
        vocabulary_size=tokenizer.vocabulary_size,
        pad_id=tokenizer.pad_id,
    )
    backbone = ULMFiT(config, old.dtype_policy, old.name)
    backbone.tokenizer = tokenizer
    backbone.defaults, backbone.head_options = dict(old.defaults), old.head_options
    rows = match_tokens(old.tokenizer, tokenizer)
    spare = old.spare_heads.items()
    backbone.spare_heads = {k: move_rows(k, v, rows) for k, v in spare}
    copy = copy_task(task, backbone, tokenizer) if task else backbone
    arrays = model_arrays(old, task).items()
    arrays = {path: move_rows(path, array, rows) for path, array in arrays}
    assign({v.path: v for v in preset_variables(copy)}, arrays)
    freeze_layers(copy, frozen_layers(model))
    if task and task.compiled:
        copy.compile_from_config(without_state(task.get_compile_config()))
    return copy


def _check(model, old):
    """Raises ValueError if a model on a backbone cannot get another vocabulary."""
    if not isinstance(old, ULMFiT) or old.tokenizer is None:
        raise ValueError(
            "`model` must be an ULMFiT, or a task on one, with its tokenizer. "
            f"Received: {type(model).__name__} on {type(old).__name__}, tokenizer="
            f"{type(old.tokenizer).__name__}."
        )
    if quantized_layers(model):
        raise ValueError(
            "A quantized model cannot get another vocabulary. Received: one with "
            "quantized layers. Transfer the vocabulary before `quantize`."
        )


def copy_task(task, backbone, tokenizer):
    """A task of the same class and options on another backbone, not compiled."""
    options = task.get_config()
    for name in ("backbone", "tokenizer", "frozen", "quantized"):
        options.pop(name)
    return type(task)(backbone, tokenizer, **options)


def match_tokens(old, new):
    """The old id of each token of a new tokenizer, -1 if it is new, int64 (V,)."""
    ids = {}
    for id in range(old.vocabulary_size):
        ids.setdefault(old.id_to_token(id), id)
    tokens = map(new.id_to_token, range(new.vocabulary_size))
    return np.array([ids.get(token, -1) for token in tokens], "int64")


def move_rows(path, array, rows):
    """The array of a path for another vocabulary; see `match_tokens` for `rows`."""
    if path not in TOKEN_TABLES:
        return array
    mean = array.mean(axis=0, dtype="float64").astype(array.dtype)
    moved = array[rows]
    moved[rows < 0] = mean
    return moved
