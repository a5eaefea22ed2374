"""Compares ways to read pairs of texts with plain baselines, on five sets.

    python -m benchmarks.tables pairs --data DIR

DIR has `glue`, `snli20k` and `codah`. Every set has 500 rows for training, and its
whole public test. For every set:

1. The baselines are computed, as cells SET-BASELINE: the most frequent label or the
   mean, `plain_tfidf`, which was the baseline with TF-IDF before, and that of
   `zoo.evaluation` now.
2. The preset is fine-tuned with its defaults and every seed, with `pooling="compare"`,
   which reads both texts as one row, and with `pooling="separate"`, which reads each
   text alone. These are the cells SET-POOLING-SEED. A text and a choice of CODAH are
   always one row.
"""

import dataclasses
import itertools

from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge

import zoo
from benchmarks.tables.gpt_tasks import TASKS, GPTTask
from benchmarks.tables.labelled_sets import columns, glue_rows, snli_rows
from benchmarks.tables.runner import Table
from benchmarks.tables.stored_results import (
    find_source,
    free_memory,
    markdown,
    mean_interval,
    percent,
    short_name,
)

PRESET = "bert_mini_en_uncased_distilled"
POOLINGS = ("compare", "separate")
SEEDS, ROWS = 3, 500


def pair_features(words, pairs):
    """What the baseline had before: a, b, their products, distances and cosine."""
    a, b = (words.transform(side) for side in zip(*pairs, strict=True))
    products = a.multiply(b)
    return sparse.hstack([a, b, products, abs(a - b), products.sum(axis=1)], "csr")


def plain_tfidf(train, x):
    """Predicts labels, numbers or choices by untuned regression on TF-IDF."""
    pairs, y = map(list, zip(*train, strict=True))
    count = len(x[0]) - 1
    if count > 1:  # of the choices
        y = [i == right for right in y for i in range(count)]
        pairs, x = (
            [(row[0], choice) for row in part for choice in row[1:]]
            for part in (pairs, x)
        )
    words = TfidfVectorizer(
        ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"\w+|[^\w\s]"
    ).fit([text for pair in pairs for text in pair])
    if isinstance(y[0], float):
        model = Ridge(alpha=1.0, solver="sparse_cg", max_iter=1000)
    else:
        model = LogisticRegression(C=10.0, max_iter=100)
    model.fit(pair_features(words, pairs), y)
    features = pair_features(words, x)
    if count == 1:
        return model.predict(features).tolist()
    scores = model.predict_proba(features)[:, 1]
    return scores.reshape(-1, count).argmax(axis=1).tolist()


def with_plain(task):
    """A task of `ROWS` rows, with the baseline of before."""
    plain, tuned = task.baselines
    known = {plain: task.baselines[plain], "plain": plain_tfidf}
    known["TF-IDF"] = task.baselines[tuned]
    return dataclasses.replace(task, train=ROWS, baselines=known)


def make_labelled(title, read, labels):
    """A task of pairs with labels."""
    return GPTTask(title, read, options={"labels": labels, "pair": True})


SETS = {
    "rte": make_labelled("RTE", glue_rows("rte"), ["entailment", "not_entailment"]),
    "codah": TASKS["codah"],
    "snli": make_labelled("SNLI", snli_rows, ["1", "2", "3"]),
    "mrpc": make_labelled("MRPC", glue_rows("mrpc"), ["0", "1"]),
    "stsb": TASKS["stsb"],
}
SETS = {name: with_plain(task) for name, task in SETS.items()}


def poolings_of(task):
    """The poolings that are compared on a set."""
    return POOLINGS if task.options.get("pair") else POOLINGS[:1]


def cells(run):
    """Cells are a set, and a baseline, or a pooling and a seed."""
    found = {f"{n}-{b}": (n, b, None) for n, t in SETS.items() for b in t.baselines}
    for (name, task), seed in itertools.product(SETS.items(), run.seeds(SEEDS)):
        for pooling in poolings_of(task):
            found[f"{name}-{pooling}-{seed}"] = (name, pooling, seed)
    return found


def compute(run, name, arm, seed):
    """The score of a cell, and the numbers of rows."""
    task = SETS[name]
    train, test = run.parts(name, task).values()
    x, y = map(list, zip(*test, strict=True))
    found = {"train": len(train), "test": len(test)}
    if seed is None:
        return found | {"score": task.score(y, task.baselines[arm](train, x))}
    free_memory()
    model = zoo.from_preset(
        find_source(run.presets["preset"]),
        task.task,
        pooling=arm,
        seed=seed,
        **task.options,
    )
    epochs = model.backbone.defaults_for(model.task_name).get("epochs", 1)
    model.fit(*columns(train), epochs=epochs, seed=seed, verbose=2)
    return found | {"score": task.score(y, task.predict(model, x)), "epochs": epochs}


def table(run):
    """The table in Markdown, or None without results."""
    rows, every = [], []
    for name, task in SETS.items():
        plain = [run.stored(f"{name}-{baseline}") for baseline in task.baselines]
        arms = {p: run.seed_results(f"{name}-{p}", SEEDS) for p in poolings_of(task)}
        if not all(plain):
            continue
        row = [task.title, f"{plain[0]['test']:,}", task.metric, *map(percent, plain)]
        for pooling in POOLINGS:
            scores = [found["score"] for found in arms.get(pooling, ())]
            row.append(mean_interval(scores) if scores else "")
        rows.append(row)
        every += [*plain, *(found for results in arms.values() for found in results)]
    heads = ["data", "test", "metric", "majority or mean", "TF-IDF before", "TF-IDF"]
    title = f"`{short_name(run.presets['preset'])}`:\n\n"
    return markdown([*heads, *(f"`{p}`" for p in POOLINGS)], rows, every, title)


TABLE = Table(
    "pairs", cells, compute, tables={"results": table}, presets={"preset": PRESET}
)
