"""The base class of all backbones, and what it consists of."""

from zoo.backbone.base import Backbone

__all__ = ["Backbone"]
