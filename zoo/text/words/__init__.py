"""Tokens that are words, or characters of words."""
