"""Shows what the tokens of a text attend to in a model."""

import os
import pathlib

import numpy as np
import tensorflow as tf

from zoo import registry, visualize
from zoo.backbone import Backbone
from zoo.checks.number_rules import numbers_checked
from zoo.checks.ranges import check_choice, check_values
from zoo.data import Packer
from zoo.files.path_checks import check_writable
from zoo.programs.finetune.loading import load_one
from zoo.tasks import Task, Translator
from zoo.tasks.writers.translator import SourcePacker
from zoo.visualize.plain_text import to_path

SCORES_SUFFIX = "attention_scores"  # how the names of such outputs end
GREEDY_OPTIONS = {"num_beams": 1, "num_return": 1}
GREEDY_OPTIONS |= dict.fromkeys(("temperature", "top_k", "top_p"))
LONGEST_TITLE = 80  # characters


@numbers_checked()
def attend(model, text, target=None, output=None, *, kind=None, layer=None, head=None):
    """Returns the attention weights of a model for a text, with its tokens.

    It is also `zoo.visualize.attention`.

    The tokens include the special ones. The tokens of a target are those that the
    decoder reads: the start token, and the target without its end token.

    Args:
        model: `zoo.tasks.Task` or `zoo.backbone.Backbone` with a tokenizer; or a
            `.keras` file, or a preset, see `zoo.from_preset`.
        text: str.
        target: str, what an encoder-decoder writes for the text: a translation, or of
            a parser a tree in brackets. By default it is found by greedy search.
        output: str or path, file to write: a page with all weights if its suffix is
            .html, or a picture, .svg, .png or .pdf; None for no file.
        kind: str, a key of the result, for a picture. By default "cross" of an
            encoder-decoder.
        layer, head: int or None, for a picture, see `zoo.visualize.plot_attention`.

    Returns:
        dict of kind to `zoo.visualize.Attention`. The kind is "self", or "encoder",
        "decoder" and "cross" for an encoder-decoder.

    Raises:
        ValueError: if the model has no attention or no tokenizer, the text is too long,
            a target is given or left out where it must not be, the output has another
            suffix, the kind, the layer or the head does not exist, or the output is no
            picture, but a part is asked for.

    Example:
        zoo.attend("bert_mini_en_uncased_distilled", "A film.", output="a.html")
    """
    check_values(str, text=text)
    check_values(str | None, target=target, kind=kind)
    part = {"kind": kind, "layer": layer, "head": head}
    _check_output(output, {key: v for key, v in part.items() if v is not None})
    name = "" if isinstance(model, (Backbone, Task)) else os.fspath(model)
    if name:
        model = _load(name, target)
    attention = _weights(model, text, target)
    if output is not None:
        title = " ".join(f"Attention: {text}".split())
        if len(title) > LONGEST_TITLE:
            title = f"{title[: LONGEST_TITLE - 1]}…"
        _save(attention, output, title, name, **part)
    return attention


attention = attend  # its name in `zoo.visualize`


def _check_output(output, part):
    """Raises ValueError if an output is not a page or picture, or has no parts."""
    suffix = ""
    if output is not None:
        suffix = to_path(output, "output").suffix.lower()
        if suffix not in (".html", ".svg", ".png", ".pdf"):
            raise ValueError(
                "The output must end in .html, .svg, .png or .pdf. Received: "
                f"{str(output)!r}."
            )
        check_writable(output)
    if part and suffix in ("", ".html"):
        raise ValueError(
            "Only a picture has one kind, layer or head. Received: "
            f"{part} and output {output and str(output)!r}. Name a picture, such as "
            "attention.png."
        )


def _save(attention, output, title, name, kind, layer, head):
    """Writes the page or the picture; see `attend`."""
    if pathlib.Path(output).suffix.lower() == ".html":
        model = os.path.basename(os.path.normpath(name)) if name else ""
        visualize.save_attention_page(output, attention, title, model)
        return
    kind = check_choice("kind", kind or [*attention][-1], attention)
    for part, number in (("layer", layer), ("head", head)):
        title += "" if number is None else f", {part} {number}"
    visualize.plot_attention(attention[kind], output, layer, head, title)


