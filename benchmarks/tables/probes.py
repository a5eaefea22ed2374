"""The table of what the layers of presets know, by linear classifiers.

    python -m benchmarks.tables probes --data DIR

DIR has ud_ewt, conll2003, glue/SST-2 and gum_trees. A cell is named TASK-PRESET, or
TASK-PRESET-random for the same network with random weights. There are two pictures
beside the page.
"""

import dataclasses
import itertools
from collections.abc import Callable

from matplotlib import colormaps
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

import zoo
from benchmarks.tables.runner import Table
from benchmarks.tables.stored_results import (
    ENCODERS,
    MINILM,
    find_source,
    free_memory,
    markdown,
)
from zoo.data import read_glue

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
    return lambda data: [kind.files.read(data / name) for name in (train, test)]


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


def cells(run):
    """The names of all cells and what they are: task, preset, and how it starts."""
    return {
        f"{task}-{preset}{'' if load else '-random'}": (task, preset, load)
        for preset in PRESETS
        for task in PROBES
        for load in ((True,) if preset in TAGGERS else (True, False))
    }


def compute(run, task, preset, load):
    """The result of a cell, see `zoo.probe`."""
    free_memory()
    probe, source = PROBES[task], find_source(preset)
    rows = probe.read(run.data)
    found = zoo.probe(source, *rows, probe.task, limit=LIMIT, load_weights=load)
    return {**dataclasses.asdict(found), "center": found.center}


def table(run):
    """The table in Markdown, or None without results."""
    rows, every = [], []
    for task, preset in itertools.product(PROBES, PRESETS):
        name = f"{task}-{preset}"
        found, random = run.stored(name), run.results(f"{name}-random")
        if not found:
            continue
        layers = " ".join(f"{100 * score:.1f}" for score in found["layers"])
        mix = f"{100 * found['mix']:.1f} ({found['center']:.1f})"
        plain = f"{100 * max(random[0]['layers']):.1f}" if random else ""
        rows.append([PROBES[task].title, preset, layers, mix, plain])
        rows[-1].append(f"{100 * found['baseline']:.1f}")
        every += [found, *random]
    heads = ["knowledge", "preset", "layers, from 0", "mix", "random", "baseline"]
    return markdown(heads, rows, every)


def draw(run, values, label, baseline=False):
    """Writes a picture of some values of the layers, with a part for each task."""
    figure = Figure(figsize=(10, 7.5), layout="constrained")
    for axes, (task, probe) in zip(
        figure.subplots(2, 2).flat, PROBES.items(), strict=True
    ):
        baselines = []
        for number, preset in enumerate(PRESETS):
            found = run.stored(f"{task}-{preset}")
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
    figure.savefig(run.folder / f"{values}.png", dpi=110)


def draw_both(run):
    """Writes the pictures of the scores and of the weights of the layers."""
    draw(run, "layers", "score in percent", baseline=True)
    draw(run, "weights", "weight in percent")


TABLE = Table(
    "probes",
    cells,
    compute,
    tables={"results": table},
    settings=lambda run, *cell: {"rows": LIMIT},
    draw=draw_both,
)
