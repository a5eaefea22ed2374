"""Converts published BERT checkpoints to our configuration and weights, and back."""

import dataclasses
import functools
from pathlib import Path

from zoo import family
from zoo.backbone.config import make_config
from zoo.checkpoint import (
    HUGGING_FACE_WEIGHTS,
    KERAS_NLP_WEIGHTS,
    Converted,
    convert,
    find_hugging_face,
    find_tensorflow,
    find_variables,
    is_hugging_face,
    is_keras_nlp,
    name_problem,
    naming_absent,
    open_checkpoint,
    open_hugging_face,
    read_json,
    read_problem,
)
from zoo.checks.user_warnings import warn_user
from zoo.family import Layout, check_layout, check_size
from zoo.models.bert import tables
from zoo.models.bert.metadata import (
    FIELDS,
    KERAS_NLP_HEAD,
    head_options,
    read_config,
    read_labels,
    read_tokenizer,
)
from zoo.models.bert.model import BERTConfig
from zoo.models.bert.pooling_files import pooling_documents, read_pooling
from zoo.models.bert.shapes import shapes
from zoo.models.bert.writing import CLASSIFIERS, head_options_of, held_heads, write

__all__ = ["LAYOUTS", "read", "recognise", "write"]

# The kind of input that the head "classifier" of a Hugging Face class classifies.
CLASSIFIES = {
    None: "texts",
    "BertForSequenceClassification": "texts",
    "BertForTokenClassification": "words",
    "BertForMultipleChoice": "choices",
}
WANTED_FILES = (
    "A BERT checkpoint is a directory with bert_config.json and a TensorFlow "
    "checkpoint, or with config.json of model_type 'bert' or class_name 'BertBackbone' "
    f"and {', '.join(HUGGING_FACE_WEIGHTS)} or {KERAS_NLP_WEIGHTS}"
)


def write_contents(layout, directory, contents):
    """Writes a `Converted`; see `write`."""
    options, config, weights = contents.options, contents.config, contents.weights
    classifies = any(path.startswith("classifier/") for path in weights)
    kind = contents.classifies if classifies else None
    embeds, pooling = "normalize" in options, options.get("pooling")
    if kind not in (None, "words") and pooling != "pooled":
        raise ValueError(
            "Other libraries classify by the pooled output. Received: pooling="
            f'{pooling!r}. Write layout "zoo", or train with pooling="pooled".'
        )
    if layout == "keras_nlp" and (embeds or kind in ("words", "choices")):
        raise ValueError(
            "keras-nlp has no tagger, no multiple choice and no embedder. Received: "
            "such a task. Write another layout, or save `backbone` alone (--task none)."
        )
    sets = options.get("multi_label", False)
    if layout == "keras_nlp" and sets:
        raise ValueError(
            "keras-nlp has no classifier with sets of labels. Received: "
            "multi_label=True. Write another layout."
        )
    fields = {"architectures": [CLASSIFIERS[kind]]} if kind in CLASSIFIERS else {}
    if problem := name_problem(kind, options):
        fields["problem_type"] = problem
    if kind == "words":  # Hugging Face's class has no pooler
        config = dataclasses.replace(config, pooler=False)
        weights = {k: v for k, v in weights.items() if not k.startswith("pooler/")}
    write(
        directory,
        layout,
        config,
        weights,
        contents.tokenizer,
        options.get("labels") if classifies else None,
        head_options_of(contents),
        fields,
        pooling_documents(options, config) if embeds else {},
    )


def _is_model_garden(directory):
    """Whether a directory holds an encoder of the model garden, bool."""
    query = "/_attention_layer/_query_dense/kernel/.ATTR"
    # A model with a decoder has its blocks there; that is another family.
    names = find_variables(directory)
    return any(query in n and "/encoder_layers/" not in n for n in names)


def _tensorflow_files(directory):
    """The names of the TensorFlow checkpoints in a directory, list of str."""
    return [path.name for path in find_tensorflow(directory)]


def recognise(directory):
    """The name of the layout of the BERT in a directory; see `family.recognise`."""
    return family.recognise(LAYOUTS, directory)


