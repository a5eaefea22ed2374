"""Ships a run of `zoo pretrain` as a preset, and writes its card.

    python -m benchmarks.tables.preset_card PRESET --run RUN --glue DIR --glue DIR

PRESET is a folder of `presets/` that holds `recipe.json`. Weights, vocabulary, log and
curves come from RUN, results of `zoo glue` from each DIR, where they take the place of
those with the same settings; the card is `README.md`. What is not given stays as it is,
so that `... PRESET` alone writes the card anew.
"""

import csv
import json
import pathlib

import click

from benchmarks.files import write_whole
from zoo.visualize import plot_history

SHIPPED = ("vocabulary.txt", "weights.safetensors")
CURVES = ("masked_lm_loss", "next_sentence_accuracy", "perplexity", "accuracy")
# Of GLUE's test server, https://github.com/google-research/bert; F1 and accuracy of
# MRPC, Pearson's and Spearman's correlation of STS-B.
BERT_MINI = {
    "sst2": "85.9",
    "mrpc": "81.1/71.8",
    "stsb": "75.4/73.3",
    "rte": "57.9",
    "cola": "0.0",
}
NAMES = {
    "masked_lm_accuracy": "masked tokens found",
    "next_sentence_accuracy": "next sentences recognised (half are random)",
}


def ship(run, preset):
    """Copies what a run made into a preset's folder.

    Raises:
        ValueError: if the run followed another recipe than the preset's.
    """
    ran, checked_in = (read_json(folder / "recipe.json") for folder in (run, preset))
    card = checked_in.pop("card")
    fields = sorted({*ran, *checked_in})
    differing = [key for key in fields if ran.get(key) != checked_in.get(key)]
    if differing:
        raise ValueError(f"{run} followed another recipe: {', '.join(differing)}.")
    for source in (*(run / "preset" / name for name in SHIPPED), run / "log.csv"):
        write_whole(preset / source.name, source.read_bytes())
    write_json(preset / "preset.json", read_json(run / "preset" / "preset.json") | card)


def read_json(path):
    """What a JSON file holds."""
    return json.loads(path.read_text("utf-8"))


def write_json(path, value):
    """Writes a JSON file, whole or not at all."""
    write_whole(path, json.dumps(value, indent=2) + "\n")


def collect(known, directories):
    """Results of `zoo glue`, known ones and those of all directories, a list of dict.

    Of the same task, examples and settings, the last ones count.
    """
    paths = [path for folder in directories for path in sorted(folder.glob("*.json"))]
    found = [*known, *(read_json(path) for path in paths)]
    return list(
        {
            (x["task"], x["examples"], json.dumps(x["settings"], sort_keys=True)): x
            for x in found
            if "difference" in x
        }.values()
    )


def read_log(path):
    """The columns of a log that are drawn: dict of name to list of float."""
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    curves = [name for name in CURVES if name in rows[0]]
    return {name: [float(row[name]) for row in rows] for name in curves}


def percent(values):
    """Mean and deviation of a metric, in percent."""
    return f"{100 * values['mean']:.1f} ± {100 * values['deviation']:.1f}"


def glue_command(name, results):
    """The command that gave these results, but for its directories."""
    settings = results["settings"]
    words = ["zoo glue", name, "--data GLUE --output DIR", "--task", results["task"]]
    words += ["--examples", results["examples"], "--epochs", settings["epochs"]]
    words += ["--seeds", settings["seeds"]]
    for rate in results["preset"]["searched"]:
        words += ["--rate", f"{float(rate):g}"]
    for option in ("pooling", "dtype"):
        if option in settings:
            words += [f"--{option}", settings[option]]
    return " ".join(map(str, words))


def glue_row(results):
    """Cells of one line of the table of results."""
    name = results["metric"]
    arms = [
        f"{percent(results[arm]['dev'][name])} (rate {results[arm]['rate']:g})"
        for arm in ("preset", "random")
    ]
    low, high = (100 * bound for bound in results["interval"])
    better = f"{100 * results['difference']:+.1f} ({low:+.1f} to {high:+.1f})"
    task = f"{results['task']}, {results['examples']:,} examples, "
    epochs = results["settings"]["epochs"]
    task += f"{epochs} epoch{'s' * (epochs > 1)}"
    return [task, name, *arms, better, BERT_MINI.get(results["task"], "")]


