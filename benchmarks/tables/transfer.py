"""The tables of transfer: what the parts of ULMFiT's recipe add.

    python -m benchmarks.tables.transfer --data DIR

DIR has `trec6` and `imdb`. The presets are two language models, a forward and a
backward one, and a BERT. For every set of `SETS`:

1. The baselines of `baselines` are computed.
2. The language models get the vocabulary of the training texts, and are trained on
   them. This is done once for each direction, in the folder of `--work`, and not for
   every seed.
3. With seed 0, rates are tried on nine tenths of the rows: on TREC-6 for each recipe of
   `transfer_training.RECIPES`, on IMDb with 1,000 labels for four of them. The other
   cells have the same rates; see `transfer_sets.SETS`.
4. The cells are computed: a classifier is trained, and the texts of the test are
   classified. "both" is the ensemble of a forward and a backward classifier.

A cell is named SET-MODEL-RECIPE-SEED. Results are written to `transfer/results` and not
computed again, so the command can be stopped. `--list` prints the cells and their
state. `--cells PATTERN` computes those that match, such as `--cells "trec6-*"`. The
table is written to `transfer/README.md`.
"""

import dataclasses
import functools
import pathlib

import click
import numpy as np

import zoo
from benchmarks.tables.defaults import percent, run_baselines
from benchmarks.tables.labelled_sets import hold_out
from benchmarks.tables.stored_results import (
    choose_cells,
    lines,
    mean_interval,
    short_name,
    stored,
    told,
    write_table,
)
from benchmarks.tables.transfer_sets import PRESETS, SETS, Cell, cells, factors_of
from benchmarks.tables.transfer_training import (
    RECIPES,
    adapt,
    right,
    start_classifier,
    train,
    transfer_vocabulary,
)
from zoo.evaluation import proportion_interval

FOLDER = pathlib.Path(__file__).parents[1] / "transfer"
WORK = pathlib.Path("runs") / "transfer"  # which git ignores
LENGTH = 400  # tokens of a document
DTYPE = "mixed_bfloat16"


class Computation:
    """Computes cells.

    Args:
        data: pathlib.Path of the data.
        work: pathlib.Path of the language models and classifiers.
        presets: dict like `PRESETS`.
        dtype: str, of the training.
    """

    def __init__(self, data, work, presets, dtype=DTYPE):
        self.data, self.work = data, work
        self.presets, self.dtype = presets, dtype
        self.stored = functools.partial(stored, folder=FOLDER, options={"dtype": dtype})
        self.read = {}

    def parts(self, data):
        """The rows of a set for training and for the test."""
        if data not in self.read:
            self.read[data] = SETS[data].labelled.load(self.data)
        return self.read[data]

    def texts(self, data):
        """All training texts of a set, without labels."""
        return [text for text, _ in SETS[data].labelled.read(self.data, "train")]

    def start(self, cell):
        """The preset from which the classifier of a cell starts."""
        preset, corpus = self.presets[cell.model], SETS[cell.data]
        if cell.model == "bert":
            return preset
        stem = f"{corpus.source}-{short_name(preset)}"
        pretrained = self.work / f"{stem}-vocabulary"
        if not pretrained.exists():
            transfer_vocabulary(preset, self.texts(cell.data), pretrained)
        if RECIPES[cell.recipe].start != "adapted":
            return pretrained
        adapted = self.work / f"{stem}-adapted"

        def compute():
            options = {**corpus.language_model, "dtype": self.dtype}
            texts = self.texts(cell.data)
            found = adapt(pretrained, texts, adapted, **options)
            return {"dtype": self.dtype, **found}

        if not adapted.exists():
            # If there is a result, then of a model that was deleted.
            (FOLDER / "results" / f"{adapted.name}.json").unlink(missing_ok=True)
            self.stored(adapted.name, compute)
        return adapted

    def train(self, cell, rows, factor):
        """A trained classifier; `factor` is that of the default rate."""
        corpus, recipe = SETS[cell.data], RECIPES[cell.recipe]
        labels = sorted({y for _, y in self.parts(cell.data)["train"]})
        options = (labels, recipe, cell.seed, LENGTH, self.dtype)
        model = start_classifier(self.start(cell), *options)
        rate = factor * model.default_learning_rate
        train(model, recipe, rows, rate, cell.seed, corpus.epochs_per_group, corpus.fit)
        return model

    def factor(self, cell):
        """The factor of the rate of a cell, which is searched with seed 0."""
        model = "bert" if cell.model == "bert" else "forward"
        corpus, known = SETS[cell.data], (cell.data, cell.recipe)
        data, recipe = corpus.rates_of.get(cell.recipe, known)
        cell = Cell(data, model, recipe, seed=0)
        self.start(cell)  # has a result of its own
        scores = {}
        for factor in factors_of(recipe):
            name = f"{cell.name(self.presets)}-rate_{factor:g}"
            search = functools.partial(self.search, cell, factor)
            scores[factor] = self.stored(name, search)["score"]
        return max(scores, key=scores.get)

    def search(self, cell, factor):
        """The accuracy on the held-out tenth of the rows for training."""
        rows, held_out = hold_out(self.parts(cell.data)["train"])
        model = self.train(cell, rows, factor)
        score = float(np.mean(right(model, held_out)))
        return {"dtype": self.dtype, "score": score}

    def classifier(self, cell):
        """The trained classifier of a cell. Those of ensembles are stored."""
        if cell.model == "both":
            names = ("forward", "backward")
            members = [dataclasses.replace(cell, model=name) for name in names]
            return zoo.TextEnsemble([self.classifier(member) for member in members])
        directory = self.work / f"classifier-{cell.name(self.presets)}"
        if directory.exists():
            return zoo.from_preset(directory, "text_classifier", dtype=self.dtype)
        model = self.train(cell, self.parts(cell.data)["train"], self.factor(cell))
        if cell.recipe == "gradual" and cell.model != "bert":
            model.save_to_preset(directory)
        return model

    def compute(self, cell):
        """The result of a cell: a digit for each text of the test, 1 if it is right."""
        parts = self.parts(cell.data)
        marks = right(self.classifier(cell), parts["test"])
        return {
            "dtype": self.dtype,
            "factor": self.factor(cell),
            "train": len(parts["train"]),
            "score": float(np.mean(marks)),
            "right": "".join(str(int(mark)) for mark in marks),
        }

    def run(self, cell):
        """Computes a cell if it is missing, and what it needs before it."""
        name, labelled = cell.name(self.presets), SETS[cell.data].labelled
        if self.stored(name):
            return
        if None in run_baselines(cell.data, labelled, folder=FOLDER).values():
            run_baselines(cell.data, labelled, self.parts(cell.data), FOLDER)
        self.factor(cell)
        if cell.model != "both":
            self.start(cell)
        self.stored(name, functools.partial(self.compute, cell))


