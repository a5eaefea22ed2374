"""Arguments that several commands have, and checks of them without TensorFlow."""

import difflib
import functools
import json
import os

import click

from zoo import presets
from zoo.checks.number_rules import RULES, check_number, check_numbers
from zoo.files.path_checks import (
    check_readable,
    check_writable,
    check_writable_directory,
)
from zoo.files.whole_files import check_empty, check_file_name

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
SMALL_BATCHES = " With --documents, a small --batch-size, such as 4, is better."
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


WORDS = {
    "documents": "For tags of words: the sentences of a document are one text, so that "
    "a word is read with its context in other sentences. Give it for training and for "
    "evaluation.",
    "skip_empty_words": "For tags of words: lines without a word are skipped, and a "
    "warning counts them.",
}


class Number(click.ParamType):
    """A number in the range that its name has everywhere.

    Args:
        argument: str, the name, see `zoo.checks.number_rules.RULES`.
        word: str that may be given instead of a number, such as "auto", or None.
    """

    def __init__(self, argument, word=None):
        self.argument, self.word = argument, word
        self.kind = int if RULES[argument].integer else float
        name = "integer" if self.kind is int else "number"
        self.name = f"{name}|{word}" if word else name

    def convert(self, value, parameter, context):
        """The number, or the word."""
        if value == self.word:
            return value
        try:
            value = self.kind(value)
        except ValueError:
            pass  # it stays a string, which is no number
        try:
            return check_number(self.argument, value)
        except ValueError as error:
            self.fail(str(error), parameter, context)


def labelled_data(more_help, required=True, words=True):
    """A decorator that adds `--data` and the options of its columns to a command.

    The command receives `data`, and `columns`, a dict of the given columns and flags,
    for `read` of a task.

    Args:
        more_help: str, what the help of `--data` says about this command.
        required: bool, whether `--data` is required.
        words: bool, whether there are the flags of words, such as `--documents`.
    """
    flags = WORDS if words else {}

    def add_options(command):
        @functools.wraps(command)
        def with_columns(**options):
            given = {name: options.pop(name, None) for name in (*COLUMNS, *flags)}
            columns = {name: c for name, c in given.items() if c is not None}
            return command(columns=columns, **options)

        for name, text in reversed((COLUMNS | flags).items()):
            kind = {"metavar": "COLUMN"}
            if name in flags:
                kind = {"is_flag": True, "default": None}
            option = "--" + name.replace("_", "-")
            with_columns = click.option(option, help=text, **kind)(with_columns)
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


def number_option(option, help=None, default=None, name=None, word=None, **more):
    """An option of click for a number.

    Args:
        option: str, its name, which decides the range, see
            `zoo.checks.number_rules.RULES`.
        help: str.
        default: int or float, which is shown; or None.
        name: str, of the argument of the command, if it differs.
        word: see `Number`.
        **more: of `click.option`.
    """
    names = (option,) if name is None else (option, name)
    kind = Number(option.lstrip("-").replace("-", "_"), word)
    if default is not None:
        more |= {"default": default, "show_default": True}
    return click.option(*names, type=kind, help=help, **more)


def seed_option(purpose, default=0):
    """The option `--seed`.

    Args:
        purpose: str, what the seed decides, for the help.
        default: int or None.
    """
    return number_option("--seed", f"Seed of {purpose}.", default)


def input_directory(help, callback=None):
    """The option `--data` for a directory, which is required."""
    callback = callback or check_folder
    return click.option("--data", required=True, callback=callback, help=help)


def output_directory(help, default=None):
    """The option `--output` for a directory, which is required without a default."""
    known = {} if default is None else {"default": default, "show_default": True}
    return click.option(
        "--output", required=default is None, callback=check_new_folder, help=help,
        **known,
    )  # fmt: skip


def read_lines(file):
    """The lines of a text file without their ends, and without a byte order mark."""
    lines = [line.rstrip("\r\n") for line in file]
    return [line.removeprefix("\ufeff") for line in lines[:1]] + lines[1:]


def _callback(check):
    """A callback of click that checks a path, or each of several, if there is one.

    Args:
        check: function of a path, which raises OSError or ValueError.
    """

    def call(context, parameter, path):
        for one in path if parameter.multiple or parameter.nargs < 0 else [path]:
            if one is not None:
                check(one)
        return path

    return call


def _check_run_data(path):
    if os.path.exists(path):
        check_readable(path, directory=True)


def _check_picture(path):
    if not path.lower().endswith((".svg", ".png", ".pdf")):
        raise click.BadParameter(f"It must end in .svg, .png or .pdf. Received: {path}")
    check_writable(path)


def _check_new_model(path):
    check_file_name(path)
    check_writable(path)


def _check_new_preset(path):
    check_empty(path)
    check_writable_directory(path)


check_data = _callback(check_readable)
check_folder = _callback(functools.partial(check_readable, directory=True))
check_run_data = _callback(_check_run_data)  # a run may continue without its data
check_new_file = _callback(check_writable)
check_new_folder = _callback(check_writable_directory)
check_new_preset = _callback(_check_new_preset)
check_new_model = _callback(_check_new_model)
check_picture = _callback(_check_picture)


def check_no_input(output, inputs):
    """Raises ValueError if a file to write is one of the files to read."""
    if os.path.realpath(output) in map(os.path.realpath, inputs):
        raise ValueError(f"`--output` must not be a file to read. Received: {output}.")


def check_preset(context, parameter, preset):
    """A callback of click, which returns the name of a preset that exists."""
    if preset is not None:
        presets.check_preset(preset)
    return preset


def check_recipe_name(context, parameter, name):
    """A callback of click, which returns a recipe that exists."""
    shipped = [p.parent.name for p in presets.preset_root().glob("*/*/recipe.json")]
    if name not in shipped and not os.path.isfile(name):
        near = difflib.get_close_matches(name, shipped, n=3, cutoff=0.0)
        raise FileNotFoundError(
            "A recipe must be the name of a shipped preset, or the path of a JSON "
            f"file. Received: {name!r}. Did you mean {', '.join(near)}?"
        )
    return name


def check_model(context, parameter, model):
    """A callback of click, which returns a `.keras` file or a preset that exists."""
    if not os.fspath(model).endswith(".keras"):
        return check_preset(context, parameter, model)
    if not os.path.exists(model):
        raise FileNotFoundError(f"No such file: {model}.")
    return model


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
        except (ValueError, RecursionError):
            found[name] = value
    return check_numbers(found)


def check_recipe(recipe, options):
    """Raises a usage error if options and a recipe do not fit."""
    if recipe is not None and options.get("keep_best"):
        raise click.UsageError("--keep-best cannot be given with --recipe.")
    for name in ("language_model_epochs", "unlabeled"):
        if recipe is None and options.pop(name, None) is not None:
            flag = name.replace("_", "-")
            raise click.UsageError(f"--{flag} needs --recipe.")
