"""A tiny BERT with its tokenizer."""

import keras
import tiny

from zoo.registry import build_backbone
from zoo.text import WordPieceTokenizer


def tiny_bert(**fields):
    """The backbone, the same at every call."""
    keras.utils.set_random_seed(1)
    backbone = build_backbone("bert", {**tiny.CONFIG, **fields})
    backbone.tokenizer = WordPieceTokenizer(tiny.VOCABULARY)
    return backbone