def read(directory, layout=None, activation=None, file=None):
    """Reads a published checkpoint; every array in it must be accounted for.

    Args:
        directory: str or `Path`.
        layout: str, see `recognise`, by which it is found if it is not given.
        activation: str that replaces the configuration's. Google's files say "gelu"
            for both of its forms; "gelu_tanh" is assumed, as its code has been since
            February 2019. The first release computed "gelu", the exact one.
        file: str, the name of the checkpoint to read where there are several.

    Returns:
        `Converted`.

    Raises:
        FileNotFoundError: if the configuration is missing.
        ValueError: if this is not a BERT, `BERT` cannot compute it, a file is damaged,
            or configuration, weights and vocabulary do not agree.
    """
    directory = Path(directory)
    layout, kind = layout or recognise(directory), ""
    if layout is None:
        config = read_json(directory / "config.json", optional=True)
        kind = f", of kind {config.get('model_type') or config.get('class_name')!r}"
    check_layout(LAYOUTS, layout, directory, WANTED_FILES, kind)
    path, fields, values = read_config(directory, layout)
    checkpoint = _open(directory, layout, file)
    if activation is not None:
        fields["activation"] = activation
    names = {} if layout == "keras_nlp" else FIELDS
    with naming_absent(path, names.values()):
        config = make_config(BERTConfig, fields, f"`{path}`", names)
        check_size(shapes(config), f"`{path}`")
        table = tables.LAYOUTS[layout]
        rows, parts, ignore = table.choose(config.num_layers, checkpoint)
        config = dataclasses.replace(config, pooler="pooler" in parts)
        heads = tuple(part for part in tables.HEADS if part in parts)
        biases = [row.sources for row in rows if row.target == "classifier/bias"]
        biases = [name for names in biases for name in names if name in checkpoint]
        num_classes = checkpoint[biases[0]].shape[0] if biases else 0
        expected = shapes(config, heads, num_classes)
        weights = convert(checkpoint, rows, expected, ignore, config.num_heads)
    classifies, options = _find_kind(directory, values, num_classes, config.pooler)
    # Other outputs have no label, though Hugging Face writes default names.
    named = 0 if classifies in ("choices", "numbers") else num_classes
    tokenizer = read_tokenizer(directory, layout, config.vocabulary_size, values)
    return Converted(
        layout=layout,
        config=config,
        weights=weights,
        heads=heads,
        head_options=KERAS_NLP_HEAD if layout == "keras_nlp" else head_options(config),
        tokenizer=tokenizer,
        labels=read_labels(values.get("id2label"), named),
        classifies=classifies,
        options=options,
        **read_pooling(directory, not tokenizer or tokenizer["lowercase"]),
    )


def _find_kind(directory, values, num_classes, pooler):
    """What a classifier labels, and options, see `Converted`; it may warn."""
    name = next(iter(values.get("architectures") or ()), None)
    kind = CLASSIFIES.get(name)
    if values and name is None and num_classes:
        kind = "texts" if pooler else "words"  # whose class has no pooler
        if num_classes == 1:
            warn_user(
                "`architectures` must be in a config.json if a classifier has one "
                f"output. Received: none in {directory}. The model is read as one that "
                "gives a number for a text; it may be one of multiple choice."
            )
    if kind == "texts" and num_classes:
        return read_problem(values, num_classes, directory)
    return kind, {}


def _open(directory, layout, file=None):
    """Name to array, for all files of the checkpoint."""
    if layout == "hugging_face":
        return open_hugging_face(directory, file)
    if layout == "keras_nlp":
        checkpoint = dict(open_checkpoint(directory / KERAS_NLP_WEIGHTS))
        task = directory / "task.weights.h5"
        if task.is_file():
            arrays = open_checkpoint(task).items()
            checkpoint |= {f"task/{name}": array for name, array in arrays}
        return checkpoint
    names = _tensorflow_files(directory)
    if file is None and len(names) > 1 and not (directory / "checkpoint").is_file():
        raise ValueError(
            "A directory must hold one checkpoint, or a file `checkpoint` that names "
            f"one. Received: {', '.join(names)} in `{directory}`. Pass `file=` to "
            "choose."
        )
    return open_checkpoint(directory / file if file else directory)


def _layout(name, recognise, files=None, written=False):
    """The record of a layout."""
    write = {
        "write": functools.partial(write_contents, name),
        "holds": functools.partial(held_heads, name),
    }
    write = write if written else {}
    read_layout = functools.partial(read, layout=name)
    return Layout(name, recognise, read_layout, files=files, **write)


LAYOUTS = (
    _layout(
        "hugging_face", lambda d: is_hugging_face(d, "bert"), find_hugging_face, True
    ),
    _layout("keras_nlp", lambda d: is_keras_nlp(d, "BertBackbone"), written=True),
    _layout(
        "google",
        lambda d: "bert/embeddings/word_embeddings" in find_variables(d),
        _tensorflow_files,
    ),
    _layout("model_garden", _is_model_garden, _tensorflow_files),
)
