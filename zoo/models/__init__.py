"""The families, one room each."""

from zoo.family import register_family
from zoo.models import bert, elmo, taglm, transformer

for room in (bert, elmo, taglm, transformer):
    register_family(room.FAMILY)
