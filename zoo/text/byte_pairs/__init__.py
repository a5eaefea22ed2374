"""Byte pairs, the tokens of GPT-2."""
