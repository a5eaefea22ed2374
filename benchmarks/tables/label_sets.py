"""Compares classifiers that give a text a set of labels: which kinds of names it has.

    python -m benchmarks.tables label_sets --data DIR

DIR has `conll2003`, `btc` and `wikigold`. A text is a sentence, and its labels are the
types of the names in it, often none. For every set:

1. The baselines, "majority" (the most frequent set) and "linear" (TF-IDF with a
   logistic regression for each label and a threshold that is chosen by
   cross-validation), are the cells SET-BASELINE.
2. Every preset is fine-tuned with its defaults and every seed on nine tenths of the
   rows. The other tenth chooses the epoch and the threshold, as in `zoo finetune`.
   These are the cells SET-PRESET-SEED.
"""

import zoo
from benchmarks.tables.labelled_sets import (
    LABELLED_SETS,
    LabelledSet,
    columns,
    hold_out,
    tagged_rows,
)
from benchmarks.tables.runner import Table
from benchmarks.tables.stored_results import (
    find_source,
    free_memory,
    markdown,
    mean_interval,
)
from zoo.evaluation import (
    assess_label_sets,
    find_spans,
    frequent_label_set,
    tfidf_label_sets,
)
from zoo.training import KeepBest

SETS = {
    "conll2003_3000": LABELLED_SETS["conll2003_3000"],
    "btc_3000": LABELLED_SETS["btc_3000"],
    "wikigold": LabelledSet(
        "Names in Wikipedia (wikigold)",
        tagged_rows("wikigold/train.conll.gz", "wikigold/test.conll.gz", "IOB2"),
        words=True,
        scheme="IOB2",
    ),
}
BASELINES = {"majority": frequent_label_set, "linear": tfidf_label_sets}
SCORES = ("micro_f1", "macro_f1", "subset_accuracy")
PRESETS = ("bert_mini_en_uncased_distilled",)
SEEDS, EPOCHS, PATIENCE = 3, 3, 2


def label_rows(rows):
    """Sentences, and the types of their names, a list of pairs."""
    return [
        (" ".join(words), tuple(sorted({kind for kind, *_ in find_spans(tags)})))
        for words, tags in rows
    ]


def score(true, found, labels):
    """The scores of sets of labels, dict of float."""
    values = assess_label_sets(true, found, labels).values()
    return {name: values[name] for name in SCORES}


def fit(preset, rows, test, seed):
    """Fine-tunes a preset; returns the scores, and what was chosen."""
    free_memory()
    train, held_out = hold_out(rows)
    labels = sorted({name for _, names in rows for name in names})
    options = {"labels": labels, "multi_label": True, "seed": seed}
    model = zoo.from_preset(preset, "text_classifier", **options)
    epochs = model.backbone.defaults_for(model.task_name).get("epochs", EPOCHS)
    (x, y), (held_x, held_y) = columns(train), columns(held_out)

    def held_out_score(model):
        return score(held_y, predict(model, held_x), labels)["micro_f1"]

    best = KeepBest(held_out_score, PATIENCE, latest=True)
    model.fit(x, y, epochs=epochs, seed=seed, callbacks=[best], verbose=2)
    threshold = model.find_thresholds(held_x, held_y)
    x, y = columns(test)
    chosen = {"kept": best.kept + 1, "epochs": epochs, "threshold": threshold}
    return score(y, predict(model, x), labels) | chosen


def predict(model, texts):
    """The labels of texts, a list of lists."""
    return [[*filter(None, row)] for row in model.answer(texts)["labels"]]


def cells(run):
    """Cells are a set, a preset or None, and a seed or a baseline."""
    found = {f"{name}-{b}": (name, None, b) for name in SETS for b in BASELINES}
    for name in SETS:
        for preset in run.presets:
            for seed in run.seeds(SEEDS):
                found[f"{name}-{preset}-{seed}"] = (name, preset, seed)
    return found


def compute(run, name, preset, part):
    """The scores of a cell."""
    parts = run.parts(name, SETS[name])
    train, test = (label_rows(parts[key]) for key in ("train", "test"))
    sizes = {"train": len(train), "test": len(test)}
    if preset is not None:
        return sizes | fit(find_source(run.presets[preset]), train, test, part)
    (x, y), (new_x, new_y) = columns(train), columns(test)
    labels = sorted({label for names in [*y, *new_y] for label in names})
    return sizes | score(new_y, BASELINES[part](x, y, new_x), labels)


def tables(run):
    """The table in Markdown, or None without results."""
    rows, every = [], []
    for name, labelled in SETS.items():
        arms = {b: run.results(f"{name}-{b}") for b in BASELINES}
        presets = dict.fromkeys([*PRESETS, *run.stored_presets(name, "-0")])
        arms |= {p: run.seed_results(f"{name}-{p}", SEEDS) for p in presets}
        for arm, results in arms.items():
            if not results:
                continue
            first = results[0]
            sizes = [f"{first['train']:,}", f"{first['test']:,}"]
            values = [mean_interval([r[s] for r in results]) for s in SCORES]
            rows.append([labelled.title, *sizes, f"`{arm}`", *values, len(results)])
            every += results
    heads = ["data", "train", "test", "classifier", "micro F1", "macro F1"]
    return markdown([*heads, "exact sets", "seeds"], rows, every)


TABLE = Table(
    "label_sets",
    cells,
    compute,
    tables={"results": tables},
    presets={preset: preset for preset in PRESETS},
    any_preset=True,
)
