"""Opens checkpoint files of several formats as mappings from name to array.

Reading a file never executes code that is stored in it, and never reads other files but
the shards of a checkpoint, which must be in the same directory.
"""

import contextlib
import io
import json
import math
import re
import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

import h5py
import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from zoo.checkpoint.array_archives import open_datasets, open_npz
from zoo.checkpoint.torch_files import open_torch, open_torch_entries, open_torch_state
from zoo.checkpoint.torch_writing import write_torch
from zoo.files.buckets import local_path
from zoo.files.whole_files import replacing

# The exceptions that libraries raise if a file is damaged.
READ_ERRORS = (
    OSError,
    ValueError,
    TypeError,
    AttributeError,
    MemoryError,
    LookupError,
    EOFError,
    RuntimeError,
    ArithmeticError,
    SyntaxError,
    tokenize.TokenError,
    SafetensorError,
    zipfile.BadZipFile,
    zlib.error,
)

NEW_SUFFIXES = (".safetensors", ".h5", ".hdf5", ".npz", ".pth")


class Checkpoint(Mapping):
    """A mapping from name to array, which is read from the file on each access.

    `path` is named in messages; `readers` has a function without arguments for each
    array. An access raises ValueError if the file is damaged.
    """

    def __init__(self, path, readers):
        self.path = path
        self._readers = readers

    def __getitem__(self, name):
        reader = self._readers[name]
        with _reading(self.path, f"tensor {name!r}"):
            return np.asarray(reader())

    def __iter__(self):
        return iter(self._readers)

    def __len__(self):
        return len(self._readers)


def open_checkpoint(path):
    """Opens a checkpoint without reading its arrays.

    Args:
        path: str or pathlib.Path of one of these:

            - a TensorFlow checkpoint: its prefix, its `.index` file, or a directory
              that holds one
            - a `.safetensors`, `.h5`, `.hdf5` or `.npz` file
            - a file of `torch.save`: `.bin`, `.pt`, `.pth` or `.pkl`
            - the `.index.json` of a sharded checkpoint, whose shards must be in the
              same directory

    Returns:
        `Checkpoint`, a mapping from str to arrays of the stored dtypes. The names of
        an HDF5 file are paths of datasets.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if the file is damaged, has another format, or holds objects other
            than arrays.
    """
    path = local_path(path)
    prefix = _tensorflow_prefix(path)
    if prefix is not None:
        return Checkpoint(prefix, _open_tensorflow(prefix))
    path = _existing(path)
    for suffix, opener in FORMATS.items():
        if path.name.endswith(suffix):
            with _reading(path, f"{suffix} checkpoint"):
                return Checkpoint(path, opener(path))
    raise ValueError(
        f"A checkpoint must be of TensorFlow, or end in {', '.join(FORMATS)}. "
        f"Received: `{path}`. Rename the file if its suffix is wrong."
    )


def find_tensorflow(directory):
    """The `.index` files of the TensorFlow checkpoints in a directory, sorted, list.

    Other programs write files with this suffix, too. That of a checkpoint has files of
    data beside it, or "ckpt" in its name if its data are missing.
    """
    data = {p.name.rpartition(".data-")[0] for p in directory.glob("*.data-*-of-*")}
    paths = sorted(directory.glob("*.index"))
    return [path for path in paths if path.stem in data or "ckpt" in path.name]


def find_variables(directory):
    """The names of the variables in all TensorFlow checkpoints of a directory, set."""
    paths = find_tensorflow(directory)
    return {name for path in paths for name in open_checkpoint(path)}


def open_training_checkpoint(path, key):
    """Opens a file of `torch.save` that a training program wrote.

    Args:
        path: str or pathlib.Path.
        key: str, the entry of the file that holds the weights, such as "model".

    Returns:
        `Checkpoint` of the weights; and dict of the other entries, in which an object
        of a class is a dict of its attributes. The class is never imported.

    Raises:
        FileNotFoundError, ValueError: as `open_checkpoint`; also if the file lacks the
            entry, or asks for a class that no training program stores.
    """
    path = _existing(path)
    with _reading(path, "checkpoint of a training"):
        readers, entries = open_torch_entries(path, key)
    return Checkpoint(path, readers), entries


def open_state_dict(path, key="model"):
    """Opens a file of `torch.save` with a state dict, whatever its suffix is.

    fastai 0.7 gives such files the suffix .h5. Later versions store the state of the
    optimizer beside the state dict, which is then the entry `key`.

    Args:
        path: str or pathlib.Path.
        key: str.

    Returns:
        `Checkpoint` of the state dict.

    Raises:
        FileNotFoundError, ValueError: as `open_training_checkpoint`.
    """
    path = _existing(path)
    with _reading(path, "state dict of torch"):
        return Checkpoint(path, open_torch_state(path, key))


def _existing(path):
    path = local_path(path)
    if not path.is_file():
        raise FileNotFoundError(
            f"There is no checkpoint at `{path}`. Check the path, or download the file."
        )
    return path


