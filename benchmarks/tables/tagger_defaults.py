"""Compares the default tagger with a linear chain: names in news, tweets, Wikipedia.

    pip install python-crfsuite
    python -m benchmarks.tables tagger_defaults --data DIR

DIR has `conll2003`, `btc` and `wikigold`. A cell is SET-BASELINE or SET-TAGGER-SEED.

1. The baselines are "majority" (the most frequent tag of each word) and "linear" (a
   linear chain on forms of the word and of its neighbours), see `baselines`.
2. The taggers are trained on all rows for training with their defaults and every seed.
"""

import zoo
from benchmarks.tables.baselines import run_baselines
from benchmarks.tables.f1_counts import f1, f1_interval
from benchmarks.tables.label_sets import SETS
from benchmarks.tables.labelled_sets import columns
from benchmarks.tables.runner import Table
from benchmarks.tables.stored_results import (
    free_memory,
    markdown,
    mean_interval,
    percent,
)

SEEDS = 3
BASELINES = {"majority": "most frequent tag", "linear": "linear chain (CRF)"}
FINE_TUNED, EPOCHS = "bert_mini_en_uncased_distilled", 5


def make_default(words, tags, seed):
    """`zoo.make_tagger` without options."""
    return zoo.make_tagger(words, tags, scheme="IOB2", seed=seed)


def make_alone(words, tags, seed):
    """The same without a language model."""
    return zoo.make_tagger(words, tags, (), scheme="IOB2", seed=seed)


def make_fine_tuned(words, tags, seed):
    """The BERT that the default tagger reads, fine-tuned itself."""
    labels = sorted({tag for row in tags for tag in row})
    options = {"labels": labels, "scheme": "IOB2", "seed": seed}
    return zoo.from_preset(FINE_TUNED, "token_classifier", **options)


TAGGERS = {
    "make_tagger": ("`zoo.make_tagger(words, tags)`", make_default),
    "alone": ("`zoo.make_tagger(words, tags, [])`", make_alone),
    "fine_tuned": (f"`{FINE_TUNED}`, fine-tuned", make_fine_tuned),
}


def cells(run):
    """Cells are a set, a baseline or a tagger, and a seed or None."""
    found = {f"{name}-{b}": (name, b, None) for name in SETS for b in BASELINES}
    for name in SETS:
        for tagger in TAGGERS:
            for seed in run.seeds(SEEDS):
                found[f"{name}-{tagger}-{seed}"] = (name, tagger, seed)
    return found


def fit(run, name, tagger, seed):
    """Trains a tagger with its defaults; returns counts and scores."""
    free_memory()
    labelled = SETS[name]
    train, test = run.parts(name, labelled).values()
    x, y = columns(train)
    model = TAGGERS[tagger][1](x, y, seed)
    epochs = model.backbone.defaults_for(model.task_name).get("epochs", EPOCHS)
    model.fit(x, y, epochs=epochs, seed=seed, verbose=2)
    x, y = map(list, zip(*test, strict=True))
    return {"epochs": epochs, "counts": labelled.count(y, labelled.predict(model, x))}


def result(run, name, arm, seed):
    """The result of a cell, or None if it is missing."""
    if seed is None:
        return run_baselines(run, name, SETS[name])[arm]
    return run.stored(f"{name}-{arm}-{seed}", lambda: fit(run, name, arm, seed))


def tables(run):
    """The table in Markdown, or None without results."""
    rows, every = [], []
    for name, labelled in SETS.items():
        baselines = run_baselines(run, name, labelled)
        for arm, title in BASELINES.items():
            if found := baselines[arm]:
                rows.append([labelled.title, title, percent(found), "", ""])
                every.append(found)
        for arm, (title, _) in TAGGERS.items():
            fits = [result(run, name, arm, seed) for seed in range(SEEDS)]
            if fits := [found for found in fits if found]:
                rows.append([labelled.title, title, *fit_cells(fits)])
                every += fits
    heads = ["data", "tagger", "test F1", "over sentences", "epochs"]
    return markdown(heads, rows, every)


def fit_cells(fits):
    """The mean F1 over seeds, its interval over sentences, and the epochs."""
    counts = [found["counts"] for found in fits]
    interval = "{1:.1f} to {2:.1f}".format(*f1_interval(counts))
    return mean_interval([*map(f1, counts)]), interval, fits[0]["epochs"]


TABLE = Table(
    "tagger_defaults",
    cells,
    compute=None,
    tables={"results": tables},
    result=result,
)
