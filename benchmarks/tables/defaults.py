"""The table by which the default settings of fine-tuning are chosen.

    python -m benchmarks.tables defaults --data DIR

DIR has the data of `labelled_sets.LABELLED_SETS`. For every labelled set:

1. The baselines of `baselines` are computed, as cells SET-BASELINE.
2. Every preset is fine-tuned with the default settings and every seed: `from_preset`
   and `fit(x, y)` with no argument but the number of epochs. These are the cells
   SET-PRESET-defaults-SEED.
3. With seed 0, rates around the default are tried on nine tenths of the rows for
   training. The best one on the other tenth is used to train on all rows. These are
   the cells SET-PRESET-best-0.
4. The first preset is fine-tuned with its defaults and every seed on nine tenths of the
   rows for training. The other tenth chooses the epoch that is kept, and when the
   training would stop, as in `zoo finetune`. It goes on to the last epoch, so that one
   fit shows both. Pairs have `pair=True`. These are the cells SET-PRESET-kept-SEED.
"""

import functools
import itertools

import zoo
from benchmarks.tables.baselines import BASELINES, run_baselines
from benchmarks.tables.f1_counts import f1, f1_interval
from benchmarks.tables.labelled_sets import LABELLED_SETS, columns, hold_out
from benchmarks.tables.runner import Table
from benchmarks.tables.stored_results import (
    MINILM,
    find_source,
    free_memory,
    markdown,
    mean_interval,
    percent,
)
from zoo.training import KeepBest

PRESETS = (
    "bert_mini_en_uncased_distilled",
    "bert_mini_en_uncased_books",
    "elmo_mini_en_books",
    MINILM,
)
SEEDS, BEST, KEPT = 3, "best", "kept"
PATIENCE = 2  # epochs without a better score, as in `zoo finetune`
WORD_MODELS = {"elmo"}  # families whose vectors a recurrent tagger reads
EPOCHS = 3  # of presets that name none
FACTORS = (0.5, 1.0, 2.0)  # of the default rate
STEPS_OUT = 2  # how often the grid may grow if its first or last rate is the best


def make_model(preset, labelled, rows, seed, **options):
    """Makes a task as the README of zoo does, compiled with the defaults."""
    x, y = columns(rows)
    if not labelled.words:
        options |= {"labels": sorted(set(y)), "seed": seed}
        return zoo.from_preset(preset, "text_classifier", **options)
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


def fit(preset, labelled, train, test, seed, rate=None):
    """Fine-tunes a preset; returns a dict of epochs, rate and `LabelledSet.count`."""
    free_memory()
    model = make_model(preset, labelled, train, seed)
    epochs = model.backbone.defaults_for(model.task_name).get("epochs", EPOCHS)
    if rate is not None:
        model.compile(learning_rate=rate)
    rate = peak_rate(model)
    model.fit(*columns(train), epochs=epochs, seed=seed, verbose=2)
    x, y = map(list, zip(*test, strict=True))
    counts = labelled.count(y, labelled.predict(model, x))
    return {"epochs": epochs, "rate": rate, "counts": counts}


class KeepBestOfAll(KeepBest):
    """`KeepBest` that trains all epochs, though `patience` would end the training.

    Args:
        score, patience, latest: see `KeepBest`.
        at_end: function that is called before the best weights are restored.

    Attributes:
        scores: list of float, of the epochs until `patience` would end the training.
    """

    def __init__(self, score, patience, latest, at_end):
        super().__init__(score, patience, latest)
        self.at_end, self.ended = at_end, False

    def on_epoch_end(self, epoch, logs=None):
        """See `KeepBest`."""
        if not self.ended:
            super().on_epoch_end(epoch, logs)
            self.ended = self.model.stop_training
            self.model.stop_training = False

    def on_train_end(self, logs=None):
        """See `KeepBest`."""
        self.at_end()
        super().on_train_end(logs)


