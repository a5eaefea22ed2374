"""The settings of a directory of results, which all of its results must have."""

import hashlib
import inspect
import json
import os
import pathlib

from zoo.files.state_files import read_state
from zoo.files.whole_files import write_json
from zoo.presets import list_presets, preset_info, sha256

SETTINGS, REPORT = "settings.json", "report.json"
CHECKSUM = "sha256"  # of the weights or of all files; None if it is not known
SCALARS = (str, int, float, os.PathLike, type(None))
PLAIN_TYPES = (*SCALARS, list, tuple, dict)


def find_weights(directory):
    """The largest file of a preset's directory, a path, or None if it is empty."""
    files = [path for path in directory.iterdir() if path.is_file()]
    return max(files, key=lambda path: path.stat().st_size, default=None)


def keep_settings(output, preset, data, settings, pages=()):
    """Stores what results depend on, or compares it with what is stored.

    As long as there is no result, other settings replace those that are stored. Older
    records have no checksum, and the path of a preset as it was given.

    Args:
        output: pathlib.Path of the directory of results, which are `.json` files.
        preset, data: see `zoo.evaluate_suite`.
        settings: dict of plain values.
        pages: names of other files that the program writes.
    """
    path, name = output / SETTINGS, os.fspath(preset)
    known = {"preset": name, "data": os.path.abspath(data), **settings}
    older = json.loads(json.dumps(known))
    known = older | _describe_weights(name, output)
    found = _read_settings(path)
    for page in (output / name for name in pages):
        if not found and page.exists():
            raise FileExistsError(
                f"{page} is not of such results. Give another directory."
            )
    started = any({"scores", "valid"} & {*_read(p)} for p in output.glob("*.json"))
    stored = found if found and started else known
    unknown = [] if os.path.isdir(name) else [older | {CHECKSUM: None}]
    if stored not in (known, older, *unknown):
        raise ValueError(
            f"All results in {output} must have the settings {stored}. Received: "
            f"{known}. Give another directory."
        )
    write_json(path, known, indent=2)


def describe_function(function):
    """A string that identifies a function.

    That is its name, the arguments of a `functools.partial`, and plain values of an
    outer function that it reads.

    Raises:
        ValueError: if it is a lambda, which has no name.
    """
    inner = getattr(function, "func", function)
    name = getattr(inner, "__qualname__", type(inner).__qualname__)
    if name.endswith("<lambda>"):
        raise ValueError(
            "`fit` must have a name, which is stored with the results. Received: a "
            "lambda. Define a function."
        )
    given = [("", value) for value in getattr(function, "args", ())]
    given += [(f"{k}=", v) for k, v in getattr(function, "keywords", {}).items()]
    outer = inspect.getclosurevars(inner).nonlocals if inspect.isfunction(inner) else {}
    given += [(f"{k}=", v) for k, v in outer.items() if isinstance(v, SCALARS)]
    shown = [
        k + (str(v) if isinstance(v, PLAIN_TYPES) else type(v).__name__)
        for k, v in given
    ]
    return f"{name}({', '.join(shown)})" if shown else name


def _read_settings(path):
    """The stored settings, a dict; empty if there are none."""
    shape, advice = {"preset": str, "data": str}, "Give another directory."
    try:
        return read_state(path, "of such results", shape, advice)
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise FileExistsError(str(error)) from error


def _read(path):
    """The object in a JSON file, a dict; empty if there is none."""
    try:
        return read_state(path, "an object", dict)
    except ValueError:
        return {}


def _describe_weights(preset, output):
    """The checksum of a preset, and the absolute path of a directory, a dict.

    For a shipped preset, it is that of its weights. In a directory, texts in Markdown,
    `.keras` files and directories of results do not count.
    """
    if not os.path.isdir(preset):
        record = preset_info(preset) if preset in list_presets() else {}
        return {CHECKSUM: record.get("weights", {}).get("sha256")}
    directory, found = pathlib.Path(preset).resolve(), hashlib.sha256()
    if directory == output.resolve():
        raise ValueError(
            f"Results must not be in the directory of the preset itself. Received: "
            f"{output}. Give another directory."
        )
    results = {output.resolve()}
    for name in (SETTINGS, REPORT):
        results |= {path.parent for path in directory.glob(f"*/**/{name}")}
    for path in sorted(directory.rglob("*")):
        counts = path.suffix not in (".md", ".keras")
        if counts and path.is_file() and not results & {*path.parents}:
            name = path.relative_to(directory).as_posix()
            found.update(f"{sha256(path)} {name}\n".encode())
    return {"preset": os.path.abspath(preset), CHECKSUM: found.hexdigest()}
