"""The table of CoVe: vectors of words in a biattentive classification network.

    python -m benchmarks.tables.biattentive --data DIR

DIR has `trec6` and `glue`. The network is that of `zoo.TextClassifier` with
`head="biattentive"`. It reads one of `VECTORS`, which are not trained. ELMo is a
weighted sum of its layers; these weights are trained. For every set of `SETS`, the
baselines of `baselines` are computed, and then every cell: a network is trained with a
seed, and the texts of the test are classified.

A cell is named SET-VECTORS-SEED. Results are written to `biattentive/results` and not
computed again, so the command can be stopped. `--list` prints the cells and their
state. `--cells PATTERN` computes those that match. The table is written to
`biattentive/README.md`.
"""

import dataclasses
import functools
import itertools
import pathlib

import click
import keras
import numpy as np

import zoo
from benchmarks.tables.defaults import percent, run_baselines
from benchmarks.tables.labelled_sets import LABELLED_SETS
from benchmarks.tables.stored_results import (
    choose_cells,
    lines,
    mean_interval,
    short_name,
    stored,
    told,
    write_table,
)
from benchmarks.tables.transfer_training import free_memory, right

FOLDER = pathlib.Path(__file__).parents[1] / "biattentive"
PRESETS = {"cove": "cove_mini_en_fr_tatoeba", "elmo": "elmo_mini_en_books"}
SETS = {"sst2": "sst2_10000", "trec6": "trec6"}
HEAD = {"head": "biattentive", "head_dim": 128}  # AllenNLP has 300
EPOCHS = {"sst2": 6, "trec6": 15}
SEEDS, ROWS, RATE = 3, 32, 1e-3  # AllenNLP's rate for this network
DTYPE = "mixed_bfloat16"


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


def cells():
    """All cells: tuples of set, vectors and seed."""
    return list(itertools.product(SETS, VECTORS, range(SEEDS)))


def name_of(cell, presets):
    """The name of the file of a cell's result."""
    data, vectors, seed = cell
    preset = presets["elmo" if vectors == "elmo" else "cove"]
    return f"{data}-{vectors}-{short_name(preset)}-{seed}"


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


def compute(cell, presets, parts, dtype):
    """The result of a cell: a digit for each text of the test, 1 if it is right."""
    data, vectors, seed = cell
    texts, labels = map(list, zip(*parts["train"], strict=True))
    model = make_model(vectors, sorted({*labels}), presets, seed, dtype)
    fit = {"epochs": EPOCHS[data], "batch_size": ROWS, "seed": seed, "verbose": 2}
    model.fit(texts, labels, **fit)
    marks = right(model, parts["test"])
    return {
        "dtype": dtype,
        "train": len(texts),
        "parameters": int(sum(np.prod(v.shape) for v in model.trainable_variables)),
        "score": float(np.mean(marks)),
        "right": "".join(str(int(mark)) for mark in marks),
    }


def table(data, presets):
    """The table of a set in Markdown, or None without results."""
    labelled = LABELLED_SETS[SETS[data]]
    known = run_baselines(data, labelled, folder=FOLDER)
    rows, every = [], [found for found in known.values() if found]
    for name, title in (("majority", "majority"), ("linear", "TF-IDF")):
        if known[name]:
            rows.append([title, percent(known[name]), "", ""])
    for vectors, (title, _) in VECTORS.items():
        names = (name_of((data, vectors, seed), presets) for seed in range(SEEDS))
        results = [found for name in names if (found := stored(name, folder=FOLDER))]
        if results:
            scores = mean_interval([found["score"] for found in results])
            title = title.format(**{k: short_name(v) for k, v in presets.items()})
            rows.append([title, scores, len(results)])
            rows[-1].append(f"{results[0]['parameters']:,}")
            every += results
    heads = ["vectors", "accuracy", "seeds", "trained parameters"]
    if not rows:
        return None
    return f"{labelled.title}:\n\n{lines(heads, rows)}\n{told(every)}"


def tables(presets=None):
    """All tables in Markdown."""
    found = (table(data, presets or PRESETS) for data in SETS)
    return "\n".join(text for text in found if text)


@click.command()
@click.option("--data", type=click.Path(path_type=pathlib.Path), required=True)
@click.option("--cove", default=PRESETS["cove"], help="Name or directory.")
@click.option("--elmo", default=PRESETS["elmo"], help="Name or directory.")
@click.option("--dtype", default=DTYPE, help="Of the training.")
@click.option("--cells", "patterns", multiple=True, default=["*"], help="Patterns.")
@click.option("--list", "listed", is_flag=True, help="Print the cells and their state.")
def main(data, patterns, listed, dtype, **presets):
    """Computes missing cells and writes the tables."""
    names = {name_of(cell, presets): cell for cell in cells()}
    loaded, options = {}, {"dtype": dtype}
    for name, cell in choose_cells(names, patterns, listed, FOLDER).items():
        if not stored(name, folder=FOLDER, options=options):
            labelled = LABELLED_SETS[SETS[cell[0]]]
            if cell[0] not in loaded:
                loaded[cell[0]] = labelled.load(data)
            parts = loaded[cell[0]]
            run_baselines(cell[0], labelled, parts, FOLDER)
            work = functools.partial(compute, cell, presets, parts, dtype)
            stored(name, work, FOLDER, options)
        write_table("results", tables(presets), FOLDER / "README.md")


if __name__ == "__main__":
    main()
