"""What is trained for the table of transfer: language models and classifiers.

A language model gets the vocabulary of the task's text, and is then trained on this
text. A classifier is trained from it by one of `RECIPES`.
"""

import csv
import dataclasses
import shutil

import keras
import numpy as np

import zoo
from benchmarks.tables.stored_results import free_memory
from zoo.text import train_fastai_vocabulary
from zoo.training import (
    AdamW,
    GradualUnfreezing,
    SlantedTriangle,
    layer_depths,
    train_steps,
)

LAYER_DECAY = 1 / 2.6
# Howard and Ruder 2018; gradients are clipped and weights decay as in their code.
BETAS = {"beta_1": 0.7, "beta_2": 0.99}
LANGUAGE_MODEL = {**BETAS, "global_clipnorm": 0.3, "weight_decay": 1e-7}
CLASSIFIER = {**BETAS, "global_clipnorm": 25.0, "weight_decay": 1e-6}
HEAD = {"head": "concat_pooling", "head_dropout": 0.4}
WINDOW = 70
SEED = 0  # of the language models
PARTS = 10  # of the training of a language model
MINIMUM_COUNT = 2  # of a token of the vocabulary


@dataclasses.dataclass(frozen=True)
class Recipe:
    """How a classifier is trained.

    Args:
        title: str, for the table.
        start: "adapted", from a language model that was trained on the task's text;
            "pretrained", from the preset; or "random", from random weights.
        layer_decay: float, of the rates from group to group; 1 for one rate.
        triangle: bool, whether the rate follows a slanted triangle; else it is
            constant.
        order: str, of `GradualUnfreezing`, or None to train all layers.
        errors: dict of data to the error in percent on the validation data of Howard
            and Ruder 2018, tables 6 and 7.
    """

    title: str
    start: str = "adapted"
    layer_decay: float = 1.0
    triangle: bool = False
    order: str | None = None
    errors: dict = dataclasses.field(default_factory=dict)


ALL_TECHNIQUES = {"layer_decay": LAYER_DECAY, "triangle": True, "order": "gradual"}
RECIPES = {
    "scratch": Recipe("from scratch", "random", errors={"trec6": 13.36, "imdb": 9.93}),
    "full": Recipe("full fine-tuning", errors={"trec6": 6.86, "imdb": 6.87}),
    "discriminative": Recipe(
        "+ discriminative rates",
        layer_decay=LAYER_DECAY,
        errors={"trec6": 6.21, "imdb": 5.57},
    ),
    "triangle": Recipe("+ slanted triangle", layer_decay=LAYER_DECAY, triangle=True),
    "gradual": Recipe(
        "+ gradual unfreezing: ULMFiT",
        **ALL_TECHNIQUES,
        errors={"trec6": 5.69, "imdb": 5.0},
    ),
    "last_layer": Recipe(
        "last layer only", order="last_layer", errors={"trec6": 16.09, "imdb": 6.49}
    ),
    "chain_thaw": Recipe(
        "chain-thaw", order="chain_thaw", errors={"trec6": 6.71, "imdb": 5.39}
    ),
    "unadapted": Recipe(
        "ULMFiT, language model not fine-tuned",
        "pretrained",
        **ALL_TECHNIQUES,
        errors={"trec6": 6.38, "imdb": 6.99},
    ),
}


def make_optimizer(rate, depths, triangle=True, layer_decay=LAYER_DECAY, **options):
    """Makes AdamW with discriminative rates; `rate` is the peak."""
    schedule = SlantedTriangle(rate) if triangle else rate
    return AdamW(schedule, layer_decay=layer_decay, depths=depths, **options)


def transfer_vocabulary(preset, texts, directory):
    """Writes a language model with the vocabulary of some texts."""
    free_memory()
    model = zoo.from_preset(preset, "causal_lm")
    size = model.tokenizer.vocabulary_size
    tokens = train_fastai_vocabulary(texts, size, MINIMUM_COUNT)
    zoo.transfer_vocabulary(model, tokens).save_to_preset(directory)


def adapt(preset, texts, directory, epochs, rows, dtype):
    """Trains a language model on texts, and writes it; returns the rate and the losses.

    A checkpoint is written after each of `PARTS` parts of the training. If it is
    interrupted, the next call continues it. `rows` is the number of streams.
    """
    free_memory()
    options = {"rows": rows, "window": WINDOW, "dtype": dtype, "seed": SEED}
    model = zoo.from_preset(preset, "causal_lm", **options)
    rate = model.default_learning_rate
    # The accuracy, which is another metric, takes a tenth of an update.
    depths = layer_depths(model.backbone, language_model=True)
    batches = model.batches(texts, shuffle=True, seed=SEED, epochs=range(epochs))
    every = -(-int(batches.cardinality()) // PARTS)
    optimizer = make_optimizer(rate, depths, **LANGUAGE_MODEL)
    model.compile(optimizer, weighted_metrics=[])
    work = directory.with_name(f"{directory.name}-training")
    # The last part has some windows of the beginning, so that all parts are equal.
    model = train_steps(
        model, lambda start: batches.repeat().skip(start), every * PARTS, work, every
    )
    with open(work / "log.csv", encoding="utf-8") as log:
        losses = [float(line["loss"]) for line in csv.DictReader(log)]
    model.save_to_preset(directory)
    shutil.rmtree(work)
    return {"rate": rate, "losses": losses}


def start_classifier(preset, labels, recipe, seed, length, dtype):
    """Makes an untrained classifier; a language model truncates texts to `length`."""
    free_memory()
    options = {"labels": labels, "dtype": dtype, "seed": seed}
    if zoo.from_preset(preset, None, load_weights=False).predicts == "next":
        options |= {**HEAD, "sequence_length": length}
    if recipe.start == "random":
        options["load_weights"] = False
    return zoo.from_preset(preset, "text_classifier", **options)


def train(model, recipe, rows, rate, seed, epochs_per_group, fit):
    """Trains a classifier by a recipe; `fit` is a dict of other arguments of `fit`."""
    keras.utils.set_random_seed(seed)
    options = {"triangle": recipe.triangle, "layer_decay": recipe.layer_decay}
    depths = layer_depths(model.backbone)
    model.compile(make_optimizer(rate, depths, **options, **CLASSIFIER))
    callbacks = []
    if recipe.order:
        thawing = {"epochs_per_group": epochs_per_group, "order": recipe.order}
        callbacks = [GradualUnfreezing(**thawing)]
    texts, labels = map(list, zip(*rows, strict=True))
    model.fit(texts, labels, seed=seed, callbacks=callbacks, verbose=2, **fit)


def find_right(model, rows):
    """The accuracy, and a digit for each text, 1 if the classifier is right."""
    texts, labels = map(list, zip(*rows, strict=True))
    found = model.predict(texts, verbose=0).argmax(axis=-1)
    marks = [model.labels[n] == y for n, y in zip(found, labels, strict=True)]
    digits = "".join(str(int(mark)) for mark in marks)
    return {"score": float(np.mean(marks)), "right": digits}
