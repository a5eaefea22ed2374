"""BERT (Devlin et al. 2019)."""

from zoo.models.bert.model import BERT, BERTConfig
from zoo.models.bert.weights import read, recognise, write

BACKBONE = BERT
BERT.write_layout = staticmethod(write)

__all__ = ["BACKBONE", "BERT", "BERTConfig", "read", "recognise", "write"]