def accuracy(results):
    """Accuracy in percent with a 95 % interval, over seeds or else over texts."""
    if len(results) > 1:
        return mean_interval([found["score"] for found in results])
    marks = np.array([digit == "1" for digit in results[0]["right"]])
    low, high = proportion_interval(marks)
    return f"{100 * marks.mean():.1f} ({100 * low:.1f} to {100 * high:.1f})"


def table(data, presets):
    """The table of a set in Markdown, or None without results."""
    corpus = SETS[data]
    grouped = {}
    for cell in cells():
        found = cell.data == data and stored(cell.name(presets), folder=FOLDER)
        if found:
            grouped.setdefault((cell.model, cell.recipe), []).append(found)
    known = run_baselines(data, corpus.labelled, folder=FOLDER)
    rows = [
        [title, "", percent(known[name]), "", ""]
        for name, title in (("majority", "majority"), ("linear", "TF-IDF"))
        if known[name]
    ]
    adapted = sorted((FOLDER / "results").glob(f"{corpus.source}-*-adapted.json"))
    every = [stored(path.stem, folder=FOLDER) for path in adapted]
    every += [found for found in known.values() if found]
    for (model, recipe), results in grouped.items():
        error = RECIPES[recipe].errors.get(corpus.source, "")
        paper = f"{100 - error:.1f}" if error and model == "forward" else ""
        title = RECIPES[recipe].title
        rows.append([title, model, accuracy(results), len(results), paper])
        every += results
    if not rows:
        return None
    heads = ["recipe", "model", "accuracy", "seeds", "paper, all labels"]
    return f"{corpus.labelled.title}:\n\n{lines(heads, rows)}\n{told(every)}"


def tables(presets=None):
    """All tables in Markdown."""
    found = (table(data, presets or PRESETS) for data in SETS)
    return "\n".join(text for text in found if text)


@click.command()
@click.option("--data", type=click.Path(path_type=pathlib.Path), required=True)
@click.option("--work", type=click.Path(path_type=pathlib.Path), default=WORK)
@click.option("--forward", default=PRESETS["forward"], help="Name or directory.")
@click.option("--backward", default=PRESETS["backward"], help="Name or directory.")
@click.option("--bert", default=PRESETS["bert"], help="Name or directory.")
@click.option("--dtype", default=DTYPE, help="Of the training.")
@click.option("--cells", "patterns", multiple=True, default=["*"], help="Patterns.")
@click.option("--list", "listed", is_flag=True, help="Print the cells and their state.")
def main(data, work, patterns, listed, dtype, **presets):
    """Computes missing cells and writes the tables."""
    names = {cell.name(presets): cell for cell in cells()}
    computation = Computation(data, work, presets, dtype)
    for cell in choose_cells(names, patterns, listed, FOLDER).values():
        computation.run(cell)
        write_table("results", tables(presets), FOLDER / "README.md")


if __name__ == "__main__":
    main()
