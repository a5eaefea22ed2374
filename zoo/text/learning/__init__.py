"""Vocabularies that are learned from a corpus."""
