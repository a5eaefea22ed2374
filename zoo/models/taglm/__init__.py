"""TagLM (Peters et al. 2017)."""

from zoo.models.taglm.model import TagLM, TagLMConfig
from zoo.models.taglm.weights import read, recognise, write

BACKBONE = TagLM
TagLM.write_layout = staticmethod(write)

__all__ = ["BACKBONE", "TagLM", "TagLMConfig", "read", "recognise", "write"]
