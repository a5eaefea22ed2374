"""A tiny translator with random weights."""

import functools

import keras
import numpy as np
import tiny

import zoo
from zoo.models.transformer import Transformer, TransformerConfig
from zoo.text import SentencePieceTokenizer, train_sentencepiece

# Of random weights. With these the texts differ from row to row: the kernels are large
# and the biases small, and a token is not predicted by its own embedding.
SCALE, SMALL = 0.8, 0.05
OWN = {"tied_output": False, "norm_first": True}


@functools.cache
def tiny_tokenizer(separate=False):
    """A SentencePiece model of both languages, or one for each."""
    sources, targets = tiny.make_pairs(60)
    if separate:
        models = [train_sentencepiece(side, 320) for side in (sources, targets)]
        return SentencePieceTokenizer(*models)
    return SentencePieceTokenizer(train_sentencepiece([*sources, *targets], 340))


def make_translator(seed=0, separate=False, scale=SCALE, config=(), **options):
    """A `zoo.Translator`; the kernels are drawn from N(0, scale)."""
    tokenizer = tiny_tokenizer(separate)
    sizes = {"vocabulary_size": tokenizer.vocabulary_size}
    if separate:
        sizes["target_vocabulary_size"] = tokenizer.target_vocabulary_size
    keras.utils.set_random_seed(seed)
    backbone = Transformer(
        TransformerConfig(**{**tiny.TRANSFORMER_CONFIG, **sizes, **OWN, **dict(config)})
    )
    model = zoo.Translator(backbone, tokenizer, sequence_length=32, **options)
    if scale:
        draw = np.random.default_rng(seed)
        for weight in model.weights:
            name = weight.path.split("/")[-1]
            deviation = SMALL if name in ("gamma", "beta", "bias") else scale
            mean = float(name == "gamma")
            weight.assign(draw.normal(mean, deviation, weight.shape))
    return model
