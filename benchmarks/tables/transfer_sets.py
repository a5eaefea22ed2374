"""The cells of the table of transfer: which data, model, recipe and seed there are."""

import dataclasses
from typing import NamedTuple

from benchmarks.tables.labelled_sets import LabelledSet, line_rows
from benchmarks.tables.stored_results import short_name
from benchmarks.tables.transfer_training import RECIPES

IMDB = line_rows("imdb/{}.tsv.gz", "\t", 1)


@dataclasses.dataclass(frozen=True)
class Corpus:
    """A labelled set, and how it is trained on.

    Args:
        labelled: `LabelledSet`.
        source: str, names the texts of the language model: all training texts.
        fit: dict of epochs, batch_size and more arguments of the classifier's `fit`.
        epochs_per_group: int, see `zoo.training.GradualUnfreezing`.
        language_model: dict of epochs and rows, see `transfer_training.adapt`.
        recipes: tuple of str, of the forward model.
        bert: tuple of str, the recipes of the BERT.
        seeds: int.
        rates_of: dict of recipe to the cell (set, recipe) whose rate it has, for
            recipes for which rates are not tried.
    """

    labelled: LabelledSet
    source: str
    fit: dict
    epochs_per_group: int
    language_model: dict
    recipes: tuple = tuple(RECIPES)
    bert: tuple = ()
    seeds: int = 3
    rates_of: dict = dataclasses.field(default_factory=dict)


FEW = ("scratch", "unadapted", "gradual")
# Rates are tried on IMDb for these recipes; the other ones have the same rates.
SAME_RATES = {
    "scratch": ("scratch",),
    "unadapted": ("unadapted",),
    "full": ("full", "last_layer", "chain_thaw"),
    "gradual": ("gradual", "discriminative", "triangle"),
}
RATES_ON_IMDB = {
    recipe: ("imdb_1000", source)
    for source, recipes in SAME_RATES.items()
    for recipe in recipes
}
ON_IMDB = {
    "source": "imdb",
    "language_model": {"epochs": 1, "rows": 64},
    "rates_of": RATES_ON_IMDB,
}
SETS = {
    "trec6": Corpus(
        LabelledSet("TREC-6", line_rows("trec6/{}.txt.gz", " ", 1)),
        "trec6",
        fit={"epochs": 5, "batch_size": 32},
        epochs_per_group=1,
        language_model={"epochs": 10, "rows": 16},
        bert=("full", "gradual"),
    ),
    "imdb_1000": Corpus(
        LabelledSet("IMDb, 1,000 labels", IMDB, 1000, 5000),
        **ON_IMDB,
        fit={"epochs": 5, "batch_size": 16},
        epochs_per_group=1,
    ),
    "imdb_100": Corpus(
        LabelledSet("IMDb, 100 labels", IMDB, 100, 5000),
        **ON_IMDB,
        fit={"epochs": 15, "batch_size": 8},
        epochs_per_group=3,
        recipes=FEW,
    ),
    "imdb_25000": Corpus(
        LabelledSet("IMDb, 25,000 labels", IMDB, None, 5000),
        **ON_IMDB,
        # Five epochs of 5,120 texts: each of the 25,000 is read about once.
        fit={"epochs": 5, "batch_size": 32, "steps_per_epoch": 160},
        epochs_per_group=1,
        recipes=("gradual", "scratch"),
        seeds=1,
    ),
}


def factors_of(recipe):
    """The rates that are tried for a recipe, multiples of the default."""
    return (1 / 16, 1 / 4, 1.0) if RECIPES[recipe].start == "random" else (1.0, 4.0)


class Cell(NamedTuple):
    """One number of the table before the mean over seeds.

    Args:
        data: str, key of `SETS`.
        model: "forward", "backward", "both" or "bert".
        recipe: str, key of `RECIPES`.
        seed: int.
    """

    data: str
    model: str
    recipe: str
    seed: int

    def name(self, presets):
        """The name of the file of its result; `presets` are those of a `Run`."""
        names = ("forward", "backward") if self.model == "both" else (self.model,)
        model = "+".join(short_name(presets[name]) for name in names)
        return f"{self.data}-{model}-{self.recipe}-{self.seed}"


def cells(run):
    """All cells by name, in the order in which they are computed."""
    found = []
    for data, corpus in SETS.items():
        rows = [("forward", recipe) for recipe in corpus.recipes]
        rows += [("backward", "gradual"), ("both", "gradual")]
        rows += [("bert", recipe) for recipe in corpus.bert]
        seeds = run.seeds(corpus.seeds)
        found += [Cell(data, *row, seed) for row in rows for seed in seeds]
    return {cell.name(run.presets): cell for cell in found}
