"""Files of fairseq, written again with other arrays and options."""

import argparse

import numpy as np
from places import GOLDENS
from torch_pickles import Tensor, dump, write_zip

from zoo.checkpoint import open_training_checkpoint
from zoo.models.transformer.fairseq import read_options

FAIRSEQ = GOLDENS / "fairseq"
NAMES = ("post_norm", "pre_norm", "oldest", "nameless")
FILES = {**dict.fromkeys(NAMES, "model.pt"), "oldest": "checkpoint_best.pt"}


def write_fairseq(path, arrays=None, entries=None, **options):
    """Changes all arrays, the other entries and some options of a checkpoint."""
    stored, others = open_training_checkpoint(path, "model")
    found = {**read_options(others, path), **options}
    tensors, storages = {}, {}
    for number, (key, array) in enumerate((arrays or dict(stored)).items()):
        array = np.ascontiguousarray(array, "float32")
        strides = tuple(s // 4 for s in array.strides)
        tensors[key] = Tensor(0, array.shape, strides, str(number), array.size)
        storages[str(number)] = array.tobytes()
    content = {"model": tensors, "args": argparse.Namespace(**found)}
    write_zip(path, dump({**content, **(entries or {})}), storages)
