"""The families, one room each."""

from zoo.family import register_family
from zoo.models import bert, elmo, taglm

for room in (bert, elmo, taglm):
    register_family(room.FAMILY)
