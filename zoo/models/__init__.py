"""The families, one room each."""

from zoo.models import bert, elmo

FAMILIES = {"bert": bert, "elmo": elmo}
