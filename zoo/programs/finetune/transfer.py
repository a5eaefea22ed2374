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

import dataclasses

import keras

from zoo import registry
from zoo.checks.number_rules import numbers_checked
from zoo.checks.ranges import CheckedFields, Positive, Share, Size
from zoo.files.lines import read_lines
from zoo.programs.finetune.finetuning import (
    ROWS_OF_UPDATE,
    describe_training,
    fit,
    prepare,
    summarize,
)
from zoo.programs.finetune.labelled_rows import columns_of
from zoo.programs.finetune.loading import load_one
from zoo.programs.finetune.progress import EpochLines, check_loss, check_output
from zoo.registry.building import task_arguments
from zoo.tasks import CausalLM, TextClassifier
from zoo.training import AdamW, GradualUnfreezing, SlantedTriangle, layer_depths

LAYER_DECAY = 1 / 2.6
MORE_EPOCHS = 3  # with all layers, if the number of epochs is not given
# Gradients are clipped to these norms, and weights decay by these factors.
LANGUAGE_MODEL = {"global_clipnorm": 0.3, "weight_decay": 1e-7}
CLASSIFIER = {"global_clipnorm": 25.0, "weight_decay": 1e-6}


@dataclasses.dataclass(frozen=True)
class TransferRates(CheckedFields):
    """The batches and the learning rates of the recipe.

    Args:
        batch_size: int, rows.
        learning_rate: float, the classifier's peak; None for that of the preset.
        layer_decay: float in (0, 1], see `zoo.training.AdamW`.
    """

    batch_size: Size = ROWS_OF_UPDATE
    learning_rate: Positive | None = None
    layer_decay: Share = LAYER_DECAY


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
        **options: batch_size, learning_rate and layer_decay, see `TransferRates`;
            arguments of `zoo.TextClassifier`, dtype, and fields of the config.

    Returns:
        `zoo.TextClassifier`, trained.

    Raises:
        FloatingPointError: if a loss is not finite at the end.
        ValueError: if the preset, an option or a label cannot be used.
    """
    rates, options = TransferRates.split(options)
    check_output(output)
    corpus = [*all_texts(texts), *(unlabeled or ())]
    row_files = TextClassifier.files.for_rows(labels)
    options = {**row_files.options(TextClassifier, texts, labels), **options}
    parts = [(texts, labels), validation_data]
    check_classifier(preset, parts, rates.learning_rate, options)
    plan = {"batch_size": rates.batch_size, "seed": seed}
    adapted = {**plan, "epochs": language_model_epochs}
    model = start_classifier(preset, corpus, options, rates.layer_decay, **adapted)
    epochs = default_epochs(model) if epochs is None else epochs
    compile_transfer(model, rates.learning_rate, rates.layer_decay, **CLASSIFIER)
    plan |= {"epochs": epochs, "callbacks": [unfreezing_for(model, epochs)]}
    found = model.fit(texts, labels, validation_data=validation_data, **plan)
    check_loss(found.history)
    if output is not None:
        model.save(output)
    return model


def check_classifier(preset, parts, learning_rate, options):
    """Finds mistakes of the classifier before the language model is trained.

    `parts` has the texts and labels of each part of the data, or None.
    """
    model = load_one(
        preset,
        TextClassifier.task_name,
        load_weights=False,
        learning_rate=learning_rate,
        **options,
    )
    for part in filter(None, parts):
        model.encode_labels(model.files.parse_labels(part[1]))


def start_classifier(preset, texts, options, layer_decay, epochs, seed, **fit_options):
    """Adapts the language model of a preset, and puts a new classifier on its backbone.

    Args:
        preset, layer_decay, seed: see `finetune_ulmfit`.
        texts: list of str, for the language model.
        options: dict, arguments of `zoo.TextClassifier`, and dtype or fields of the
            config.
        epochs: int, of the language model; may be 0.
        **fit_options: of `fit` of the language model.
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

    `language_model` is that of `zoo.training.layer_depths`; `options` are of `AdamW`.
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
    return [text for column in columns_of(texts) for text in column]


def train(
    kind,
    preset,
    parts,
    seed=0,
    echo=print,
    epochs=None,
    language_model_epochs=1,
    unlabeled=None,
    **options,
):
    """Trains as `zoo.programs.finetune.finetuning.train` does, by ULMFiT's recipe.

    `unlabeled` is the path of a file with a text on each line, or None. The other
    arguments are those of that function and of `finetune_ulmfit`.
    """
    check_options(kind, options)
    rates, options = TransferRates.split(options)
    content = summarize(kind, parts, echo)
    check_classifier(preset, parts.values(), rates.learning_rate, options)
    texts = [*all_texts(parts["training"][0])]
    if unlabeled is not None:
        texts += [line.strip() for line in read_lines(unlabeled) if line.strip()]
    echo(f"language model: {language_model_epochs} epochs, {len(texts):,} texts")
    sizes, decay = {"batch_size": rates.batch_size}, rates.layer_decay
    plan = {"epochs": language_model_epochs, "seed": seed, **sizes}
    shown = {"verbose": 0, "callbacks": [EpochLines(echo)]}
    model = start_classifier(preset, texts, options, decay, **plan, **shown)
    content |= prepare(model, parts, seed, echo)
    epochs = default_epochs(model) if epochs is None else epochs
    rate = rates.learning_rate or model.default_learning_rate
    compile_transfer(model, rate, decay, **CLASSIFIER)
    unfreezing = unfreezing_for(model, epochs)
    content |= fit(model, parts, epochs, sizes, seed, echo, [unfreezing])
    settings = {
        "recipe": "ULMFiT",
        "learning rate": rate,
        "layer decay": decay,
        "epochs of the language model": language_model_epochs,
        "epochs": epochs,
        "batch size": rates.batch_size,
    }
    content["settings"] = describe_training(model, preset, content, settings, seed)
    return model, content


def check_options(kind, options):
    """Raises ValueError if the recipe does not take a task or an option."""
    if kind is not TextClassifier:
        raise ValueError(
            "The recipe trains text classifiers. Received: the task "
            f"{kind.task_name!r}. Leave `--recipe` out."
        )
    wrong = {"token_budget": options.get("token_budget")}
    if isinstance(options.get("learning_rate"), str):
        wrong["learning_rate"] = options["learning_rate"]
    wrong = {name: value for name, value in wrong.items() if value is not None}
    if wrong:
        raise ValueError(
            "The recipe has batches of rows and a learning rate that is a number. "
            f"Received: {wrong}. Leave it out, or leave `--recipe` out."
        )


RECIPES = {"ulmfit": train}
