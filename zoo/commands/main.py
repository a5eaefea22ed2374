"""The command `zoo`. Every subcommand calls the public API."""

import importlib
import json
import os
import sys

import click

from zoo.commands import (
    arguments,
    devices,
    guide_command,
    memory_options,
    score_commands,
    text_commands,
    training_commands,
)
from zoo.commands.command_group import Commands


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="keras-context-zoo")
@click.option(
    "--import",
    "modules",
    multiple=True,
    metavar="MODULE",
    help="First import MODULE, which registers your own family or task.",
)
def main(modules):
    """Models for contextual word vectors in Keras, from raw text to TF Serving."""
    if modules:
        sys.path.append(os.getcwd())
    for module in modules:
        importlib.import_module(module)


@main.command()
@arguments.labelled_data("By default movie reviews.", False, words=False)
@arguments.output_path(
    "Directory for the report, the model and the export.",
    arguments.check_new_folder,
    default="zoo_quickstart",
)
@click.option(
    "--preset",
    callback=arguments.check_preset,
    help="By default bert_mini_en_uncased_distilled.",
)
@arguments.number_option("--epochs", "Passes over the training data.", 3)
@arguments.seed_option("the new weights, the order of the texts, and dropout")
@devices.ON_DEVICES
def quickstart(data, columns, output, preset, epochs, seed):
    """Fine-tune a preset on movie reviews, and export it.

    The command also writes a report, checks the export and asks it for answers. It
    takes a few minutes.
    """
    from zoo.programs.finetune import quickstart as tour

    tour.run(data, output, preset or tour.PRESET, epochs, seed, click.echo, columns)


@main.command("list")
@click.option("--family", help="Only this family, such as bert.")
def list_command(family):
    """List all presets, with size and description."""
    from zoo import presets

    names = presets.list_presets(family)
    if not names:
        known = {presets.preset_info(name)["family"] for name in presets.list_presets()}
        raise ValueError(
            f"`--family` must be one that has presets: {', '.join(sorted(known))}. "
            f"Received: {family}."
        )
    for name in names:
        record = presets.preset_info(name)
        shipped = "shipped" if "weights" in record else "published"
        count = record["parameters"] / 1e6
        click.echo(f"{name:40} {count:7.1f}M  {shipped:9}  {record['description']}")


@main.command()
@arguments.PRESET
@arguments.LAYOUT
@arguments.FILE
@arguments.LANGUAGES
@click.option(
    "--memory",
    is_flag=True,
    help="Print what a training step needs on one device instead. It is computed from "
    "the shapes in its graph, with --batch and the options below.",
)
@memory_options.BATCH
@click.option("--task", help="By default that of the preset, or text_classifier.")
@click.option("--optimizer", help="One of Keras; by default adamw.")
@memory_options.ACCUMULATE
@memory_options.REMAT
@arguments.DTYPE
def info(preset, layout, file, languages, memory, batch, **options):
    """Describe a preset as JSON.

    PRESET is a name, a directory, or a URI of Hugging Face or Kaggle that was
    downloaded before. A directory is checked as if the model were loaded.
    """
    from zoo import presets

    given = {name: value for name, value in options.items() if value}
    if memory != (batch is not None) or (given and not memory):
        raise click.UsageError("--memory and --batch must be given together.")
    if memory:
        from zoo.programs.costs import cost_tables

        click.echo(cost_tables.memory_table(preset, *batch, **given))
        return
    choices = layout, file, languages
    described = None if any(choices) else presets.describe_record(preset)
    if described is None:
        from zoo import registry

        described = registry.describe(preset, *choices)
    click.echo(json.dumps(described, indent=2, ensure_ascii=False))


@main.command()
@click.argument("source", callback=arguments.check_preset)
@click.argument("output", callback=arguments.check_new_preset)
@click.option(
    "--to",
    "written",
    default="zoo",
    show_default=True,
    help="The layout to write: zoo, or another of the family, such as hugging_face.",
)
@click.option(
    "--task",
    default="auto",
    show_default=True,
    help="A task; auto for the saved task; none for the backbone.",
)
@click.option(
    "--head",
    "heads",
    multiple=True,
    help="Write only this pretraining head. May be repeated. Not for layout zoo.",
)
@arguments.FILE
@arguments.LAYOUT
@click.option("--half", is_flag=True, help="Store float16, only in layout zoo.")
@arguments.LANGUAGES
def convert(source, output, written, task, heads, half, **choices):
    """Convert a preset to another layout. OUTPUT may be hf://owner/name."""
    import zoo

    model = zoo.from_preset(source, None if task == "none" else task, **choices)
    options = {"dtype": "float16" if half else "float32"}
    if heads or written != "zoo":
        if isinstance(model, zoo.TextEnsemble):
            raise ValueError(
                f"An ensemble has one layout, zoo. Received: {written}. Convert each "
                f"of {source}/member_*."
            )
        options |= {"layout": written, "heads": heads or None}
    model.save_to_preset(output, **options)
    click.echo(output)


@main.command()
@arguments.MODEL
@click.argument("directory", callback=arguments.check_new_folder)
@click.option("--task", help="The task to export, if MODEL is a preset.")
@arguments.number_option("--version", "By default one more than the highest.")
def export(model, directory, task, version):
    """Export a model as a new version for TF Serving, and check it."""
    from zoo.programs.finetune import loading

    loaded = loading.load(model, task or "auto")
    click.echo(loaded.export(directory, version))


@main.command()
@click.argument("directory", callback=arguments.check_folder)
def doctor(directory):
    """Report what in a SavedModel would fail in TF Serving, and why."""
    from zoo.serving import diagnose, format_findings

    findings = diagnose(directory)
    click.echo(format_findings(findings))
    if not all(finding.passed for finding in findings):
        sys.exit(1)


OTHERS = (
    guide_command.guide,
    *training_commands.COMMANDS,
    *score_commands.COMMANDS,
    *text_commands.COMMANDS,
)
for command in OTHERS:
    main.add_command(command)
