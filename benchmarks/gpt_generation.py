"""Continued texts: 4 prompts of 16 tokens, 64 new tokens each, greedily, on the CPU.

The model is GPT-2 small with random weights: 12 blocks of width 768, 50,257 tokens. No
text may end before its 64th token, so all peers do the same number of steps. Ours also
splits and joins texts; the other peers take and give tokens. With bfloat16, the weights
of all peers are stored in it.

The peer `reading` is a lower bound of the time: every step reads all weights once, at
the rate at which TensorFlow reads a large array in the same run.
"""

import time

from benchmarks.peers import facts_of
from benchmarks.same_work import new_tokens
from benchmarks.worker import Measured

UNIT = "rows"
NEEDS = ()
ROWS, LENGTH, NEW = 4, 16, 64
BLOCKS, WIDTH, HEADS, VOCABULARY, POSITIONS = 12, 768, 12, 50257, 1024
END, READ = VOCABULARY - 1, 2**26  # values of the array that the bound reads
WEIGHTS = VOCABULARY * WIDTH + 12 * BLOCKS * WIDTH**2  # that a step reads


def make_prompts():
    """Token ids, numpy int32 (4, 16)."""
    import numpy as np

    return np.random.default_rng(7).integers(0, END, (ROWS, LENGTH), "int32")


def generation_facts(parameters, library, new=NEW):
    """The facts of a peer that returns `new` tokens for each prompt."""
    note = f"{parameters / 1e6:.1f}M parameters"
    return facts_of([LENGTH] * ROWS, parameters, (ROWS, new), library, note=note)


def make_zoo(dtype):
    """Ours, from texts of numbers to such texts."""
    return continue_with_zoo(dtype, NEW)


def continue_with_zoo(dtype, new):
    """The peer `zoo` that writes `new` tokens."""
    import zoo

    backbone = zoo.models.gpt.GPT(zoo.models.gpt.GPTConfig(), dtype=dtype)
    tokens = [*map(str, range(END)), "</s>"]
    names = {"pad": "0", "unknown": "0", "start": "0"}
    tokenizer = zoo.text.TokenListTokenizer(tokens, **names)
    model = zoo.CausalLM(backbone, tokenizer)
    texts = [" ".join(map(str, row)) for row in make_prompts()]
    limits = {"max_new_tokens": new, "min_new_tokens": new}
    limits["suppressed"] = [0]  # padding, which would not be in the text

    def call():
        written = model.generate(texts, **limits)
        return new_tokens([len(text.split()) - LENGTH for text in written], new)

    return call, generation_facts(backbone.count_params(), "zoo", new)


def make_transformers(dtype):
    """Hugging Face's GPT-2 on PyTorch, `generate`."""
    import torch
    import transformers

    model = transformers.GPT2LMHeadModel(transformers.GPT2Config())
    model = model.eval().to(getattr(torch, dtype))
    ids = torch.from_numpy(make_prompts()).long()

    def call():
        with torch.no_grad():
            found = model.generate(
                ids,
                attention_mask=torch.ones_like(ids),
                do_sample=False,
                pad_token_id=END,
                min_new_tokens=NEW,
                max_new_tokens=NEW,
            )
        return found[:, LENGTH:]

    return call, generation_facts(model.num_parameters(), "transformers")


def make_keras_nlp(dtype):
    """keras-nlp's `GPT2CausalLM` without a preprocessor."""
    return continue_with_keras_nlp(dtype, NEW)


def continue_with_keras_nlp(dtype, new):
    """The peer `keras_nlp` that writes `new` tokens."""
    import keras_nlp
    import numpy as np

    backbone = keras_nlp.models.GPT2Backbone(
        vocabulary_size=VOCABULARY,
        num_layers=BLOCKS,
        num_heads=HEADS,
        hidden_dim=WIDTH,
        intermediate_dim=4 * WIDTH,
        max_sequence_length=POSITIONS,
        dtype=dtype,
    )
    model = keras_nlp.models.GPT2CausalLM(backbone=backbone, preprocessor=None)
    model.compile(sampler="greedy")
    ids = np.zeros((ROWS, LENGTH + new), "int32")
    ids[:, :LENGTH] = make_prompts()
    mask = np.zeros_like(ids)
    mask[:, :LENGTH] = 1
    inputs = {"token_ids": ids, "padding_mask": mask}

    def call():
        found = model.generate(inputs, stop_token_ids=None)
        return np.asarray(found["token_ids"])[:, LENGTH:]

    return call, generation_facts(backbone.count_params(), "keras_nlp", new)


def make_reading(dtype):
    """The bound: the time to read all weights for each new token."""
    import tensorflow as tf

    values = tf.ones((READ,))
    size = {"float32": 4, "bfloat16": 2}[dtype]

    @tf.function
    def read():
        return tf.reduce_sum(values)

    def call():
        start = time.perf_counter()
        read()
        rate = 4 * READ / (time.perf_counter() - start)
        return Measured((1,), NEW * WEIGHTS * size / rate)

    note = f"{NEW * WEIGHTS * size / 1e9:.1f} GB at the rate of one array"
    facts = facts_of(None, None, (1,), "tensorflow", items=ROWS, note=note)
    return call, facts


PEERS = {
    "zoo": make_zoo,
    "keras_nlp": make_keras_nlp,
    "transformers": make_transformers,
    "reading": make_reading,
}
