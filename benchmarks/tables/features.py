"""The table of names: fine-tuned with and without documents, and from features.

    python -m benchmarks.tables.features --data DIR

DIR has `conll2003`. A cell is named ARM-SEED. Results are written to `features/results`
and not computed again, so the command can be stopped. `--list` prints the cells and
their state. `--cells PATTERN` computes those that match. The table is written to
`features/README.md`.
"""

import dataclasses
import functools
import gc
import pathlib
import time

import click
import keras
import numpy as np

import zoo
from benchmarks.tables.stored_results import (
    choose_cells,
    find_minilm,
    lines,
    mean_interval,
    stored,
    told,
    write_table,
)
from zoo.data import read_conll
from zoo.evaluation import convert_tags, most_frequent_tags, span_scores

FOLDER = pathlib.Path(__file__).parents[1] / "features"
SEEDS, DOCUMENTS = 3, 200
RATE, EPOCHS = 2e-4, 3  # of fine-tuning
SCHEME = "IOB2"


@dataclasses.dataclass(frozen=True)
class Arm:
    """A tagger of the comparison.

    Args:
        title: str.
        paper: str, the score of BERT base in table 7 of the paper.
        documents: bool, whether a text is a document.
        batch_size: int, sentences, or windows of documents.
        layers: `lm_layers` of `zoo.make_tagger` for features; None for fine-tuning.
        mix: `lm_mix` of `zoo.make_tagger`.
    """

    title: str
    paper: str = ""
    documents: bool = False
    batch_size: int = 32
    layers: str | int | tuple | None = None
    mix: bool = False


LAST_FOUR = (-4, -3, -2, -1)
ARMS = {
    "sentences": Arm("fine-tuned, sentences"),
    "documents": Arm("fine-tuned, documents", "96.4", True, 4),
    "embeddings": Arm("features: embeddings", "91.0", layers=0),
    "second_to_last": Arm("features: second-to-last layer", "95.6", layers=(-2,)),
    "last": Arm("features: last layer", "94.9", layers=(-1,)),
    "last_four": Arm(
        "features: last four layers, concatenated", "96.1", layers=LAST_FOUR
    ),
    "last_four_mixed": Arm(
        "features: weighted sum of last four layers", "95.9", layers=LAST_FOUR, mix=True
    ),
    "all": Arm("features: weighted sum of all layers", "95.5", layers="mix"),
}


def cells():
    """The names of all cells and what they are: arm and seed."""
    return {f"{arm}-{seed}": (arm, seed) for seed in range(SEEDS) for arm in ARMS}


def read(data, documents):
    """Words and tags for training and for the test, in IOB2.

    The training set has the sentences of the first `DOCUMENTS` documents.
    """
    found = []
    for name in ("eng.train.gz", "eng.testa.gz"):
        path = data / "conll2003" / name
        words, tags = read_conll(path, documents=documents)
        if name == "eng.train.gz" and documents:
            words, tags = words[:DOCUMENTS], tags[:DOCUMENTS]
        elif name == "eng.train.gz":
            whole = read_conll(path, documents=True)[0][:DOCUMENTS]
            size, count = sum(map(len, whole)), 0
            while size:
                size -= len(words[count])
                count += 1
            words, tags = words[:count], tags[:count]
        found.append((words, [convert_tags(row, SCHEME) for row in tags]))
    return found


def train(arm, minilm, words, tags, seed):
    """A trained tagger."""
    keras.backend.clear_session()
    gc.collect()
    if arm.layers is not None:
        options = {"minimum": None, "filters": (), "lm_positions": (0,)}
        options |= {"lm_layers": arm.layers, "lm_mix": arm.mix, "scheme": SCHEME}
        options["decoder"] = "softmax"
        model = zoo.make_tagger(words, tags, [minilm], seed=seed, **options)
        model.fit(words, tags, batch_size=arm.batch_size, seed=seed, verbose=0)
        return model
    labels = sorted({tag for row in tags for tag in row})
    options = {"labels": labels, "scheme": SCHEME, "learning_rate": RATE, "seed": seed}
    model = zoo.from_preset(minilm, "token_classifier", **options)
    sizes = {"epochs": EPOCHS, "batch_size": arm.batch_size, "seed": seed}
    model.fit(words, tags, **sizes, verbose=0)
    return model


def compute(data, minilm, name, seed):
    """The result of a cell."""
    arm = ARMS[name]
    (words, tags), (others, truth) = read(data, arm.documents)
    start = time.monotonic()
    model = train(arm, minilm, words, tags, seed)
    seconds = time.monotonic() - start
    found = span_scores(truth, [[w["tag"] for w in row] for row in model.tag(others)])
    plain = span_scores(truth, most_frequent_tags(words, tags, others))
    return {
        "texts": len(words),
        "words": sum(map(len, words)),
        "f1": found["f1"],
        "baseline": plain["f1"],
        "seconds": round(seconds, 1),
    }


def table():
    """The table in Markdown, or None without results."""
    rows, every = [], []
    for name, arm in ARMS.items():
        results = [stored(f"{name}-{seed}", folder=FOLDER) for seed in range(SEEDS)]
        results = [result for result in results if result]
        if results:
            minutes = np.mean([result["seconds"] for result in results]) / 60
            score = mean_interval([result["f1"] for result in results])
            count = str(len(results))
            rows.append([arm.title, score, count, arm.paper, f"{minutes:.1f}"])
            every += results
    if not rows:
        return None
    plain = f"{100 * every[0]['baseline']:.1f}"
    rows.insert(0, ["most frequent tag of each word", plain, "", "", ""])
    heads = ["tagger", "F1", "seeds", "paper", "minutes of training"]
    return f"{lines(heads, rows)}\n{told(every)}"


@click.command()
@click.option("--data", type=click.Path(path_type=pathlib.Path), required=True)
@click.option("--minilm", help="Directory of all-MiniLM-L6-v2; see `suite`.")
@click.option("--cells", "patterns", multiple=True, default=["*"], help="Patterns.")
@click.option("--list", "listed", is_flag=True, help="Print the cells and their state.")
def main(data, minilm, patterns, listed):
    """Computes missing cells and writes the table."""
    minilm = str(find_minilm(minilm))
    options = {"documents": DOCUMENTS, "rate": RATE, "epochs": EPOCHS}
    for name, cell in choose_cells(cells(), patterns, listed, FOLDER).items():
        compute_cell = functools.partial(compute, data, minilm, *cell)
        stored(name, compute_cell, FOLDER, options)
        write_table("results", table(), FOLDER / "README.md")


if __name__ == "__main__":
    main()
