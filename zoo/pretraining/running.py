"""Runs a recipe: from text files to a preset."""

import pathlib
import types

import keras

from zoo import presets
from zoo.checks.number_rules import numbers_checked
from zoo.distribution import chief_first
from zoo.files.buckets import address_of, local_path
from zoo.files.path_checks import check_readable, check_writable_directory
from zoo.files.state_files import damaged, read_state
from zoo.files.whole_files import (
    DAMAGE_ERRORS,
    THIS_PROCESS,
    rewriting,
    write_json,
)
from zoo.layers import recompute_layers
from zoo.presets import find_preset, sha256
from zoo.pretraining.recipes import Recipe, find_held_out, find_train
from zoo.pretraining.start import check_configs
from zoo.programs.scores.stored_settings import find_weights
from zoo.registry.keras_files import KERAS_MEMBERS, check_archive
from zoo.tasks.fitting.accumulation import compute_in_parts
from zoo.training import train_steps
from zoo.training.resume import CHECKPOINT, check_interval, choose_interval

# The latter has the sizes of the files, and the checksum of the preset at the start.
RECIPE_FILE, FILES_RECORD = "recipe.json", "files.json"
ANOTHER_OUTPUT = "Give another output directory, or restore the file."


@numbers_checked()
def run(recipe, data, output, every=None, tensorboard=False, accumulate=1, remat=False):
    """Pretrains a model. If a run was stopped, the next call continues it.

    Args:
        recipe: `Recipe`.
        data: directory with the text.
        output: directory for the vocabulary, the examples, the checkpoint, the log, the
            report, and the preset.
        every: int, updates between checkpoints, see `choose_interval`.
        tensorboard: bool, whether files for TensorBoard are written, too.
        accumulate: int, parts in which the gradients of an update are computed.
        remat: bool, see `zoo.tasks.Task.compile`.

    Returns:
        The trained task, which is also saved in `output/preset`.

    Raises:
        FileNotFoundError: if there are no files of the recipe.
        ValueError: if `output` has a run of another recipe, of other files or with
            another `every`, or a damaged file, `every` does not divide the number of
            updates, or the recipe has a mistake.
    """
    check_writable_directory(output)
    data, output = local_path(data), local_path(output)
    if data.exists():
        check_readable(data, directory=True)
    if (output / CHECKPOINT).exists():
        check_archive(output / CHECKPOINT, KERAS_MEMBERS, ANOTHER_OUTPUT)
    if every is None:
        every = choose_interval(recipe.steps, output)
    check_interval(recipe.steps, every)
    check_recipe(recipe, data, output, accumulate)
    objective = chief_first(prepare, recipe, data, output)
    logger = keras.callbacks.TensorBoard(output / "tensorboard")
    model = build(objective, accumulate, remat)
    train_steps(
        model,
        # Keras asks for more batches after the last one.
        lambda start: objective.batches(model, start).repeat(),
        recipe.steps,
        output,
        every,
        [logger] if tensorboard and THIS_PROCESS.writes else [],
        objective.sizes,
        recipe.average,
    )
    report = {"recipe": recipe.to_json(), "tokens": objective.tokens()}
    finished = objective.finished(model)
    finished.backbone.defaults = recipe.defaults
    if recipe.valid:
        report["valid"] = objective.evaluate(model)
    write_json(output / "report.json", report, indent=2)
    card = {"tokens_seen": report["tokens"], "valid": report.get("valid")}
    card |= {"log_every": every, **objective.record()}
    with rewriting(output / "preset") as temporary:
        finished.save_to_preset(temporary, dtype="float16")
        presets.add_to_record(temporary, {**recipe.card, **card})
    chief_first(lambda: None)  # the others end when all is written
    return model


def build(objective, accumulate, remat):
    """The compiled model at the start, whose updates have so many parts."""
    model = objective.build()
    if remat:
        recompute_layers(model)
    if accumulate > 1:
        compute_in_parts(model, accumulate)
    return model


