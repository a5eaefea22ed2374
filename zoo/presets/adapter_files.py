"""Files of adapters: the arrays of LoRA and of a head, and a record of their base."""

import hashlib
import json

import safetensors

from zoo.files.buckets import local_path
from zoo.files.state_files import check_shape, damaged
from zoo.files.whole_files import replacing
from zoo.presets.records import check_weights

FORMAT = 1
KIND, ADVICE = "an adapter of zoo", "Copy or save it again with `save_adapter`."
SUFFIX = ".safetensors"
ENTRY = "zoo_adapter"  # of the metadata: the record as JSON
SHAPE = {
    "format": int,
    "family": str,
    "preset?": str,
    "base_sha256": str,
    "rank": int,
    "alpha": float,
    "layers": [str],
    "task": str,
    "options": dict,
    "sha256": str,
}


def write_adapter(path, record, arrays):
    """Writes an adapter, whole or not at all.

    `record` has the fields of `SHAPE` but "format" and "sha256". ValueError if the
    path does not end in `.safetensors`, or an array is not finite.
    """
    from safetensors.numpy import save_file

    path = local_path(path)
    if path.suffix != SUFFIX:
        raise ValueError(
            f"An adapter is a file whose name ends in `{SUFFIX}`. Received: "
            f"{str(path)!r}. Use `{path.stem or 'adapter'}{SUFFIX}`."
        )
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a directory. Choose the name of a file.")
    check_weights(arrays)
    record = json.loads(json.dumps({"format": FORMAT, **record}))
    record["sha256"] = _checksum(record, arrays)
    with replacing(path) as temporary:
        save_file(arrays, temporary, {ENTRY: json.dumps(record)})


def read_adapter(path):
    """Reads an adapter: its record, and dict of path to array.

    FileNotFoundError if there is no such file; ValueError if it is damaged, no adapter,
    or of a later format.
    """
    path = local_path(path)
    if not path.is_file():
        raise FileNotFoundError(f"There is no adapter at {path}. Check the path.")
    try:
        with safetensors.safe_open(path, "numpy") as file:
            entry = (file.metadata() or {}).get(ENTRY)
            if entry is None:
                raise ValueError(f"its metadata lack {ENTRY!r}")
            record = json.loads(entry)
            check_shape(record, {"format": int}, "the record")
            if record["format"] != FORMAT:
                raise ValueError(
                    f"its format is {record['format']}, and this version reads {FORMAT}"
                )
            check_shape(record, SHAPE, "the record")
            arrays = {name: file.get_tensor(name) for name in file.keys()}
        if _checksum(record, arrays) != record["sha256"]:
            raise ValueError("its checksum differs")
    except (safetensors.SafetensorError, RecursionError, OSError, ValueError) as error:
        raise damaged(path, KIND, error, ADVICE) from error
    check_weights(arrays, path=path)
    return record, arrays


def arrays_checksum(arrays):
    """The SHA-256 of pairs of name and array, in this order, str."""
    total = hashlib.sha256()
    for name, array in arrays:
        head = f"{name} {array.dtype.name} {tuple(array.shape)}\n"
        total.update(head.encode("utf-8"))
        total.update(array.tobytes())
    return total.hexdigest()


def _checksum(record, arrays):
    """The SHA-256 of a record without its own, and of the arrays, str."""
    fields = {name: value for name, value in record.items() if name != "sha256"}
    text = json.dumps(fields, sort_keys=True) + arrays_checksum(sorted(arrays.items()))
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
