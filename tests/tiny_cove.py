"""A tiny CoVe with its decoder, and random weights."""

import functools

import keras
import numpy as np
import tiny

import zoo
from zoo.models.cove import CoVe, CoVeConfig
from zoo.text import BitextTokenizer, train_sentencepiece

WORDS = [*tiny.PLAIN, *tiny.GOOD, *tiny.BAD]


@functools.cache
def tiny_bitext_tokenizer():
    """All words of the tiny texts, and pieces of their translations."""
    targets = tiny.make_pairs(60)[1]
    return BitextTokenizer(WORDS, train_sentencepiece(targets, 320))


def make_cove_translator(seed=0, scale=0.8, config=(), **options):
    """A `zoo.Translator` of a CoVe; the kernels are drawn from N(0, scale)."""
    tokenizer = tiny_bitext_tokenizer()
    sizes = {
        "vocabulary_size": tokenizer.vocabulary_size,
        "target_vocabulary_size": tokenizer.target_vocabulary_size,
    }
    keras.utils.set_random_seed(seed)
    backbone = CoVe(CoVeConfig(**{**tiny.COVE_CONFIG, **sizes, **dict(config)}))
    model = zoo.Translator(backbone, tokenizer, **options)
    if scale:
        draw = np.random.default_rng(seed)
        for weight in model.weights:
            small = "bias" in weight.path.split("/")[-1]
            weight.assign(draw.normal(0, 0.05 if small else scale, weight.shape))
    return model