def fit_kept(preset, labelled, rows, test, seed):
    """The counts after the last epoch and at the best one, which held-out rows choose.

    Returns a dict of epochs, trained (the number of epochs with `patience`), kept, last
    and counts.
    """
    free_memory()
    train, held_out = hold_out(rows)
    pair = not labelled.words and isinstance(train[0][0], tuple)
    model = make_model(preset, labelled, train, seed, pair=pair)
    epochs = model.backbone.defaults_for(model.task_name).get("epochs", EPOCHS)

    def count(rows):
        x, y = map(list, zip(*rows, strict=True))
        return labelled.count(y, labelled.predict(model, x))

    last = []
    best = KeepBestOfAll(
        lambda model: f1(count(held_out)),
        patience=PATIENCE,
        latest=True,
        at_end=lambda: last.extend(count(test)),
    )
    x, y = columns(train)
    model.fit(x, y, epochs=epochs, seed=seed, callbacks=[best], verbose=2)
    chosen = {"trained": len(best.scores), "kept": best.kept + 1}
    return {"epochs": epochs, **chosen, "last": last, "counts": count(test)}


def cells(run):
    """Cells are a labelled set, a preset or None, and a part of its results.

    A part is a baseline, a seed, `BEST`, or a pair of `KEPT` and a seed.
    """
    found = {}
    for name, labelled in LABELLED_SETS.items():
        found |= {f"{name}-{b}": (name, None, b) for b in BASELINES[labelled.words]}
    for name, preset in itertools.product(LABELLED_SETS, run.presets):
        for seed in run.seeds(SEEDS):
            found[f"{name}-{preset}-defaults-{seed}"] = (name, preset, seed)
        found[f"{name}-{preset}-best-0"] = (name, preset, BEST)
    first = next(iter(run.presets))
    for name, seed in itertools.product(LABELLED_SETS, run.seeds(SEEDS)):
        found[f"{name}-{first}-{KEPT}-{seed}"] = (name, first, (KEPT, seed))
    return found


def result(run, name, preset, part):
    """The result of a cell, or None if one that it needs is missing."""
    if preset is None:
        return run_baselines(run, name, LABELLED_SETS[name])[part]
    if part == BEST:
        return run_search(run, name, preset)
    if isinstance(part, tuple):
        return run_kept(run, name, preset, part[1])
    return run_defaults(run, name, preset, part)


def run_defaults(run, name, preset, seed):
    """The fit with the default settings."""
    work = functools.partial(fit_cell, run, name, preset, seed)
    return run.stored(f"{name}-{preset}-defaults-{seed}", work)


def run_kept(run, name, preset, seed):
    """The fit whose best epoch is kept."""

    def compute():
        labelled = LABELLED_SETS[name]
        parts = run.parts(name, labelled).values()
        return fit_kept(find_source(run.presets[preset]), labelled, *parts, seed)

    return run.stored(f"{name}-{preset}-{KEPT}-{seed}", compute)


def fit_cell(run, name, preset, seed, rate=None, searching=False):
    """`fit` on the rows of a labelled set, or on nine tenths of those for training."""
    labelled = LABELLED_SETS[name]
    train, test = run.parts(name, labelled).values()
    train, test = hold_out(train) if searching else (train, test)
    source = find_source(run.presets[preset])
    found = fit(source, labelled, train, test, seed, rate)
    if searching:
        found["score"] = f1(found.pop("counts"))  # short, and nothing else is needed
    return found


def run_search(run, name, preset):
    """The fit with the best rate, or None if a result is missing.

    If the best rate is the first or the last of the grid, the next one by a factor of 2
    is tried, at most `STEPS_OUT` times.
    """
    cell = f"{name}-{preset}"
    fit_with = functools.partial(fit_cell, run, name, preset, 0)

    def score(rate):
        work = functools.partial(fit_with, rate, True)
        found = run.stored(f"{cell}-search_{rate:g}-0", work)
        return found and found["score"]

    base = run_defaults(run, name, preset, 0)
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
    return run.stored(f"{cell}-best-0", functools.partial(fit_with, best))


def read_fits(run, name, preset):
    """The fits with the default settings, one for each stored seed."""
    fits = (run_defaults(run, name, preset, seed) for seed in itertools.count())
    return list(itertools.takewhile(bool, fits))


