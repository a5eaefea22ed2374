"""Rows of token ids for a model, made of texts."""
