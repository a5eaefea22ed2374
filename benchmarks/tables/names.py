"""Compares the taggers of names with a linear chain, on Wikipedia and on tweets.

    pip install python-crfsuite
    zoo pretrain taglm --recipe taglm_mini_en_ner --data DIR --output RUN
    python -m benchmarks.tables names --data DIR --vectors RUN/vectors.txt

DIR has `wikigold` and `btc`. RUN is needed for its word vectors only. An arm is one
tagger of the comparison, and a cell is named ARM-SEED.

1. The linear chain is trained with several penalties, in the cells chain-L1-L2. Those
   with the best mean F1 on the development sets are used.
2. The other arms are trained with the settings of the recipe, without some of its
   inputs, with one seed or three.
3. The shipped preset is measured as it is.

The table is also in the notes of the preset, the end of its card.
"""

import functools

import numpy as np

import zoo
from benchmarks.files import read_json
from benchmarks.tables.f1_counts import count, f1, f1_interval, predict_tags
from benchmarks.tables.labelled_sets import columns, read_words
from benchmarks.tables.linear_chain import train_chain
from benchmarks.tables.remembering import remembering
from benchmarks.tables.runner import BENCHMARKS, Table
from benchmarks.tables.stored_results import lines
from benchmarks.tables.taggers import adamw
from zoo.checkpoint import read_vectors
from zoo.evaluation import convert_tags
from zoo.training import WarmupLinearDecay

PRESET = "taglm_mini_en_ner"
RECIPE = BENCHMARKS.parent / "presets" / "taglm" / PRESET / "recipe.json"
SETS = {
    name: f"{name}.conll.gz"
    for name in ("wikigold/valid", "btc/a", "wikigold/test", "btc/f")
}
DEV, TEST = list(SETS)[:2], list(SETS)[2:]
PENALTIES = ((0.0, 0.1), (0.0, 1.0), (0.1, 0.1), (0.1, 0.01), (0.3, 0.03))
SEEDS = {"task": 3, "vectors": 1, "elmo": 1, "vectors_elmo": 3}
# Arms that are trained by the recipe: which of its inputs they read.
INPUTS = {
    "task": (),
    "vectors": ("vectors",),
    "elmo": ("elmo",),
    "vectors_elmo": ("vectors", "elmo"),
}
CHAIN = "chain"
# Without pretrained vectors, words that occur twice have vectors of their own.
MINIMUM = 2


def measure(tag, sets):
    """The counts of the spans of every set, which `tag` predicts."""
    return {
        name: count(tags, tag(words), "spans") for name, (words, tags) in sets.items()
    }


def read_train(data, recipe):
    """Words and tags of the training set of a recipe, which is a dict."""
    ((longest, _, _),) = recipe["stages"]
    scheme = recipe["objective"]["tagger"]["scheme"]
    paths = [path for name in recipe["train"] for path in sorted(data.glob(name))]
    parts = (zip(*read_words(path, scheme), strict=True) for path in paths)
    return columns([row for part in parts for row in part if len(row[0]) <= longest])


def make_tagger(recipe, train, inputs, seed, vectors, language_model):
    """Makes the tagger of an arm, with some of the inputs of the recipe."""
    options = {**recipe["objective"]["tagger"], **recipe["config"]}
    options["language_models"] = [language_model()] if "elmo" in inputs else []
    if "vectors" not in inputs:
        options["minimum"] = MINIMUM
    ((_, _, steps),) = recipe["stages"]
    rate = recipe["learning_rate"], recipe["warmup_steps"], steps
    model = zoo.make_tagger(
        *train,
        vectors=vectors if "vectors" in inputs else None,
        seed=seed,
        **options,
    )
    model.compile(adamw(WarmupLinearDecay(*rate)))
    return model


