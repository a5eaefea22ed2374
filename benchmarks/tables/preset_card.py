"""Ships a run of `zoo pretrain` as a preset, and writes its card.

    python -m benchmarks.tables.preset_card PRESET --run RUN --glue DIR --glue DIR

PRESET is a folder of `presets/` with a `recipe.json`. The card is its `README.md`.

- `--run`: the weights, the vocabulary, the log and the curves are copied from RUN.
- `--glue`: the results of `zoo evaluate-suite --compare both` in DIR are added. They
  replace results with the same settings.
- Without options, only the card and the curves are written again.

A file `notes.md` in PRESET, written by hand, is the end of the card.
"""

import csv
import json
import pathlib

import click

from benchmarks.circumstances import counted
from benchmarks.files import read_json, write_whole
from zoo.visualize import plot_history

NOTES = "notes.md"
CURVES = ("masked_lm_loss", "next_sentence_accuracy", "perplexity", "accuracy")
CURVES += ("cosine", "crossentropy")
# Scores on GLUE's test server, from https://github.com/google-research/bert. MRPC has
# F1 and accuracy, STS-B the correlations of Pearson and Spearman.
BERT_MINI = {
    "sst2": "85.9",
    "mrpc": "81.1/71.8",
    "stsb": "75.4/73.3",
    "rte": "57.9",
    "cola": "0.0",
}
# Results of `benchmarks.tables.suite`, which have plain baselines.
SUITE = pathlib.Path(__file__).parents[1] / "suite" / "results"
NAMES = {
    "masked_lm_accuracy": "accuracy of masked tokens",
    "next_sentence_accuracy": "accuracy of next-sentence prediction (50 % by chance)",
}


def ship(run, preset):
    """Copies the files of a run into the folder of a preset.

    Raises:
        ValueError: if the recipe of the run is not that of the preset.
    """
    ran, checked_in = (read_json(folder / "recipe.json") for folder in (run, preset))
    card, defaults = checked_in.pop("card"), checked_in.pop("defaults", {})
    fields = sorted({*ran, *checked_in})
    differing = [key for key in fields if ran.get(key) != checked_in.get(key)]
    if differing:
        raise ValueError(
            f"The run must have the recipe of {preset}. Received: {run} with another "
            f"recipe: {', '.join(differing)}."
        )
    record = read_json(run / "preset" / "preset.json")
    names = [record["weights"]["file"], *record["tokenizer"]["files"]]
    for source in (*(run / "preset" / name for name in names), run / "log.csv"):
        write_whole(preset / source.name, source.read_bytes())
    write_json(preset / "preset.json", record | card | {"defaults": defaults})


def write_json(path, value):
    """Writes a JSON file. If it fails, the old file is kept."""
    write_whole(path, json.dumps(value, indent=2) + "\n")


