"""Converts published BERT checkpoints to our configuration and weights, and back."""

import dataclasses
import functools
import warnings
from pathlib import Path

from zoo.backbone.config import make_config
from zoo.checkpoint import (
    HUGGING_FACE_WEIGHTS,
    Converted,
    convert,
    find_hugging_face,
    find_model_type,
    find_tensorflow,
    naming_absent,
    open_checkpoint,
    read_json,
    warn_user,
)
from zoo.family import Layout, check_size, only_layout
from zoo.models.bert.metadata import (
    FIELDS,
    KERAS_NLP_HEAD,
    config_path,
    head_options,
    read_config,
    read_labels,
    read_tokenizer,
)
from zoo.models.bert.model import BERTConfig
from zoo.models.bert.pooling_files import pooling_documents, read_pooling
from zoo.models.bert.shapes import shapes, weight_shapes
from zoo.models.bert.tables import HEADS, LAYOUTS
from zoo.models.bert.writing import CLASSIFIERS, WRITERS, held_heads, write

__all__ = ["layouts", "read", "recognise", "write"]

# The kind of input that the head "classifier" of a Hugging Face class classifies.
CLASSIFIES = {
    None: "texts",
    "BertForSequenceClassification": "texts",
    "BertForTokenClassification": "words",
    "BertForMultipleChoice": "choices",
}
SINGLE_LABEL = (None, "single_label_classification")  # values of `problem_type`


def layouts():
    """Returns the layouts that can be read or written, tuple of `Layout`."""
    return tuple(
        Layout(
            name,
            lambda directory, name=name: name in find_layouts(directory),
            functools.partial(read, layout=name),
            functools.partial(write_contents, name) if name in WRITERS else None,
            functools.partial(hold, name) if name in WRITERS else None,
            None if name == "keras_nlp" else functools.partial(list_files, name),
        )
        for name in LAYOUTS
    )


def write_contents(layout, directory, contents):
    """Writes a `Converted`; see `write`.

    Raises:
        ValueError: if the other library has no class for the task of the model.
    """
    options, config, weights = contents.options, contents.config, contents.weights
    classifies = any(path.startswith("classifier/") for path in weights)
    kind = contents.classifies if classifies else None
    embeds = "normalize" in options
    _check_task(layout, kind, embeds, options.get("pooling"))
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
        CLASSIFIERS.get(kind),
        pooling_documents(options, config) if embeds else {},
    )


def _check_task(layout, kind, embeds, pooling):
    """Raises ValueError if the library of a layout does not compute a task.

    Args:
        layout: "hugging_face" or "keras_nlp".
        kind: see `Converted.classifies`.
        embeds: bool, whether the task gives a vector for a text.
        pooling: str, the pooling of the task, or None.
    """
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


def hold(layout, contents):
    """The heads of a `Converted` that a layout can hold; see `held_heads`."""
    head_options = head_options_of(contents)
    return held_heads(layout, contents.config, contents.heads, head_options)


def head_options_of(contents):
    """The arguments of the head that a `Converted` to write has."""
    return {
        name: contents.options.get(f"head_{name}") or getattr(contents.config, name)
        for name in KERAS_NLP_HEAD
    }


def list_files(layout, directory):
    """The names of the checkpoints in a directory, list of str."""
    if layout == "hugging_face":
        return find_hugging_face(Path(directory))
    return [path.name for path in find_tensorflow(Path(directory))]


def recognise(directory):
    """Returns the layout of the BERT checkpoint in a directory.

    Args:
        directory: str or `Path`.

    Returns:
        "google", "model_garden", "hugging_face" or "keras_nlp"; None if there is no
        checkpoint of a BERT.

    Raises:
        ValueError: if there is more than one checkpoint.
    """
    return only_layout(find_layouts(directory), directory)


