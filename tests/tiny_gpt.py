"""A tiny tokenizer of GPT-2, whose merges are learned from the tiny texts."""

import functools

import tiny

from zoo.text import GPT2Tokenizer, train_byte_bpe


@functools.cache
def tiny_byte_tokenizer(**options):
    """A tokenizer of 400 tokens."""
    texts, _ = tiny.make_texts(60)
    return GPT2Tokenizer(*train_byte_bpe(texts, 400), **options)
