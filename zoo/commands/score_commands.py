"""Commands that score models on labelled data."""

import json

import click

from zoo.commands import arguments

GLUE = ("sst2", "mrpc", "rte", "cola", "stsb", "qnli", "qqp", "wnli")
SUITE = (*GLUE, "mnli", "snli", "conll2003", "squad1.1", "squad2.0", "swag", "codah")


@click.command()
@click.argument("preset", callback=arguments.check_preset)
@arguments.input_directory("Directory of the GLUE files.")
@arguments.output_directory("Directory for the results.")
@click.option(
    "--task",
    type=click.Choice(GLUE),
    default="sst2",
    show_default=True,
    help="The task of GLUE.",
)
@arguments.number_option(
    "--rows", "Maximum number of training rows; by default all.", name="examples"
)
@arguments.number_option("--seeds", "Runs per network.", 5)
@arguments.number_option("--epochs", "Passes over the training data.", 3)
@arguments.number_option(
    "--learning-rate",
    "One to try; by default 1e-4, 3e-4 and 1e-3. May be repeated.",
    name="rates",
    multiple=True,
)
@click.option(
    "--arm",
    type=click.Choice(["preset", "random"]),
    help="Train only the preset, or only the network with random weights.",
)
@click.option(
    "--pooling",
    type=click.Choice(["pooled", "cls", "mean", "compare"]),
    help="How the vectors of the tokens become one vector.",
)
@click.option("--dtype", help="Dtype policy of Keras, such as mixed_bfloat16.")
def glue(preset, data, output, rates, arm, **options):
    """Compare a preset with random weights on a task of GLUE.

    Both are the same network, with the same choice of learning rates.
    """
    from zoo.programs.scores import glue_table

    options = {key: value for key, value in options.items() if value is not None}
    if rates:
        options["rates"] = rates
    if arm:
        options["arms"] = [arm]
    results = glue_table.compare(preset, data, output, echo=click.echo, **options)
    click.echo("\n".join(glue_table.table(results)))


@click.command()
@click.argument("model", callback=arguments.check_model)
@arguments.labelled_data(arguments.TAGGED)
@arguments.target_file("--target", "--data")
def evaluate(model, data, target, columns):
    """Print the scores of a model on labelled texts as JSON."""
    from zoo.programs.finetune import labelled_rows, loading

    loaded = loading.load(model)
    kind = loading.trainable_task(loaded.task_name)
    rows = labelled_rows.read_rows(kind, data, target, **columns)
    click.echo(json.dumps(loaded.measure(*rows)))


@click.command("evaluate-suite")
@click.argument("preset", callback=arguments.check_preset)
@arguments.input_directory(
    "Directory with a directory for each task: CoLA, SST-2 and the others of "
    "GLUE; snli, conll2003, squad1.1, squad2.0, swag and codah. Files keep their "
    "official names, such as SST-2/train.tsv, conll2003/eng.train, "
    "squad1.1/train-v1.1.json and swag/val.csv, and may end in .gz."
)
@arguments.output_directory("Directory for results and the table.")
@click.option(
    "--task",
    "tasks",
    type=click.Choice(SUITE),
    multiple=True,
    help="May be repeated. By default all whose files are there.",
)
@arguments.number_option("--seeds", "Models of each task, with seeds from 0.", 1)
@arguments.number_option("--epochs", "By default that of the preset, or 3.")
@arguments.number_option("--batch-size", "Rows of an update; by default 32.")
@arguments.number_option("--learning-rate", "By default that of the preset or family.")
@arguments.number_option("--rows", "Maximum number of training rows; by default all.")
@click.option("--dtype", help="Dtype policy of Keras, such as mixed_bfloat16.")
def evaluate_suite(preset, data, output, tasks, **options):
    """Fine-tune a preset on the tasks of the papers, and write their table.

    The scores of a model are stored when it is tested. If the command is stopped, the
    same command continues with the next model. The models are not stored.
    """
    import zoo

    zoo.evaluate_suite(preset, data, output, tasks, echo=click.echo, **options)


@click.command()
@click.argument("preset", callback=arguments.check_preset)
@arguments.labelled_data(arguments.PROBED)
@click.option(
    "--test",
    required=True,
    callback=arguments.check_data,
    help="The file for the test, in the format of --data.",
)
@click.option(
    "--task",
    help="What the files have: text_classifier for labelled texts, the default, "
    "token_classifier for tagged words, parser for trees.",
)
@click.option(
    "--output",
    callback=arguments.check_picture,
    help="A picture of the scores to write: .svg, .png or .pdf.",
)
@arguments.number_option("--rows", "Maximum number of rows of each file.", 2000)
@arguments.seed_option("the classifiers")
def probe(preset, data, test, task, columns, output, rows, seed):
    """Measure what each layer of a preset knows, by linear classifiers.

    The classifiers read the vectors of texts, words or phrases. The preset is not
    trained.
    """
    import zoo
    from zoo.programs.finetune import labelled_rows
    from zoo.programs.finetune.loading import trainable_task
    from zoo.programs.vectors import layer_table

    kind = trainable_task(task) if task else zoo.TextClassifier
    parts = [labelled_rows.read_rows(kind, path, **columns) for path in (data, test)]
    result = zoo.probe(preset, *parts, task, limit=rows, seed=seed)
    click.echo(layer_table.format_table(result))
    if output:
        click.echo(layer_table.plot({preset: result}, output, kind.task_name))


COMMANDS = (evaluate, evaluate_suite, glue, probe)