def seed_mean(fits):
    """Mean of the scores in percent and its 95 % t-interval over seeds, a str."""
    return mean_interval([f1(fit["counts"]) for fit in fits])


def gain(best, fits):
    """How much better one fit is than the mean of others, in points, with interval."""
    found = f1_interval([best["counts"]], [fit["counts"] for fit in fits])
    return "{:+.1f} ({:+.1f} to {:+.1f})".format(*found)


def baseline_table(found):
    """The table of the data and the baselines; `found` is a dict of their results."""
    rows = []
    for name, results in found.items():
        sizes = [f"{results['majority'][part]:,}" for part in ("train", "test")]
        rows.append([LABELLED_SETS[name].title, *sizes, LABELLED_SETS[name].metric])
        rows[-1] += map(percent, results.values())
    heads = ["data", "train", "test", "metric", "majority", "TF-IDF or chain"]
    every = [result for pair in found.values() for result in pair.values() if result]
    return markdown(heads, rows, every)


def preset_table(run, preset, baselines):
    """The table of a preset, or None without results; see `baseline_table`."""
    rows, results = [], []
    for name, labelled in LABELLED_SETS.items():
        fits = read_fits(run, name, preset)
        best = run_search(run, name, preset)
        if not fits:
            continue
        row = [labelled.title, *map(percent, baselines.get(name, [None, None]))]
        row += [seed_mean(fits), len(fits), fits[0]["epochs"], f"{fits[0]['rate']:g}"]
        row += ["", "", ""]
        if best and best["rate"] == fits[0]["rate"]:
            row[-3:] = "the same", f"{best['rate']:g}", "0"
        elif best:
            row[-3:] = seed_mean([best]), f"{best['rate']:g}", gain(best, fits)
        rows.append(row)
        results += [*fits, *([best] if best else [])]
    heads = ["data", "majority", "TF-IDF or chain", "at defaults", "seeds", "epochs"]
    heads += ["rate", "at best rate", "best rate", "difference"]
    return markdown(heads, rows, results, f"`{preset}`:\n\n")


def kept_table(run, baselines):
    """The table of the best epochs beside the last ones, or None without results."""
    preset, rows, results = next(iter(run.presets)), [], []
    for name, labelled in LABELLED_SETS.items():
        fits = [run_kept(run, name, preset, seed) for seed in range(SEEDS)]
        fits = [fit for fit in fits if fit]
        if not fits:
            continue
        sides = [[f1(fit[key]) for fit in fits] for key in ("last", "counts")]
        gains = [kept - last for last, kept in zip(*sides, strict=True)]
        row = [labelled.title, *map(percent, baselines.get(name, [None, None]))]
        row += [*map(mean_interval, sides), mean_interval(gains, "+")]
        for key in ("kept", "trained"):
            row.append(", ".join(str(fit[key]) for fit in fits))
        rows.append([*row, fits[0]["epochs"]])
        results += fits
    heads = ["data", "majority", "TF-IDF or chain", "last epoch", "best epoch"]
    heads += ["difference", "kept", "epochs with `keep_best`", "epochs without"]
    return markdown(heads, rows, results, f"`{preset}`, the best epoch kept:\n\n")


def tables(run):
    """Makes all tables in Markdown."""
    found = {
        n: run_baselines(run, n, labelled) for n, labelled in LABELLED_SETS.items()
    }
    found = {name: results for name, results in found.items() if results["majority"]}
    pairs = {name: [*results.values()] for name, results in found.items()}
    presets = dict.fromkeys([*PRESETS, *run.stored_presets("*", "-defaults-0")])
    parts = [baseline_table(found)]
    parts += [preset_table(run, preset, pairs) for preset in presets]
    parts.append(kept_table(run, pairs))
    return "\n".join(part for part in parts if part)


TABLE = Table(
    "defaults",
    cells,
    compute=None,
    tables={"results": tables},
    presets={preset: preset for preset in PRESETS},
    any_preset=True,
    result=result,
)
