"""Rows of token ids for pretraining, made of a corpus."""
