"""Compares a translator with plain baselines, and ways to translate with each other.

    python -m benchmarks.tables.translations --data DIR --preset NAME

DIR has `train.tsv.gz` and `test.tsv.gz`. NAME is a preset of `presets/`, by default the
Transformer. Another preset is compared with the Transformer, too. With `--checkpoint
FILE`, the `checkpoint.keras` of the run that made the preset is compared with it.

Translations are written to `translations/results/NAME`, which git ignores, and not
computed again. The tables are written to the `notes.md` of the preset, the end of its
card. Then `python -m benchmarks.tables.preset_card` writes the card.
"""

import functools
import pathlib

import click
from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.significance import PairedTest

import zoo
from benchmarks.tables.preset_card import NOTES
from benchmarks.tables.stored_results import lines, stored, told, write_table
from zoo.data import read_bitext
from zoo.evaluation import (
    copied_texts,
    group_references,
    nearest_targets,
    reference_streams,
)

HERE = pathlib.Path(__file__).parents[1]
FOLDER = HERE / "translations"
PRESETS = HERE.parent / "presets"
TRANSFORMER = "transformer_mini_en_fr_tatoeba"
GREEDY, BEAM = {"num_beams": 1}, {"num_beams": 4}
SHOWN = 50  # every so manieth sentence is shown


def baseline(predict):
    """A function of data and sources that translates with a baseline."""
    return lambda train, sources: predict(*train, sources)


def translate(load, **options):
    """A function of data and sources that translates with a model."""
    return lambda train, sources: load().translate(sources, **options)


def systems(preset, checkpoint):
    """The systems by name: functions of the training data and the sources.

    Args:
        preset: str, its name.
        checkpoint: path of a model file, or None.

    Returns:
        dict; the value is None for a system that cannot be computed.
    """

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


def translations(data, preset, checkpoint):
    """Translations of every system, dict of name to stored result."""
    found, loaded = {}, {}

    def compute(system):
        if not loaded:
            loaded["train"] = read_bitext(data / "train.tsv.gz")
            loaded["test"] = group_references(*read_bitext(data / "test.tsv.gz"))
        return {"texts": system(loaded["train"], loaded["test"][0])}

    for name, system in systems(preset, checkpoint).items():
        work = system and (lambda system=system: compute(system))
        file = f"{preset}/{name.replace(', ', '-').replace(' ', '_')}"
        found[name] = stored(file, work, FOLDER)
    return {name: result for name, result in found.items() if result}


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
    told_by = "".join(f"- {name}: `{s}`\n" for name, s in signatures.items())
    return f"{lines(heads, rows[::-1])}\n{told_by}\n{told(list(found.values()))}"


def shown_table(texts, sources, references):
    """Translations by a fixed rule, in Markdown."""
    rows = [
        [sources[i], texts[i], " / ".join(references[i])]
        for i in range(0, len(sources), SHOWN)
    ]
    return lines(["English", "translation", "references"], rows)


@click.command()
@click.option("--data", type=click.Path(path_type=pathlib.Path), required=True)
@click.option("--preset", default=TRANSFORMER, help="Name of a shipped preset.")
@click.option("--checkpoint", help="Of the run that made the preset.")
def main(data, preset, checkpoint):
    """Computes missing translations and writes the tables."""
    notes = next(PRESETS.glob(f"*/{preset}/{NOTES}"), None)
    if notes is None:
        raise click.UsageError(f"No presets/*/{preset}/{NOTES}. Write it first.")
    found = translations(data, preset, checkpoint)
    sources, references = group_references(*read_bitext(data / "test.tsv.gz"))
    table = score_table(found, reference_streams(references))
    write_table("results", table, notes)
    shown = shown_table(found["beam 4"]["texts"], sources, references)
    write_table("translations", shown, notes)
    click.echo(table)


if __name__ == "__main__":
    main()
