"""The families, one room each."""

from zoo.family import register_family
from zoo.models import bert, cove, elmo, gpt, taglm, transformer, ulmfit

for room in (bert, cove, elmo, gpt, taglm, transformer, ulmfit):
    register_family(room.FAMILY)
