"""A dense forward pass: BERT-base on 8 rows of 128 tokens without padding, on the CPU.

The model has 12 layers of width 768, 12 heads, inner width 3072, vocabulary 30522 and
random weights. There is no text and no batching, so only arithmetic is measured.

The peer `matmul` is a lower bound of the time: the time of the matrix products of the
model at the rate of 2048 x 2048 products, measured in the same run.
"""

import json
import subprocess
import sys

from benchmarks.peers import (
    differences,
    facts_of,
    keras_nlp_backbone,
    make_products,
    note_of_rounding,
)

UNIT = "rows"
NEEDS = ()
ROWS, LENGTH = 8, 128
LAYERS, WIDTH, INNER, VOCABULARY = 12, 768, 3072, 30522
HEADS = 12


def operations(rows, length, layers, width, inner):
    """The number of floating-point operations in the matrix products, int."""
    # Queries, keys, values, outputs; two of the inner network; scores and sums.
    weights = 4 * width * width + 2 * width * inner
    return 2 * rows * length * layers * (weights + 2 * length * width)


def make_batch():
    """Token ids, numpy int32 (8, 128), without 0, which is padding."""
    import numpy as np

    return np.random.default_rng(7).integers(1, VOCABULARY, (ROWS, LENGTH), "int32")


def dense_facts(parameters, library, note=""):
    """The facts of a peer that returns the sequence output."""
    shape = (ROWS, LENGTH, WIDTH)
    return facts_of([LENGTH] * ROWS, parameters, shape, library, note=note)


def in_graph(model, names, pick):
    """Makes a call of a Keras model; `names` are those of ids, segments and mask."""
    import tensorflow as tf

    ids = tf.constant(make_batch())
    values = (ids, tf.zeros_like(ids), tf.ones_like(ids))
    batch = dict(zip(names, values, strict=True))
    forward = tf.function(lambda batch: pick(model(batch, training=False)))
    return lambda: forward(batch)


def build_zoo(dtype):
    """Makes our encoder; BERT-base is the default."""
    import zoo

    return zoo.models.bert.BERT(zoo.models.bert.BERTConfig(), dtype=dtype)


def call_zoo(model):
    """Makes our forward pass, a function that returns the sequence output."""
    names = ("token_ids", "segment_ids", "padding_mask")
    return in_graph(model, names, lambda output: output["sequence_output"])


def make_zoo(dtype):
    """Ours. In bfloat16 all weights have 16 bits, and the note has the difference."""
    note = ""
    if dtype != "float32":
        # In another process, as this one's memory is measured.
        command = [sys.executable, "-m", "benchmarks.dense_forward", dtype]
        output = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
        note = note_of_rounding(json.loads(output))
    model = build_zoo(dtype)
    return call_zoo(model), dense_facts(model.count_params(), "zoo", note)


def compare_with_float32(dtype):
    """The differences of the outputs from float32."""
    exact = build_zoo("float32")
    short = build_zoo(dtype)
    short.set_weights(exact.get_weights())
    outputs = (call_zoo(model)().numpy().astype("float32") for model in (exact, short))
    return differences(*outputs)


def make_keras_nlp(dtype):
    """keras-nlp's `BertBackbone`."""
    model = keras_nlp_backbone(VOCABULARY, LAYERS, WIDTH, HEADS, INNER, dtype=dtype)
    names = ("token_ids", "segment_ids", "padding_mask")
    call = in_graph(model, names, lambda output: output["sequence_output"])
    return call, dense_facts(model.count_params(), "keras_nlp")


def make_model_garden(dtype):
    """TensorFlow's model garden: `BertEncoder`, with layer norms in float32."""
    import tf_keras
    from official.nlp.modeling import networks

    tf_keras.mixed_precision.set_global_policy(dtype)
    model = networks.BertEncoder(
        vocab_size=VOCABULARY,
        hidden_size=WIDTH,
        num_layers=LAYERS,
        num_attention_heads=HEADS,
        inner_dim=INNER,
        type_vocab_size=2,
    )
    names = ("input_word_ids", "input_type_ids", "input_mask")
    call = in_graph(model, names, lambda output: output[0])
    return call, dense_facts(model.count_params(), "model_garden")


def make_transformers(dtype):
    """Hugging Face's `BertModel` on PyTorch, `eval`, `no_grad`."""
    import torch
    import transformers

    config = transformers.BertConfig()
    model = transformers.BertModel(config).eval().to(getattr(torch, dtype))
    ids = torch.from_numpy(make_batch()).long()
    batch = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}

    def call():
        with torch.no_grad():
            return model(**batch).last_hidden_state

    return call, dense_facts(model.num_parameters(), "transformers")


def make_matmul(dtype):
    """The bound: the time of the products of the model at the rate of large ones."""
    total = operations(ROWS, LENGTH, LAYERS, WIDTH, INNER)
    return make_products(dtype, total, ROWS)


PEERS = {
    "zoo": make_zoo,
    "keras_nlp": make_keras_nlp,
    "transformers": make_transformers,
    "model_garden": make_model_garden,
    "matmul": make_matmul,
}

if __name__ == "__main__":
    print(json.dumps(compare_with_float32(sys.argv[1])))
