"""Runs a recipe: from text files to a preset."""

import json
import pathlib
import shutil

import keras

from zoo import presets
from zoo.files import replacing
from zoo.pretraining.recipes import Recipe
from zoo.training import train_steps
from zoo.training.resume import check_interval


def run(recipe, data, output, every=100, tensorboard=False):
    """Pretrains a model. If a run was stopped, the next call continues it.

    Args:
        recipe: `Recipe`.
        data: directory with the text.
        output: directory for the vocabulary, the examples, the checkpoint, the log, the
            report, and the preset.
        every: int, updates between checkpoints.
        tensorboard: bool, whether files for TensorBoard are written, too.

    Returns:
        The trained task, which is also saved in `output/preset`.

    Raises:
        ValueError: if `output` has a run of another recipe, or `every` does not divide
            the number of updates.
    """
    output = pathlib.Path(output)
    check_interval(recipe.steps, every)
    begin(recipe, output)
    objective = recipe.kind(recipe, data, output)
    model = objective.build()
    callbacks = [keras.callbacks.TensorBoard(output / "tensorboard")] * tensorboard
    model = train_steps(
        model,
        # Keras asks for more batches after the last one.
        lambda start: objective.batches(model, start).repeat(),
        recipe.steps,
        output,
        every,
        callbacks,
        objective.sizes,
        recipe.average,
    )
    report = {"recipe": recipe.to_json(), "tokens": objective.tokens()}
    shutil.rmtree(output / "preset", ignore_errors=True)
    finished = objective.finished(model)
    finished.backbone.defaults = recipe.defaults
    finished.save_to_preset(output / "preset", dtype="float16")
    if recipe.valid:
        report["valid"] = objective.evaluate(model)
    with replacing(output / "report.json") as temporary:
        temporary.write_text(json.dumps(report, indent=2) + "\n", "utf-8")
    card = {"tokens_seen": report["tokens"], "valid": report.get("valid")}
    card |= {"log_every": every, **objective.record()}
    presets.add_to_record(output / "preset", {**recipe.card, **card})
    return model


def begin(recipe, output):
    """Writes the recipe to `output`, or compares it with the recipe there.

    Raises:
        ValueError: if the recipes differ. The message names the fields.
    """
    path, fields = output / "recipe.json", recipe.to_json()
    for name in ("card", "defaults"):  # these may be written later
        fields.pop(name)
    if path.exists():
        found = json.loads(path.read_text("utf-8"))
        # Fields that the older file lacks have their defaults.
        found = Recipe.from_json(found, f"the recipe in {path}").to_json()
        differing = [key for key in fields if fields[key] != found.get(key)]
        if differing:
            raise ValueError(
                f"{output} has a run of another recipe, which differs in "
                f"{', '.join(differing)}. Give another output directory."
            )
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(fields, indent=2) + "\n", "utf-8")
