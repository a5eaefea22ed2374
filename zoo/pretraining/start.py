"""The model at the start and at the end of a pretraining run."""

import dataclasses

import keras

from zoo import registry
from zoo.config import make_config
from zoo.saving import preset_variables


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

    Raises:
        ValueError: if the preset is of another family, or `finetuning_config` of the
            recipe is wrong, which would be used only at the end.
    """
    keras.utils.set_random_seed(recipe.seed)
    if recipe.start is None:
        backbone = registry.build_backbone(recipe.family, config, recipe.dtype)
        model = task(backbone, tokenizer, **options)
    else:
        model = registry.from_preset(
            recipe.start, task.task_name, dtype=recipe.dtype, **recipe.config, **options
        )
    if model.backbone.family != recipe.family:
        raise ValueError(
            f"`family` of the recipe must be that of {recipe.start}, "
            f"{model.backbone.family!r}. Received: {recipe.family!r}."
        )
    kind, fields = type(model.backbone.config), _finished_config(recipe, model)
    make_config(kind, fields, "`finetuning_config` of the recipe")
    return model


def _finished_config(recipe, model):
    """The fields of the config for fine-tuning, a dict."""
    return {**dataclasses.asdict(model.backbone.config), **recipe.finetuning_config}


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
    backbone = registry.build_backbone(recipe.family, _finished_config(recipe, model))
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
