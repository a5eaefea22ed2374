"""The families, one room each."""

from zoo.models import bert

FAMILIES = {"bert": bert}
