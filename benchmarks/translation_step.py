"""One step of training a translator: forward, backward and update, on the CPU.

The model is that of `benchmarks.decode`, the base Transformer. A step has 32 pairs of
32 source and 32 target tokens without padding. Every dropout is 0.1, labels are
smoothed by 0.1, and the optimizer is AdamW.
"""

from benchmarks.decode import END, START, VOCABULARY, marian
from benchmarks.peers import (
    LEARNING_RATE,
    POLICIES,
    WEIGHT_DECAY,
    facts_of,
    make_torch_step,
)

UNIT = "rows"
NEEDS = ()
ROWS, LENGTH = 32, 32
DROPOUT, SMOOTHING = 0.1, 0.1


def make_batch():
    """Ids of sources, of what the decoder reads, and of targets, int32 (32, 32)."""
    import numpy as np

    draw = np.random.default_rng(7)
    sources, targets = draw.integers(3, VOCABULARY, (2, ROWS, LENGTH), "int32")
    sources[:, -1] = targets[:, -1] = END
    read = np.concatenate([np.full((ROWS, 1), START, "int32"), targets[:, :-1]], axis=1)
    return sources, read, targets


def step_facts(parameters, library):
    """The facts of a peer that returns the loss; see `benchmarks.decode`."""
    note = f"{parameters / 1e6:.1f}M parameters"
    return facts_of([2 * LENGTH] * ROWS, None, (), library, note=note)


def make_zoo(dtype):
    """Ours: `Translator.train_on_batch`."""
    import keras
    import numpy as np

    import zoo

    config = zoo.models.transformer.TransformerConfig(
        vocabulary_size=VOCABULARY,
        max_sequence_length=64,
        attention_bias=True,
        dropout=DROPOUT,
        attention_dropout=DROPOUT,
        activation_dropout=DROPOUT,
    )
    backbone = zoo.models.transformer.Transformer(config, dtype=POLICIES[dtype])
    model = zoo.Translator(backbone, label_smoothing=SMOOTHING)
    optimizer = keras.optimizers.AdamW(LEARNING_RATE, WEIGHT_DECAY)
    model.compile(optimizer, model.default_loss(), metrics=[], jit_compile=False)
    sources, read, targets = make_batch()
    batch = {
        "encoder_token_ids": sources,
        "encoder_padding_mask": np.ones_like(sources),
        "decoder_token_ids": read,
    }
    call = model.train_on_batch
    facts = step_facts(model.count_params(), "zoo")
    return lambda: np.asarray(call(batch, targets)), facts


def make_transformers(dtype):
    """Hugging Face on PyTorch: a plain training loop, with autocast for 16 bits."""
    import torch

    rates = ("dropout", "attention_dropout", "activation_dropout")
    model = marian(**dict.fromkeys(rates, DROPOUT)).train()
    loss_function = torch.nn.CrossEntropyLoss(label_smoothing=SMOOTHING)
    sources, read, targets = (torch.from_numpy(ids).long() for ids in make_batch())
    batch = {"input_ids": sources, "attention_mask": torch.ones_like(sources)}

    def find_loss():
        logits = model(**batch, decoder_input_ids=read, use_cache=False).logits
        return loss_function(logits.flatten(0, 1).float(), targets.flatten())

    call = make_torch_step(model, dtype, find_loss)
    return call, step_facts(model.num_parameters(), "transformers")


PEERS = {"zoo": make_zoo, "transformers": make_transformers}
