"""Arguments that several commands have, and checks of them without TensorFlow."""

import functools
import json
import os
import pathlib

import click

from zoo import files, presets

LABELLED = (
    "File of labelled texts: CSV, TSV, JSON lines or Parquet (.csv, .tsv, .jsonl, "
    ".parquet, also .csv.gz and so on). In TSV, quotes are part of the text. But if "
    "all fields with quotes are quoted as in CSV, the quotes are removed."
)
TAGGED = (
    "For tags of words, a file in CoNLL columns. For translation and summaries, lines "
    "of a source, a tab and a target, without a header; or see --target. For trees, "
    "brackets of the Penn Treebank. For questions, the JSON of SQuAD. For choices, the "
    "files of SWAG or CODAH."
)
PROBED = (
    "For tags of words, a file in CoNLL columns. For trees, brackets of the Penn "
    "Treebank."
)
COLUMNS = {
    "text_column": "The column of texts, or of words: its name, or its number from 0. "
    "By default it is found by its name, such as text, sentence or review.",
    "pair_column": "The column of second texts, for pairs. By default it is found by "
    "its name, such as sentence2 or hypothesis.",
    "label_column": "The column of labels, or of tags. By default it is found by its "
    "name, such as label, class or category.",
}


DOCUMENTS = click.option(
    "--documents",
    is_flag=True,
    default=None,
    help="For tags of words: the sentences of a document are one text, so that a word "
    "is read with its context in other sentences. Give it for training and for "
    "evaluation. For training, a small --batch-size, such as 4, is better.",
)


class Rate(click.ParamType):
    """A learning rate, or "auto"."""

    name = "rate|auto"

    def convert(self, value, parameter, context):
        """The number, or the word."""
        if value == "auto":
            return value
        return click.FLOAT.convert(value, parameter, context)


def labelled_data(more_help, required=True, documents=True):
    """A decorator that adds `--data` and the options of its columns to a command.

    The command receives `data`, and `columns`, a dict of the given columns, and of
    documents if it is given, for `read` of a task.

    Args:
        more_help: str, what the help of `--data` says about this command.
        required: bool, whether `--data` is required.
        documents: bool, whether there is `--documents`.
    """
    names = (*COLUMNS, "documents")

    def add_options(command):
        @functools.wraps(command)
        def with_columns(**options):
            given = {name: options.pop(name, None) for name in names}
            columns = {name: c for name, c in given.items() if c is not None}
            return command(columns=columns, **options)

        if documents:
            with_columns = DOCUMENTS(with_columns)
        for name, text in reversed(COLUMNS.items()):
            option = "--" + name.replace("_", "-")
            with_columns = click.option(option, metavar="COLUMN", help=text)(
                with_columns
            )
        return click.option(
            "--data",
            required=required,
            callback=check_data,
            help=f"{LABELLED} {more_help}",
        )(with_columns)

    return add_options


def target_file(option, sources):
    """A decorator that adds an option for a file of targets to a command.

    Args:
        option: str, its name.
        sources: str, the option that has the sources.
    """
    return click.option(
        option,
        metavar="FILE",
        callback=check_data,
        help=f"File of targets, one for each line of {sources}, for tasks that write "
        "texts.",
    )


def count_option(option, help=None, default=None):
    """An option of click for a positive integer.

    Args:
        option: str, its name.
        help, default: see `click.option`. A default is shown.
    """
    known = {} if default is None else {"default": default, "show_default": True}
    return click.option(option, type=click.IntRange(1), help=help, **known)


def seed_option(purpose):
    """The option `--seed`, by default 0.

    Args:
        purpose: str, what the seed decides, for the help.
    """
    help = f"Seed of {purpose}."
    return click.option("--seed", default=0, show_default=True, help=help)


def read_lines(file):
    """The lines of a text file without their ends, and without a byte order mark."""
    lines = [line.rstrip("\r\n") for line in file]
    return [line.removeprefix("\ufeff") for line in lines[:1]] + lines[1:]


def check_files(context, parameter, paths):
    """A callback of click, which returns the paths of files that exist."""
    return [pathlib.Path(check_data(context, parameter, path)) for path in paths]


def check_data(context, parameter, path):
    """A callback of click, which returns the path of a file that exists.

    Raises:
        FileNotFoundError: if there is no such file.
    """
    if path is not None and not os.path.exists(path):
        raise FileNotFoundError(f"No such file: {path}.")
    return path


def check_no_input(output, inputs):
    """Raises ValueError if a file to write is one of the files to read."""
    if os.path.realpath(output) in map(os.path.realpath, inputs):
        raise ValueError(f"`--output` must not be a file to read. Received: {output}.")


def check_new_file(output, inputs):
    """Checks that a file can be written, and is none of the files to read.

    Raises:
        OSError: if the directory of the file cannot be written.
        ValueError: if a file to write is one of those to read, or a directory.
    """
    check_no_input(output, inputs)
    files.check_writable(output)


def check_picture(context, parameter, path):
    """A callback of click, which returns the path of a picture.

    Raises:
        click.BadParameter: if the suffix is that of no picture.
    """
    if path is not None and not path.lower().endswith((".svg", ".png", ".pdf")):
        raise click.BadParameter(f"It must end in .svg, .png or .pdf. Received: {path}")
    return path


def check_preset(context, parameter, preset):
    """A callback of click, which returns the name of a preset that exists."""
    if preset is not None:
        presets.check_preset(preset)
    return preset


def check_model(context, parameter, model):
    """A callback of click, which returns a `.keras` file or a preset that exists."""
    if os.fspath(model).endswith(".keras"):
        return check_data(context, parameter, model)
    return check_preset(context, parameter, model)


def parse_options(context, parameter, values):
    """A callback of click, which returns a dict of the arguments `NAME=VALUE`.

    A value is JSON, such as 100, 0.5, true or [1, 2]; what is no JSON is a string.

    Raises:
        ValueError: if there is no "=", or the command has an option of this name.
    """
    own, found = {option.name for option in context.command.params}, {}
    for text in values:
        name, sign, value = text.partition("=")
        if not sign or not name.isidentifier() or name in own:
            raise ValueError(
                "`--option` must be NAME=VALUE, with a name that is no option of this "
                f"command. Received: {text!r}. An example is head=concat_pooling."
            )
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found


def check_recipe(recipe, options):
    """Raises a usage error if options and a recipe do not fit."""
    if recipe is not None and options.get("keep_best"):
        raise click.UsageError("--keep-best cannot be given with --recipe.")
    for name in ("language_model_epochs", "unlabeled"):
        if recipe is None and options.pop(name, None) is not None:
            flag = name.replace("_", "-")
            raise click.UsageError(f"--{flag} needs --recipe.")
