"""The table by which the default settings of fine-tuning are chosen.

    python -m benchmarks.tables.defaults --data DIR

DIR has the data of `labelled_sets.LABELLED_SETS`. For every labelled set:

1. The baselines of `baselines` are computed.
2. Every preset is fine-tuned with the default settings and every seed: `from_preset`
   and `fit(x, y)` with no argument but the number of epochs.
3. With seed 0, rates around the default are tried on nine tenths of the rows for
   training. The best one on the other tenth is used to train on all rows.

Results are written to `defaults/results` and not computed again, so the command can be
stopped. The tables are written to `defaults/README.md`.
"""

import gc
import itertools
import pathlib

import click
import keras

import zoo
from benchmarks.tables.baselines import baselines
from benchmarks.tables.f1_counts import f1, f1_interval
from benchmarks.tables.labelled_sets import LABELLED_SETS, columns, hold_out
from benchmarks.tables.stored_results import (
    MINILM,
    PRESETS,
    find_minilm,
    lines,
    mean_interval,
    short_name,
    stored,
    stored_presets,
    told,
    write_table,
)

WORD_MODELS = {"elmo"}  # families whose vectors a recurrent tagger reads
EPOCHS = 3  # of presets that name none
FACTORS = (0.5, 1.0, 2.0)  # of the default rate
STEPS_OUT = 2  # how often the grid may grow if its first or last rate is the best


def make_model(preset, labelled, rows, seed):
    """Makes a task as the README of zoo does, compiled with the defaults.

    Args:
        preset: see `zoo.from_preset`.
        labelled: `LabelledSet`.
        rows: list of x and y, for training.
        seed: int, of new weights.
    """
    x, y = columns(rows)
    if not labelled.words:
        labels = sorted(set(y))
        return zoo.from_preset(preset, "text_classifier", labels=labels, seed=seed)
    backbone, scheme = zoo.from_preset(preset, task=None), labelled.scheme
    if backbone.family in WORD_MODELS:
        return zoo.make_tagger(x, y, [backbone], scheme=scheme, seed=seed)
    labels = sorted({tag for row in y for tag in row})
    return zoo.from_preset(
        preset, "token_classifier", labels=labels, scheme=scheme, seed=seed
    )


def peak_rate(model):
    """The learning rate of a compiled model, without its schedule."""
    rate = model.optimizer.get_config()["learning_rate"]
    return float(rate["config"]["peak"] if isinstance(rate, dict) else rate)


def predict(model, labelled, x):
    """The labels, or the tags, that a model predicts."""
    if labelled.words:
        return [[word["tag"] for word in row] for row in model.tag(x)]
    found = model.predict(x, verbose=0).argmax(axis=-1)
    return [model.labels[number] for number in found]


def fit(preset, labelled, train, test, seed, rate=None):
    """Fine-tunes a preset and counts what it predicts.

    Args:
        preset, labelled, seed: see `make_model`.
        train, test: lists of x and y.
        rate: float, the peak, or None for the rate that the user gets.

    Returns:
        dict: epochs, rate and counts, see `LabelledSet.count`.
    """
    keras.backend.clear_session()
    gc.collect()
    model = make_model(preset, labelled, train, seed)
    epochs = model.backbone.defaults_for(model.task_name).get("epochs", EPOCHS)
    if rate is not None:
        model.compile(learning_rate=rate)
    rate = peak_rate(model)
    model.fit(*columns(train), epochs=epochs, seed=seed, verbose=2)
    x, y = columns(test)
    counts = labelled.count(y, predict(model, labelled, x))
    return {"epochs": epochs, "rate": rate, "counts": counts}


def run_defaults(cell, seed, compute=None):
    """The fit of a cell with the default settings; see `stored`."""
    return stored(f"{cell}-defaults-{seed}", compute and (lambda: compute(seed)))


def run_search(cell, compute=None):
    """The fit of a cell with the best rate, or None if a result is missing.

    If the best rate is the first or the last of the grid, the next one by a factor of 2
    is tried, at most `STEPS_OUT` times.

    Args:
        cell: str, labelled set and preset.
        compute: function of a rate and of whether this is the search, or None.
    """

    def score(rate):
        name = f"{cell}-search_{rate:g}-0"
        found = stored(name, compute and (lambda: compute(rate, True)))
        return found and found["score"]

    base = run_defaults(cell, 0)
    scores = (
        {base["rate"] * f: score(base["rate"] * f) for f in FACTORS} if base else {}
    )
    for _ in range(STEPS_OUT + 1):
        if not scores or None in scores.values():
            return None
        best = max(scores, key=scores.get)
        further = best * {min(scores): 0.5, max(scores): 2.0}.get(best, 1.0)
        if further == best or len(scores) == len(FACTORS) + STEPS_OUT:
            break
        scores[further] = score(further)
    if best == base["rate"]:
        return base
    return stored(f"{cell}-best-0", compute and (lambda: compute(best, False)))


def computations(preset, labelled, train, test):
    """The functions that compute the results of `run_defaults` and `run_search`."""

    def with_defaults(seed):
        return fit(preset, labelled, train, test, seed)

    def with_rate(rate, search):
        if not search:
            return fit(preset, labelled, train, test, 0, rate)
        found = fit(preset, labelled, *hold_out(train), 0, rate)
        found["score"] = f1(found.pop("counts"))  # short, and nothing else is needed
        return found

    return with_defaults, with_rate


