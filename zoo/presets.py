"""Preset directories: JSON, arrays and files. Knows no class and no TensorFlow."""

import difflib
import functools
import hashlib
import json
import os
import pathlib

from zoo.files import filling, replacing
from zoo.hubs import cache_root, download

FORMAT = 1
RECORD = "preset.json"
WEIGHTS = "weights.safetensors"
VOCABULARY = "vocabulary.txt"
# Parts of a record that name a file, and what they must say.
PARTS = {"weights": ("file", "sha256"), "tokenizer": ()}


def preset_root():
    """The directory of the shipped presets.

    Returns:
        pathlib.Path: inside an installed package, or beside the package in a checkout.
    """
    package = pathlib.Path(__file__).parent
    inside = package / "_presets"
    return inside if inside.is_dir() else package.parent / "presets"


@functools.cache
def _directories():
    records = {}
    for path in sorted(preset_root().glob("*/published.json")):
        records.update(dict.fromkeys(json.loads(path.read_text("utf-8")), path))
    for path in sorted(preset_root().glob(f"*/*/{RECORD}")):
        records[path.parent.name] = path  # what is shipped needs no download
    return records


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
        dict: family, description, backbone, parameters, source, licence, and more.

    Raises:
        KeyError: if there is none, with the nearest names.
    """
    if name not in _directories():
        near = difflib.get_close_matches(name, _directories(), n=3, cutoff=0.5)
        hint = f" Did you mean {', '.join(near)}?" if near else ""
        raise KeyError(
            f"No preset is called {name!r}.{hint} `zoo.list_presets()` names all; a "
            "directory must exist, a hub's name begins with hf:// or kaggle://."
        )
    path = _directories()[name]
    record = json.loads(path.read_text("utf-8"))
    record = record if path.name == RECORD else record[name]
    return {"name": name, **record}


def find_preset(preset):
    """The directory that holds a preset's files.

    Args:
        preset: name, directory, or URI: `hf://owner/name`, `kaggle://owner/...`.

    Returns:
        pathlib.Path of an existing directory.

    Raises:
        KeyError: if the name is unknown.
        FileNotFoundError: if the files are not here and cannot be fetched.
        ValueError: if the URI is of another kind, or a published file's checksum is
            not the one that was recorded.
    """
    text = os.fspath(preset)
    if "://" in text:
        return download(text)
    if pathlib.Path(text).is_dir():
        return pathlib.Path(text)
    if os.sep in text or text.startswith("."):
        raise FileNotFoundError(
            f"A preset directory must exist. Received: {text!r}, which does not."
        )
    record = preset_info(text)
    if "weights" in record:
        return _directories()[text].parent
    source, directory = record["source"], cache_root() / text
    if not directory.is_dir():
        directory = download(source["uri"], text, source["files"])
    for name, checksum in source.get("sha256", {}).items():
        if (directory / name).is_file():
            _verified(directory, name, checksum)
    return directory


def read_preset(directory):
    """Reads a preset directory of our own layout.

    Args:
        directory: path with a `preset.json`.

    Returns:
        record dict, arrays dict of path to float32 array, vocabulary tuple or None.

    Raises:
        FileNotFoundError: if a file that the record names is missing.
        ValueError: if the record is no preset, of a newer format, names a file
            outside of the directory, or a file is damaged.
    """
    directory = pathlib.Path(directory)
    record = _read_record(directory / RECORD)
    arrays, vocabulary = {}, None
    if record.get("weights"):
        weights = record["weights"]
        arrays = _read_arrays(_verified(directory, weights["file"], weights["sha256"]))
    tokenizer = record.get("tokenizer") or {}
    if "vocabulary" in tokenizer:
        path = _verified(directory, tokenizer["vocabulary"], tokenizer.get("sha256"))
        vocabulary = tuple(path.read_bytes().decode("utf-8").split("\n")[:-1])
    return record, arrays, vocabulary


def _read_record(path):
    try:
        record = json.loads(path.read_text("utf-8"))
        version = record.get("format", FORMAT)
        newer = version > FORMAT
        if not newer:
            missing = {"family", "backbone"} - record.keys()
            for part, keys in PARTS.items():
                if record.get(part):
                    missing |= {*keys} - record[part].keys()
            if missing:
                raise ValueError(f"it lacks {', '.join(sorted(missing))}")
    except (ValueError, TypeError, AttributeError) as error:
        raise ValueError(
            f"{path} is no preset record: {error}. Save the preset again."
        ) from error
    if newer:
        raise ValueError(
            f"{path.parent} has preset format {version}, this version reads {FORMAT}. "
            "Upgrade keras-context-zoo."
        )
    return record


def write_preset(directory, record, arrays, vocabulary=None, dtype="float32"):
    """Writes a preset directory, whole or not at all.

    Args:
        directory: path; must not exist, or be empty.
        record: dict of plain values, with family and backbone.
        arrays: dict of path to array.
        vocabulary: sequence of str, or None.
        dtype: "float32" or "float16", of the stored weights.

    Raises:
        FileExistsError: if the directory holds something.
        ValueError: if the dtype is another.
    """
    from safetensors.numpy import save_file

    if dtype not in ("float32", "float16"):
        raise ValueError(
            f'`dtype` must be "float32" or "float16". Received: {dtype!r}.'
        )

    with filling(directory) as temporary:
        document = {"format": FORMAT, **record}
        path = temporary / WEIGHTS
        save_file(
            {k: v.astype(dtype, order="C") for k, v in sorted(arrays.items())}, path
        )
        document["weights"] = {
            "file": WEIGHTS,
            "dtype": dtype,
            "bytes": path.stat().st_size,
            "sha256": _sha256(path),
        }
        if vocabulary is not None:
            path = temporary / VOCABULARY
            path.write_bytes("".join(f"{token}\n" for token in vocabulary).encode())
            document["tokenizer"] = {**record["tokenizer"], "sha256": _sha256(path)}
        text = json.dumps(document, indent=2, ensure_ascii=False)
        (temporary / RECORD).write_text(text + "\n", "utf-8")


def add_to_record(directory, fields):
    """Adds fields, such as a model card, to the record of a preset directory.

    Args:
        directory: path with a `preset.json`.
        fields: dict of plain values.
    """
    path = pathlib.Path(directory) / RECORD
    record = {**fields, **json.loads(path.read_text("utf-8"))}
    text = json.dumps(record, indent=2, ensure_ascii=False)
    with replacing(path) as temporary:
        temporary.write_text(text + "\n", "utf-8")


def _verified(directory, name, checksum):
    """The path of a file of the directory; without checksum, whatever it holds."""
    plain = isinstance(name, str) and pathlib.PurePath(name).name == name
    if not plain or name in ("", ".", ".."):
        raise ValueError(
            f"A preset names files of its own directory only. Received: {name!r}."
        )
    path = directory / name
    if not path.is_file():
        raise FileNotFoundError(f"{directory} lacks {name!r}, which its record names.")
    if checksum and _sha256(path) != checksum:
        raise ValueError(
            f"{path} is not the file of the record: its checksum differs. Copy or "
            "fetch it again."
        )
    return path


def _sha256(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read_arrays(path):
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        return {key: value.astype("float32") for key, value in load_file(path).items()}
    except SafetensorError as error:
        raise ValueError(
            f"{path} must be a safetensors file. Received: {error}."
        ) from error