def find_layouts(directory):
    """Returns the names of all layouts of BERT checkpoints in a directory."""
    directory = Path(directory)
    found = []
    config = read_json(directory / "config.json", optional=True)
    if config.get("class_name") == "BertBackbone":
        if (directory / "model.weights.h5").is_file():
            found.append("keras_nlp")
    if find_model_type(config) == "bert":
        if find_hugging_face(directory):
            found.append("hugging_face")
    indices = find_tensorflow(directory)
    if indices:
        names = {name for path in indices for name in open_checkpoint(path)}
        if "bert/embeddings/word_embeddings" in names:
            found.append("google")
        query = "/_attention_layer/_query_dense/kernel/.ATTR"
        # A model with a decoder has its blocks there; that is another family.
        if any(query in n and "/encoder_layers/" not in n for n in names):
            found.append("model_garden")
    return found


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
        ValueError: if this is not a BERT, if `BERT` cannot compute it, or if a file is
            damaged. Also if configuration, weights and vocabulary do not agree.
    """
    directory = Path(directory)
    layout = layout or recognise(directory)
    if layout not in LAYOUTS:
        raise ValueError(_describe(directory, layout))
    fields, values = read_config(directory, layout)
    checkpoint = _open(directory, layout, file)
    table = LAYOUTS[layout]
    if activation is not None:
        fields["activation"] = activation
    where = f"`{config_path(directory, layout)}`"
    names = {} if layout == "keras_nlp" else FIELDS
    with naming_absent(config_path(directory, layout), names.values()):
        config = make_config(BERTConfig, fields, where, names)
        check_size(weight_shapes(config), where)
        rows, parts, ignore = table.choose(config.num_layers, checkpoint)
        config = dataclasses.replace(config, pooler="pooler" in parts)
        heads = tuple(part for part in HEADS if part in parts)
        num_classes = _num_classes(rows, checkpoint)
        expected = shapes(config, heads, num_classes)
        weights = convert(checkpoint, rows, expected, ignore, config.num_heads)
    classifies = _find_kind(directory, values, num_classes, config.pooler)
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
        **read_pooling(directory, not tokenizer or tokenizer["lowercase"]),
    )


def _find_kind(directory, values, num_classes, pooler):
    """What a classifier labels, see `Converted`; a warning says why it is None.

    Args:
        directory: `Path`.
        values: dict of config.json, empty in other layouts.
        num_classes: int, 0 without a classifier.
        pooler: bool, which the class for words does not have.
    """
    name = next(iter(values.get("architectures") or ()), None)
    kind = CLASSIFIES.get(name)
    if values and name is None and num_classes:
        kind = "texts" if pooler else "words"
        if num_classes == 1:
            warn_user(
                "`architectures` must be in a config.json if a classifier has one "
                f"output. Received: none in {directory}. The model is read as one that "
                "gives a number for a text; it may be one of multiple choice."
            )
    if kind == "texts" and num_classes == 1:
        return "numbers"
    if num_classes > 1 and values.get("problem_type") not in SINGLE_LABEL:
        warnings.warn(
            f"The classifier of {directory} does not give one label for a text. "
            f"Received: problem_type={values['problem_type']!r}. zoo has no such task. "
            "The model is loaded as a backbone.",
            stacklevel=3,
        )
        return None
    return kind


def _describe(directory, layout):
    """Returns the error message for a directory without a known layout."""
    if layout is not None:
        return f"`layout` must be one of {sorted(LAYOUTS)}. Received: {layout!r}."
    config = read_json(directory / "config.json", optional=True)
    kind = config.get("model_type") or config.get("class_name")
    names = sorted(path.name for path in directory.glob("*"))
    return (
        "A BERT checkpoint is a directory with bert_config.json and a TensorFlow "
        "checkpoint, or with config.json of model_type 'bert' or class_name "
        f"'BertBackbone' and {', '.join(HUGGING_FACE_WEIGHTS)} or model.weights.h5. "
        f"Received: `{directory}` with {names}, of kind {kind!r}."
    )


def _open(directory, layout, file=None):
    """Name to array, for all files of the checkpoint."""
    names = list_files(layout, directory)
    if file is None and layout != "hugging_face" and len(names) > 1:
        if not (directory / "checkpoint").is_file():
            raise ValueError(
                "A directory must hold one checkpoint, or a file `checkpoint` that "
                f"names one. Received: {', '.join(names)} in `{directory}`. Pass "
                "`file=` to choose."
            )
    if layout == "keras_nlp":
        checkpoint = dict(open_checkpoint(directory / "model.weights.h5"))
        task = directory / "task.weights.h5"
        if task.is_file():
            arrays = open_checkpoint(task).items()
            checkpoint |= {f"task/{name}": array for name, array in arrays}
        return checkpoint
    if layout == "hugging_face":
        name = file or [*names, HUGGING_FACE_WEIGHTS[0]][0]
        return open_checkpoint(directory / name)
    return open_checkpoint(directory / file if file else directory)


def _num_classes(rows, checkpoint):
    """Returns the number of the classifier's outputs, 0 if there is none."""
    for row in rows:
        if row.target == "classifier/bias":
            found = [source for source in row.sources if source in checkpoint]
            return checkpoint[found[0]].shape[0] if found else 0
    return 0
