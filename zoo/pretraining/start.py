"""The model at the start and at the end of a pretraining run, and its optimizer."""

import dataclasses

import keras

from zoo import registry
from zoo.backbone.config import make_config
from zoo.backbone.saving import preset_variables
from zoo.programs.vocabulary.vocabularies import learn_vocabulary
from zoo.registry.sources import find_family
from zoo.text import WordPieceTokenizer
from zoo.training import Adagrad, AdamW, InverseSquareRoot, WarmupLinearDecay


def check_configs(recipe):
    """Finds configs that no model can have, before hours of preparation.

    ValueError if the preset at the start is of another family, values of a config do
    not go together, or the rows are longer than the model's positions.
    """
    kind = find_family(recipe.family).backbone.config_class
    known, where = recipe.config, "`config` of the recipe"
    if recipe.start is not None:
        backbone = registry.from_preset(
            recipe.start, None, load_weights=False, **recipe.config
        )
        if backbone.family != recipe.family:
            raise ValueError(
                f"`family` of the recipe must be that of {recipe.start}, "
                f"{backbone.family!r}. Received: {recipe.family!r}."
            )
        known = dataclasses.asdict(backbone.config)
    config = make_config(kind, known, where)
    make_config(
        kind,
        {**dataclasses.asdict(config), **recipe.finetuning_config},
        "`finetuning_config` of the recipe",
    )
    longest = config.max_sequence_length
    if longest is not None and recipe.sequence_length > longest:
        raise ValueError(
            f"A row must have at most {longest} tokens, `max_sequence_length` of the "
            f"config. Received: {recipe.sequence_length} in `stages`."
        )


def start_model(recipe, task, tokenizer, config, **options):
    """A new model of class `task`, or the preset that the recipe starts from.

    `tokenizer` and `config`, fields of the family's config, are those of a new model;
    `options` are arguments of the task.
    """
    keras.utils.set_random_seed(recipe.seed)
    if recipe.start is None:
        backbone = registry.build_backbone(recipe.family, config, recipe.dtype)
        return task(backbone, tokenizer, **options)
    return registry.from_preset(
        recipe.start, task.task_name, dtype=recipe.dtype, **recipe.config, **options
    )


def make_optimizer(recipe):
    """Makes the optimizer of a recipe."""
    if recipe.decay == "inverse_square_root":
        schedule = InverseSquareRoot(recipe.learning_rate, recipe.warmup_steps)
    else:
        end = recipe.steps if recipe.decay == "linear" else None
        schedule = WarmupLinearDecay(recipe.learning_rate, recipe.warmup_steps, end)
    options = {"global_clipnorm": recipe.clip_norm}
    if recipe.ema:
        options |= {"use_ema": True, "ema_momentum": recipe.ema}
    if recipe.optimizer == "adagrad":
        return Adagrad(
            schedule, initial_accumulator_value=recipe.accumulator, **options
        )
    options |= {"weight_decay": recipe.weight_decay, "beta_2": recipe.beta_2}
    return AdamW(schedule, **options)


def start_tokenizer(recipe):
    """The tokenizer of the preset that the recipe starts from, or None."""
    if recipe.start is None:
        return None
    return registry.from_preset(recipe.start, None, load_weights=False).tokenizer


def learn_once(recipe, texts, kind, path, size="vocabulary_size", **options):
    """Learns a vocabulary, unless its file exists; `size` is a field of the config.

    `texts` is a function without arguments to the texts, or to their counts.
    """
    if not path.exists():
        learn_vocabulary(texts(), kind, recipe.config_value(size), path, **options)


def start_word_pieces(recipe, texts, output):
    """As `start_tokenizer`, or word pieces. The first call learns `vocabulary.txt`.

    `texts` is that of `learn_once`.
    """
    tokenizer = start_tokenizer(recipe)
    if tokenizer is None:
        path, lowercase = output / "vocabulary.txt", recipe.options.lowercase
        learn_once(recipe, texts, "wordpiece", path, lowercase=lowercase)
        tokenizer = WordPieceTokenizer(path, lowercase=lowercase)
    return tokenizer


def finished_model(recipe, model, task, **options):
    """A copy of a trained model, of class `task`, with the config for fine-tuning."""
    config = {**dataclasses.asdict(model.backbone.config), **recipe.finetuning_config}
    backbone = registry.build_backbone(recipe.family, config)
    copy = task(backbone, model.tokenizer, **options)
    trained = {variable.path: variable for variable in model.variables}
    for variable in preset_variables(copy):
        # A copy: JAX deletes the arrays of a model that is evaluated.
        variable.assign(keras.ops.convert_to_numpy(trained[variable.path]))
    return copy


def finished_language_model(recipe, model, **options):
    """A causal language model for texts, see `finished_model`.

    It keeps the options of a preset that the recipe started from, but not those of
    the training: streams and packed rows.
    """
    kept = ("head_activation", "head_layer_norm_epsilon", "stride", "generation")
    options |= {name: model.options[name] for name in kept}
    return finished_model(recipe, model, type(model), **options)
