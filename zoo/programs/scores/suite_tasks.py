"""The tasks of the papers: where their files are, how they are learned and scored."""

import dataclasses
import functools
from collections.abc import Callable

import keras

from zoo.data import read_glue, read_labelled
from zoo.evaluation import evaluate_glue
from zoo.files.buckets import local_path
from zoo.files.whole_files import OPENERS
from zoo.programs.finetune.labelled_rows import split_off, take
from zoo.programs.finetune.loading import load_one
from zoo.programs.finetune.progress import check_loss
from zoo.tasks import (
    MultipleChoice,
    QuestionAnswerer,
    TextClassifier,
    TextRegressor,
    TokenClassifier,
)

BATCH_SIZE = 32


@dataclasses.dataclass(frozen=True)
class SuiteTask:
    """A task of the suite.

    Args:
        title: str, for the table.
        kind: subclass of `zoo.tasks.Task`.
        folder: str, the directory of the files, a pattern of `pathlib.Path.glob`.
        train: str, the name of the file for training, or several names with "|"
            between them, of which one is enough.
        tests: tuple of str, the same for files to score; the first one gives the score
            of the table.
        metric: str, the score of the table.
        read: function of a path to texts and labels; None for that of `kind`.
        score: function of true and predicted labels to a dict of float; None for that
            of the task.
        options: dict, arguments of the task.
        paper: str, the score of BERT base (or large) in its paper.
    """

    title: str
    kind: type
    folder: str
    train: str
    tests: tuple
    metric: str
    read: Callable | None = None
    score: Callable | None = None
    options: dict = dataclasses.field(default_factory=dict)
    paper: str = ""

    def find(self, data):
        """The paths of the training file and of the test files; None if one is missing.

        The folder of the task is in the directory `data`, or in a directory in it.
        """
        data = local_path(data)
        for pattern in (self.folder, f"*/{self.folder}"):
            for folder in sorted(data.glob(pattern)):
                names = (self.train, *self.tests)
                found = [_existing(folder, name) for name in names]
                if None not in found:
                    return found
        return None

    def load(self, path):
        """The texts and labels of a file."""
        return (self.read or self.kind.files.read)(path)

    def build(self, preset, texts, labels, options):
        """The model for all rows of the task, before the training."""
        known = self.kind.files.options(self.kind, texts, labels) | self.options
        model = load_one(preset, self.kind.task_name, **{**known, **options})
        model.truncation_reported = True
        return model

    def scores(self, model, labels, predicted):
        """The scores of predicted labels, dict of float."""
        if self.score is not None:
            return self.score(labels, predicted)
        return model.files.assess(model, labels, predicted).values()


def _existing(folder, names):
    """The first file with one of the names, which may be compressed, or None."""
    suffixes = ("", *OPENERS)
    paths = (
        folder / f"{name}{suffix}" for name in names.split("|") for suffix in suffixes
    )
    return next((path for path in paths if path.is_file()), None)


def fit_model(model, rows, fit, options, **settings):
    """Trains a model; a tenth of the rows may be held out, to calibrate it.

    Args:
        model: the task.
        rows: texts and labels.
        fit: function, see `zoo.evaluate_suite`; None for `fit` of the model.
        options: iterable of str, arguments that are not calibrated.
        **settings: epochs, batch_size and seed.

    Raises:
        FloatingPointError: if the loss is not finite.
    """
    calibrated, held_out = {*model.files.calibrated(model)} - {*options}, None
    if calibrated:
        rows, held_out = split_off(*rows, model.files.split_column)
    labels = model.files.parse_labels(rows[1])
    found = (fit or type(model).fit)(model, rows[0], labels, **settings, verbose=0)
    if isinstance(found, keras.callbacks.History):
        check_loss(found.history)
    if calibrated:
        model.files.calibrate(model, *held_out)


def _read_snli(path):
    """Pairs and labels of SNLI's own files, or of four columns without a header.

    These are two labels, the premise and the hypothesis. Pairs with the label "-", on
    which the annotators did not agree, are left out.
    """
    if ".tsv" not in path.suffixes:
        return read_labelled(path)
    texts, labels = read_labelled(path, text_column=2, pair_column=3, label_column=0)
    return take(texts, labels, [n for n, label in enumerate(labels) if label != "-"])


def _read_glue(task, path):
    """Texts and labels of a file of GLUE; labels are str, or float for STS-B."""
    split = path.name.split(".tsv")[0]
    texts, labels = read_glue(path.parent.parent, task, split)
    if labels and isinstance(labels[0], int):
        labels = [str(label) for label in labels]
    return texts, labels


def _glue(name, title, folder, metric, paper, tests=("dev.tsv",), **options):
    """A task of GLUE; the labels of the test files are not public."""
    kind = TextRegressor if name == "stsb" else TextClassifier
    read = functools.partial(_read_glue, name)
    score = functools.partial(evaluate_glue, name)
    return SuiteTask(
        title, kind, folder, "train.tsv", tests, metric, read, score, options, paper
    )


def _squad(version, paper):
    return SuiteTask(
        f"SQuAD {version}",
        QuestionAnswerer,
        f"squad{version}",
        f"train.json|train-v{version}.json",
        (f"dev.json|dev-v{version}.json",),
        "f1",
        paper=paper,
    )


MNLI = ("dev_matched.tsv", "dev_mismatched.tsv")
SUITE = {
    "cola": _glue("cola", "CoLA", "CoLA", "matthews", "52.1"),
    "sst2": _glue("sst2", "SST-2", "SST-2", "accuracy", "93.5"),
    "mrpc": _glue("mrpc", "MRPC", "MRPC", "f1", "88.9"),
    "stsb": _glue("stsb", "STS-B", "STS-B", "spearman", "85.8"),
    "qqp": _glue("qqp", "QQP", "QQP", "f1", "71.2"),
    "mnli": _glue("mnli", "MNLI", "MNLI", "accuracy", "84.6", MNLI),
    "qnli": _glue("qnli", "QNLI", "QNLI", "accuracy", "90.5"),
    "rte": _glue("rte", "RTE", "RTE", "accuracy", "66.4"),
    "wnli": _glue("wnli", "WNLI", "WNLI", "accuracy", ""),
    "snli": SuiteTask(
        "SNLI",
        TextClassifier,
        "snli*",
        "snli_1.0_train.jsonl|train.tsv",
        ("snli_1.0_test.jsonl|test.tsv",),
        "accuracy",
        _read_snli,
    ),
    "conll2003": SuiteTask(
        "CoNLL-2003 names",
        TokenClassifier,
        "conll2003",
        "eng.train",
        ("eng.testb", "eng.testa"),
        "f1",
        paper="92.4",
    ),
    "squad1.1": _squad("1.1", "88.5"),
    "squad2.0": _squad("2.0", "81.9 (large)"),
    "swag": SuiteTask(
        "SWAG",
        MultipleChoice,
        "swag",
        "train.csv",
        ("val.csv",),
        "accuracy",
        paper="81.6",
    ),  # fmt: skip
    "codah": SuiteTask(
        "CODAH", MultipleChoice, "codah", "train.tsv", ("dev.tsv",), "accuracy"
    ),
}