def collect(known, directories):
    """The known comparisons on GLUE and those in the directories, a list of dict.

    If task, examples and settings are the same, the last results are kept.
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
    """The columns of a log that are plotted, or the loss: dict of name to floats."""
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    curves = [name for name in CURVES if name in rows[0]] or ["loss"]
    return {name: [float(row[name]) for row in rows] for name in curves}


def percent(values):
    """Mean and standard deviation of a metric, in percent; one seed has none."""
    mean, deviation = values["mean"], values["deviation"]
    more = "" if deviation is None else f" ± {100 * deviation:.1f}"
    return f"{100 * mean:.1f}{more}"


def glue_command(name, number, results):
    """The command that gave these results, with numbered names of its directories."""
    settings = results["settings"]
    words = ["zoo evaluate-suite", name, f"--data GLUE --output RUN{number}"]
    words += ["--compare both --task", results["task"]]
    words += ["--rows", results["examples"], "--epochs", settings["epochs"]]
    words += ["--seeds", settings["seeds"]]
    for rate in results["preset"]["searched"]:
        words += ["--learning-rate", f"{float(rate):g}"]
    for option in ("pooling", "dtype"):
        if option in settings:
            words += [f"--{option}", settings[option]]
    return " ".join(map(str, words))


def glue_row(results):
    """The cells of one row of the table of results."""
    name = results["metric"]
    arms = [
        f"{percent(results[arm]['dev'][name])} (rate {results[arm]['rate']:g})"
        for arm in ("preset", "random")
    ]
    low, high = (100 * bound for bound in results["interval"])
    better = f"{100 * results['difference']:+.1f} ({low:+.1f} to {high:+.1f})"
    epochs = counted(results["settings"]["epochs"], "epoch")
    task = f"{results['task']}, {results['examples']:,} examples, {epochs}"
    plain = plain_baselines(results)
    return [task, name, plain, *arms, better, BERT_MINI.get(results["task"], "")]


def plain_baselines(results):
    """The scores of the plain baselines, for results with most of the examples."""
    path = SUITE / f"{results['task']}-minilm_zoo-0.json"
    found = read_json(path) if path.exists() else {"train": 0, "baselines": {}}
    if results["examples"] < found["train"] / 2:
        return ""
    scores = [every[results["metric"]] for every in found["baselines"].values()]
    return " / ".join(f"{100 * score:.1f}" for score in scores)


def tagging(scores):
    """The scores of a tagger, and those of spans if there are any."""
    found = f"accuracy of the tags {100 * scores['accuracy']:.2f} %"
    if "f1" not in scores:
        return found
    return f"{found}, {percents(scores, 'precision', 'recall', 'f1')}"


def percents(scores, *names):
    """Scores by name, a str."""
    parts = (f"{name} {100 * scores[name]:.1f} %" for name in names)
    return ", ".join(parts).replace("f1", "F1")


def of_file(scores):
    """The scores on a held-out file, a str."""
    if "perplexity" in scores:
        return f"perplexity of the tokens {scores['perplexity']:.1f}"
    if "cosine" in scores:
        return f"mean cosine with the teacher's vectors {scores['cosine']:.3f}"
    if "crossentropy" in scores:
        nats = f"cross-entropy {scores['crossentropy']:.2f} nats per token"
        return f"{nats}, accuracy of the tokens {100 * scores['accuracy']:.1f} %"
    if "exact_match" in scores:
        return f"labelled brackets: {percents(scores, 'precision', 'recall', 'f1')}"
    return tagging(scores)


def held_out(valid):
    """The lines of a card about held-out text.

    Args:
        valid: dict of float, for a masked language model; or dict of file name to dict.
    """
    if "perplexity" not in valid:
        return [f"- `{file}`: {of_file(scores)}" for file, scores in valid.items()]
    lines = [f"- {NAMES[key]}: {100 * valid[key]:.1f} %" for key in NAMES]
    return [*lines, f"- perplexity of masked tokens: {valid['perplexity']:.1f}"]


def fine_tuning(name, results):
    """The lines of a card about comparisons on GLUE; none without results."""
    if not results:
        return []
    heads = ["task", "metric", "majority / TF-IDF", "preset", "random", "difference"]
    heads.append("BERT-Mini")
    rows = [heads, ["---"] * len(heads), *map(glue_row, results)]
    return [
        "\n## Fine-tuning\n",
        "The table compares the preset with the same network with random weights, on "
        "the dev sets of GLUE.\n",
        "- Both networks try the same learning rates. The rate of each is the best one "
        "on a part of the training set that is not trained on.",
        "- The scores are means and standard deviations over seeds, in percent.",
        "- The differences have a 95 % interval by the paired bootstrap.",
        '- "majority / TF-IDF" is the most frequent label, and logistic regression on '
        "TF-IDF. For stsb it is the mean number, and ridge regression. For pairs, both "
        "also have what the texts share. The baselines also learn from the rows with "
        "which the networks choose their rate, in sst2 from 50,000 rows.",
        "- For scale, the last column is Google's BERT-Mini on GLUE's test server, "
        "fine-tuned on all examples. It has the same size, except for a larger "
        "vocabulary. Its two numbers are F1 and accuracy for mrpc, and the "
        "correlations of Pearson and Spearman for stsb.\n",
        *(f"| {' | '.join(row)} |" for row in rows),
        "\nThese commands made the table:\n",
        "```sh",
        *(glue_command(name, number, found) for number, found in enumerate(results, 1)),
        "```",
    ]


def render(name, record, curves, results):
    """Makes the card from `preset.json`, curves, and comparisons on GLUE."""
    parts = record.get("parts", {}).values()
    elsewhere = "".join(
        f" The number includes those of `{part['preset']}`, which are not stored here."
        for part in parts
    )
    every = record.get("log_every", 100)
    lines = [
        f"# {name}\n",
        f"{record['description']} It has {record['parameters']:,} parameters, stored "
        f"in {record['weights']['dtype']}.{elsewhere}\n",
        f"- Trained on: {record['trained_on']}",
        f"- Licence: {record['licence']}",
        f"- Limits: {record['limits']}\n",
        "## Training\n",
        "The command was "
        f"`zoo pretrain {record['family']} --recipe {name} --data DIR --output RUN"
        f"{'' if every == 100 else f' --every {every}'}`. "
        "DIR has the files that `train` and `valid` of `recipe.json` name. The command "
        f"read {record['tokens_seen']:,} tokens. Each point of the curves is "
        f"{every:,} updates. The numbers are in `log.csv`.\n",
        *(f"![{curve}]({curve}.svg)" for curve in curves),
        "\nThe same command measured these scores on held-out text:\n",
        *held_out(record["valid"]),
        *fine_tuning(name, results),
    ]
    return "\n".join(lines) + "\n"


@click.command()
@click.argument("preset", type=click.Path(path_type=pathlib.Path))
@click.option("--run", type=click.Path(path_type=pathlib.Path))
@click.option("--glue", type=click.Path(path_type=pathlib.Path), multiple=True)
def main(preset, run, glue):
    """Copies RUN and comparisons on GLUE into PRESET, and writes its card."""
    if run:
        ship(run, preset)
    if glue:
        path = preset / "glue.json"
        known = read_json(path, list) if path.exists() else []
        write_json(path, collect(known, glue))
    log = read_log(preset / "log.csv")
    for curve in log:
        plot_history({preset.name: log}, preset / f"{curve}.svg", curve, unit="point")
    write_whole(preset / "README.md", card(preset))


def card(preset):
    """Makes the card of the preset in a folder, str. It ends with `notes.md`."""
    record, glue = read_json(preset / "preset.json"), preset / "glue.json"
    results = read_json(glue, list) if glue.exists() else []
    notes = preset / NOTES
    more = "\n" + notes.read_text("utf-8") if notes.exists() else ""
    return render(preset.name, record, read_log(preset / "log.csv"), results) + more


if __name__ == "__main__":
    main()
