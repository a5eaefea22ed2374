"""Attention and the blocks of Transformers."""
