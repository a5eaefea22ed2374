"""Makes the golden of OpenNMT-tf's Transformer, with its own code.

    pip download --no-deps OpenNMT-tf==2.32.0
    unzip OpenNMT_tf-2.32.0-py3-none-any.whl -d DIRECTORY
    python tests/goldens/make_transformer_opennmt.py DIRECTORY

It needs the legacy Keras. Packages that it imports but does not use here are replaced
by stand-ins. Every parameter is drawn from N(0, 0.3), gains of norms from N(1, 0.3),
with seed 24. Weights have the names of the checkpoint that its trainer writes.
"""

import json
import os
import pathlib
import sys
import tempfile
from unittest import mock

os.environ["TF_USE_LEGACY_KERAS"] = "1"

import numpy as np
import tensorflow as tf
from maker_tools import HERE, StandIns, draw_keras, pack, stored_variables

SEED = 24
STAND_INS = ("ctranslate2", "tensorflow_addons", "pyonmttok", "sacrebleu", "rouge")
STAND_INS += ("yaml",)
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


def stand_in(name):
    """An attribute of an unused module: a class that does nothing, or a mock."""
    return type(name, (), {}) if name[0].isupper() else mock.MagicMock()


def make(options, directory):
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
    draw_keras(model, SEED)
    return model


def compute(model):
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
    sys.path.insert(0, directory)
    sys.meta_path.insert(0, StandIns(STAND_INS, stand_in))
    found = {"inputs": np.int32(INPUTS), "targets": np.int32(TARGETS)}
    for name, options in MODELS.items():
        with tempfile.TemporaryDirectory() as files:
            model = make(options, pathlib.Path(files))
            found |= {f"{name}/{key}": y for key, y in compute(model).items()}
        found[f"{name}/options"] = json.dumps(options)
        found |= pack(name, stored_variables(model))
    np.savez_compressed(HERE / "transformer_opennmt.npz", **found)


if __name__ == "__main__":
    main(sys.argv[1])
