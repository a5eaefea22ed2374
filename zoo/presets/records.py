"""Preset directories: JSON, arrays and files. Knows no class and no TensorFlow."""

import hashlib
import json
import pathlib

from zoo.files import filling, replacing

FORMAT = 2
RECORD = "preset.json"
WEIGHTS = "weights.safetensors"
# Parts of a record that name a file, and what they must say.
PARTS = {"weights": ("file", "sha256"), "tokenizer": ()}


def read_preset(directory):
    """Reads a preset directory of our own layout.

    Args:
        directory: path with a `preset.json`.

    Returns:
        record dict; arrays dict of path to float32 array; files dict of name to bytes,
        those of the tokenizer.

    Raises:
        FileNotFoundError: if a file that the record names is missing.
        ValueError: if the record is no preset, of a newer format, names a file
            outside of the directory, or a file is damaged.
    """
    directory = pathlib.Path(directory)
    record, arrays = _read_record(directory / RECORD), {}
    if record.get("weights"):
        weights = record["weights"]
        arrays = _read_arrays(verified(directory, weights["file"], weights["sha256"]))
    checksums = (record.get("tokenizer") or {}).get("files", {})
    files = {
        name: verified(directory, name, checksum).read_bytes()
        for name, checksum in checksums.items()
    }
    return record, arrays, files


def _read_record(path):
    try:
        record = json.loads(path.read_text("utf-8"))
        version = record.get("format", 1)
        newer = version > FORMAT
        if version == 1:
            record = _from_format_1(record)
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


def _from_format_1(record):
    """The record as format 2 has it: a tokenizer of any number of files."""
    tokenizer = record.get("tokenizer")
    if not tokenizer:
        return record
    arguments, files = dict(tokenizer), {}
    checksum = arguments.pop("sha256", None)
    if "vocabulary" in arguments:
        files[arguments.pop("vocabulary")] = checksum
    return {**record, "tokenizer": {"arguments": arguments, "files": files}}


def write_preset(directory, record, arrays, files=None, dtype="float32"):
    """Writes a preset directory, whole or not at all.

    Args:
        directory: path; must not exist, or be empty.
        record: dict of plain values, with family and backbone; of the tokenizer
            class_name and arguments.
        arrays: dict of path to array.
        files: dict of name to bytes, those of the tokenizer.
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
            "sha256": sha256(path),
        }
        checksums = {}
        for name, content in (files or {}).items():
            (temporary / name).write_bytes(content)
            checksums[name] = sha256(temporary / name)
        if document.get("tokenizer"):
            document["tokenizer"] = {**document["tokenizer"], "files": checksums}
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


def verified(directory, name, checksum):
    """The path of a file of the directory; without checksum, whatever it holds."""
    plain = isinstance(name, str) and pathlib.PurePath(name).name == name
    if not plain or name in ("", ".", ".."):
        raise ValueError(
            f"A preset names files of its own directory only. Received: {name!r}."
        )
    path = directory / name
    if not path.is_file():
        raise FileNotFoundError(f"{directory} lacks {name!r}, which its record names.")
    if checksum and sha256(path) != checksum:
        raise ValueError(
            f"{path} is not the file of the record: its checksum differs. Copy or "
            "fetch it again."
        )
    return path


def sha256(path):
    """The checksum of a file, str."""
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
