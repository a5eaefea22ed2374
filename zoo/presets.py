"""Preset directories: JSON, arrays and files. Knows no class and no TensorFlow."""

import difflib
import functools
import hashlib
import json
import os
import pathlib
import shutil
import tempfile

FORMAT = 1
RECORD = "preset.json"
WEIGHTS = "weights.safetensors"
VOCABULARY = "vocabulary.txt"


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
    found = sorted(preset_root().glob(f"*/*/{RECORD}"))
    published = sorted(preset_root().glob("*/published.json"))
    records = {path.parent.name: path for path in found}
    for path in published:
        records.update(dict.fromkeys(json.loads(path.read_text("utf-8")), path))
    return records


def list_presets(family=None):
    """Names of all presets, shipped and published.

    Args:
        family: str, such as "bert", or None for all.

    Returns:
        tuple of str, sorted.
    """
    names = sorted(_directories())
    return tuple(n for n in names if family in (None, preset_info(n)["family"]))


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
    """
    text = os.fspath(preset)
    if "://" in text:
        return _download(text)
    if pathlib.Path(text).is_dir():
        return pathlib.Path(text)
    if os.sep in text or text.startswith("."):
        raise FileNotFoundError(
            f"A preset directory must exist. Received: {text!r}, which does not."
        )
    record = preset_info(text)
    directory = _directories()[text].parent
    if "weights" in record:
        return directory
    cached = cache_root() / text
    if cached.is_dir():
        return cached
    return _download(record["source"]["uri"], text)


def cache_root():
    """Where published weights are looked for: `$ZOO_HOME`, or ~/.cache/zoo."""
    return pathlib.Path(os.environ.get("ZOO_HOME", "~/.cache/zoo")).expanduser()


def _download(uri, name=None):
    scheme, _, path = uri.partition("://")
    try:
        if scheme == "hf":
            import huggingface_hub

            patterns = ["*.json", "*.txt", "*.safetensors", "*.bin", "*.h5"]
            return pathlib.Path(
                huggingface_hub.snapshot_download(path, allow_patterns=patterns)
            )
        if scheme == "kaggle":
            import kagglehub

            return pathlib.Path(kagglehub.model_download(path))
    except ImportError as error:
        raise FileNotFoundError(
            f"{uri} needs the package {error.name!r}. Run `pip install {error.name}`."
        ) from error
    except (OSError, ValueError) as error:
        place = cache_root() / name if name else "a directory of your own"
        raise FileNotFoundError(
            f"{uri} could not be fetched: {str(error).splitlines()[0]} Put its files "
            f"(config, weights, vocabulary) into {place}"
            f"{'' if name else ' and give its path'}."
        ) from error
    raise ValueError(
        f"A preset's URI begins with hf:// or kaggle://. Received: {uri!r}."
    )


def read_preset(directory):
    """Reads a preset directory of our own layout.

    Args:
        directory: path with a `preset.json`.

    Returns:
        record dict, arrays dict of path to float32 array, vocabulary tuple or None.

    Raises:
        FileNotFoundError: if a file that the record names is missing.
        ValueError: if the record is no preset, of a newer format, names a file
            outside of the directory, or the weights are not those that it names.
    """
    directory = pathlib.Path(directory)
    try:
        record = json.loads((directory / RECORD).read_text("utf-8"))
        record["family"], record["backbone"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"{directory / RECORD} is no preset record: {error!r}. Save it again."
        ) from error
    if record.get("format", FORMAT) > FORMAT:
        raise ValueError(
            f"{directory} has preset format {record['format']}, this version reads "
            f"{FORMAT}. Upgrade keras-context-zoo."
        )
    arrays, vocabulary = {}, None
    if "weights" in record:
        path = _inside(directory, record["weights"]["file"])
        if _sha256(path) != record["weights"]["sha256"]:
            raise ValueError(
                f"{path} is not the file that was saved: its checksum differs from "
                "the record's. Copy the preset again."
            )
        arrays = _read_arrays(path)
    if record.get("tokenizer"):
        path = _inside(directory, record["tokenizer"]["vocabulary"])
        vocabulary = tuple(path.read_text("utf-8").split("\n")[:-1])
    return record, arrays, vocabulary


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
    """
    from safetensors.numpy import save_file

    def fill(temporary):
        stored = {key: value.astype(dtype) for key, value in sorted(arrays.items())}
        save_file(stored, temporary / WEIGHTS)
        path = temporary / WEIGHTS
        record["weights"] = {
            "file": WEIGHTS,
            "dtype": dtype,
            "bytes": path.stat().st_size,
            "sha256": _sha256(path),
        }
        if vocabulary is not None:
            lines = "".join(f"{token}\n" for token in vocabulary)
            (temporary / VOCABULARY).write_text(lines, "utf-8")
        text = json.dumps({"format": FORMAT, **record}, indent=2, ensure_ascii=False)
        (temporary / RECORD).write_text(text + "\n", "utf-8")

    write_directory(directory, fill)


def write_directory(directory, fill):
    """Makes a directory by a function, under another name until it is complete.

    Args:
        directory: path; must not exist, or be empty.
        fill: function of the temporary directory's path.

    Raises:
        FileExistsError: if the directory holds something.
    """
    directory = pathlib.Path(directory)
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise FileExistsError(
            f"{directory} exists and is not empty. Choose another directory, or "
            "remove it first."
        )
    directory.parent.mkdir(parents=True, exist_ok=True)
    temporary = pathlib.Path(tempfile.mkdtemp(prefix=".tmp-", dir=directory.parent))
    try:
        fill(temporary)
        temporary.chmod(0o755)
        os.replace(temporary, directory)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _inside(directory, name):
    path = directory / name
    if path.parent != directory or not name:
        raise ValueError(
            f"A preset names files of its own directory only. Received: {name!r}."
        )
    if not path.is_file():
        raise FileNotFoundError(f"{directory} lacks {name!r}, which its record names.")
    return path


def _sha256(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read_arrays(path):
    from safetensors.numpy import load_file

    return {key: value.astype("float32") for key, value in load_file(path).items()}
