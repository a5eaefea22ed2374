"""ULMFiT's recipe: adapts a language model, and makes a text classifier of it.

First the language model is trained on all texts, as streams if it is recurrent, see
`zoo.CausalLM`. Then a new classifier is trained on
the labelled ones, with `GradualUnfreezing`. Both have discriminative rates: a group of
layers learns at `layer_decay` times the rate of the group above it. Both rates follow a
`SlantedTriangle` over the whole `fit`. The recipe is the same for every backbone that
predicts the next token.

Source: Howard and Ruder 2018, section 3. Adam's beta_1 is 0.7 and beta_2 is 0.99, as in
the paper. The norms to which gradients are clipped, and the decay of weights, are those
of the released code. The code has a triangle for each stage of the unfreezing; here it
is one. The peak rates are those of the preset or its family.
"""

import os

import keras

from zoo import registry
from zoo.checks.number_rules import numbers_checked
from zoo.files.whole_files import open_text
from zoo.programs.finetune.data_summary import data_lines, describe_data
from zoo.programs.finetune.finetuning import ROWS_OF_UPDATE, fit, prepare
from zoo.programs.finetune.loading import load_one
from zoo.programs.finetune.progress import EpochLines, check_loss, check_output
from zoo.programs.finetune.report import describe_model
from zoo.registry.building import task_arguments
from zoo.tasks import CausalLM, TextClassifier
from zoo.training import AdamW, GradualUnfreezing, SlantedTriangle, layer_depths

LAYER_DECAY = 1 / 2.6
MORE_EPOCHS = 3  # with all layers, if the number of epochs is not given
# Gradients are clipped to these norms, and weights decay by these factors.
LANGUAGE_MODEL = {"global_clipnorm": 0.3, "weight_decay": 1e-7}
CLASSIFIER = {"global_clipnorm": 25.0, "weight_decay": 1e-6}


@numbers_checked()
def finetune_ulmfit(
    preset,
    texts,
    labels,
    unlabeled=None,
    validation_data=None,
    epochs=None,
    language_model_epochs=1,
    seed=0,
    output=None,
    batch_size=ROWS_OF_UPDATE,
    learning_rate=None,
    layer_decay=LAYER_DECAY,
    **options,
):
    """Fine-tunes a preset by the recipe of ULMFiT.

    A language model learns the texts, then a classifier; see the module.

    Args:
        preset: see `zoo.from_preset`; its backbone predicts the next token.
        texts: list of str, or a tuple of two lists for pairs, which the classifier
            compares, see `pooling` of `zoo.TextClassifier`.
        labels: list of str, the label of each text.
        unlabeled: list of str, more texts for the language model, or None.
        validation_data: texts and labels, a tuple, or None.
        epochs: int, of the classifier. By default one for the head, one for each group
            of layers, and 3 more. If there are fewer epochs than stages, the last
            epoch unfreezes all layers that remain. A single epoch trains the head only.
        language_model_epochs: int, 0 to leave the language model as it is.
        seed: int, of the new weights, the order of the rows, and dropout.
        output: `.keras` file to write, or None.
        batch_size: int, rows.
        learning_rate: float, the classifier's peak; None for that of the preset.
        layer_decay: float in (0, 1], see `zoo.training.AdamW`.
        **options: arguments of `zoo.TextClassifier`, dtype, and fields of the config.

    Returns:
        `zoo.TextClassifier`, trained.

    Raises:
        FloatingPointError: if a loss is not finite at the end.
        ValueError: if the preset, an option or a label cannot be used.
    """
    check_output(output)
    every = [*all_texts(texts), *(unlabeled or ())]
    options = {**TextClassifier.data_options(labels), **options}
    options = {**TextClassifier.column_options(texts), **options}
    check_classifier(preset, [(texts, labels), validation_data], learning_rate, options)
    plan = {"batch_size": batch_size, "seed": seed}
    adapted = {**plan, "epochs": language_model_epochs}
    model = start_classifier(preset, every, options, layer_decay, **adapted)
    epochs = default_epochs(model) if epochs is None else epochs
    compile_transfer(model, learning_rate, layer_decay, **CLASSIFIER)
    plan |= {"epochs": epochs, "callbacks": [unfreezing_for(model, epochs)]}
    found = model.fit(texts, labels, validation_data=validation_data, **plan)
    check_loss(found.history)
    if output is not None:
        model.save(output)
    return model


def check_classifier(preset, parts, learning_rate, options):
    """Finds mistakes of the classifier before the language model is trained.

    Args:
        preset, learning_rate: see `finetune_ulmfit`.
        parts: iterable of texts and labels, or None, each a part of the data.
        options: dict, see `start_classifier`.

    Raises:
        ValueError: if the preset is an ensemble, or an option or a label is wrong.
    """
    model = load_one(
        preset,
        TextClassifier.task_name,
        load_weights=False,
        learning_rate=learning_rate,
        **options,
    )
    for part in filter(None, parts):
        model.encode_labels(model.parse_labels(part[1]))


