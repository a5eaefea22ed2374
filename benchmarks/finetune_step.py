"""One step of fine-tuning: forward, backward and update of a classifier, on the CPU.

The model is a BERT of 4 layers, width 512, 8 heads, inner width 2048, vocabulary 30522
and two labels. A step has 32 rows of 64 token ids without padding. Every dropout is
0.1, and the optimizer is AdamW.
"""

from benchmarks.peers import (
    LEARNING_RATE,
    POLICIES,
    WEIGHT_DECAY,
    facts_of,
    keras_nlp_backbone,
    make_torch_step,
    transformers_config,
    zoo_backbone,
)

UNIT = "rows"
NEEDS = ()
ROWS, LENGTH, LABELS = 32, 64, 2
VOCABULARY, DROPOUT = 30522, 0.1
SIZES = (VOCABULARY, 4, 512, 8, 2048)  # layers, width, heads, inner width


def make_batch():
    """Token ids int32 (32, 64), without 0 (padding), and labels int32 (32,)."""
    import numpy as np

    random = np.random.default_rng(7)
    ids = random.integers(1, VOCABULARY, (ROWS, LENGTH), "int32")
    return ids, random.integers(0, LABELS, ROWS, "int32")


def step_facts(parameters, library):
    """The facts of a peer that returns the loss."""
    return facts_of([LENGTH] * ROWS, parameters, (), library)


def compiled(model):
    """Makes the training step of a Keras model on token ids, as a call.

    XLA is off. It does not make the step of keras-nlp faster, and its compilation is
    much longer.
    """
    import keras
    import numpy as np

    model.compile(
        optimizer=keras.optimizers.AdamW(LEARNING_RATE, WEIGHT_DECAY),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=[],
        jit_compile=False,
    )
    ids, labels = make_batch()
    batch = {
        "token_ids": ids,
        "segment_ids": np.zeros_like(ids),
        "padding_mask": np.ones_like(ids),
    }
    return lambda: np.asarray(model.train_on_batch(batch, labels))


def make_zoo(dtype):
    """Ours: `TextClassifier.train_on_batch`."""
    import zoo

    rates = {"dropout": DROPOUT, "attention_dropout": DROPOUT}
    backbone = zoo_backbone(*SIZES, dtype=POLICIES[dtype], **rates)
    model = zoo.TextClassifier(backbone, labels=LABELS, head_dropout=DROPOUT)
    return compiled(model), step_facts(model.count_params(), "zoo")


def make_keras_nlp(dtype):
    """keras-nlp: `BertTextClassifier.train_on_batch`, without its preprocessor."""
    import keras_nlp

    backbone = keras_nlp_backbone(*SIZES, dropout=DROPOUT, dtype=POLICIES[dtype])
    model = keras_nlp.models.BertTextClassifier(
        backbone, num_classes=LABELS, preprocessor=None, dropout=DROPOUT
    )
    return compiled(model), step_facts(model.count_params(), "keras_nlp")


def make_transformers(dtype):
    """Hugging Face on PyTorch: a plain training loop, with autocast for 16 bits."""
    import torch
    import transformers

    config = transformers_config(
        *SIZES,
        num_labels=LABELS,
        hidden_dropout_prob=DROPOUT,
        attention_probs_dropout_prob=DROPOUT,
    )
    model = transformers.BertForSequenceClassification(config).train()
    ids, labels = (torch.from_numpy(array).long() for array in make_batch())
    batch = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    call = make_torch_step(model, dtype, lambda: model(**batch, labels=labels).loss)
    return call, step_facts(model.num_parameters(), "transformers")


PEERS = {
    "zoo": make_zoo,
    "keras_nlp": make_keras_nlp,
    "transformers": make_transformers,
}
