"""Makes the golden of OpenNMT-tf's Transformer, with its own code.

    pip download --no-deps OpenNMT-tf==2.32.0
    unzip OpenNMT_tf-2.32.0-py3-none-any.whl -d DIRECTORY
    python tests/goldens/make_transformer_opennmt.py DIRECTORY

It needs the legacy Keras. Packages that it imports but does not use here are replaced
by stand-ins. Every parameter is drawn from N(0, 0.3), gains of norms from N(1, 0.3),
with seed 24. Weights have the names of the checkpoint that its trainer writes.
"""

import importlib.abc
import importlib.machinery
import json
import os
import pathlib
import sys
import tempfile
import types
from unittest import mock

os.environ["TF_USE_LEGACY_KERAS"] = "1"

import numpy as np
import tensorflow as tf

SEED = 24
OUTPUT = pathlib.Path(__file__).with_name("transformer_opennmt.npz")
STAND_INS = (
    *("ctranslate2", "tensorflow_addons", "pyonmttok", "sacrebleu", "rouge", "yaml"),
)
SOURCE = ["<blank>", "<s>", "</s>", *"abcdefg"]
TARGET = ["<blank>", "<s>", "</s>", *"uvwxyz"]
# Arguments of `Transformer`, by which models differ.
MODELS = {
    "pre_norm": {"num_layers": (1, 2), "ffn_activation": "gelu"},
    "post_norm": {
        "num_layers": (2, 1),
        "pre_norm": False,
        "mha_bias": False,
        "output_layer_bias": False,
        "share_embeddings": 2,
    },
    "shared": {"num_layers": 1, "share_embeddings": 3},
    "shared_input": {"num_layers": 1, "share_embeddings": 1},
}
INPUTS = [[3, 9, 4, 8, 7, 0, 0], [5, 3, 9, 6, 4, 10, 8]]
TARGETS = [[1, 4, 6, 8, 9, 2, 0], [1, 3, 3, 7, 5, 4, 2]]


class StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds an empty module for every name in `STAND_INS`."""

    def find_spec(self, name, path, target=None):
        """The module, if it is one of them."""
        if name.startswith(STAND_INS):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        """A module whose attributes are classes that do nothing."""
        module = types.ModuleType(spec.name)
        module.__path__ = []
        module.__getattr__ = lambda name: (
            type(name, (), {}) if name[0].isupper() else mock.MagicMock()
        )
        return module

    def exec_module(self, module):
        """There is nothing to run."""


def make(options, directory):
    """A model with random parameters."""
    from opennmt.models import Transformer

    files = {}
    shared = options.get("share_embeddings") in (1, 3)
    for side, tokens in (("source", SOURCE), ("target", SOURCE if shared else TARGET)):
        files[f"{side}_vocabulary"] = str(directory / f"{side}.txt")
        text = "".join(f"{token}\n" for token in tokens)
        (directory / f"{side}.txt").write_text(text)
    options = {**options}
    if "ffn_activation" in options:
        options["ffn_activation"] = getattr(tf.nn, options["ffn_activation"])
    model = Transformer(num_units=8, num_heads=2, ffn_inner_dim=12, **options)
    model.initialize(files, params={"beam_width": 1})
    model.create_variables()
    generator = np.random.default_rng(SEED)
    for variable in model.variables:
        mean = 1.0 if "gamma" in variable.name else 0.0
        variable.assign(generator.normal(mean, 0.3, variable.shape))
    return model


def stored(model):
    """The variables of a checkpoint, dict of name to array."""
    with tempfile.TemporaryDirectory() as directory:
        step = tf.Variable(3, name="step", dtype=tf.int64)
        checkpoint = tf.train.Checkpoint(model=model, step=step)
        reader = tf.train.load_checkpoint(checkpoint.save(f"{directory}/ckpt"))
        names = sorted(reader.get_variable_to_shape_map())
        return {n: reader.get_tensor(n) for n in names if n.startswith("model/")}


def compute(model):
    """The output of the encoder, and the logits."""
    source, target = np.int32(INPUTS), np.int32(TARGETS)
    lengths = tf.constant((source != 0).sum(1), tf.int32)
    encoded, _, _ = model.encoder(
        model.features_inputter({"ids": tf.constant(source)}), sequence_length=lengths
    )
    state = model.decoder.initial_state(
        memory=encoded, memory_sequence_length=lengths, batch_size=len(source)
    )
    logits, _, _ = model.decoder(
        model.labels_inputter({"ids": tf.constant(target)}),
        tf.constant((target != 0).sum(1), tf.int32),
        state=state,
    )
    return {"encoder_sequence_output": encoded, "token_logits": logits}


def main(directory):
    """Writes the file."""
    sys.path.insert(0, directory)
    sys.meta_path.insert(0, StandIns())
    found = {"inputs": np.int32(INPUTS), "targets": np.int32(TARGETS)}
    for name, options in MODELS.items():
        with tempfile.TemporaryDirectory() as files:
            model = make(options, pathlib.Path(files))
            found |= {f"{name}/{key}": y for key, y in compute(model).items()}
        arrays = stored(model)
        found[f"{name}/options"] = json.dumps(options)
        found[f"{name}/shapes"] = json.dumps({k: v.shape for k, v in arrays.items()})
        found[f"{name}/values"] = np.concatenate([v.ravel() for v in arrays.values()])
    np.savez_compressed(OUTPUT, **found)


if __name__ == "__main__":
    main(sys.argv[1])
