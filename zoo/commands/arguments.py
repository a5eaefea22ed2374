"""Arguments that several commands have, and checks of them without TensorFlow."""

import difflib
import functools
import os

import click

from zoo import presets
from zoo.checks.number_rules import RULES, check_number
from zoo.files.buckets import local_path
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
    "name, such as label, class or category. Repeat it if each label has a column of 0 "
    "and 1: a text then has a set of labels.",
    "separator": "What separates the labels of a text with a set of labels, such as | "
    "in billing|refund. Lists of labels in JSON need no separator.",
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
    for `read` of its files. `words` is whether there are flags such as `--documents`.
    """
    flags = WORDS if words else {}

    def add_options(command):
        @functools.wraps(command)
        def with_columns(**options):
            given = {name: options.pop(name, None) for name in (*COLUMNS, *flags)}
            labels = given["label_column"]  # one of them, or a list
            given["label_column"] = labels[0] if len(labels) == 1 else labels or None
            columns = {name: c for name, c in given.items() if c is not None}
            return command(columns=columns, **options)

        for name, text in reversed((COLUMNS | flags).items()):
            kind = {"metavar": "TEXT" if name == "separator" else "COLUMN"}
            kind["multiple"] = name == "label_column"
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


def number_option(option, help=None, default=None, name=None, word=None, **more):
    """An option of click for a number, whose name decides the range, see `Number`.

    `name` is that of the argument of the command, if it differs. `default` is shown.
    `word` is that of `Number`.
    """
    names = (option,) if name is None else (option, name)
    kind = Number(option.lstrip("-").replace("-", "_"), word)
    if default is not None:
        more |= {"default": default, "show_default": True}
    return click.option(*names, type=kind, help=help, **more)


def seed_option(purpose, default=0):
    """The option `--seed`; `purpose` is what it decides."""
    return number_option("--seed", f"Seed of {purpose}.", default)


def _callback(check):
    """A callback of click that checks a path, or each of several, if there is one."""

    def call(context, parameter, path):
        for value in path if parameter.multiple or parameter.nargs < 0 else [path]:
            if value is not None:
                check(value)
        return path

    return call


def _check_run_data(path):
    if os.path.exists(local_path(path)):
        check_readable(path, directory=True)


def _check_picture(path):
    if not path.lower().endswith((".svg", ".png", ".pdf")):
        raise click.BadParameter(f"It must end in .svg, .png or .pdf. Received: {path}")
    check_writable(path)


def _check_new_model(path):
    check_file_name(path)
    check_writable(path)


def _check_new_preset(path):
    if presets.is_address(path):
        presets.repository_name(path)
        return
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


def target_file(option, sources):
    """An option for a file of targets; `sources` is the option that has the sources."""
    return click.option(
        option,
        metavar="FILE",
        callback=check_data,
        help=f"File of targets, one for each line of {sources}, for tasks that write "
        "texts.",
    )


def path_option(option, help, check=check_data, required=False):
    """An option for the path of a file, or of what else `check` checks."""
    return click.option(option, required=required, callback=check, help=help)


def output_path(help, check=check_new_file, required=True, default=None):
    """The option `--output`, of a file or of what else `check` checks."""
    known = {} if default is None else {"default": default, "show_default": True}
    required = required and default is None
    return click.option(
        "--output", required=required, callback=check, help=help, **known
    )


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
    if name not in shipped and not os.path.isfile(local_path(name)):
        near = difflib.get_close_matches(name, shipped, n=3, cutoff=0.0)
        raise FileNotFoundError(
            "A recipe must be the name of a shipped preset, or the path of a JSON "
            f"file. Received: {name!r}. Did you mean {', '.join(near)}?"
        )
    return name


def check_model(context, parameter, model):
    """A callback of click, which returns a `.keras` file or a preset that exists."""
    if model is None:
        return None
    if not os.fspath(model).endswith(".keras"):
        return check_preset(context, parameter, model)
    if not os.path.exists(local_path(model)):
        raise FileNotFoundError(f"No such file: {model}.")
    return model


def check_text_files(context, parameter, paths):
    """A callback of click, which returns the local paths of files, a tuple."""
    return tuple(map(local_path, check_data(context, parameter, paths)))


PRESET = click.argument("preset", callback=check_preset)
MODEL = click.argument("model", callback=check_model)
TEXT_FILES = click.argument(
    "files",
    nargs=-1,
    required=True,
    callback=check_text_files,
)
DTYPE = click.option(
    "--dtype",
    "--precision",
    "dtype",
    help="Dtype policy of Keras, such as mixed_bfloat16.",
)
BATCH_SIZE = number_option(
    "--batch-size", "Texts of an update, or read together; by default 32."
)
FILE = click.option("--file", help="The checkpoint to read, if there are several.")
LAYOUT = click.option(
    "--from", "layout", help="The layout to read, if there are several."
)
LANGUAGES = click.option(
    "--languages",
    nargs=2,
    metavar="SOURCE TARGET",
    help="Languages such as en de, if the files of a translator do not say them.",
)
LAYERS = number_option(
    "--layer",
    "A layer whose vectors are used, 0 for the embeddings, -1 for the last layer. May "
    "be repeated. By default that of the preset, or the last one.",
    name="layers",
    multiple=True,
)


def pooling(*choices):
    """The option `--pooling`."""
    help = "How the vectors of the tokens become one vector."
    return click.option("--pooling", type=click.Choice(choices), help=help)


def picture(what):
    """The option `--output` for a picture, which is not required."""
    help = f"A picture of the {what} to write: .svg, .png or .pdf."
    return output_path(help, check_picture, required=False)
