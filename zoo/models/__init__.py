"""The families, one room each."""

from zoo.models import bert, elmo, taglm

FAMILIES = {"bert": bert, "elmo": elmo, "taglm": taglm}