def start_classifier(preset, texts, options, layer_decay, epochs, seed, **fit_options):
    """Adapts the language model of a preset, and puts a new classifier on its backbone.

    Args:
        preset, layer_decay, seed: see `finetune_ulmfit`.
        texts: list of str, for the language model.
        options: dict, arguments of `zoo.TextClassifier`, and dtype or fields of the
            config.
        epochs: int, of the language model; may be 0.
        **fit_options: of `fit` of the language model.

    Returns:
        `zoo.TextClassifier`.
    """
    named = task_arguments(TextClassifier)
    fields = {name: value for name, value in options.items() if name not in named}
    options = {name: value for name, value in options.items() if name in named}
    length = options.get("sequence_length")
    lengths = {} if length is None else {"sequence_length": length}
    if epochs and is_recurrent(preset):
        # Streams: a text of any length, and no padding.
        lengths = {"rows": min(fit_options.pop("batch_size"), len(texts))}
    language_model = registry.from_preset(
        preset, CausalLM.task_name, seed=seed, **lengths, **fields
    )
    if epochs:
        compile_transfer(language_model, None, layer_decay, True, **LANGUAGE_MODEL)
        found = language_model.fit(texts, epochs=epochs, seed=seed, **fit_options)
        check_loss(found.history)
    keras.utils.set_random_seed(seed)
    backbone, tokenizer = language_model.backbone, language_model.tokenizer
    return TextClassifier(backbone, tokenizer, **options)


def is_recurrent(preset):
    """Whether the backbone of a preset has states to carry over."""
    backbone = registry.from_preset(preset, None, load_weights=False)
    return bool(backbone.state_shapes(backbone.config))


def compile_transfer(
    model,
    learning_rate=None,
    layer_decay=LAYER_DECAY,
    language_model=False,
    **options,
):
    """Compiles a task with a slanted triangle and discriminative rates.

    Args:
        model: `zoo.tasks.Task`.
        learning_rate: float, the peak; None for that of the preset or its family.
        layer_decay: float in (0, 1].
        language_model: bool, see `zoo.training.layer_depths`.
        **options: of `zoo.training.AdamW`.
    """
    rate = model.default_learning_rate if learning_rate is None else learning_rate
    with model.distribute_strategy.scope():
        optimizer = AdamW(
            SlantedTriangle(rate),
            beta_1=0.7,
            beta_2=0.99,
            layer_decay=layer_decay,
            depths=layer_depths(model.backbone, language_model),
            **options,
        )
    model.compile(optimizer)


def default_epochs(model):
    """An epoch for the head, one for each group of layers, and some for all."""
    return 1 + len(model.backbone.groups()) + MORE_EPOCHS


def unfreezing_for(model, epochs):
    """`GradualUnfreezing` that trains all layers in the last of several epochs."""
    short = epochs < 1 + len(model.backbone.groups())
    return GradualUnfreezing(last=max(0, epochs - 2) if short else None)


def all_texts(texts):
    """The texts of one column or of two as one list."""
    columns = texts if isinstance(texts, tuple) else (texts,)
    return [text for column in columns for text in column]


def train(
    kind,
    preset,
    parts,
    seed=0,
    echo=print,
    epochs=None,
    batch_size=ROWS_OF_UPDATE,
    learning_rate=None,
    layer_decay=LAYER_DECAY,
    language_model_epochs=1,
    unlabeled=None,
    **options,
):
    """Trains as `zoo.programs.finetune.finetuning.train` does, by ULMFiT's recipe.

    Args:
        kind, preset, parts, seed, echo: see `zoo.programs.finetune.finetuning.train`.
        epochs ... language_model_epochs, options: see `finetune_ulmfit`.
        unlabeled: path of a file with a text on each line, or None.

    Returns:
        The trained task, and a dict for `zoo.programs.finetune.finetuning.report_on`.

    Raises:
        ValueError: if the task is not a text classifier, or an option is not one of the
            recipe.
    """
    check_options(kind, learning_rate, options)
    content = {"data": describe_data(kind, parts)}
    echo("\n".join(data_lines(content["data"])))
    check_classifier(preset, parts.values(), learning_rate, options)
    texts = [*all_texts(parts["training"][0]), *read_lines(unlabeled)]
    echo(f"language model: {language_model_epochs} epochs, {len(texts):,} texts")
    sizes = {"batch_size": batch_size}
    plan = {"epochs": language_model_epochs, "seed": seed, **sizes}
    shown = {"verbose": 0, "callbacks": [EpochLines(echo)]}
    model = start_classifier(preset, texts, options, layer_decay, **plan, **shown)
    content |= prepare(model, parts, seed, echo)
    epochs = default_epochs(model) if epochs is None else epochs
    if learning_rate is None:
        learning_rate = model.default_learning_rate
    compile_transfer(model, learning_rate, layer_decay, **CLASSIFIER)
    unfreezing = unfreezing_for(model, epochs)
    content |= fit(model, parts, epochs, sizes, seed, echo, [unfreezing])
    content["settings"] = {
        "preset": os.fspath(preset),
        "recipe": "ULMFiT",
        "learning rate": learning_rate,
        "layer decay": layer_decay,
        "epochs of the language model": language_model_epochs,
        "epochs": epochs,
        "batch size": batch_size,
        "seed": seed,
        "seconds of training": content.pop("seconds"),
        **describe_model(model),
    }
    return model, content


def check_options(kind, learning_rate, options):
    """Raises ValueError if the recipe does not take a task or an option."""
    if kind is not TextClassifier:
        raise ValueError(
            "The recipe trains text classifiers. Received: the task "
            f"{kind.task_name!r}. Leave `--recipe` out."
        )
    wrong = {"token_budget": options.get("token_budget")}
    if isinstance(learning_rate, str):
        wrong["learning_rate"] = learning_rate
    wrong = {name: value for name, value in wrong.items() if value is not None}
    if wrong:
        raise ValueError(
            "The recipe has batches of rows and a learning rate that is a number. "
            f"Received: {wrong}. Leave it out, or leave `--recipe` out."
        )


def read_lines(path):
    """The lines of a text file that are not empty; none without a path."""
    if path is None:
        return []
    with open_text(path) as file:
        return [line.strip() for line in file if line.strip()]


RECIPES = {"ulmfit": train}
