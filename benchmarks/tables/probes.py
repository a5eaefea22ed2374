"""The table of what the layers of presets know, by linear classifiers.

    python -m benchmarks.tables.probes --data DIR

DIR has ud_ewt, conll2003, glue/SST-2 and gum_trees. A cell is named TASK-PRESET, or
TASK-PRESET-random for the same network with random weights. Results are written to
`probes/results` and not computed again, so the command can be stopped. `--list` prints
the cells and their state. `--cells PATTERN` computes those that match. The table is
written to `probes/README.md`, and beside it two pictures.
"""

import dataclasses
import functools
import pathlib
from collections.abc import Callable

import click
import keras
from matplotlib import colormaps
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

import zoo
from benchmarks.tables.stored_results import (
    ENCODERS,
    MINILM,
    choose_cells,
    find_minilm,
    lines,
    stored,
    told,
    write_table,
)
from zoo.data import read_glue

FOLDER = pathlib.Path(__file__).parents[1] / "probes"
COLORS = colormaps["tab20"]
LIMIT = 2000  # rows for training and for the test
# Taggers, whose language model is another preset, which is always loaded.
TAGGERS = ("taglm_mini_en_ner", "taglm_mini_en_pos_ewt")
PRESETS = (
    *ENCODERS,
    *TAGGERS,
    "transformer_mini_en_fr_tatoeba",
    "transformer_mini_en_parser_gum",
    "ulmfit_mini_en_books_backward",
    MINILM,
)


@dataclasses.dataclass(frozen=True)
class Probe:
    """A kind of knowledge.

    Args:
        title: str.
        task: str, see `zoo.probe`.
        read: function of the data directory to rows for training and for the test.
    """

    title: str
    task: str
    read: Callable


def _files(kind, train, test):
    return lambda data: [kind.read(data / name) for name in (train, test)]


def _sentiment(data):
    return [read_glue(data / "glue", "sst2", split) for split in ("train", "dev")]


PROBES = {
    "tags": Probe(
        "parts of speech",
        "token_classifier",
        _files(
            zoo.TokenClassifier, "ud_ewt/train.pos.tsv.gz", "ud_ewt/test.pos.tsv.gz"
        ),
    ),
    "names": Probe(
        "names",
        "token_classifier",
        _files(zoo.TokenClassifier, "conll2003/eng.train.gz", "conll2003/eng.testb.gz"),
    ),
    "sentiment": Probe("sentiment", "text_classifier", _sentiment),
    "phrases": Probe(
        "phrases",
        "parser",
        _files(zoo.Parser, "gum_trees/train.ptb.gz", "gum_trees/test.ptb.gz"),
    ),
}


def cells():
    """The names of all cells and what they are: task, preset, and how it starts."""
    return {
        f"{task}-{preset}{'' if load else '-random'}": (task, preset, load)
        for preset in PRESETS
        for task in PROBES
        for load in ((True,) if preset in TAGGERS else (True, False))
    }


def compute(data, task, preset, load):
    """The result of a cell, see `zoo.probe`."""
    keras.backend.clear_session()
    probe = PROBES[task]
    source = find_minilm() if preset == MINILM else preset
    rows = probe.read(data)
    found = zoo.probe(source, *rows, probe.task, limit=LIMIT, load_weights=load)
    return {**dataclasses.asdict(found), "center": found.center}


def row(task, preset):
    """The cells of a preset and a task, and the results; None without results."""
    found = stored(f"{task}-{preset}", folder=FOLDER)
    if found is None:
        return None
    random = stored(f"{task}-{preset}-random", folder=FOLDER)
    layers = " ".join(f"{100 * score:.1f}" for score in found["layers"])
    mix = f"{100 * found['mix']:.1f} ({found['center']:.1f})"
    plain = f"{100 * max(random['layers']):.1f}" if random else ""
    cells = [PROBES[task].title, preset, layers, mix, plain]
    return [*cells, f"{100 * found['baseline']:.1f}"], [found, *filter(None, [random])]


def table():
    """The table in Markdown, or None without results."""
    found = [
        made for task in PROBES for preset in PRESETS if (made := row(task, preset))
    ]
    if not found:
        return None
    heads = ["knowledge", "preset", "layers, from 0", "mix", "random", "baseline"]
    every = [result for _, results in found for result in results]
    return f"{lines(heads, [cells for cells, _ in found])}\n{told(every)}"


def draw(path, values, label, baseline=False):
    """Writes a picture with a curve for each preset, and a part for each task.

    Args:
        path: pathlib.Path.
        values: str, the name of the values of the layers in a result.
        label: str, of the vertical axis.
        baseline: bool, whether the baseline is a line.
    """
    figure = Figure(figsize=(10, 7.5), layout="constrained")
    for axes, (task, probe) in zip(
        figure.subplots(2, 2).flat, PROBES.items(), strict=True
    ):
        baselines = []
        for number, preset in enumerate(PRESETS):
            found = stored(f"{task}-{preset}", folder=FOLDER)
            if found is None:
                continue
            percent = [100 * value for value in found[values]]
            baselines.append(100 * found["baseline"])
            axes.plot(percent, marker="o", color=COLORS(number), label=preset)
        if baseline and baselines:
            axes.axhline(baselines[0], color="0.5", ls="--", label="baseline")
        axes.set_visible(bool(baselines))
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set(title=probe.title, xlabel="layer", ylabel=label)
        axes.spines[["top", "right"]].set_visible(False)
    shown = {}
    for axes in figure.axes:
        shown |= {line.get_label(): line for line in axes.lines}
    below = {"loc": "outside lower center", "ncols": 3, "frameon": False}
    figure.legend(shown.values(), shown, **below)
    figure.savefig(path, dpi=110)


@click.command()
@click.option("--data", type=click.Path(path_type=pathlib.Path), required=True)
@click.option("--cells", "patterns", multiple=True, default=["*"], help="Patterns.")
@click.option("--list", "listed", is_flag=True, help="Print the cells and their state.")
def main(data, patterns, listed):
    """Computes missing cells and writes the table and the pictures."""
    for name, cell in choose_cells(cells(), patterns, listed, FOLDER).items():
        stored(name, functools.partial(compute, data, *cell), FOLDER, {"rows": LIMIT})
        write_table("results", table(), FOLDER / "README.md")
    draw(FOLDER / "layers.png", "layers", "score in percent", baseline=True)
    draw(FOLDER / "weights.png", "weights", "weight in percent")


if __name__ == "__main__":
    main()
