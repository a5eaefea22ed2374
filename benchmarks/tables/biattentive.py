"""The table of CoVe: vectors of words in a biattentive classification network.

    python -m benchmarks.tables biattentive --data DIR

DIR has `trec6` and `glue`. The network is that of `zoo.TextClassifier` with
`head="biattentive"`. It reads one of `VECTORS`, which are not trained. ELMo is a
weighted sum of its layers; these weights are trained. For every set of `SETS`, the
baselines of `baselines` are computed, and then every cell: a network is trained with a
seed, and the texts of the test are classified. A cell is named SET-VECTORS-PRESET-SEED.
"""

import dataclasses
import itertools

import keras
import numpy as np

import zoo
from benchmarks.tables.baselines import baseline_rows, run_baselines
from benchmarks.tables.labelled_sets import LABELLED_SETS
from benchmarks.tables.runner import Table
from benchmarks.tables.stored_results import (
    free_memory,
    markdown,
    mean_interval,
    short_name,
)
from benchmarks.tables.transfer_training import find_right

SETS = {"sst2": "sst2_10000", "trec6": "trec6"}
HEAD = {"head": "biattentive", "head_dim": 128}  # AllenNLP has 300
EPOCHS = {"sst2": 6, "trec6": 15}
SEEDS, ROWS, RATE = 3, 32, 1e-3  # AllenNLP's rate for this network


def make_words(presets, dtype):
    """The word vectors of CoVe alone, without context."""
    cove = zoo.from_preset(presets["cove"], task=None, dtype=dtype)
    table = np.concatenate(cove.get_layer("word_embedding").get_weights())
    table[: cove.config.num_zero] = 0.0
    room = zoo.models.taglm
    config = room.TagLMConfig(
        vocabulary_size=len(table),
        embedding_dim=table.shape[1],
        filters=(),
        num_layers=0,
        lm_positions=(),
        dropout=0.0,
    )
    backbone = room.TagLM(config, dtype=dtype)
    backbone.get_layer("word_embedding").set_weights([table])
    backbone.tokenizer = cove.tokenizer
    return backbone


def make_cove(presets, dtype):
    """CoVe's vectors, with the word vectors before them."""
    cove = zoo.from_preset(presets["cove"], task=None, dtype=dtype)
    config = dataclasses.replace(cove.config, output="last", output_words=True)
    backbone = type(cove)(config, dtype=dtype)
    backbone.set_weights(cove.get_weights())
    backbone.tokenizer = cove.tokenizer
    return backbone


def make_elmo(presets, dtype):
    """ELMo's vectors."""
    return zoo.from_preset(presets["elmo"], task=None, dtype=dtype)


# Name: title, and a function of presets and dtype that makes the backbone.
VECTORS = {
    "words": ("word vectors of `{cove}`", make_words),
    "cove": ("the same and `{cove}`", make_cove),
    "elmo": ("`{elmo}`", make_elmo),
}


def name_of(run, data, vectors, *seed):
    """The name of the file of a cell's result; without a seed, what is before it."""
    preset = run.presets["elmo" if vectors == "elmo" else "cove"]
    return "-".join(map(str, [data, vectors, short_name(preset), *seed]))


def cells(run):
    """All cells: tuples of set, vectors and seed."""
    found = itertools.product(SETS, VECTORS, run.seeds(SEEDS))
    return {name_of(run, *cell): cell for cell in found}


def make_model(vectors, labels, presets, seed, dtype):
    """Makes a network on vectors that are not trained, compiled."""
    free_memory()
    backbone = VECTORS[vectors][1](presets, dtype)
    for name, layer in backbone.named_layers.items():
        layer.trainable = name == "scalar_mix"
    keras.utils.set_random_seed(seed)
    model = zoo.TextClassifier(backbone, backbone.tokenizer, labels=labels, **HEAD)
    model.compile(learning_rate=RATE)
    return model


def baselines_of(run, data):
    """The baselines of a set, see `run_baselines`."""
    return run_baselines(run, data, LABELLED_SETS[SETS[data]])


def compute(run, data, vectors, seed):
    """The result of a cell: a digit for each text of the test, 1 if it is right."""
    parts = run.parts(data, LABELLED_SETS[SETS[data]])
    texts, labels = map(list, zip(*parts["train"], strict=True))
    model = make_model(vectors, sorted({*labels}), run.presets, seed, run.dtype)
    fit = {"epochs": EPOCHS[data], "batch_size": ROWS, "seed": seed, "verbose": 2}
    model.fit(texts, labels, **fit)
    return {
        "dtype": run.dtype,
        "train": len(texts),
        "parameters": int(sum(np.prod(v.shape) for v in model.trainable_variables)),
        **find_right(model, parts["test"]),
    }


def table(run, data):
    """The table of a set in Markdown, or None without results."""
    known = baselines_of(run, data)
    rows, every = baseline_rows(known, 4), [found for found in known.values() if found]
    for vectors, (title, _) in VECTORS.items():
        results = run.seed_results(name_of(run, data, vectors), SEEDS)
        if results:
            scores = mean_interval([found["score"] for found in results])
            title = title.format(**{k: short_name(v) for k, v in run.presets.items()})
            parameters = f"{results[0]['parameters']:,}"
            rows.append([title, scores, len(results), parameters])
            every += results
    heads = ["vectors", "accuracy", "seeds", "trained parameters"]
    return markdown(heads, rows, every, f"{LABELLED_SETS[SETS[data]].title}:\n\n")


def tables(run):
    """All tables in Markdown."""
    return "\n".join(filter(None, (table(run, data) for data in SETS)))


TABLE = Table(
    "biattentive",
    cells,
    compute,
    tables={"results": tables},
    presets={"cove": "cove_mini_en_fr_tatoeba", "elmo": "elmo_mini_en_books"},
    dtype="mixed_bfloat16",
    prepare=lambda run, data, *cell: baselines_of(run, data),
)
