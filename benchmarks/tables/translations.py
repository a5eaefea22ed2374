"""Compares a translator with plain baselines, and ways to translate with each other.

    python -m benchmarks.tables translations --data DIR --preset NAME

DIR has `train.tsv.gz` and `test.tsv.gz`. NAME is a preset of `presets/`, by default the
Transformer. Another preset is compared with the Transformer, too. With
`--preset checkpoint=FILE`, the `checkpoint.keras` of the run that made the preset is
compared with it. The translations are results, which git ignores. The tables are in the
notes of the preset, the end of its card.
"""

import functools

import click
from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.significance import PairedTest

import zoo
from benchmarks.tables.preset_card import NOTES
from benchmarks.tables.runner import Table
from benchmarks.tables.stored_results import describe_results, lines
from zoo.data import read_bitext
from zoo.evaluation import (
    copied_texts,
    group_references,
    nearest_targets,
    reference_streams,
)

TRANSFORMER = "transformer_mini_en_fr_tatoeba"
GREEDY, BEAM = {"num_beams": 1}, {"num_beams": 4}
SHOWN = 50  # every so manieth sentence is shown


def baseline(predict):
    """A function of data and sources that translates with a baseline."""
    return lambda train, sources: predict(*train, sources)


def translate(load, **options):
    """A function of data and sources that translates with a model."""
    return lambda train, sources: load().translate(sources, **options)


def systems(run):
    """The systems by name: functions of the training data and the sources.

    The value is None for a system that cannot be computed.
    """
    preset, checkpoint = run.presets["translator"], run.presets["checkpoint"]

    def load(name=preset):
        return zoo.from_preset(name, "translator")

    def last():
        return zoo.load_model(checkpoint)

    found = {"copy": baseline(copied_texts)}
    found["nearest sentence"] = baseline(nearest_targets)
    if preset != TRANSFORMER:
        other = functools.partial(load, TRANSFORMER)
        found[f"{TRANSFORMER}, beam 4"] = translate(other, **BEAM)
    return found | {
        "last checkpoint, greedy": checkpoint and translate(last, **GREEDY),
        "last checkpoint, beam 4": checkpoint and translate(last, **BEAM),
        "greedy": translate(load, **GREEDY),
        "beam 4": translate(load, **BEAM),
    }


def name_of(run, system):
    """The name of the result of a system, in a folder of the preset."""
    name = system.replace(", ", "-").replace(" ", "_")
    return f"{run.presets['translator']}/{name}"


def cells(run):
    """The names of results to systems that can be computed."""
    return {name_of(run, n): (n,) for n, system in systems(run).items() if system}


def read_test(run):
    """Sources, and the references of each."""
    read = functools.partial(read_bitext, run.data / "test.tsv.gz")
    return run.load("test", lambda: group_references(*read()))


def compute(run, name):
    """The translations of a system, dict of "texts"."""
    train = run.load("train", lambda: read_bitext(run.data / "train.tsv.gz"))
    return {"texts": systems(run)[name](train, read_test(run)[0])}


def score_table(found, references):
    """The table of BLEU and chrF, with intervals, in Markdown."""
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
        p = scores["BLEU"][number].p_value
        rows.append([*row, "" if p is None else f"{p:.3f}"])
    heads = ["system", "BLEU (mean and 95 % interval)", "chrF2", "p"]
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


def compared_table(run):
    """The table of all systems with results, or None without data or the last one."""
    found = {name: run.stored(name_of(run, name)) for name in systems(run)}
    found = {name: result for name, result in found.items() if result}
    if run.data is None or "beam 4" not in found:
        return None
    return score_table(found, reference_streams(read_test(run)[1]))


def examples_table(run):
    """Some translations of the last system, or None without data or results."""
    found = run.stored(name_of(run, "beam 4"))
    return shown_table(found["texts"], *read_test(run)) if run.data and found else None


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
    tables={"results": compared_table, "translations": examples_table},
    presets={"translator": TRANSFORMER, "checkpoint": None},
    cards=cards,
)
