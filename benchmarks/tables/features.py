"""The table of names: fine-tuned with and without documents, and from features.

    python -m benchmarks.tables features --data DIR

DIR has `conll2003`. A cell is named ARM-SEED.
"""

import dataclasses
import time

import numpy as np

import zoo
from benchmarks.tables.f1_counts import predict_tags
from benchmarks.tables.labelled_sets import read_words
from benchmarks.tables.runner import Table
from benchmarks.tables.stored_results import (
    MINILM,
    find_source,
    free_memory,
    markdown,
    mean_interval,
)
from zoo.evaluation import most_frequent_tags, span_scores

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


def cells(run):
    """The names of all cells and what they are: arm and seed."""
    seeds = run.seeds(SEEDS)
    return {f"{arm}-{seed}": (arm, seed) for seed in seeds for arm in ARMS}


def read(data, documents):
    """Words and tags for training and for the test, in IOB2.

    The training set has the sentences of the first `DOCUMENTS` documents.
    """
    found = []
    for name in ("eng.train.gz", "eng.testa.gz"):
        path = data / "conll2003" / name
        words, tags = read_words(path, SCHEME, documents)
        if name == "eng.train.gz" and documents:
            words, tags = words[:DOCUMENTS], tags[:DOCUMENTS]
        elif name == "eng.train.gz":
            whole = read_words(path, documents=True)[0][:DOCUMENTS]
            sizes = np.cumsum([len(row) for row in words])
            count = np.searchsorted(sizes, sum(map(len, whole))) + 1
            words, tags = words[:count], tags[:count]
        found.append((words, tags))
    return found


def train(arm, minilm, words, tags, seed):
    """A trained tagger."""
    free_memory()
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


def compute(run, name, seed):
    """The result of a cell."""
    arm, minilm = ARMS[name], str(find_source(run.presets["minilm"]))
    (words, tags), (others, truth) = read(run.data, arm.documents)
    start = time.monotonic()
    model = train(arm, minilm, words, tags, seed)
    seconds = time.monotonic() - start
    found = span_scores(truth, predict_tags(model, others))
    plain = span_scores(truth, most_frequent_tags(words, tags, others))
    return {
        "texts": len(words),
        "words": sum(map(len, words)),
        "f1": found["f1"],
        "baseline": plain["f1"],
        "seconds": round(seconds, 1),
    }


def table(run):
    """The table in Markdown, or None without results."""
    rows, every = [], []
    for name, arm in ARMS.items():
        results = run.seed_results(name, SEEDS)
        if results:
            minutes = np.mean([result["seconds"] for result in results]) / 60
            score = mean_interval([result["f1"] for result in results])
            rows.append([arm.title, score, len(results), arm.paper, f"{minutes:.1f}"])
            every += results
    if rows:
        plain = f"{100 * every[0]['baseline']:.1f}"
        rows.insert(0, ["most frequent tag of each word", plain, "", "", ""])
    heads = ["tagger", "F1", "seeds", "paper", "minutes of training"]
    return markdown(heads, rows, every)


TABLE = Table(
    "features",
    cells,
    compute,
    tables={"results": table},
    presets={"minilm": MINILM},
    settings=lambda run, *cell: {
        "documents": DOCUMENTS,
        "rate": RATE,
        "epochs": EPOCHS,
    },
)
