"""What makers of goldens share; each of them has only one of torch and TensorFlow."""

import importlib.abc
import importlib.machinery
import json
import pathlib
import re
import tempfile
import types

import numpy as np

HERE = pathlib.Path(__file__).parent
GAIN = re.compile(r"(LayerNorm|layer_?norm\w*|\.ln_\w+)\.weight")


def draw_torch(parameters, seed):
    """Draws named arrays of torch: N(0, 0.3), gains of norms N(1, 0.3)."""
    import torch

    generator = np.random.default_rng(seed)
    with torch.no_grad():
        for name, array in parameters:
            mean = 1.0 if GAIN.search(name) else 0.0
            values = generator.normal(mean, 0.3, array.shape)
            array.copy_(torch.tensor(values, dtype=torch.float32))


def draw_keras(model, seed):
    """Draws the variables of a model of Keras: N(0, 0.3), gains of norms N(1, 0.3)."""
    generator = np.random.default_rng(seed)
    for variable in model.variables:
        mean = 1.0 if "gamma" in variable.name else 0.0
        variable.assign(generator.normal(mean, 0.3, variable.shape))


def stored_variables(model):
    """The variables of a checkpoint of a model, dict of name to array."""
    import tensorflow as tf

    with tempfile.TemporaryDirectory() as directory:
        checkpoint = tf.train.Checkpoint(model=model)
        reader = tf.train.load_checkpoint(checkpoint.save(f"{directory}/ckpt"))
        names = sorted(reader.get_variable_to_shape_map())
        return {n: reader.get_tensor(n) for n in names if n.startswith("model/")}


def pack(name, arrays):
    """Arrays as two entries of a golden file: their shapes, and all their values."""
    return {
        f"{name}/shapes": json.dumps({k: v.shape for k, v in arrays.items()}),
        f"{name}/values": np.concatenate([v.ravel() for v in arrays.values()]),
    }


class StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds an empty module for every name of packages that are not used.

    Args:
        names: tuple of str, how the names of modules begin.
        attribute: function of a name to the attribute of such a module.
    """

    def __init__(self, names, attribute):
        self.names, self.attribute = names, attribute

    def find_spec(self, name, path, target=None):
        if name.startswith(self.names):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        """A module with whatever attribute is asked for."""
        module = types.ModuleType(spec.name)
        module.__path__ = []
        module.__getattr__ = self.attribute
        return module

    def exec_module(self, module):
        """There is nothing to run."""
