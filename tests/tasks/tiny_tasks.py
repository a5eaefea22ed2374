"""Tiny tasks on backbones of several families, with tokenizers of the tiny texts."""

import keras
import tiny
from tiny_gpt import tiny_byte_tokenizer

from zoo.registry import build_backbone
from zoo.tasks import TextClassifier
from zoo.text import CharacterTokenizer, WordPieceTokenizer

# The config of each family, and a function that makes its tokenizer.
FAMILIES = {
    "bert": (tiny.CONFIG, lambda: WordPieceTokenizer(tiny.VOCABULARY)),
    "elmo": (tiny.ELMO_CONFIG, lambda: CharacterTokenizer(12, tiny.WORDS)),
    "ulmfit": (tiny.ULMFIT_CONFIG, lambda: WordPieceTokenizer(tiny.VOCABULARY)),
    "gpt": (tiny.GPT_CONFIG, tiny_byte_tokenizer),
}


def make_tiny_task(kind, family="bert", config=(), dtype=None, seed=0, **options):
    """A task; a classifier has the tiny labels. The weights depend on the seed only."""
    keras.utils.set_random_seed(seed)
    fields, tokenizer = FAMILIES[family]
    backbone = build_backbone(family, {**fields, **dict(config)}, dtype)
    if kind is TextClassifier:
        options = {"labels": tiny.LABELS, **options}
    return kind(backbone, **{"tokenizer": tokenizer(), **options})
