"""Makes the golden of the model garden's Transformer, with its own code.

    python tests/goldens/make_transformer_model_garden.py

tf-models-official 2.20, which needs the legacy Keras, so it is not run by a test. Every
parameter is drawn from N(0, 0.3), gains of norms from N(1, 0.3), with seed 24. Weights
have the names of the checkpoint that Orbit's trainer would write.
"""

import json
import os

os.environ["TF_USE_LEGACY_KERAS"] = "1"

import numpy as np
import tensorflow as tf
from maker_tools import HERE, draw_keras, pack, stored_variables
from official.nlp.modeling import models

SEED = 24
# Arguments of `TransformerEncoder` and `TransformerDecoder`, and numbers of blocks.
MODELS = {
    "norm_first": ({"norm_first": True, "use_bias": True, "activation": "gelu"}, 1, 2),
    "norm_after": ({"norm_first": False, "use_bias": False}, 2, 1),
}
VOCABULARY, WIDTH, HEADS, INNER = 13, 8, 2, 12
INPUTS = [[3, 9, 4, 12, 7, 1, 0, 0], [5, 2, 11, 6, 12, 10, 8, 1]]
TARGETS = [[4, 6, 2, 9, 1, 0, 0], [12, 3, 3, 0, 5, 7, 1]]


def make(options, encoder_blocks, decoder_blocks):
    sizes = {"num_attention_heads": HEADS, "intermediate_size": INNER}
    model = models.Seq2SeqTransformer(
        vocab_size=VOCABULARY,
        embedding_width=WIDTH,
        encoder_layer=models.TransformerEncoder(encoder_blocks, **sizes, **options),
        decoder_layer=models.TransformerDecoder(decoder_blocks, **sizes, **options),
    )
    model({"inputs": tf.constant(INPUTS), "targets": tf.constant(TARGETS)})
    draw_keras(model, SEED)
    return model


def main():
    found = {"inputs": np.int32(INPUTS), "targets": np.int32(TARGETS)}
    for name, (options, *blocks) in MODELS.items():
        model = make(options, *blocks)
        source, target = tf.constant(INPUTS), tf.constant(TARGETS)
        encoded = []
        call = model.encoder_layer.call

        def keep(*args, call=call, encoded=encoded, **kwargs):
            encoded.append(call(*args, **kwargs))
            return encoded[-1]

        model.encoder_layer.call = keep
        logits = model({"inputs": source, "targets": target})
        model.encoder_layer.call = call
        found[f"{name}/options"] = json.dumps(options)
        found[f"{name}/encoder_sequence_output"] = encoded[0]
        found[f"{name}/token_logits"] = logits
        found |= pack(name, stored_variables(model))
    np.savez_compressed(HERE / "transformer_model_garden.npz", **found)


if __name__ == "__main__":
    main()
