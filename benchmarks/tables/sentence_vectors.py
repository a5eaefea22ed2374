"""How well vectors of sentences show their similarity, without training.

    python -m benchmarks.tables sentence_vectors --data DIR --vectors GLOVE

DIR has `glue/STS-B/dev.tsv` and `wikitext2/wiki.train.tokens.gz`. GLOVE is as for
`taggers`. The score is Spearman's correlation between the cosine of two vectors and the
similarity that annotators gave, on the dev set of STS-B, since GLUE's test set has no
labels. It has a 95 % interval by the bootstrap over the pairs of sentences.

- Presets: `zoo.from_preset(preset, task="text_embedder")`.
- `glove_mean`: the mean of the vectors of the words.
- `glove_sif`: words with frequency p in WikiText-2 have the weight a / (a + p). The
  first principal component of all sentences is removed. Source: Arora et al. 2017.

Results and table are in `benchmarks/defaults`.
"""

import collections
import gzip
import re

import numpy as np

import zoo
from benchmarks.tables.defaults import PRESETS
from benchmarks.tables.runner import Table
from benchmarks.tables.stored_results import find_source, free_memory, markdown
from benchmarks.tables.taggers import read_glove
from zoo.data import read_glue
from zoo.evaluation import bootstrap_interval, glue_metrics

GLOVE = ("glove_mean", "glove_sif")
SIF = 1e-3  # a of Arora et al. 2017, section 4.1


def split_words(text):
    """Splits a text into words, punctuation and `'s`, all in lower case."""
    return re.findall(r"'s\b|\w+|[^\w\s]", text.lower())


def count_words(path):
    """Counts the words of a gzip file, collections.Counter."""
    counts = collections.Counter()
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            counts.update(line.lower().split())
    return counts


def mean_vectors(texts, table, weights=None):
    """The mean of the vectors of the known words of each text, float64 (N, D).

    With the counts of words as weights, it is the method of Arora et al.
    """
    width, total = len(next(iter(table.values()))), weights and sum(weights.values())
    rows = np.zeros((len(texts), width))
    for row, text in zip(rows, texts, strict=True):
        words = [word for word in split_words(text) if word in table]
        for word in words:
            share = weights[word] / total if weights else 0.0
            row += table[word] * (SIF / (SIF + share) / len(words))
    if weights:
        (first, *_) = np.linalg.svd(rows, full_matrices=False)[2]
        rows -= np.outer(rows @ first, first)
    return rows


def cosines(a, b):
    """The cosine of each pair of rows, (N,), 0 if a row is zero."""
    norms = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    return np.sum(a * b, axis=1) / np.maximum(norms, 1e-12)


def measure(embed, pairs, gold):
    """Spearman's correlation of the cosines of pairs with `gold`, with interval."""
    a, b = pairs
    vectors = np.asarray(embed([*a, *b]), "float64")
    said, gold = cosines(vectors[: len(a)], vectors[len(a) :]), np.array(gold)
    spearman = glue_metrics("stsb")["spearman"]
    interval = bootstrap_interval(
        lambda rows: spearman(gold[rows], said[rows]), len(gold), seed=0
    )
    score = spearman(gold, said)
    return {"dim": vectors.shape[1], "score": score, "interval": interval}


def cells(run):
    """The names of results to vectors: names of presets or of `GLOVE`."""
    return {f"stsb-{name}": (name,) for name in (*GLOVE, *run.presets)}


def compute(run, name):
    """`measure` for the embedder of a preset, or for means of word vectors."""
    pairs, gold = run.load("stsb", lambda: read_glue(run.data / "glue", "stsb", "dev"))
    if name not in GLOVE:
        free_memory()
        model = zoo.from_preset(find_source(run.presets[name]), task="text_embedder")
        return measure(lambda texts: model.predict(texts, verbose=0), pairs, gold)
    table = dict(zip(*run.load("glove", lambda: read_glove(run.vectors)), strict=True))
    weights = None
    if name == "glove_sif":
        weights = count_words(run.data / "wikitext2" / "wiki.train.tokens.gz")
    return measure(lambda texts: mean_vectors(texts, table, weights), pairs, gold)


def table(run):
    """Makes the table of the stored results in Markdown, or None without results."""
    names = dict.fromkeys([*GLOVE, *PRESETS, *run.stored_presets("stsb")])
    found = {name: run.stored(f"stsb-{name}") for name in names}
    found = {name: result for name, result in found.items() if result}
    rows = []
    for name, result in found.items():
        low, high = (100 * end for end in result["interval"])
        score = f"{100 * result['score']:.1f} ({low:.1f} to {high:.1f})"
        rows.append([f"`{name}`", result["dim"], score])
    heads = ["vectors", "width", "STS-B dev, Spearman"]
    return markdown(heads, rows, [*found.values()])


TABLE = Table(
    "defaults",
    cells,
    compute,
    tables={"sentence vectors": table},
    needs=("data", "vectors"),
    presets={preset: preset for preset in PRESETS},
    any_preset=True,
)