def fit(model, recipe, train, seed):
    """Trains a tagger for the updates of the recipe, on its batches."""
    ((_, rows, steps),) = recipe["stages"]
    epochs = range(steps * rows // len(train[0]) + 1)
    batches = model.batches(
        *train, batch_size=rows, shuffle=True, seed=seed, epochs=epochs
    )
    model.fit(batches, steps_per_epoch=steps, shuffle=False, verbose=2)
    return model


def fit_chain(train, penalties, sets):
    """Trains a linear chain and measures it."""
    words, tags = train
    tags = [convert_tags(row, "IOB2") for row in tags]
    return measure(train_chain(words, tags, *penalties), sets)


def read_unit_vectors(path):
    """Words and their vectors, scaled to length 1 as in the recipe."""
    words, vectors = read_vectors(path)
    return words, vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def mean_f1(counts, names):
    """The mean F1 of several sets."""
    return np.mean([f1(counts[name]) for name in names])


def chain_key(penalties):
    """The name of the result of a chain."""
    return f"{CHAIN}-{penalties[0]:g}-{penalties[1]:g}"


def cells(run):
    """Cells are the chain and its penalties, an arm and a seed, or the preset."""
    found = {chain_key(penalties): (CHAIN, penalties) for penalties in PENALTIES}
    for arm in INPUTS:
        found |= {f"{arm}-{seed}": (arm, seed) for seed in run.seeds(SEEDS[arm])}
    return found | {PRESET: (PRESET, None)}


def compute(run, arm, option):
    """The counts of a cell in every set; `option` is a seed or two penalties."""
    recipe = read_json(RECIPE)
    train = run.load("train", lambda: read_train(run.data, recipe))
    sets = run.load(
        "sets", lambda: {n: read_words(run.data / path) for n, path in SETS.items()}
    )
    if arm == CHAIN:
        return fit_chain(train, option, sets)
    if arm == PRESET:
        return measure(functools.partial(predict_tags, zoo.from_preset(PRESET)), sets)
    vectors = run.load("vectors", lambda: read_unit_vectors(run.vectors))

    def read_model():
        (name,) = recipe["objective"]["tagger"]["language_models"]
        sentences = [row for words, _ in (train, *sets.values()) for row in words]
        return remembering(zoo.from_preset(name, task=None), sentences)

    language_model = functools.partial(run.load, "language model", read_model)
    model = make_tagger(recipe, train, INPUTS[arm], option, vectors, language_model)
    model = fit(model, recipe, train, option)
    return measure(functools.partial(predict_tags, model), sets)


def read_results(run):
    """The stored results, dict of arm to a list of dict of counts, one for each seed.

    The chain is that with the best mean F1 on the development sets. It is missing if
    not all penalties have a result.
    """
    chains, found = [run.stored(chain_key(x)) for x in PENALTIES], {}
    if all(chains):
        found[CHAIN] = [max(chains, key=lambda x: mean_f1(x, DEV))]
    for arm in INPUTS:
        found[arm] = run.seed_results(arm, SEEDS[arm])
    found[PRESET] = run.results(PRESET)
    return {arm: fits for arm, fits in found.items() if fits}


def table(run):
    """The table in Markdown, or None without a chain."""
    results = read_results(run)
    if CHAIN not in results:
        return None
    heads, rows = ["tagger", *(f"`{name}`" for name in DEV)], []
    for name in TEST:
        heads += [f"`{name}`", "over `chain`"]
    for arm, fits in results.items():
        row = [f"`{arm}`"]
        row += [f"{100 * np.mean([f1(fit[name]) for fit in fits]):.1f}" for name in DEV]
        for name in TEST:
            counts, base = [fit[name] for fit in fits], [results[CHAIN][0][name]]
            row.append("{:.1f} ({:.1f} to {:.1f})".format(*f1_interval(counts)))
            better = () if arm == CHAIN else f1_interval(counts, base)
            row.append("{:+.1f} ({:+.1f} to {:+.1f})".format(*better) if better else "")
        rows.append([*row, len(fits)])
    return lines([*heads, "seeds"], rows)


TABLE = Table(
    "names",
    cells,
    compute,
    tables={"results": table},
    needs=("data", "vectors"),
    fields=tuple(SETS),
    cards=lambda run: (PRESET,),
)