def _load(preset, target):
    """The model; with its head, if it shall write the target."""
    if os.fspath(preset).endswith(".keras"):
        model = registry.load_model(preset)
        if not isinstance(model, (Backbone, Task)):
            raise ValueError(
                "The file must hold one backbone or task. Received: "
                f"{type(model).__name__} in {os.fspath(preset)}. For an ensemble, "
                "choose one of its models."
            )
        return model
    model = load_one(preset)
    if not isinstance(model, Task) and model.predicts == "target" and target is None:
        model = registry.from_preset(preset, task=Translator.task_name)
    return model


def _weights(model, text, target):
    """The attention weights of a model; see `attend`."""
    backbone = model.backbone if isinstance(model, Task) else model
    scores = [name for name in backbone.on_request if name.endswith(SCORES_SUFFIX)]
    if not scores:
        raise ValueError(
            "The model must have attention. Received: a model of the family "
            f"{backbone.family!r}. Choose a model of another family."
        )
    if backbone.tokenizer is None:
        raise ValueError(
            "The model must have a tokenizer. Received: one without. Set "
            "`backbone.tokenizer`, or load a preset that has one."
        )
    if backbone.predicts == "target":
        inputs, tokens = _source_and_target(model, backbone, text, target)
    elif target is None:
        inputs, ids = _pack(Packer, backbone, text)
        tokens = {"self": [backbone.tokenizer.id_to_token(id) for id in ids]}
    else:
        raise ValueError(
            "`target` needs a model with an encoder and a decoder. Received: a model "
            f"of the family {backbone.family!r}. Leave the target out."
        )
    found = backbone.with_outputs(*scores)(backbone.complete(inputs))
    attention = {}
    for name in scores:
        kind = name.removesuffix(SCORES_SUFFIX).rstrip("_") or "self"
        sides = ("decoder", "encoder") if kind == "cross" else (kind, kind)
        names = [tuple(tokens[side]) for side in sides]
        attention[kind] = visualize.Attention(np.asarray(found[name])[0], *names)
    return attention


def _pack(packer, backbone, text):
    """The inputs for a text, a row without padding, and its ids."""
    longest = backbone.config.max_sequence_length
    packer = packer(backbone.tokenizer, longest)
    rows, truncated = packer.pack((tf.constant([text]),))
    if truncated:
        raise ValueError(
            f"`text` must have at most {longest} tokens, the special ones included. "
            f"Received: {text[:40]!r} and more. Shorten it."
        )
    ids = rows["tokens"][0].numpy().tolist()
    return packer.dense(rows, length=len(ids)), ids


def _source_and_target(model, backbone, text, target):
    """Inputs of an encoder-decoder, and the tokens of its encoder and its decoder."""
    inputs, ids = _pack(SourcePacker, backbone, text)
    tokenizer, longest = backbone.tokenizer, backbone.config.max_sequence_length
    writes = isinstance(model, Translator)
    if target is not None:
        targets = model.encode_labels([target]) if writes else [target]
        written = tokenizer.targets(targets)[0].numpy().tolist()
    elif writes:
        writer, texts = model.writer, tf.constant([text])
        options = writer.generation_options(**GREEDY_OPTIONS)
        before = {**writer.encode_prompt(texts, options), **inputs}
        written = writer.generate_tokens(before, options)[0][0, 0].numpy().tolist()
        written = written[: [*written, tokenizer.end_id].index(tokenizer.end_id)]
        written = written[: longest - 1]
    else:
        raise ValueError(
            "Without a `target`, the model must be able to write one. Received: a "
            f"backbone of the family {backbone.family!r}. Give a target, or load the "
            f"preset with task={Translator.task_name!r}."
        )
    read = [tokenizer.start_id, *written]
    if len(read) > longest:
        raise ValueError(
            f"`target` must have at most {longest - 1} tokens. Received: "
            f"{len(written)}. Shorten it."
        )
    inputs["decoder_token_ids"] = tf.constant([read], tf.int32)
    tokens = {
        "encoder": [tokenizer.id_to_token(id) for id in ids],
        "decoder": [tokenizer.id_to_token(id, target=True) for id in read],
    }
    return inputs, tokens