def save_checkpoint(path, arrays):
    """Writes arrays to a file, completely or not at all.

    Args:
        path: str or pathlib.Path that ends in `.safetensors`, `.h5`, `.hdf5`, `.npz`,
            or `.pth` for a state dict of torch.
        arrays: dict of str to array. In HDF5 the names are paths of datasets.

    Raises:
        ValueError: if the path has another suffix.
        OSError: if the disk is full or the permission to write is missing.
    """
    path = local_path(path)
    if path.suffix not in NEW_SUFFIXES:
        raise ValueError(
            f"A new checkpoint must end in {', '.join(NEW_SUFFIXES)}. Received: "
            f"`{path}`. Choose one of these suffixes."
        )
    arrays = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    with replacing(path) as partial:
        if path.suffix == ".safetensors":
            # The loader of Hugging Face requires this entry.
            save_file(arrays, partial, metadata={"format": "pt"})
        elif path.suffix in (".h5", ".hdf5"):
            # If the disk is full, HDF5 crashes when it closes a file there.
            content = io.BytesIO()
            with h5py.File(content, "w") as file:
                for name, array in arrays.items():
                    file[name] = array
            partial.write_bytes(content.getbuffer())
        elif path.suffix == ".pth":
            write_torch(partial, arrays)
        else:
            np.savez(partial, **arrays)


@contextlib.contextmanager
def _reading(path, what, errors=READ_ERRORS):
    """Replaces the exceptions of a damaged file by one ValueError that names it."""
    try:
        yield
    except errors as error:
        # A nested context has already named the file.
        if str(path) in str(error) and isinstance(error, ValueError):
            raise
        raise ValueError(
            f"`{path}` must hold a complete {what}. Received: {error} "
            f"({type(error).__name__}). Download or save the file again."
        ) from error


def _tensorflow_prefix(path):
    """Finds the prefix of the TensorFlow checkpoint at `path`, or returns None."""
    if not path.is_dir():
        prefix = path.with_suffix("") if path.suffix == ".index" else path
        return prefix if Path(f"{prefix}.index").is_file() else None
    found = [file.with_suffix("") for file in find_tensorflow(path)]
    state = path / "checkpoint"
    if state.is_file():
        # The directory in this file is on the machine that wrote it, so only the name
        # is used.
        latest = re.search(r'^model_checkpoint_path: "(.*)"', state.read_text(), re.M)
        named = [p for p in found if latest and p.name == Path(latest[1]).name]
        found = named or found
    if len(found) != 1:
        raise ValueError(
            "A directory must hold exactly one TensorFlow checkpoint, or a file "
            f"`checkpoint` that names one. Received: {[p.name for p in found]} in "
            f"`{path}`. Keep one, or name it in a file `checkpoint` with the line "
            f'model_checkpoint_path: "{found[0].name if found else "NAME"}".'
        )
    return found[0]


def _open_tensorflow(prefix):
    # TensorFlow is slow to import, and no other format needs it.
    import tensorflow as tf

    errors = (*READ_ERRORS, tf.errors.OpError)

    def read(name):
        with _reading(prefix, f"TensorFlow tensor {name!r}", errors):
            if dtypes[name] == tf.string:  # of a size that is not declared
                raise ValueError("it holds texts")
            return reader.get_tensor(name)

    with _reading(prefix, "TensorFlow checkpoint", errors):
        reader = tf.train.load_checkpoint(str(prefix))
        shapes = reader.get_variable_to_shape_map()
        dtypes = reader.get_variable_to_dtype_map()
        # TensorFlow reserves memory for a shape before it looks for the values.
        numbers = [name for name in shapes if dtypes[name] != tf.string]
        declared = sum(math.prod(shapes[n]) * dtypes[n].size for n in numbers)
        files = prefix.parent.glob("*.data-*")
        files = [p for p in files if p.name.startswith(f"{prefix.name}.data-")]
        if declared > sum(file.stat().st_size for file in files):
            raise ValueError(f"it declares {declared} bytes, more than its data files")
    return {name: lambda name=name: read(name) for name in shapes}


def _open_safetensors(path):
    file = safe_open(path, framework="numpy")
    return {name: lambda name=name: file.get_tensor(name) for name in file.keys()}


def _open_hdf5(path):
    return open_datasets(h5py.File(path, "r"), path.stat().st_size)


def _open_shards(path):
    """Opens the shards that an index names; they must be in its directory."""
    readers, shards = {}, {}
    for name, shard in json.loads(path.read_text("utf-8"))["weight_map"].items():
        # The index is downloaded, so it must not choose other files of this machine.
        if Path(shard).name != shard or not shard.endswith((".safetensors", ".bin")):
            raise ValueError(
                f"`{path}` must name .safetensors or .bin files in its own directory. "
                f"Received: {shard!r}. Download the checkpoint again."
            )
        if shard not in shards:
            shards[shard] = open_checkpoint(path.parent / shard)
        if name not in shards[shard]:
            raise ValueError(
                f"`{path}` says that {shard!r} holds {name!r}, but it does not. "
                "Download all shards again."
            )
        readers[name] = lambda shard=shard, name=name: shards[shard][name]
    return readers


FORMATS = {
    ".index.json": _open_shards,
    ".safetensors": _open_safetensors,
    ".h5": _open_hdf5,
    ".hdf5": _open_hdf5,
    ".npz": open_npz,
    ".bin": open_torch,
    ".pt": open_torch,
    ".pth": open_torch,
    ".pkl": open_torch,
}
