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

FILES = "files.json"  # the sizes of the files of a run


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
        ValueError: if `output` has a run of another recipe or of other files, or
            `every` does not divide the number of updates.
    """
    output = pathlib.Path(output)
    check_interval(recipe.steps, every)
    begin(recipe, output)
    sizes = check_files(recipe, data, output)
    objective = recipe.kind(recipe, data, output)
    _write_json(output / FILES, sizes)  # they can be read
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
    _write_json(output / "report.json", report)
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
        # The config for fine-tuning is used at the end only, so it may be corrected.
        kept = fields.keys() - {"finetuning_config"}
        differing = sorted(key for key in kept if fields[key] != found.get(key))
        if differing:
            raise ValueError(
                f"{output} has a run of another recipe, which differs in "
                f"{', '.join(differing)}. Give another output directory."
            )
    _write_json(path, fields)


def check_files(recipe, data, output):
    """Compares the sizes of the files of a run with those at its beginning.

    A run whose files are all absent continues, if its objective has what it needs in
    `output`.

    Returns:
        dict of the name of a file in `data` to its size in bytes.

    Raises:
        ValueError: if files were added, removed or changed. The message names them.
    """
    data, path = pathlib.Path(data), output / FILES
    patterns = [*recipe.train, *recipe.valid]
    files = sorted({file for pattern in patterns for file in data.glob(pattern)})
    sizes = {file.relative_to(data).as_posix(): file.stat().st_size for file in files}
    known = json.loads(path.read_text("utf-8")) if path.exists() else sizes
    if not sizes:
        return known
    names = {*known, *sizes}
    differing = sorted(name for name in names if known.get(name) != sizes.get(name))
    if differing:
        raise ValueError(
            f"{output} has a run of other files: {', '.join(differing[:5])} of "
            f"{len(names)} differ in {data}. Give another output directory."
        )
    return sizes


def _write_json(path, value):
    """Writes a JSON file. If it fails, the old file is kept."""
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(value, indent=2) + "\n", "utf-8")
