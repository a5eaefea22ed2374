"""Files of fastai 2 as arrays, and such files written again."""

import pickle

import numpy as np
from places import GOLDENS
from torch_pickles import write_state

from zoo.checkpoint import open_state_dict

FILES = GOLDENS / "fastai_files"


def stored(name):
    """The arrays of a file that fastai 2 wrote."""
    return {k: np.array(v) for k, v in open_state_dict(FILES / f"{name}.pth").items()}


def write(directory, arrays, name="model.pth", legacy=False, tokens=None):
    """Writes a state dict, and tokens beside it."""
    directory.mkdir(exist_ok=True)
    write_state(directory / name, arrays, legacy)
    if tokens is not None:
        (directory / "itos.pkl").write_bytes(pickle.dumps(tokens))
    return directory