def run_baselines(name, labelled, parts=None, folder=None):
    """The baselines of a labelled set, dict of name to result or None.

    Args:
        name: str, of the labelled set.
        labelled: `LabelledSet`.
        parts: dict of rows, see `LabelledSet.load`; None to read results only.
        folder: see `stored`.
    """

    def compute(predict):
        x, y = map(list, zip(*parts["test"], strict=True))
        counts = labelled.count(y, predict(parts["train"], x))
        train = len(parts["train"])
        return {"train": train, "test": len(y), "score": f1(counts)}

    return {
        baseline: stored(
            f"{name}-{baseline}",
            parts and (lambda predict=predict: compute(predict)),
            folder,
        )
        for baseline, predict in baselines(labelled).items()
    }


def read_fits(cell):
    """The fits of a cell with the default settings, one for each stored seed."""
    fits = (run_defaults(cell, seed) for seed in itertools.count())
    return list(itertools.takewhile(bool, fits))


def seed_mean(fits):
    """Mean of the scores in percent and its 95 % t-interval over seeds, a str."""
    return mean_interval([f1(fit["counts"]) for fit in fits])


def gain(best, fits):
    """How much better one fit is than the mean of others, in points, with interval."""
    found = f1_interval([best["counts"]], [fit["counts"] for fit in fits])
    return "{:+.1f} ({:+.1f} to {:+.1f})".format(*found)


def percent(found):
    """The score of a baseline, a str that is empty without a result."""
    return f"{100 * found['score']:.1f}" if found else ""


def baseline_table(found):
    """The table of the data and the baselines; `found` is a dict of their results."""
    rows = []
    for name, results in found.items():
        sizes = [f"{results['majority'][part]:,}" for part in ("train", "test")]
        scores = [percent(results[baseline]) for baseline in ("majority", "linear")]
        rows.append([LABELLED_SETS[name].title, *sizes, LABELLED_SETS[name].metric])
        rows[-1] += scores
    heads = ["data", "train", "test", "metric", "majority", "TF-IDF or chain"]
    results = [r for pair in found.values() for r in pair.values() if r]
    return f"{lines(heads, rows)}\n{told(results)}"


def preset_table(preset, scores):
    """The table of a preset, or None without results; `scores` are baselines' cells."""
    rows, results = [], []
    for name, labelled in LABELLED_SETS.items():
        fits = read_fits(f"{name}-{preset}")
        best = run_search(f"{name}-{preset}")
        if not fits:
            continue
        row = [labelled.title, *scores.get(name, ["", ""]), seed_mean(fits)]
        row += [len(fits), fits[0]["epochs"], f"{fits[0]['rate']:g}"]
        row += ["", "", ""]
        if best and best["rate"] == fits[0]["rate"]:
            row[-3:] = "the same", f"{best['rate']:g}", "0"
        elif best:
            row[-3:] = seed_mean([best]), f"{best['rate']:g}", gain(best, fits)
        rows.append(row)
        results += [*fits, *([best] if best else [])]
    heads = ["data", "majority", "TF-IDF or chain", "at defaults", "seeds", "epochs"]
    heads += ["rate", "at best rate", "best rate", "difference"]
    return f"`{preset}`:\n\n{lines(heads, rows)}\n{told(results)}" if rows else None


def tables():
    """Makes all tables in Markdown."""
    found = {name: run_baselines(name, kind) for name, kind in LABELLED_SETS.items()}
    found = {name: results for name, results in found.items() if results["majority"]}
    scores = {name: [percent(r) for r in pair.values()] for name, pair in found.items()}
    presets = dict.fromkeys([*PRESETS, *stored_presets("*", "-defaults-0")])
    parts = [baseline_table(found)] if found else []
    parts += [preset_table(preset, scores) for preset in presets]
    return "\n".join(part for part in parts if part)


@click.command()
@click.option("--data", type=click.Path(path_type=pathlib.Path), required=True)
@click.option("--preset", "presets", multiple=True, default=PRESETS)
@click.option("--task", "names", type=click.Choice(list(LABELLED_SETS)), multiple=True)
@click.option("--seeds", default=3, help="Of the default settings. 0: baselines only.")
@click.option("--search/--no-search", default=True, help="Whether to try other rates.")
@click.option("--minilm", help=f"Folder of {MINILM}, if its package is not installed.")
def main(data, presets, names, seeds, search, minilm):
    """Computes missing results and writes the tables."""
    names = names or LABELLED_SETS
    loaded = {name: LABELLED_SETS[name].load(data) for name in names}
    for name in names:
        run_baselines(name, LABELLED_SETS[name], loaded[name])
        write_table("results", tables())
    for name, preset in itertools.product(names, presets if seeds else ()):
        source = find_minilm(minilm) if preset == MINILM else preset
        parts = loaded[name]["train"], loaded[name]["test"]
        compute = computations(source, LABELLED_SETS[name], *parts)
        cell = f"{name}-{short_name(preset)}"
        for seed in range(seeds):
            run_defaults(cell, seed, compute[0])
        if search:
            run_search(cell, compute[1])
        write_table("results", tables())


if __name__ == "__main__":
    main()
