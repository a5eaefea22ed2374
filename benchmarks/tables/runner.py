"""The record of a table, and the command that computes and writes every table.

    python -m benchmarks.tables NAME ... --data DIR

The docstring of `benchmarks.tables.NAME` says what DIR has and what is computed.
Results are written to `NAME/results` and not computed again, so the command can be
stopped. The tables are written to `NAME/README.md`, or to the notes of presets.

- `--list` prints the cells and their state. `--cells PATTERN` computes those that
  match, such as `--cells "stsb-*"`. `--render` writes the pages from stored results.
- `--preset ROLE=PRESET` replaces one of the presets of a table. Without ROLE, it
  replaces the first one, or it is added to a table that may have any preset.
"""

import dataclasses
import fnmatch
import functools
import importlib
import pathlib
from collections.abc import Callable

import click

from benchmarks.files import write_whole
from benchmarks.table import insert
from benchmarks.tables import preset_card
from benchmarks.tables.stored_results import FIELDS, short_name, stored

BENCHMARKS = pathlib.Path(__file__).parents[1]
NAMES = (
    *("ablation", "biattentive", "defaults", "features", "gpt_finetuning"),
    *("label_sets", "lengths", "names", "pairs", "perplexities", "probes", "senses"),
    *("sentence_vectors", "soft_labels", "suite", "tagger_defaults", "taggers"),
    "transfer",
    *("translations", "trees"),
)
FOLDER = click.Path(path_type=pathlib.Path)


def no_cell(run, *cell):
    """Does nothing for a cell."""


def dtype_of(run, *cell):
    """The options of a run, on which all its results depend."""
    return run.settings


def no_presets(run):
    """The presets of a table that no card shows."""
    return ()


@dataclasses.dataclass(frozen=True)
class Table:
    """A table whose cells are computed one by one. Functions get a `Run` first.

    Args:
        name: str, of its folder in `benchmarks`.
        cells: function that returns a dict of the names of results to cells, tuples.
        compute: function of a cell's fields that returns its result, a dict.
        tables: dict of a comment on the page to a function that returns the table
            below it in Markdown, or None without results.
        needs: names of the options without which nothing can be computed.
        presets: dict of role to preset.
        any_preset: bool, whether the command may add presets.
        dtype: str, of the training.
        settings: function of a cell's fields that returns the options on which its
            result depends, see `stored`. By default, it is the dtype if there is one.
        fields: iterable of str, what a stored result must have.
        prepare: function of a cell's fields that computes what the cell needs.
        result: function of a cell's fields that returns its result, or None if a part
            is missing, for a cell with several stored results. By default, a cell is
            what `compute` returns.
        cards: function that returns the presets whose notes have the tables, too.
        draw: function that writes the pictures of the page.
    """

    name: str
    cells: Callable
    compute: Callable | None
    tables: dict
    needs: tuple = ("data",)
    presets: dict = dataclasses.field(default_factory=dict)
    any_preset: bool = False
    dtype: str | None = None
    settings: Callable = dtype_of
    fields: tuple = FIELDS
    prepare: Callable = no_cell
    result: Callable | None = None
    cards: Callable = no_presets
    draw: Callable = no_cell

    def run(self, given=(), dtype=None, **options):
        """Makes a `Run`.

        Args:
            given: iterable of str, values of `--preset`.
            dtype: str, or None for that of the table.
            **options: other arguments of `Run`.
        """
        presets = dict(self.presets)
        for value in given:
            role, equal, preset = value.partition("=")
            if not equal:
                first = next(iter(presets), None)
                role = short_name(value) if self.any_preset else first
                preset = value
            if role not in presets and not self.any_preset:
                raise click.UsageError(
                    f"The presets of {self.name} are {', '.join(presets) or 'none'}. "
                    f"Received: --preset {value}."
                )
            presets[role] = preset
        return Run(self, presets=presets, dtype=dtype or self.dtype, **options)


