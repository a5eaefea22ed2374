"""One step of fine-tuning: forward, backward and update of a classifier, on the CPU.

The model is a BERT of 4 layers, width 512, 8 heads, inner width 2048, vocabulary 30522
and two labels. A step has 32 rows of 64 token ids without padding. Every dropout is
0.1, and the optimizer is AdamW.
"""

from benchmarks.peers import (
    KERAS_NLP,
    TRANSFORMERS,
    ZOO,
    facts_of,
    keras_nlp_backbone,
    limit_tensorflow,
    transformers_config,
)

UNIT = "rows"
NEEDS = ()
ROWS, LENGTH, LABELS = 32, 64, 2
LAYERS, WIDTH, HEADS, INNER, VOCABULARY = 4, 512, 8, 2048, 30522
DROPOUT, LEARNING_RATE, WEIGHT_DECAY = 0.1, 5e-5, 0.01
# Policies that compute in 16 bits, with weights and updates in float32.
POLICIES = {"float32": "float32", "bfloat16": "mixed_bfloat16"}


def make_batch():
    """Token ids int32 (32, 64), without 0 (padding), and labels int32 (32,)."""
    import numpy as np

    random = np.random.default_rng(7)
    ids = random.integers(1, VOCABULARY, (ROWS, LENGTH), "int32")
    return ids, random.integers(0, LABELS, ROWS, "int32")


def step_facts(parameters, packages):
    """The facts of a peer that returns the loss."""
    return facts_of([LENGTH] * ROWS, parameters, (), packages)


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


def make_zoo(threads, dtype):
    """Ours: `TextClassifier.train_on_batch`."""
    limit_tensorflow(threads)
    import zoo

    config = zoo.models.bert.BERTConfig(
        vocabulary_size=VOCABULARY,
        num_layers=LAYERS,
        hidden_dim=WIDTH,
        num_heads=HEADS,
        intermediate_dim=INNER,
        dropout=DROPOUT,
        attention_dropout=DROPOUT,
    )
    backbone = zoo.models.bert.BERT(config, dtype=POLICIES[dtype])
    model = zoo.TextClassifier(backbone, labels=LABELS, head_dropout=DROPOUT)
    return compiled(model), step_facts(model.count_params(), ZOO)


def make_keras_nlp(threads, dtype):
    """keras-nlp: `BertTextClassifier.train_on_batch`, without its preprocessor."""
    limit_tensorflow(threads)
    import keras_nlp

    sizes = (VOCABULARY, LAYERS, WIDTH, HEADS, INNER)
    backbone = keras_nlp_backbone(*sizes, dropout=DROPOUT, dtype=POLICIES[dtype])
    model = keras_nlp.models.BertTextClassifier(
        backbone, num_classes=LABELS, preprocessor=None, dropout=DROPOUT
    )
    return compiled(model), step_facts(model.count_params(), KERAS_NLP)


def make_transformers(threads, dtype):
    """Hugging Face on PyTorch: a plain training loop, with autocast for 16 bits."""
    import torch
    import transformers

    torch.set_num_threads(threads)
    config = transformers_config(
        *(VOCABULARY, LAYERS, WIDTH, HEADS, INNER),
        num_labels=LABELS,
        hidden_dropout_prob=DROPOUT,
        attention_probs_dropout_prob=DROPOUT,
    )
    model = transformers.BertForSequenceClassification(config).train()
    optimizer = torch.optim.AdamW(
        model.parameters(), LEARNING_RATE, weight_decay=WEIGHT_DECAY
    )
    ids, labels = (torch.from_numpy(array).long() for array in make_batch())
    batch = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}

    def call():
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=dtype == "bfloat16"):
            loss = model(**batch, labels=labels).loss
        loss.backward()
        optimizer.step()
        return loss.detach().numpy()

    return call, step_facts(model.num_parameters(), TRANSFORMERS)


PEERS = {
    "zoo": make_zoo,
    "keras_nlp": make_keras_nlp,
    "transformers": make_transformers,
}
