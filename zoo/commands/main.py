"""The command `zoo`. Every subcommand calls the public API."""

import dataclasses
import importlib
import json
import os
import pathlib
import sys

import click

from zoo.commands import arguments, guide_command, score_commands, text_commands
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
def info(preset, layout, file, languages):
    """Describe a preset as JSON.

    PRESET is a name, a directory, or a URI of Hugging Face or Kaggle that was
    downloaded before. A directory is checked as if the model were loaded.
    """
    from zoo import presets

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
@click.argument("family", required=False)
@arguments.path_option(
    "--data", "Directory with the training files.", arguments.check_run_data, True
)
@arguments.output_path(
    "Directory for the vocabulary, the checkpoint, the log and the preset.",
    arguments.check_new_folder,
)
@click.option(
    "--recipe",
    default="bert_mini_en_uncased_books",
    show_default=True,
    callback=arguments.check_recipe_name,
    help="The name of a shipped preset, or a JSON file.",
)
@arguments.number_option(
    "--every",
    "Updates between checkpoints; by default about 100. If it does not divide the "
    "updates of the recipe, a number near it is used. A run that continues has the "
    "same number. The weights depend on it if the recipe has `average`.",
)
@arguments.seed_option(
    "the weights, the order of the texts, and the masks; by default that of the recipe",
    None,
)
@click.option("--tensorboard", is_flag=True, help="Also log to OUTPUT/tensorboard.")
def pretrain(family, data, output, recipe, every, seed, tensorboard):
    """Train a model by a recipe. Run the command again to resume."""
    from zoo import pretraining

    recipe = pretraining.find_recipe(recipe, family)
    if seed is not None:
        recipe = dataclasses.replace(recipe, seed=seed)
    interval = pretraining.choose_interval(recipe.steps, output, every)
    if interval != every:
        click.echo(f"checkpoints: --every {interval}")
    pretraining.run(recipe, data, output, interval, tensorboard)
    click.echo(pathlib.Path(output) / "preset")


@main.command()
@click.argument("preset", callback=arguments.check_model)
@arguments.labelled_data(arguments.TAGGED + arguments.SMALL_BATCHES)
@arguments.path_option(
    "--valid", "A file for validation; by default a tenth of --data."
)
@arguments.target_file("--target", "--data")
@arguments.target_file("--valid-target", "--valid")
@arguments.output_path("The .keras file to write.", arguments.check_new_model)
@arguments.path_option(
    "--report",
    "Directory of the report; by default that of OUTPUT: m_report for m.keras.",
    arguments.check_new_folder,
)
@click.option(
    "--task",
    help="The default is the task of the preset if it can be trained on labelled "
    "texts, else text_classifier.",
)
@click.option(
    "--decoder",
    help="For tags: softmax or crf. By default that of a preset that is a tagger, else "
    "softmax.",
)
@click.option(
    "--scheme",
    help="For tags of spans: IOB1, IOB2, BIOES or BILOU; by default found in the data.",
)
@arguments.number_option(
    "--epochs",
    "By default that of the preset, or 3. With --recipe: one for the head, one for "
    "each group of layers, and 3 for all.",
)
@arguments.BATCH_SIZE
@arguments.number_option(
    "--token-budget",
    "Maximum number of tokens of an update, with padding; instead of --batch-size.",
)
@arguments.number_option(
    "--learning-rate",
    "By default that of the preset or family. auto: found by a range test first.",
    word="auto",
)
@arguments.number_option(
    "--layer-decay",
    "Factor of the learning rate from a group of layers to the group below it; by "
    "default 1, or 1 / 2.6 with --recipe.",
)
@click.option(
    "--recipe",
    type=click.Choice(["ulmfit"]),
    help="ulmfit: first fine-tune the language model on the texts, then train the "
    "classifier, and unfreeze one more group of layers in each epoch.",
)
@arguments.number_option(
    "--language-model-epochs",
    "For --recipe: epochs of the language model; by default 1.",
)
@arguments.path_option(
    "--unlabeled",
    "For --recipe: more texts for the language model, one on each line.",
)
@click.option(
    "--keep-best/--keep-last",
    default=None,
    help="Keep the weights of the epoch with the best score on the validation data, "
    "and stop after two epochs without a better one. This is the default; the scores "
    "of the report may then be a little too high. --keep-last keeps the last epoch.",
)
@click.option(
    "--new-labels",
    is_flag=True,
    default=None,
    help="If PRESET is a .keras file: add the labels of the data that it lacks.",
)
@click.option(
    "--keep-optimizer",
    is_flag=True,
    help="Also write the state of the optimizer, so that Keras can continue the same "
    "training. The file is then about three times as large.",
)
@click.option(
    "--class-weight",
    multiple=True,
    metavar="balanced|LABEL=WEIGHT",
    callback=arguments.parse_weights,
    help="How much the texts or words with a label count. balanced: all labels count "
    "equally in sum. May be repeated for several labels; the others have 1.",
)
@click.option(
    "--freeze",
    multiple=True,
    metavar="LAYER",
    help="Do not train the group of this layer of the backbone, such as block_0; all: "
    "train the head only. May be repeated.",
)
@arguments.number_option(
    "--lora",
    "Train low-rank matrices of this rank (LoRA) in place of the backbone's weights.",
)
@click.option("--lora-layers", multiple=True, help="Names of layers for --lora.")
@arguments.number_option(
    "--sequence-length",
    "Longer texts are truncated. Taggers and question answerers read them in windows "
    "of this length instead.",
)
@click.option(
    "--option",
    "task_options",
    multiple=True,
    metavar="NAME=VALUE",
    callback=arguments.parse_options,
    help="Another argument of the task, such as head=concat_pooling, or a field of the "
    "config, such as dropout=0.2. May be repeated.",
)
@arguments.DTYPE
@arguments.seed_option("the new weights, the order of the texts, and dropout")
def finetune(preset, output, report, task, recipe, task_options, **options):
    """Fine-tune a preset on labelled texts.

    PRESET may also be a .keras file of this command, whose training goes on. The
    command also writes a report with scores, curves and errors.
    """
    from zoo.programs.finetune import finetuning
    from zoo.programs.finetune.labelled_rows import RowFiles

    files, options = RowFiles.split(options)
    report = report or f"{os.fspath(output).removesuffix('.keras')}_report"
    if recipe:
        from zoo.programs.finetune import transfer

        options["trainer"] = transfer.RECIPES[recipe]
    arguments.check_recipe(preset, recipe, options)
    options |= task_options
    finetuning.run(preset, files, task, output, report, click.echo, **options)
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


OTHERS = (guide_command.guide, *score_commands.COMMANDS, *text_commands.COMMANDS)
for command in OTHERS:
    main.add_command(command)
