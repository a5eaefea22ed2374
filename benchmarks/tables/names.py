"""Compares the taggers of names with a linear chain, on Wikipedia and on tweets.

    pip install python-crfsuite
    zoo pretrain taglm --recipe taglm_mini_en_ner --data DIR --output RUN
    python -m benchmarks.tables.names --data DIR --vectors RUN/vectors.txt

DIR has `wikigold` and `btc`. RUN is needed for its word vectors only. An arm is one
tagger of the comparison.

1. The linear chain is trained with several penalties. Those with the best mean F1 on
   the development sets are used.
2. The other arms are trained with the settings of the recipe, without some of its
   inputs, with one seed or three.
3. The shipped preset is measured as it is.
4. The table is printed, and written to the notes of the preset. After that,
   `python -m benchmarks.tables.preset_card` writes the card.

Results are written to `names/results` and not computed again, so the command can be
stopped.
"""

import functools
import json
import pathlib

import click
import numpy as np

import zoo
from benchmarks.files import read_json, write_whole
from benchmarks.table import insert
from benchmarks.tables.f1_counts import f1, f1_interval
from benchmarks.tables.labelled_sets import read_words
from benchmarks.tables.linear_chain import train_chain
from benchmarks.tables.remembering import remembering
from benchmarks.tables.taggers import adamw
from zoo.checkpoint import read_vectors
from zoo.evaluation import convert_tags, find_spans
from zoo.training import WarmupLinearDecay

HERE = pathlib.Path(__file__).parents[1]
FOLDER = HERE / "names"
PRESET = "taglm_mini_en_ner"
SHIPPED = HERE.parent / "presets" / "taglm" / PRESET
NOTES = SHIPPED / "notes.md"
SETS = {
    name: f"{name}.conll.gz"
    for name in ("wikigold/valid", "btc/a", "wikigold/test", "btc/f")
}
DEV, TEST = list(SETS)[:2], list(SETS)[2:]
PENALTIES = ((0.0, 0.1), (0.0, 1.0), (0.1, 0.1), (0.1, 0.01), (0.3, 0.03))
SEEDS = {"task": 3, "vectors": 1, "elmo": 1, "vectors_elmo": 3}
# Arms that are trained by the recipe: which of its inputs they read.
INPUTS = {
    "task": (),
    "vectors": ("vectors",),
    "elmo": ("elmo",),
    "vectors_elmo": ("vectors", "elmo"),
}
CHAIN = "chain"
# Without pretrained vectors, words that occur twice have vectors of their own.
MINIMUM = 2


def count_spans(gold, found):
    """Counts correct, predicted and true spans of every sentence, a list of lists."""
    rows = []
    for true, said in zip(gold, found, strict=True):
        true, said = set(find_spans(true)), set(find_spans(said))
        rows.append([len(true & said), len(said), len(true)])
    return rows


def measure(tag, sets):
    """The counts of every set.

    Args:
        tag: function of sentences of words to tags.
        sets: dict of name to words and tags.
    """
    return {name: count_spans(tags, tag(words)) for name, (words, tags) in sets.items()}


def tags_of(model):
    """The function of sentences to tags of a `zoo.TokenClassifier`."""
    return lambda rows: [[word["tag"] for word in row] for row in model.tag(rows)]


def read_train(data, recipe):
    """Words and tags of the training set of a recipe, which is a dict."""
    ((longest, _, _),) = recipe["stages"]
    scheme = recipe["objective"]["tagger"]["scheme"]
    paths = [path for name in recipe["train"] for path in sorted(data.glob(name))]
    pairs = [pair for path in paths for pair in zip(*read_words(path), strict=True)]
    pairs = [(words, tags) for words, tags in pairs if len(words) <= longest]
    words, tags = zip(*pairs, strict=True)
    return list(words), [convert_tags(row, scheme) for row in tags]


def make_tagger(recipe, train, inputs, seed, vectors, language_model):
    """Makes the tagger of an arm, with the settings of the recipe.

    Args:
        recipe: dict, of the preset.
        train: words and tags.
        inputs: names of the inputs that the arm reads, see `INPUTS`.
        seed: int.
        vectors: words and their vectors.
        language_model: function without arguments that returns a backbone.

    Returns:
        `zoo.TokenClassifier`.
    """
    options = {**recipe["objective"]["tagger"], **recipe["config"]}
    options["language_models"] = [language_model()] if "elmo" in inputs else []
    if "vectors" not in inputs:
        options["minimum"] = MINIMUM
    ((_, _, steps),) = recipe["stages"]
    rate = recipe["learning_rate"], recipe["warmup_steps"], steps
    model = zoo.make_tagger(
        *train,
        vectors=vectors if "vectors" in inputs else None,
        seed=seed,
        **options,
    )
    model.compile(adamw(WarmupLinearDecay(*rate)))
    return model


