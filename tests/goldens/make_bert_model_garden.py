"""Makes checkpoints of tiny BERTs with tf-models-official, and their outputs.

    python tests/goldens/make_bert_model_garden.py DIRECTORY

The test runs it in a process of its own, since the model garden needs the legacy
Keras; nothing is kept in the repository. tf-models-official 2.20, seed 22. Every
parameter is drawn from N(0, 0.3), gains of norms from N(1, 0.3).
"""

import json
import os
import pathlib
import sys

os.environ["TF_USE_LEGACY_KERAS"] = "1"

import numpy as np
import tensorflow as tf
from maker_tools import draw_keras
from official.modeling import tf_utils
from official.nlp.modeling import layers, models, networks

SEED = 22
SIZES = {
    "vocab_size": 13,
    "hidden_size": 8,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 12,
    "max_position_embeddings": 9,
    "type_vocab_size": 3,
    "hidden_act": "gelu",
    "hidden_dropout_prob": 0.1,
    "attention_probs_dropout_prob": 0.1,
    "initializer_range": 0.02,
}
INPUTS = {
    "input_word_ids": [[2, 5, 7, 9, 3, 0, 0], [2, 6, 4, 11, 3, 10, 3]],
    "input_type_ids": [[0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 2, 2, 1, 1]],
    "input_mask": [[1, 1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1, 1]],
    "masked_lm_positions": [[1, 3], [2, 5]],
}


def make_encoder(generation):
    """A `BertEncoder` (1) or `BertEncoderV2` (2)."""
    options = {
        "vocab_size": SIZES["vocab_size"],
        "hidden_size": SIZES["hidden_size"],
        "num_layers": SIZES["num_hidden_layers"],
        "num_attention_heads": SIZES["num_attention_heads"],
        "max_sequence_length": SIZES["max_position_embeddings"],
        "type_vocab_size": SIZES["type_vocab_size"],
    }
    inner = SIZES["intermediate_size"]
    if generation == 2:
        return networks.BertEncoderV2(inner_dim=inner, **options)
    return networks.BertEncoder(intermediate_size=inner, dict_outputs=True, **options)


def save(directory, outputs, **items):
    """Writes a checkpoint with its configuration and outputs."""
    directory.mkdir(parents=True)
    tf.train.Checkpoint(**items).write(str(directory / "bert_model.ckpt"))
    (directory / "bert_config.json").write_text(json.dumps(SIZES))
    names = ("token_ids", "segment_ids", "padding_mask", "mask_positions")
    inputs = dict(zip(names, INPUTS.values(), strict=True))
    np.savez(directory / "outputs.npz", **inputs, **outputs)


def main(directory):
    inputs = {name: tf.constant(values) for name, values in INPUTS.items()}
    encoder_inputs = {k: v for k, v in inputs.items() if k != "masked_lm_positions"}
    for generation in (1, 2):
        encoder = make_encoder(generation)
        pair = layers.ClassificationHead(
            inner_dim=SIZES["hidden_size"],
            num_classes=2,
            activation="tanh",
            name="next_sentence",
        )
        pretrainer = models.BertPretrainerV2(
            encoder_network=encoder,
            classification_heads=[pair],
            mlm_activation=tf_utils.get_activation("gelu"),
        )
        pretrainer(inputs)
        draw_keras(pretrainer, SEED)
        y = pretrainer(inputs)
        outputs = {
            "sequence_output": y["sequence_output"],
            "masked_lm_logits": y["mlm_logits"],
            "next_sentence_logits": y["next_sentence"],
            # The pooler that pretraining trained, not the encoder's.
            "pooled_output": pair.dense(y["sequence_output"][:, 0]),
        }
        path = directory / f"generation_{generation}"
        items = pretrainer.checkpoint_items
        save(path / "both", outputs, model=pretrainer, **items)
        save(path / "model", outputs, model=pretrainer)
        del outputs["next_sentence_logits"]
        save(path / "items", outputs, **items)
        y = encoder(encoder_inputs)
        outputs = {
            "sequence_output": y["sequence_output"],
            "pooled_output": y["pooled_output"],
        }
        save(path / "encoder", outputs, encoder=encoder)
        classifier = models.BertClassifier(network=encoder, num_classes=3)
        draw_keras(classifier, SEED)
        y = encoder(encoder_inputs)
        outputs = {
            "sequence_output": y["sequence_output"],
            "pooled_output": y["pooled_output"],
            "classifier_logits": classifier(encoder_inputs),
        }
        items = classifier.checkpoint_items
        save(path / "classifier", outputs, model=classifier, **items)
        if generation == 1:
            del outputs["classifier_logits"]
            save(path / "root", outputs, model=encoder)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
