"""Commands that train: from text by a recipe, and on labelled rows."""

import dataclasses
import os

import click

from zoo.commands import arguments, devices, memory_options, option_values

RECIPE = click.option(
    "--recipe",
    default="bert_mini_en_uncased_books",
    show_default=True,
    callback=arguments.check_recipe_name,
    help="The name of a shipped preset, or a JSON file.",
)
DATA_HELP = "Directory with the training files."
RUN_SEED = arguments.seed_option(
    "the weights, the order of the texts, and the masks; by default that of the recipe",
    None,
)


@click.command()
@click.argument("family", required=False)
@arguments.path_option("--data", DATA_HELP, arguments.check_run_data)
@arguments.output_path(
    "Directory for the vocabulary, the checkpoint, the log and the preset.",
    arguments.check_new_folder,
    required=False,
)
@RECIPE
@arguments.number_option(
    "--every",
    "Updates between checkpoints; by default about 100. If it does not divide the "
    "updates of the recipe, a number near it is used. A run that continues has the "
    "same number. The weights depend on it if the recipe has `average`.",
)
@RUN_SEED
@click.option("--tensorboard", is_flag=True, help="Also log to OUTPUT/tensorboard.")
@click.option(
    "--dry-run",
    is_flag=True,
    help="Print what the recipe costs: parameters, tokens, operations, memory, and the "
    "gradients that --devices exchange. --data and --output are not needed.",
)
@memory_options.ACCUMULATE
@memory_options.REMAT
@arguments.DTYPE
@devices.ON_MACHINES
def pretrain(family, data, output, recipe, every, tensorboard, dry_run, **fields):
    """Train a model by a recipe. Run the command again to resume."""
    for name, value in (("data", data), ("output", output)):
        if value is None and not dry_run:
            raise click.UsageError(f"Missing option '--{name}'.")
    from zoo import pretraining

    count = fields.pop("devices", None) or 1
    memory = {"accumulate": fields.pop("accumulate") or 1, "remat": fields.pop("remat")}
    recipe = read_recipe(recipe, family, fields)
    if dry_run:
        click.echo(pretraining.cost_table(recipe, count, **memory))
        return
    interval = pretraining.choose_interval(recipe.steps, output, every)
    if interval != every:
        click.echo(f"checkpoints: --every {interval}")
    pretraining.run(recipe, data, output, interval, tensorboard, **memory)
    click.echo(os.path.join(output, "preset"))


def read_recipe(name, family, fields):
    """A recipe with other values of the fields that are not None."""
    from zoo import pretraining

    recipe = pretraining.find_recipe(name, family)
    given = {name: value for name, value in fields.items() if value is not None}
    return dataclasses.replace(recipe, **given)


@click.command()
@arguments.path_option("--data", DATA_HELP, arguments.check_run_data, True)
@arguments.output_path(
    "Directory of the run, which all workers can write to.", arguments.check_new_folder
)
@RECIPE
@click.option(
    "--runner",
    help="A runner of Apache Beam, such as DataflowRunner, FlinkRunner or SparkRunner. "
    "By default the text is prepared in this process.",
)
@click.option(
    "--runner-option",
    "options",
    multiple=True,
    metavar="NAME=VALUE",
    callback=option_values.parse_runner_options,
    help="A pipeline option of Apache Beam, such as direct_num_workers=2. May be "
    "repeated.",
)
@RUN_SEED
@arguments.DTYPE
def prepare(data, output, recipe, runner, options, **fields):
    """Prepare the text of a recipe with Apache Beam.

    `zoo pretrain` with the same options goes on from it.
    """
    # Text needs no GPU, whose memory the first of several processes would take.
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
    from zoo import beam

    recipe = read_recipe(recipe, None, fields)
    beam.prepare(recipe, data, output, runner, options, click.echo)


@click.command()
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
@memory_options.ACCUMULATE
@memory_options.REMAT
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
    callback=option_values.parse_weights,
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
    callback=option_values.parse_options,
    help="Another argument of the task, such as head=concat_pooling, or a field of the "
    "config, such as dropout=0.2. May be repeated.",
)
@arguments.DTYPE
@arguments.seed_option("the new weights, the order of the texts, and dropout")
@devices.ON_MACHINES
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
    check_options_of_recipe(preset, recipe, options)
    options |= task_options
    finetuning.run(preset, files, task, output, report, click.echo, **options)
    click.echo(output)


def check_options_of_recipe(preset, recipe, options):
    """Raises a usage error if options do not fit a recipe, or a preset."""
    if options.get("new_labels") and not os.fspath(preset).endswith(".keras"):
        raise click.UsageError("--new-labels needs a .keras file as PRESET.")
    training = ("keep_best", "class_weight", "freeze", "lora", "lora_layers")
    training += ("accumulate", "remat")
    for name in (*training, "new_labels"):
        if recipe is not None and options.pop(name, None):
            flag = name.replace("_", "-")
            raise click.UsageError(f"--{flag} cannot be given with --recipe.")
    for name in ("language_model_epochs", "unlabeled"):
        if recipe is None and options.pop(name, None) is not None:
            flag = name.replace("_", "-")
            raise click.UsageError(f"--{flag} needs --recipe.")


COMMANDS = (prepare, pretrain, finetune)