@dataclasses.dataclass(frozen=True)
class Run:
    """A table with the options of a command.

    Args:
        table: `Table`.
        presets: dict of role to name or directory.
        dtype: str, of the training.
        output: pathlib.Path, the folder of the tables' folders.
        data, vectors: paths of the data and of word vectors.
        work: pathlib.Path of models that are trained on the way.
        max_seeds: int, or None for the seeds of the table.
        reading: bool, whether nothing is computed.
        loaded: dict, see `load`.
    """

    table: Table
    presets: dict
    dtype: str | None = None
    output: pathlib.Path = BENCHMARKS
    data: pathlib.Path | None = None
    vectors: pathlib.Path | None = None
    work: pathlib.Path = pathlib.Path("runs")  # which git ignores
    max_seeds: int | None = None
    reading: bool = False
    loaded: dict = dataclasses.field(default_factory=dict)

    @property
    def folder(self):
        """The folder of results and page."""
        return self.output / self.table.name

    @property
    def models(self):
        """The folder of models that are trained on the way."""
        return self.work / self.table.name

    @property
    def settings(self):
        """The dtype, a dict, or None if the table has none."""
        return {"dtype": self.dtype} if self.table.dtype else None

    def seeds(self, count):
        """The seeds, at most `count` of them."""
        return range(count if self.max_seeds is None else min(count, self.max_seeds))

    def stored(self, name, compute=None, options=None):
        """Reads or computes a result of the table; see `stored_results.stored`."""
        compute = None if self.reading else compute
        options = {"options": options, "fields": self.table.fields}
        return stored(name, compute, folder=self.folder, **options)

    def load(self, key, read):
        """What `read` returns, called once for each key."""
        if key not in self.loaded:
            self.loaded[key] = read()
        return self.loaded[key]

    def parts(self, name, labelled):
        """The rows of a labelled set, dict of "train" and "test", read once."""
        return self.load(name, lambda: labelled.load(self.data))

    def result(self, name, cell):
        """The result of a cell, which is computed if it is missing; None if reading."""
        table = self.table
        if table.result:
            return table.result(self, *cell)
        settings = table.settings(self, *cell)
        found = self.stored(name, options=settings)
        if found is None and not self.reading:
            table.prepare(self, *cell)
            work = functools.partial(table.compute, self, *cell)
            found = self.stored(name, work, settings)
        return found

    def results(self, *names):
        """The stored results with these names, a list without the missing ones."""
        return [found for name in names if (found := self.stored(name))]

    def seed_results(self, stem, count):
        """The stored results STEM-SEED of at most `count` seeds, a list."""
        return self.results(*(f"{stem}-{seed}" for seed in self.seeds(count)))

    def best_rate(self, stem, rates, search):
        """The rate with the best score; `search` computes the result of a rate."""
        scores = {}
        for rate in rates:
            work = functools.partial(search, rate)
            found = self.stored(f"{stem}-rate_{rate:g}", work, self.settings)
            scores[rate] = found["score"]
        return max(scores, key=scores.get)

    def stored_presets(self, before, after=""):
        """The short names of presets that have results, a list.

        Args:
            before, after: str, what is before and after the preset in the names of
                files; `before` is a pattern.
        """
        paths = sorted((self.folder / "results").glob(f"{before}-*{after}.json"))
        return [path.stem.removesuffix(after).partition("-")[2] for path in paths]

    def render(self):
        """The tables of all stored results, dict of comment to Markdown."""
        reader = dataclasses.replace(self, reading=True, max_seeds=None)
        made = {name: make(reader) for name, make in self.table.tables.items()}
        return {name: text for name, text in made.items() if text}

    def pages(self):
        """The pages with the tables, dict of path to text."""
        found, readme = {}, self.folder / "README.md"
        source = BENCHMARKS / self.table.name / "README.md"
        if readme.exists() or source.exists():
            source = readme if readme.exists() else source
            found[readme] = source.read_text("utf-8")
        for preset in self.table.cards(self):
            for folder in (self.output.parent / "presets").glob(f"*/{preset}"):
                notes = folder / preset_card.NOTES
                found[notes] = notes.read_text("utf-8") if notes.exists() else ""
        return found

    def draw(self):
        """Writes the pictures of the page."""
        self.table.draw(self)

    def write(self):
        """Writes the tables to the pages, and the cards that end with these pages."""
        made = self.render()
        for path, text in self.pages().items() if made else ():
            for name, table in made.items():
                page = BENCHMARKS / self.table.name / "page.md"
                if f"<!-- {name} -->" not in text and page.exists():
                    text = "\n".join([text, page.read_text("utf-8")]).lstrip()
                text = insert(text, table, name)
            write_whole(path, text)
            if (path.parent / "log.csv").exists():
                write_whole(path.parent / "README.md", preset_card.card(path.parent))


def find_table(name):
    """The `Table` with a name."""
    return importlib.import_module(f"benchmarks.tables.{name}").TABLE


def compute_cells(run, patterns, listed):
    """Computes missing cells that match, or prints their state; whether it computed."""
    reader, computed = dataclasses.replace(run, reading=True), False
    for name, cell in run.table.cells(run).items():
        if not any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns):
            continue
        done = reader.result(name, cell) is not None
        if listed:
            click.echo(f"{'done   ' if done else 'missing'} {name}")
        elif not done:
            run.result(name, cell)
            run.write()
            computed = True
    return computed


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(NAMES), metavar="NAME ...")
@click.option("--data", type=FOLDER, help="Directory of the data.")
@click.option("--output", type=FOLDER, default=BENCHMARKS, help="Folder of all tables.")
@click.option("--work", type=FOLDER, default="runs", help="Folder of trained models.")
@click.option("--vectors", type=FOLDER, help="Word vectors.")
@click.option("--preset", "presets", multiple=True, metavar="[ROLE=]PRESET")
@click.option("--dtype", help="Of the training.")
@click.option("--seeds", type=int, help="At most so many seeds.")
@click.option("--cells", "patterns", multiple=True, default=["*"], help="Patterns.")
@click.option("--list", "listed", is_flag=True, help="Print the cells and their state.")
@click.option("--render", is_flag=True, help="Only write pages from stored results.")
def main(names, presets, seeds, patterns, listed, render, **options):
    """Computes the missing results of tables, and writes their pages and pictures.

    Without NAME, these are all tables. `benchmarks/README.md` lists their names.
    """
    for name in names or NAMES:
        table = find_table(name)
        run = table.run(presets, max_seeds=seeds, **options)
        missing = [need for need in table.needs if options[need] is None]
        if missing and not (listed or render):
            raise click.UsageError(f"{name} needs --{' and --'.join(missing)}.")
        run.pages()  # raises an error for a missing page before hours of work
        computed = not render and compute_cells(run, patterns, listed)
        if not (listed or computed):
            run.write()
        if not (listed or render):
            run.draw()
