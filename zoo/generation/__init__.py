"""Generation of sequences from any model that has steps; knows no model and no text."""

from zoo.generation.beam_search import beam_search, length_penalty
from zoo.generation.options import GenerationOptions, change_if
from zoo.generation.scores import adjust_scores, keep_probable
from zoo.generation.search import first_row, generate, next_token, sample

__all__ = [
    "GenerationOptions",
    "adjust_scores",
    "beam_search",
    "change_if",
    "first_row",
    "generate",
    "keep_probable",
    "length_penalty",
    "next_token",
    "sample",
]
