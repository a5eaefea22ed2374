"""The labelled data on which default settings are compared: small, fixed parts.

A part is chosen by a hash of its rows, so that it is the same in every run and on every
machine. The data directory has the files in the forms that `LABELLED_SETS` names.
"""

import dataclasses
import gzip
import hashlib
import pathlib
import tempfile
from collections.abc import Callable

from benchmarks.tables.f1_counts import count, f1, predict_tags
from zoo.data import read_conll, read_glue
from zoo.evaluation import convert_tags

SNLI_LABELS = ("1", "2", "3")  # 0 is a pair on which the annotators did not agree


def read_lines(path, *fields):
    """Reads the lines of a gzip file; `fields` are the arguments of `str.split`."""
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as lines:
        return [line.rstrip("\r\n").split(*fields) for line in lines]


def glue_rows(task):
    """A function that reads the training or the dev set of a GLUE task."""

    def read(data, part):
        split = "train" if part == "train" else "dev"
        texts, labels = read_glue(data / "glue", task, split)
        texts = zip(*texts, strict=True) if isinstance(texts, tuple) else texts
        return list(zip(texts, map(str, labels), strict=True))

    return read


def line_rows(path, *fields):
    """A function that reads lines of a label and a text; `path` has the part."""

    def read(data, part):
        rows = read_lines(data / path.format(part), *fields)
        return [(text, label) for label, text in rows]

    return read


def snli_rows(data, part):
    """Reads the pairs of SNLI that have a label."""
    rows = read_lines(data / f"snli20k/{part}.tsv.gz", "\t")
    return [((a, b), label) for label, _, a, b in rows if label in SNLI_LABELS]


def read_words(path, scheme=None, documents=False):
    """Reads words, and tags that are converted to a scheme.

    Lines without a word are ignored; btc/f has two of them.
    """
    with gzip.open(path, "rt", encoding="utf-8") as file:
        lines = [line for line in file if not line.strip() or line.split()[1:]]
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "names.conll"
        copy.write_text("".join(lines), "utf-8")
        words, tags = read_conll(copy, documents=documents)
    return words, [convert_tags(row, scheme) for row in tags] if scheme else tags


def tagged_rows(train, test, scheme=None):
    """A function that reads words and tags from files that match patterns."""

    def read(data, part):
        pattern = {"train": train, "test": test}[part]
        files = sorted(data.glob(pattern))
        if not files:
            raise FileNotFoundError(f"No file in {data} matches {pattern}.")
        parts = (zip(*read_words(path, scheme), strict=True) for path in files)
        return [row for part in parts for row in part]

    return read


@dataclasses.dataclass(frozen=True)
class LabelledSet:
    """A part of a labelled data set, and how predictions for it are counted.

    A row is a pair of x and y. x is a text, a tuple of two texts, or a list of words. y
    is a label, or a list of tags.

    Args:
        title: str, for the table.
        read: function of the data directory and "train" or "test" that returns rows.
        train, test: int, the number of rows that are used, or None for all.
        words: bool, whether rows are words with tags.
        scheme: str, the scheme of the spans that are counted, or None.
        baselines: dict of name to a function of the rows for training and the x of the
            rows for the test; by default those of `baselines`.
    """

    title: str
    read: Callable
    train: int | None = None
    test: int | None = None
    words: bool = False
    scheme: str | None = None
    baselines: dict | None = None

    @property
    def metric(self):
        """The name of the score that `count` leads to."""
        return "span F1" if self.scheme else "accuracy"

    def load(self, data):
        """Reads both parts: dict of "train" and "test" to a list of rows."""
        sizes = {"train": self.train, "test": self.test}
        return {part: choose(self.read(data, part), n) for part, n in sizes.items()}

    def predict(self, model, x):
        """What a model predicts for a list of x: labels, tags, numbers or choices."""
        if self.words:
            return predict_tags(model, x)
        outputs = model.predict(text_columns(x), verbose=0)
        if model.task_name == "text_regressor":
            return outputs.ravel().tolist()
        best = outputs.argmax(axis=-1).tolist()
        if model.task_name == "multiple_choice":
            return best
        return [model.labels[number] for number in best]

    def assess(self, train, y, found):
        """The result of a baseline: the number of rows, and the score."""
        score = f1(self.count(y, found))
        return {"train": len(train), "test": len(y), "score": score}

    def count(self, gold, found):
        """The counts of lists of y; see `f1_counts.count`."""
        kind = "words" if self.words else "labels"
        return count(gold, found, "spans" if self.scheme else kind)


def choose(rows, size=None):
    """Sorts rows by a hash of their texts, and returns the first ones, or all."""

    def place(row):
        x = row[0]
        text = x if isinstance(x, str) else "\t".join(x)
        return hashlib.sha256(text.encode("utf-8")).digest()

    if size and size > len(rows):
        raise ValueError(
            f"The data must have {size} rows. Received: {len(rows)}. Give the whole "
            "data set."
        )
    return sorted(rows, key=place)[:size]


def hold_out(rows):
    """Splits rows into nine tenths for training and a tenth for validation."""
    tenth = max(1, len(rows) // 10)
    return rows[tenth:], rows[:tenth]


def columns(rows):
    """The texts and the labels of rows, as `fit` takes them."""
    x, y = map(list, zip(*rows, strict=True))
    return text_columns(x), y


def text_columns(x):
    """The columns of tuples of texts; a list of texts does not change."""
    return tuple(map(list, zip(*x, strict=True))) if isinstance(x[0], tuple) else x


LABELLED_SETS = {
    "sst2_1000": LabelledSet("SST-2, 1,000 labels", glue_rows("sst2"), 1000),
    "sst2_10000": LabelledSet("SST-2, 10,000 labels", glue_rows("sst2"), 10000),
    "trec6": LabelledSet("TREC-6", line_rows("trec6/{}.txt.gz", " ", 1)),
    "imdb_1000": LabelledSet(
        "IMDb, 1,000 labels, 2,000 of the 25,000 test reviews",
        line_rows("imdb/{}.tsv.gz", "\t", 1),
        1000,
        2000,
    ),
    "mrpc": LabelledSet("MRPC", glue_rows("mrpc")),
    "snli_5000": LabelledSet("SNLI, 5,000 labels", snli_rows, 5000),
    "conll2003_3000": LabelledSet(
        "CoNLL-2003 names, 3,000 sentences",
        tagged_rows("conll2003/eng.train.gz", "conll2003/eng.testb.gz", "IOB2"),
        3000,
        words=True,
        scheme="IOB2",
    ),
    "btc_3000": LabelledSet(
        "Names in tweets (Broad Twitter Corpus), 3,000 tweets",
        tagged_rows("btc/[abeg].conll.gz", "btc/f.conll.gz", "IOB2"),
        3000,
        words=True,
        scheme="IOB2",
    ),
    "ud_ewt_3000": LabelledSet(
        "UD EWT parts of speech, 3,000 sentences",
        tagged_rows("ud_ewt/train.pos.tsv.gz", "ud_ewt/test.pos.tsv.gz"),
        3000,
        words=True,
    ),
}
