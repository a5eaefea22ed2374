"""Commands that score models on labelled data."""

import click

from zoo.commands import arguments, devices

SUITE = ("sst2", "mrpc", "rte", "cola", "stsb", "qnli", "qqp", "wnli", "mnli", "snli")
SUITE += ("conll2003", "squad1.1", "squad2.0", "swag", "codah")


@click.command()
@arguments.MODEL
@arguments.labelled_data(arguments.TAGGED)
@arguments.target_file("--target", "--data")
@click.option(
    "--compare",
    metavar="MODEL",
    callback=arguments.check_model,
    help="Another model of the same task. The command also prints its scores on the "
    "same rows, and the differences, with intervals of the paired bootstrap.",
)
@arguments.path_option(
    "--report",
    "Directory of a report to write, with scores, pictures and the largest errors.",
    arguments.check_new_folder,
)
@devices.ON_DEVICES
def evaluate(model, data, target, compare, report, columns):
    """Print the scores of a model on labelled texts.

    The scores have 95 % intervals. Tables show the precision, recall, F1 and number of
    rows of each label. The last line is the scores as JSON.
    """
    from zoo.programs.finetune.labelled_rows import RowFiles
    from zoo.programs.scores import model_scores

    files = RowFiles(data, target=target, columns=columns)
    model_scores.run(model, files, compare, report, click.echo)


@click.command("evaluate-suite")
@arguments.PRESET
@arguments.path_option(
    "--data",
    "Directory with a directory for each task: CoLA, SST-2 and the others of "
    "GLUE; snli, conll2003, squad1.1, squad2.0, swag and codah. Files keep their "
    "official names, such as SST-2/train.tsv, conll2003/eng.train, "
    "squad1.1/train-v1.1.json and swag/val.csv, and may end in .gz.",
    arguments.check_folder,
    required=True,
)
@arguments.output_path(
    "Directory for results and the table.", arguments.check_new_folder
)
@click.option(
    "--task",
    "tasks",
    type=click.Choice(SUITE),
    multiple=True,
    help="May be repeated. By default all whose files are there.",
)
@arguments.number_option("--seeds", "Models of each task, with seeds from 0.", 1)
@arguments.number_option("--epochs", "By default that of the preset, or 3.")
@arguments.BATCH_SIZE
@arguments.number_option(
    "--learning-rate",
    "By default that of the preset or family. With --compare it may be repeated; by "
    "default 1e-4, 3e-4 and 1e-3.",
    multiple=True,
)
@arguments.number_option("--rows", "Maximum number of training rows; by default all.")
@click.option(
    "--compare",
    type=click.Choice(["both", "preset", "random"]),
    help="On tasks of GLUE: compare the preset with the same network with random "
    "weights, or train only one of them. Each has the best of several learning rates "
    "on a tenth of the training rows. The predictions are stored.",
)
@arguments.pooling("pooled", "cls", "mean", "compare")
@arguments.DTYPE
@devices.ON_DEVICES
def evaluate_suite(preset, data, output, tasks, learning_rate, compare, **options):
    """Fine-tune a preset on the tasks of the papers, and write their table.

    The scores of a model are stored when it is tested. If the command is stopped, the
    same command continues with the next model. The models are not stored.
    """
    import zoo

    if len(learning_rate) > 1 and not compare:
        raise click.UsageError("--learning-rate may be repeated only with --compare.")
    rates = list(learning_rate) if compare else next(iter(learning_rate), None)
    options |= {"learning_rate": rates or None, "compare": compare}
    zoo.evaluate_suite(preset, data, output, tasks, echo=click.echo, **options)


@click.command()
@arguments.PRESET
@arguments.labelled_data(arguments.PROBED)
@arguments.path_option(
    "--test", "The file for the test, in the format of --data.", required=True
)
@click.option(
    "--task",
    help="What the files have: text_classifier for labelled texts, the default, "
    "token_classifier for tagged words, parser for trees.",
)
@arguments.picture("scores")
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
    from zoo.programs.vectors import probing

    kind = trainable_task(task) if task else zoo.TextClassifier
    parts = [labelled_rows.read_rows(kind, path, **columns) for path in (data, test)]
    result = zoo.probe(preset, *parts, task, limit=rows, seed=seed)
    click.echo(probing.format_result(result))
    if output:
        click.echo(probing.plot_results({preset: result}, output, kind.task_name))


COMMANDS = (evaluate, evaluate_suite, probe)
