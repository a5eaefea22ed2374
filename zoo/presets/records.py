"""Preset directories of our own layout: a JSON record, arrays and files."""

import hashlib
import math
import pathlib

from zoo.checks.ranges import check_choice
from zoo.files.buckets import local_path
from zoo.files.state_files import TYPE_NAMES, damaged, read_state
from zoo.files.whole_files import filling, write_json
from zoo.presets.schema import FORMAT, check_record

RECORD = "preset.json"
KIND, ADVICE = "a preset record", "Save or fetch the preset again."
WEIGHTS = "weights.safetensors"
# The smallest number that a cast to the dtype rounds to infinity.
INFINITE = {"float32": 2.0**128 - 2.0**103, "float16": 65520.0}


def read_preset(directory):
    """Reads a preset directory: the record, arrays by path, and the tokenizer's files.

    FileNotFoundError if a file that the record names is missing. ValueError if the
    record or a file is damaged, the format is newer, a named file is outside of the
    directory, or a weight is not finite.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    directory = local_path(directory)
    record, arrays = _read_record(directory / RECORD), {}
    if record.get("weights"):
        weights = record["weights"]
        path = verified(directory, weights["file"], weights["sha256"])
        try:
            stored = load_file(path)
        except SafetensorError as error:
            raise ValueError(
                f"{path} must be a safetensors file. Received: {error}."
            ) from error
        arrays = {key: _stored(value, "float32") for key, value in stored.items()}
        check_weights(arrays, path=path)
    checksums = (record.get("tokenizer") or {}).get("files") or {}
    files = {
        name: verified(directory, name, checksum).read_bytes()
        for name, checksum in checksums.items()
    }
    return record, arrays, files


def _read_record(path):
    """Reads a record, and checks its format and its fields."""
    record = read_state(path, KIND, dict, ADVICE)
    version = record.get("format", FORMAT)
    if type(version) is int and version > FORMAT:
        raise ValueError(
            f"{path.parent} has preset format {version}; this version reads formats "
            f"up to {FORMAT}. Upgrade keras-context-zoo."
        )
    try:
        if type(version) is not int or version < FORMAT:
            raise ValueError(
                f"`format` must be {TYPE_NAMES[int]} of at least {FORMAT}. Received: "
                f"{version!r:.80}"
            )
        check_record(record)
    except ValueError as error:
        raise damaged(path, KIND, error, ADVICE) from error
    return record


def write_preset(directory, record, arrays, files=None, dtype="float32"):
    """Writes a preset directory, new or empty. If it fails, nothing is written.

    The record has at least family and backbone; its tokenizer has class_name and
    arguments. `files` holds the contents of the tokenizer's files. `dtype` is "float32"
    or "float16", of the stored weights. FileExistsError if the directory is not empty;
    ValueError if a field or the dtype is wrong, or a weight is not finite in it.
    """
    from safetensors.numpy import save_file

    check_choice("dtype", dtype, INFINITE)
    check_record(record)
    check_weights(arrays, dtype)
    with filling(directory) as temporary:
        document = {"format": FORMAT, **record}
        path = temporary / WEIGHTS
        save_file({k: _stored(v, dtype) for k, v in sorted(arrays.items())}, path)
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
        write_json(temporary / RECORD, document, indent=2, ensure_ascii=False)


def add_to_record(directory, fields):
    """Adds fields, such as a model card, to the record of a preset directory."""
    path = local_path(directory) / RECORD
    record = {**fields, **read_state(path, KIND, dict, ADVICE)}
    write_json(path, record, indent=2, ensure_ascii=False)


def check_weights(arrays, dtype="float32", path=None):
    """Checks that weights are finite and stay finite when they are cast to `dtype`.

    The ValueError names the first weight that is not, and `path`, the file that was
    read; None when writing.
    """
    bound = INFINITE[dtype]
    for name, array in arrays.items():
        if not array.size:
            continue
        least, most = float(array.min()), float(array.max())
        if -bound < least and most < bound:  # no comparison with NaN holds
            continue
        if path:
            advice = "Fetch or save the file again."
        elif math.isfinite(least) and math.isfinite(most):
            advice = 'Save it with dtype="float32".'
        else:
            advice = "Train again from an earlier state."
        raise ValueError(
            f"Weights must be finite in {dtype}. Received: {name!r} with values from "
            f"{least:g} to {most:g}{f', in {path}' if path else ''}. {advice}"
        )


def verified(directory, name, checksum):
    """The path of a file in a directory; checks its checksum if there is one.

    FileNotFoundError if there is none; ValueError if the name has a directory in it, or
    the checksum differs.
    """
    plain = isinstance(name, str) and pathlib.PurePath(name).name == name
    if not plain or name in ("", ".", ".."):
        raise ValueError(
            f"A preset must name files of its own directory only. Received: {name!r} "
            f"in {directory}."
        )
    path = directory / name
    if not path.is_file():
        raise FileNotFoundError(f"{directory} lacks {name!r}, which its record names.")
    if checksum and sha256(path) != checksum:
        raise ValueError(
            f"{path} is not the file of the record, since its checksum differs. Copy "
            "or fetch it again."
        )
    return path


def sha256(path):
    """The checksum of a file, str."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _stored(array, dtype):
    """An array as it is stored or read: in the dtype, unless it is quantized."""
    return array.astype("int8" if array.dtype == "int8" else dtype, order="C")
