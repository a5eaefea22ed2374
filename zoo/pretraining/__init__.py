"""Pretraining that follows a recipe."""

from zoo.pretraining.bidirectional_lm import StreamPretraining
from zoo.pretraining.causal_lm import CausalPretraining
from zoo.pretraining.causal_rows import CausalRows
from zoo.pretraining.causal_streams import CausalStreams
from zoo.pretraining.costs import cost_table
from zoo.pretraining.distillation import Distillation
from zoo.pretraining.masked_lm import MaskedPretraining
from zoo.pretraining.parsing import Parsing
from zoo.pretraining.recipes import Recipe, find_recipe, register_objective
from zoo.pretraining.running import run
from zoo.pretraining.tagger import TaggerTraining
from zoo.pretraining.translation import Translation
from zoo.training.resume import choose_interval

for kind in (
    MaskedPretraining,
    CausalPretraining,
    CausalRows,
    CausalStreams,
    StreamPretraining,
    TaggerTraining,
    Distillation,
    Translation,
    Parsing,
):
    register_objective(kind)

__all__ = [
    "Recipe",
    "choose_interval",
    "cost_table",
    "find_recipe",
    "register_objective",
    "run",
]
