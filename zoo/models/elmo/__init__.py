"""ELMo (Peters et al. 2018)."""

from zoo.models.elmo.cache import TokenVectors
from zoo.models.elmo.model import ELMo, ELMoConfig
from zoo.models.elmo.weights import read, recognise, write

BACKBONE = ELMo
ELMo.write_layout = staticmethod(write)

__all__ = [
    "BACKBONE",
    "ELMo",
    "ELMoConfig",
    "TokenVectors",
    "read",
    "recognise",
    "write",
]
