"""The tables of transfer: what the parts of ULMFiT's recipe add.

    python -m benchmarks.tables transfer --data DIR

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

A cell is named SET-MODEL-RECIPE-SEED.
"""

import functools

import numpy as np

import zoo
from benchmarks.tables.baselines import baseline_rows, run_baselines
from benchmarks.tables.labelled_sets import hold_out
from benchmarks.tables.runner import Table
from benchmarks.tables.stored_results import markdown, mean_interval, short_name
from benchmarks.tables.transfer_sets import SETS, Cell, cells, factors_of
from benchmarks.tables.transfer_training import (
    RECIPES,
    adapt,
    find_right,
    start_classifier,
    train,
    transfer_vocabulary,
)
from zoo.evaluation import proportion_interval

LENGTH = 400  # tokens of a document


def read_parts(run, data):
    """The rows of a set for training and for the test."""
    return run.parts(data, SETS[data].labelled)


def read_texts(run, data):
    """All training texts of a set, without labels."""
    return [text for text, _ in SETS[data].labelled.read(run.data, "train")]


def start(run, cell):
    """The preset from which the classifier of a cell starts."""
    preset, corpus = run.presets[cell.model], SETS[cell.data]
    if cell.model == "bert":
        return preset
    stem = f"{corpus.source}-{short_name(preset)}"
    pretrained = run.models / f"{stem}-vocabulary"
    if not pretrained.exists():
        transfer_vocabulary(preset, read_texts(run, cell.data), pretrained)
    if RECIPES[cell.recipe].start != "adapted":
        return pretrained
    adapted = run.models / f"{stem}-adapted"

    def compute():
        options = {**corpus.language_model, "dtype": run.dtype}
        found = adapt(pretrained, read_texts(run, cell.data), adapted, **options)
        return {"dtype": run.dtype, **found}

    if not adapted.exists():
        # If there is a result, then of a model that was deleted.
        (run.folder / "results" / f"{adapted.name}.json").unlink(missing_ok=True)
        run.stored(adapted.name, compute, run.settings)
    return adapted


def train_cell(run, cell, rows, factor):
    """A trained classifier; `factor` is that of the default rate."""
    corpus, recipe = SETS[cell.data], RECIPES[cell.recipe]
    labels = sorted({y for _, y in read_parts(run, cell.data)["train"]})
    options = (labels, recipe, cell.seed, LENGTH, run.dtype)
    model = start_classifier(start(run, cell), *options)
    rate = factor * model.default_learning_rate
    train(model, recipe, rows, rate, cell.seed, corpus.epochs_per_group, corpus.fit)
    return model


def best_factor(run, cell):
    """The factor of the rate of a cell, which is searched with seed 0."""
    model = "bert" if cell.model == "bert" else "forward"
    corpus, known = SETS[cell.data], (cell.data, cell.recipe)
    data, recipe = corpus.rates_of.get(cell.recipe, known)
    cell = Cell(data, model, recipe, seed=0)
    start(run, cell)  # has a result of its own
    work = functools.partial(search, run, cell)
    return run.best_rate(cell.name(run.presets), factors_of(recipe), work)


def search(run, cell, factor):
    """The accuracy on the held-out tenth of the rows for training."""
    rows, held_out = hold_out(read_parts(run, cell.data)["train"])
    model = train_cell(run, cell, rows, factor)
    return {"dtype": run.dtype, "score": find_right(model, held_out)["score"]}


def make_classifier(run, cell):
    """The trained classifier of a cell. Those of ensembles are stored."""
    if cell.model == "both":
        members = [cell._replace(model=name) for name in ("forward", "backward")]
        return zoo.TextEnsemble([make_classifier(run, member) for member in members])
    directory = run.models / f"classifier-{cell.name(run.presets)}"
    if directory.exists():
        return zoo.from_preset(directory, "text_classifier", dtype=run.dtype)
    rows, factor = read_parts(run, cell.data)["train"], best_factor(run, cell)
    model = train_cell(run, cell, rows, factor)
    if cell.recipe == "gradual" and cell.model != "bert":
        model.save_to_preset(directory)
    return model


def prepare(run, *cell):
    """Computes the baselines, the rate and the language model of a cell."""
    cell = Cell(*cell)
    run_baselines(run, cell.data, SETS[cell.data].labelled)
    best_factor(run, cell)
    if cell.model != "both":
        start(run, cell)


def compute(run, *cell):
    """The result of a cell; see `find_right`."""
    cell = Cell(*cell)
    parts = read_parts(run, cell.data)
    found = find_right(make_classifier(run, cell), parts["test"])
    return {
        "dtype": run.dtype,
        "factor": best_factor(run, cell),
        "train": len(parts["train"]),
        **found,
    }


def accuracy(results):
    """Accuracy in percent with a 95 % interval, over seeds or else over texts."""
    if len(results) > 1:
        return mean_interval([found["score"] for found in results])
    marks = np.array([digit == "1" for digit in results[0]["right"]])
    low, high = proportion_interval(marks)
    return f"{100 * marks.mean():.1f} ({100 * low:.1f} to {100 * high:.1f})"


def table(run, data):
    """The table of a set in Markdown, or None without results."""
    corpus, grouped = SETS[data], {}
    for name, cell in cells(run).items():
        if cell.data == data and (found := run.stored(name)):
            grouped.setdefault((cell.model, cell.recipe), []).append(found)
    known = run_baselines(run, data, corpus.labelled)
    rows = [[title, "", *more] for title, *more in baseline_rows(known, 4)]
    adapted = sorted((run.folder / "results").glob(f"{corpus.source}-*-adapted.json"))
    every = run.results(*(path.stem for path in adapted))
    every += [found for found in known.values() if found]
    for (model, recipe), results in grouped.items():
        error = RECIPES[recipe].errors.get(corpus.source, "")
        paper = f"{100 - error:.1f}" if error and model == "forward" else ""
        title = RECIPES[recipe].title
        rows.append([title, model, accuracy(results), len(results), paper])
        every += results
    heads = ["recipe", "model", "accuracy", "seeds", "paper, all labels"]
    return markdown(heads, rows, every, f"{corpus.labelled.title}:\n\n")


def tables(run):
    """All tables in Markdown."""
    return "\n".join(filter(None, (table(run, data) for data in SETS)))


TABLE = Table(
    "transfer",
    cells,
    compute,
    tables={"results": tables},
    presets={
        "forward": "ulmfit_mini_en_books",
        "backward": "ulmfit_mini_en_books_backward",
        "bert": "bert_mini_en_uncased_distilled",
    },
    dtype="mixed_bfloat16",
    prepare=prepare,
)