def held_out(valid):
    """Lines of what a model has on held-out text.

    Args:
        valid: dict of float, of a masked language model; or of file name to dict.
    """
    if "perplexity" not in valid:
        return [
            f"- `{file}`: perplexity {scores['perplexity']:.1f}"
            if "perplexity" in scores
            else f"- `{file}`: {100 * scores['accuracy']:.2f} % of the words are right"
            for file, scores in valid.items()
        ]
    lines = [f"- {NAMES[key]}: {100 * valid[key]:.1f} %" for key in NAMES]
    return [*lines, f"- perplexity of masked tokens: {valid['perplexity']:.1f}"]


def fine_tuning(name, results):
    """Lines of a card about `zoo glue`; none without results."""
    if not results:
        return []
    heads = ["task", "metric", "preset", "random", "difference", "BERT-Mini"]
    rows = [heads, ["---"] * len(heads), *map(glue_row, results)]
    return [
        "\n## Fine-tuning\n",
        "Beside the same network from random weights. Both arms have the same search "
        "over learning rates, on training examples that are kept back; means and "
        "deviations over seeds, in percent, on GLUE's dev sets; differences with a "
        "95 % interval by the paired bootstrap. For scale, what Google's BERT-Mini, "
        "of the same size but for a larger vocabulary, has on GLUE's test server when "
        "fine-tuned on all examples (mrpc: F1 and accuracy, stsb: Pearson and "
        "Spearman).\n",
        *(f"| {' | '.join(row)} |" for row in rows),
        "\nMade by:\n",
        "```sh",
        *(glue_command(name, found) for found in results),
        "```",
    ]


def render(name, record, curves, results):
    """The card.

    Args:
        name: str, of the preset.
        record: dict of `preset.json`.
        curves: iterable of str, what is drawn of the log.
        results: list of dict, of `zoo glue`.

    Returns:
        str in Markdown.
    """
    parts = record.get("parts", {}).values()
    elsewhere = "".join(
        f", but for those of `{part['preset']}`, which stay there" for part in parts
    )
    lines = [
        f"# {name}\n",
        f"{record['description']} {record['parameters']:,} parameters, stored in "
        f"{record['weights']['dtype']}{elsewhere}.\n",
        f"- Trained on: {record['trained_on']}",
        f"- Licence: {record['licence']}",
        f"- Limits: {record['limits']}\n",
        "## Training\n",
        f"`zoo pretrain {record['family']} --recipe {name} --data DIR --output RUN`: "
        f"{record['tokens_seen']:,} tokens. Each point of the curves is a hundred "
        "updates; the numbers are in `log.csv`.\n",
        *(f"![{curve}]({curve}.svg)" for curve in curves),
        "\nOn held-out text, by the same command:\n",
        *held_out(record["valid"]),
        *fine_tuning(name, results),
    ]
    return "\n".join(lines) + "\n"


@click.command()
@click.argument("preset", type=click.Path(path_type=pathlib.Path))
@click.option("--run", type=click.Path(path_type=pathlib.Path))
@click.option("--glue", type=click.Path(path_type=pathlib.Path), multiple=True)
def main(preset, run, glue):
    """Ships RUN as PRESET with results of `zoo glue`, and writes its card."""
    if run:
        ship(run, preset)
    if glue:
        path = preset / "glue.json"
        known = read_json(path) if path.exists() else []
        write_json(path, collect(known, glue))
    log = read_log(preset / "log.csv")
    for curve in log:
        plot_history({preset.name: log}, preset / f"{curve}.svg", curve, unit="point")
    write_whole(preset / "README.md", card(preset))


def card(preset):
    """The card of a preset's folder as it should be, str."""
    record, glue = read_json(preset / "preset.json"), preset / "glue.json"
    results = read_json(glue) if glue.exists() else []
    return render(preset.name, record, read_log(preset / "log.csv"), results)


if __name__ == "__main__":
    main()
