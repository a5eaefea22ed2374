"""A tiny translator with random weights."""

import functools

import keras
import numpy as np
import tiny

import zoo
from zoo.models.transformer import Transformer, TransformerConfig
from zoo.text import SentencePieceTokenizer, train_sentencepiece

SCALE = 0.5  # of random weights: large enough that every token matters


@functools.cache
def tiny_tokenizer(separate=False):
    """A SentencePiece model of both languages, or one for each."""
    sources, targets = tiny.make_pairs(60)
    if separate:
        models = [train_sentencepiece(side, 320) for side in (sources, targets)]
        return SentencePieceTokenizer(*models)
    return SentencePieceTokenizer(train_sentencepiece([*sources, *targets], 340))


def make_translator(seed=0, separate=False, scale=SCALE, config=(), **options):
    """A `zoo.Translator`; the weights are drawn from N(0, scale)."""
    tokenizer = tiny_tokenizer(separate)
    sizes = {"vocabulary_size": tokenizer.vocabulary_size}
    if separate:
        sizes["target_vocabulary_size"] = tokenizer.target_vocabulary_size
    keras.utils.set_random_seed(seed)
    backbone = Transformer(
        TransformerConfig(**{**tiny.TRANSFORMER_CONFIG, **sizes, **dict(config)})
    )
    model = zoo.Translator(backbone, tokenizer, sequence_length=32, **options)
    if scale:
        draw = np.random.default_rng(seed)
        for weight in model.weights:
            norm = weight.path.endswith("gamma")
            weight.assign(draw.normal(float(norm), scale, weight.shape))
    return model