def check_recipe(recipe, data, output, accumulate):
    """Finds mistakes that would otherwise stop the run after the preparation.

    FileNotFoundError if a new run has no files; ValueError for an impossible config, or
    if an update cannot be computed in parts.
    """
    check_in_parts(recipe, accumulate)
    check_configs(recipe)
    if not (output / RECIPE_FILE).exists():
        find_train(data, recipe.train, recipe.valid)
        find_held_out(data, recipe.valid)


def check_in_parts(recipe, accumulate):
    """Raises ValueError if an update cannot be computed in so many parts."""
    if accumulate > 1 and not recipe.kind.in_parts:
        raise ValueError(
            "`accumulate` must be 1 if the rows of an update belong together, as in "
            f"{recipe.kind.name}. Received: {accumulate}. Leave it out."
        )


def prepare(recipe, data, output, *preparation):
    """Makes the objective of a recipe, and records the recipe and the files.

    `preparation` is another `Preparation`, for objectives that take one.
    """
    # Of another worker, with what the first one has written in a bucket.
    output = local_path(address_of(output) or output)
    begin(recipe, output)
    path = output / FILES_RECORD
    known, sizes = path.exists(), check_files(recipe, data, output)
    write_json(path, sizes, indent=2)
    try:
        return recipe.kind(recipe, data, output, *preparation)
    except (OSError, ValueError, *DAMAGE_ERRORS):
        if not known:
            path.unlink()
        raise


def begin(recipe, output):
    """Writes the recipe to `output`, or compares it with the recipe there.

    ValueError, which names the fields, if the recipes differ.
    """
    path, fields = output / RECIPE_FILE, recipe.to_json()
    if not path.exists() and not THIS_PROCESS.writes:
        raise FileNotFoundError(
            "The directory of a run must be one that all workers share. Received: "
            f"{output}, where this worker does not see {RECIPE_FILE}, which the first "
            "one has written. Use a shared file system."
        )
    for name in ("card", "defaults"):  # these may be written later
        fields.pop(name)
    if path.exists():
        found = read_state(path, "the recipe of a run", dict, ANOTHER_OUTPUT)
        try:  # fields that the older file lacks have their defaults
            found = Recipe.from_json(found, "it").to_json()
        except ValueError as error:
            raise damaged(path, "the recipe of a run", error, ANOTHER_OUTPUT) from error
        # The config for fine-tuning is used at the end only, so it may be corrected.
        kept = fields.keys() - {"finetuning_config"}
        differing = sorted(key for key in kept if fields[key] != found.get(key))
        if differing:
            raise ValueError(
                f"{output} has a run of another recipe, which differs in "
                f"{', '.join(differing)}. Give another output directory."
            )
    write_json(path, fields, indent=2)


def check_files(recipe, data, output):
    """Compares the files of a run, and the preset it starts from, with the beginning.

    A run whose files are all absent continues, if its objective has what it needs in
    `output`. Returns a dict of file names to sizes in bytes, and of the preset to the
    checksum of its weights. ValueError, which names them, if files changed.
    """
    data, path = pathlib.Path(data), output / FILES_RECORD
    patterns = [*recipe.train, *recipe.valid]
    files = sorted({file for pattern in patterns for file in data.glob(pattern)})
    sizes = {file.relative_to(data).as_posix(): file.stat().st_size for file in files}
    stored = None
    if path.exists():
        shape = {str: (int, str, types.NoneType)}
        stored = read_state(
            path, "the record of the files of a run", shape, ANOTHER_OUTPUT
        )
    if sizes and recipe.start and recipe.start in (stored or [recipe.start]):
        weights = find_weights(find_preset(recipe.start))
        sizes[recipe.start] = weights and sha256(weights)
    known = sizes if stored is None else stored
    if not sizes:
        return known
    names = {*known, *sizes}
    differing = sorted(name for name in names if known.get(name) != sizes.get(name))
    if recipe.start in differing:
        raise ValueError(
            f"The preset must not change while {output} is trained from it. Received: "
            f"other weights of {recipe.start!r}. Give another output directory."
        )
    if differing:
        raise ValueError(
            f"{output} has a run of other files: {', '.join(differing[:5])} of "
            f"{len(names)} differ in {data}. Give another output directory."
        )
    return sizes
