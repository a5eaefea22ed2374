"""Compares a translator with plain baselines, and ways to translate with each other.

    python -m benchmarks.tables translations --data DIR --preset NAME

DIR has `train.tsv.gz` and `test.tsv.gz`. NAME is a preset of `presets/`, by default the
Transformer. Another preset is compared with the Transformer, too. Two other models are
compared with it:

- `--preset checkpoint=FILE`: the `checkpoint.keras` of the run that made the preset.
- `--preset first=DIR`: the preset from which its training started.

The models translate the sentences of the test set, and paragraphs: from 2 to 8 of these
sentences, drawn by a fixed seed and joined by spaces. The translations are results,
which git ignores. The tables are in the notes of the preset, the end of its card.
"""

import functools

import click
import numpy as np
from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.significance import PairedTest

import zoo
from benchmarks.tables.preset_card import NOTES
from benchmarks.tables.runner import Table
from benchmarks.tables.stored_results import describe_results, lines
from zoo.data import read_bitext, split_sentences
from zoo.evaluation import (
    copied_texts,
    group_references,
    nearest_targets,
    reference_streams,
)

TRANSFORMER = "transformer_mini_en_fr_tatoeba"
# The sets, and the ways in which each model translates them.
WAYS = {
    "sentences": {"greedy": {"num_beams": 1}, "beam 4": {"num_beams": 4}},
    "paragraphs": {
        "whole": {"num_beams": 4, "split_sentences": False},
        "split into sentences": {"num_beams": 4, "split_sentences": True},
    },
}
SIZES = 2, 9  # of a paragraph, without the latter
MOST_REFERENCES = 4  # of a paragraph
SHOWN = 50  # every so manieth sentence is shown


def baseline(predict):
    """A function of data and sources that translates with a baseline."""
    return lambda train, sources: predict(*train, sources)


def translate(load, options):
    """A function of data and sources that translates with a model."""
    return lambda train, sources: load().translate(sources, **options)


def systems(run, kind):
    """The systems of a set by name: functions of the training data and the sources."""
    role, presets = "translator", run.presets
    models = {"": functools.partial(zoo.from_preset, presets[role], role)}
    if presets[role] != TRANSFORMER:
        models[TRANSFORMER] = functools.partial(zoo.from_preset, TRANSFORMER, role)
    if presets["first"]:
        models["first weights"] = functools.partial(
            zoo.from_preset, presets["first"], role
        )
    if presets["checkpoint"]:
        models["last checkpoint"] = functools.partial(
            zoo.load_model, presets["checkpoint"]
        )
    found = {"copy": baseline(copied_texts)}
    if kind == "sentences":
        found["nearest sentence"] = baseline(nearest_targets)
    for label, load in reversed(models.items()):
        for way, options in WAYS[kind].items():
            found[f"{label}, {way}" if label else way] = translate(load, options)
    return found


def name_of(run, kind, system):
    """The name of the result of a system, in a folder of the preset."""
    name = system.replace(", ", "-").replace(" ", "_")
    return f"{run.presets['translator']}/{kind}-{name}"


def cells(run):
    """The names of results to sets and systems; paragraphs for the Transformer only."""
    kinds = WAYS if run.presets["translator"] == TRANSFORMER else ("sentences",)
    return {
        name_of(run, kind, name): (kind, name)
        for kind in kinds
        for name in systems(run, kind)
    }


def read_test(run, kind):
    """Sources, and the references of each."""

    def read():
        rows = group_references(*read_bitext(run.data / "test.tsv.gz"))
        return join_paragraphs(*rows) if kind == "paragraphs" else rows

    return run.load(kind, read)


def join_paragraphs(sources, references, seed=0):
    """Paragraphs of several sentences, each of which is in one, and their references.

    The n-th reference of a paragraph has the n-th one of each sentence, or one of the
    others if there are fewer.
    """
    generator = np.random.default_rng(seed)
    order, texts, several = generator.permutation(len(sources)), [], []
    while len(order):
        rows, order = np.split(order, [generator.integers(*SIZES)])
        texts.append(" ".join(sources[row] for row in rows))
        count = min(max(len(references[row]) for row in rows), MOST_REFERENCES)
        several.append(
            [
                " ".join(references[row][n % len(references[row])] for row in rows)
                for n in range(count)
            ]
        )
    return texts, several


def compute(run, kind, name):
    """The translations of a system, dict of "texts"."""
    train = run.load("train", lambda: read_bitext(run.data / "train.tsv.gz"))
    return {"texts": systems(run, kind)[name](train, read_test(run, kind)[0])}


def score_table(found, references):
    """The table of BLEU and chrF, with intervals, in Markdown.

    It also has the number of sentences of all translations.
    """
    metrics = {"BLEU": BLEU(references=references)}
    metrics["chrF2"] = CHRF(references=references)
    named = [(name, result["texts"]) for name, result in reversed(found.items())]
    test = PairedTest(named, metrics, None, test_type="bs", n_samples=1000)
    signatures, scores = test()
    rows = []
    for number, name in enumerate(scores["System"]):
        row = [name.removeprefix("Baseline: ")]
        for metric in metrics:
            result = scores[metric][number]
            row.append(f"{result.score:.1f} ({result.mean:.1f} ± {result.ci:.1f})")
        texts = found[row[0]]["texts"]
        row.append(f"{sum(len(split_sentences(text)) for text in texts):,}")
        p = scores["BLEU"][number].p_value
        rows.append([*row, "" if p is None else f"{p:.3f}"])
    heads = ["system", "BLEU (mean and 95 % interval)", "chrF2", "sentences", "p"]
    signed = "".join(f"- {name}: `{s}`\n" for name, s in signatures.items())
    described = describe_results([*found.values()])
    return f"{lines(heads, rows[::-1])}\n{signed}\n{described}"


def shown_table(texts, sources, references):
    """Translations by a fixed rule, in Markdown."""
    rows = [
        [sources[i], texts[i], " / ".join(references[i])]
        for i in range(0, len(sources), SHOWN)
    ]
    return lines(["English", "translation", "references"], rows)


def compared_table(kind, run):
    """The table of all systems with results, or None without data or the last one."""
    names = [*systems(run, kind)]
    found = {name: run.stored(name_of(run, kind, name)) for name in names}
    found = {name: result for name, result in found.items() if result}
    if run.data is None or names[-1] not in found:
        return None
    return score_table(found, reference_streams(read_test(run, kind)[1]))


def examples_table(run):
    """Some translations of the last system, or None without data or results."""
    found = run.stored(name_of(run, "sentences", "beam 4"))
    if run.data is None or not found:
        return None
    return shown_table(found["texts"], *read_test(run, "sentences"))


def cards(run):
    """The preset, which must have notes."""
    preset = run.presets["translator"]
    if not [*(run.output.parent / "presets").glob(f"*/{preset}/{NOTES}")]:
        raise click.UsageError(f"No presets/*/{preset}/{NOTES}. Write it first.")
    return (preset,)


TABLE = Table(
    "translations",
    cells,
    compute,
    tables={
        "results": functools.partial(compared_table, "sentences"),
        "paragraphs": functools.partial(compared_table, "paragraphs"),
        "translations": examples_table,
    },
    presets={"translator": TRANSFORMER, "checkpoint": None, "first": None},
    cards=cards,
)
