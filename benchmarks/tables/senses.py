"""The table of word senses: whether similar uses of a word have the same meaning.

    python -m benchmarks.tables.senses

`senses/sentences.tsv` has sentences with the words "star", "bank" and "play", each in
two senses, 12 sentences of each. For each use, the use with the most similar vector in
another sentence is searched. The score is the share of uses for which it has the same
sense. The baseline compares the other words of the sentences by TF-IDF.

Results are written to `senses/results` and not computed again. The table is written to
`senses/README.md`, and beside it a picture for each word.
"""

import functools
import pathlib

import click
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

import zoo
from benchmarks.tables.stored_results import (
    ENCODERS,
    MINILM,
    find_minilm,
    lines,
    stored,
    told,
    write_table,
)

FOLDER = pathlib.Path(__file__).parents[1] / "senses"
BASELINE = "tfidf"
SHOWN = "bert_mini_en_uncased_distilled"


def read_sentences():
    """The rows of the file: a dict of each word to a list of senses and sentences."""
    found = {}
    for line in (FOLDER / "sentences.tsv").read_text("utf-8").splitlines():
        word, sense, sentence = line.split("\t")
        found.setdefault(word, []).append((sense, sentence))
    return found


def share(similar, senses):
    """The share of rows whose most similar other row has the same sense.

    Equally similar rows count by the share of them that have the same sense.

    Args:
        similar: float (N, N).
        senses: list of str (N,).
    """
    senses, scores = np.array(senses), []
    for row, values in enumerate(similar):
        others = np.arange(len(values)) != row
        best = others & np.isclose(values, values[others].max(), rtol=0, atol=1e-6)
        scores.append(np.mean(senses[best] == senses[row]))
    return float(np.mean(scores))


def measure(preset):
    """The shares of all layers: dict of a word to a list of float."""
    model, found = zoo.from_preset(preset, None), {}
    for word, rows in read_sentences().items():
        senses, texts = zip(*rows, strict=True)
        found[word] = [
            share(zoo.find_uses(model, word, texts, [layer]).similarities(), senses)
            for layer in range(model.num_layer_outputs)
        ]
    return {"shares": found}


def baseline():
    """The shares of TF-IDF of the other words: dict of a word to a list of a float."""
    found = {}
    for word, rows in read_sentences().items():
        senses, texts = zip(*rows, strict=True)
        others = [text.lower().replace(word, " ") for text in texts]
        vectors = TfidfVectorizer().fit_transform(others).toarray()
        found[word] = [share(vectors @ vectors.T, senses)]
    return {"shares": found}


def table(names):
    """The table in Markdown.

    Args:
        names: list of str, those of the results.
    """
    rows, results = [], [stored(name, folder=FOLDER) for name in names]
    for name, result in zip(names, results, strict=True):
        words = result["shares"]
        for layer, values in enumerate(zip(*words.values(), strict=True)):
            cells = [f"{100 * value:.0f}" for value in (*values, np.mean(values))]
            plain = name == BASELINE
            first = ["TF-IDF of the other words", ""] if plain else [name, layer]
            rows.append([*first, *cells])
    heads = ["vectors", "layer", *results[0]["shares"], "mean"]
    return f"{lines(heads, rows)}\n{told(results)}"


def draw(preset):
    """Writes pictures of the senses of each word in the last layer of a preset."""
    for word, rows in read_sentences().items():
        senses, texts = zip(*rows, strict=True)
        uses = zoo.find_uses(preset, word, texts)
        title = f"Uses of “{word}” in {preset}"
        uses.plot(FOLDER / f"{word}.png", senses, title, shown=4)


@click.command()
def main():
    """Computes missing results and writes the table and the pictures."""
    names = [BASELINE]
    stored(BASELINE, baseline, FOLDER)
    for preset in (*ENCODERS, find_minilm()):
        names.append(preset if preset in ENCODERS else MINILM)
        stored(names[-1], functools.partial(measure, preset), FOLDER)
    write_table("results", table(names), FOLDER / "README.md")
    draw(SHOWN)


if __name__ == "__main__":
    main()