def fit(model, recipe, train, seed):
    """Trains a tagger for the updates of the recipe, on its batches."""
    ((_, rows, steps),) = recipe["stages"]
    epochs = range(steps * rows // len(train[0]) + 1)
    batches = model.batches(
        *train, batch_size=rows, shuffle=True, seed=seed, epochs=epochs
    )
    model.fit(batches, steps_per_epoch=steps, shuffle=False, verbose=2)
    return model


def fit_chain(train, penalties, sets):
    """Trains a linear chain and measures it."""
    words, tags = train
    tags = [convert_tags(row, "IOB2") for row in tags]
    return measure(train_chain(words, tags, *penalties), sets)


def read_unit_vectors(path):
    """Words and their vectors, scaled to length 1 as in the recipe."""
    words, vectors = read_vectors(path)
    return words, vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def stored(key, compute=None):
    """The result with a name: read, or computed and written; None if it is missing."""
    path = FOLDER / "results" / f"{key}.json"
    if not path.exists() and compute:
        click.echo(key)
        write_whole(path, json.dumps(compute(), separators=(",", ":")) + "\n")
    return read_json(path, dict, SETS) if path.exists() else None


def mean_f1(counts, names):
    """The mean F1 of several sets."""
    return np.mean([f1(counts[name]) for name in names])


def chain_key(penalties):
    """The name of the result of a chain."""
    return f"{CHAIN}-{penalties[0]:g}-{penalties[1]:g}"


def read_results():
    """The stored results, dict of arm to a list of dict of counts, one for each seed.

    The chain is that with the best mean F1 on the development sets. It is missing if
    not all penalties have a result.
    """
    chains, found = [stored(chain_key(x)) for x in PENALTIES], {}
    if all(chains):
        found[CHAIN] = [max(chains, key=lambda x: mean_f1(x, DEV))]
    for arm in INPUTS:
        fits = [x for seed in range(SEEDS[arm]) if (x := stored(f"{arm}-{seed}"))]
        found |= {arm: fits} if fits else {}
    shipped = stored(PRESET)
    return found | ({PRESET: [shipped]} if shipped else {})


def render(results):
    """Makes the table in Markdown.

    Args:
        results: dict of arm to list of dict of counts, with the chain.
    """
    heads = ["tagger", *(f"`{name}`" for name in DEV)]
    for name in TEST:
        heads += [f"`{name}`", "over `chain`"]
    rows = [[*heads, "seeds"], ["---"] * (len(heads) + 1)]
    for arm, fits in results.items():
        row = [f"`{arm}`"]
        row += [f"{100 * np.mean([f1(fit[name]) for fit in fits]):.1f}" for name in DEV]
        for name in TEST:
            counts, base = [fit[name] for fit in fits], [results[CHAIN][0][name]]
            row.append("{:.1f} ({:.1f} to {:.1f})".format(*f1_interval(counts)))
            better = () if arm == CHAIN else f1_interval(counts, base)
            row.append("{:+.1f} ({:+.1f} to {:+.1f})".format(*better) if better else "")
        rows.append([*row, str(len(fits))])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def run(data, vectors, arms):
    """Computes the missing results of some arms."""
    recipe = read_json(SHIPPED / "recipe.json")
    train = read_train(data, recipe)
    sets = {name: read_words(data / path) for name, path in SETS.items()}
    vectors = read_unit_vectors(vectors)

    @functools.cache
    def language_model():
        (name,) = recipe["objective"]["tagger"]["language_models"]
        sentences = [row for words, _ in (train, *sets.values()) for row in words]
        return remembering(zoo.from_preset(name, task=None), sentences)

    def fitted(arm, seed):
        given = INPUTS[arm], seed, vectors, language_model
        model = make_tagger(recipe, train, *given)
        return measure(tags_of(fit(model, recipe, train, seed)), sets)

    for arm in arms:
        if arm == CHAIN:
            for x in PENALTIES:
                stored(chain_key(x), functools.partial(fit_chain, train, x, sets))
        elif arm == PRESET:
            stored(arm, lambda: measure(tags_of(zoo.from_preset(PRESET)), sets))
        else:
            for seed in range(SEEDS[arm]):
                stored(f"{arm}-{seed}", functools.partial(fitted, arm, seed))


@click.command()
@click.option("--data", type=click.Path(path_type=pathlib.Path), required=True)
@click.option("--vectors", type=click.Path(path_type=pathlib.Path), required=True)
@click.option(
    "--arm", "arms", type=click.Choice([CHAIN, *INPUTS, PRESET]), multiple=True
)
def main(data, vectors, arms):
    """Trains what is missing, and writes the table of what is finished."""
    run(data, vectors, arms or [CHAIN, *INPUTS, PRESET])
    results = read_results()
    if CHAIN in results:
        table = render(results)
        click.echo(table)
        write_whole(NOTES, insert(NOTES.read_text("utf-8"), table))


if __name__ == "__main__":
    main()
