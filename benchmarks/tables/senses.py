"""The table of word senses: whether similar uses of a word have the same meaning.

    python -m benchmarks.tables senses

`senses/sentences.tsv` has sentences with the words "star", "bank" and "play", each in
two senses, 12 sentences of each. For each use, the use with the most similar vector in
another sentence is searched. The score is the share of uses for which it has the same
sense. The baseline compares the other words of the sentences by TF-IDF.

There is a picture for each word beside the page.
"""

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

import zoo
from benchmarks.tables.runner import BENCHMARKS, Table
from benchmarks.tables.stored_results import ENCODERS, MINILM, find_source, markdown

SENTENCES = BENCHMARKS / "senses" / "sentences.tsv"
BASELINE = "tfidf"
PRESETS = (*ENCODERS[:2], *sorted(ENCODERS[2:]), MINILM)
SHOWN = "bert_mini_en_uncased_distilled"


def read_sentences():
    """The rows of the file: a dict of each word to a list of senses and sentences."""
    found = {}
    for line in SENTENCES.read_text("utf-8").splitlines():
        word, sense, sentence = line.split("\t")
        found.setdefault(word, []).append((sense, sentence))
    return found


def share(similar, senses):
    """The share of rows whose most similar other row has the same sense.

    Equally similar rows count by the share of them that have the same sense.
    """
    senses, scores = np.array(senses), []
    for row, values in enumerate(similar):
        others = np.arange(len(values)) != row
        best = others & np.isclose(values, values[others].max(), rtol=0, atol=1e-6)
        scores.append(np.mean(senses[best] == senses[row]))
    return float(np.mean(scores))


def similarities(model, word, texts):
    """The similarities (N, N) of texts in each layer, or without a model by TF-IDF."""
    if model is None:
        others = [text.lower().replace(word, " ") for text in texts]
        vectors = TfidfVectorizer().fit_transform(others).toarray()
        return [vectors @ vectors.T]
    layers = range(model.num_layer_outputs)
    return [zoo.find_uses(model, word, texts, [n]).similarities() for n in layers]


def measure(run, name):
    """The shares of all layers of a preset, or of the baseline, for each word."""
    model = None if name == BASELINE else zoo.from_preset(find_source(name), None)
    found = {}
    for word, rows in read_sentences().items():
        senses, texts = zip(*rows, strict=True)
        layers = similarities(model, word, texts)
        found[word] = [share(similar, senses) for similar in layers]
    return {"shares": found}


def table(run):
    """The table in Markdown, or None without results."""
    rows, results = [], {name: run.stored(name) for name in (BASELINE, *PRESETS)}
    results = {name: result for name, result in results.items() if result}
    for name, result in results.items():
        for layer, values in enumerate(zip(*result["shares"].values(), strict=True)):
            cells = [f"{100 * value:.0f}" for value in (*values, np.mean(values))]
            plain = name == BASELINE
            first = ["TF-IDF of the other words", ""] if plain else [name, layer]
            rows.append([*first, *cells])
    heads = ["vectors", "layer", *read_sentences(), "mean"]
    return markdown(heads, rows, [*results.values()])


def draw(run):
    """Writes pictures of the senses of each word in the last layer of a preset."""
    for word, rows in read_sentences().items():
        senses, texts = zip(*rows, strict=True)
        uses = zoo.find_uses(SHOWN, word, texts)
        title = f"Uses of “{word}” in {SHOWN}"
        uses.plot(run.folder / f"{word}.png", senses, title, shown=4)


TABLE = Table(
    "senses",
    cells=lambda run: {name: (name,) for name in (BASELINE, *PRESETS)},
    compute=measure,
    tables={"results": table},
    needs=(),
    draw=draw,
)
