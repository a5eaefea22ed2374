"""The arrays in the files of a directory of another program, and files with others."""

import numpy as np
import test_transformer_ctranslate2 as ctranslate2
import test_transformer_marian_npz as marian_npz
from fairseq_files import FILES, write_fairseq
from foreign_files import change_json, save_tensorflow
from torch_pickles import write_state

from zoo.checkpoint import (
    open_checkpoint,
    open_state_dict,
    open_training_checkpoint,
    read_ctranslate2,
    save_checkpoint,
)

# What holds the object graph of TensorFlow is no array.
TEXTS = "_CHECKPOINTABLE_OBJECT_GRAPH"
END = "/.ATTRIBUTES/VARIABLE_VALUE"  # of a name in a checkpoint of objects
SUFFIXES = (".safetensors", ".h5", ".hdf5", ".npz", ".index", ".pth", ".pt", ".pkl")


def find_arrays(directory):
    """The files of a directory that hold arrays by name, list of paths."""
    paths = [p for p in sorted(directory.iterdir()) if p.suffix in SUFFIXES]
    paths += directory.glob("model.bin")
    return [path for path in paths if "itos" not in path.name]


def of_fairseq(path):
    """Whether a file is one of fairseq, which holds more than weights."""
    return path.name in FILES.values() and (path.parent / "dict.en.txt").is_file()


def read_arrays(path):
    """The arrays of a file, dict of name to array."""
    if path.suffix == ".bin":
        _, _, found = read_ctranslate2(path)
    elif of_fairseq(path):
        found, _ = open_training_checkpoint(path, "model")
    elif path.suffix in (".pth", ".pt", ".pkl"):
        found = open_state_dict(path)
    else:
        found = open_checkpoint(path)
    return {name: np.array(found[name]) for name in found if name != TEXTS}


def write_arrays(path, arrays):
    """Writes a file of the same kind, and with the same options, with other arrays."""
    if path.suffix == ".bin":
        ctranslate2.write(path.parent, arrays, version=6)
    elif of_fairseq(path):
        write_fairseq(path, arrays)
    elif path.suffix in (".pt", ".pkl"):
        write_state(path, arrays, legacy=path.suffix == ".pkl")
    elif path.suffix == ".index":
        save_tensorflow(path.with_suffix(""), arrays)
    else:
        save_checkpoint(path, arrays)


def change_file(path, change):
    """Changes options of a file, a dict, or its bytes, a function of them."""
    if callable(change):
        path.write_bytes(change(path.read_bytes()))
    elif path.suffix == ".pt":
        write_fairseq(path, **change)
    elif path.suffix == ".npz":
        marian_npz.save(path.parent, change, marian_npz.draw(marian_npz.OPTIONS))
    else:
        change_json(path, **change)
