"""The model at the start and at the end of a pretraining run."""

import dataclasses

import keras

from zoo import registry
from zoo.backbone.config import make_config
from zoo.backbone.saving import preset_variables
from zoo.registry.sources import find_family


def check_configs(recipe):
    """Finds configs that no model can have, before hours of preparation.

    Raises:
        ValueError: if the preset at the start is of another family, values of a config
            do not go together, or the rows are longer than the model's positions.
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
    """Makes a new model, or loads the preset that the recipe starts from.

    Args:
        recipe: `zoo.pretraining.Recipe`.
        task: subclass of `zoo.tasks.Task`.
        tokenizer: `zoo.text.Tokenizer` of a new model.
        config: dict, fields of the family's config for a new model.
        **options: arguments of the task.

    Returns:
        `zoo.tasks.Task`.
    """
    keras.utils.set_random_seed(recipe.seed)
    if recipe.start is None:
        backbone = registry.build_backbone(recipe.family, config, recipe.dtype)
        return task(backbone, tokenizer, **options)
    return registry.from_preset(
        recipe.start, task.task_name, dtype=recipe.dtype, **recipe.config, **options
    )


def start_tokenizer(recipe):
    """The tokenizer of the preset that the recipe starts from, or None."""
    if recipe.start is None:
        return None
    return registry.from_preset(recipe.start, None, load_weights=False).tokenizer


def finished_model(recipe, model, task, **options):
    """Makes a copy of a trained model with the config for fine-tuning.

    Args:
        recipe: `zoo.pretraining.Recipe`.
        model: `zoo.tasks.Task`.
        task: subclass of `zoo.tasks.Task`, of the copy, with the weights of `model`.
        **options: arguments of the task.

    Returns:
        `zoo.tasks.Task`.
    """
    config = {**dataclasses.asdict(model.backbone.config), **recipe.finetuning_config}
    backbone = registry.build_backbone(recipe.family, config)
    copy = task(backbone, model.tokenizer, **options)
    trained = {variable.path: variable for variable in model.variables}
    for variable in preset_variables(copy):
        variable.assign(trained[variable.path])
    return copy


def finished_language_model(recipe, model, **options):
    """A causal language model for texts, see `finished_model`.

    It keeps the options of a preset that the recipe started from, but not those of
    the training: streams and packed rows.
    """
    kept = ("head_activation", "head_layer_norm_epsilon", "stride", "generation")
    options |= {name: model.options[name] for name in kept}
    return finished_model(recipe, model, type(model), **options)
