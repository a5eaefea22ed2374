"""Presets as directories and in hubs. Knows no class and no TensorFlow."""

from zoo.presets.directories import (
    find_preset,
    list_presets,
    preset_info,
    preset_root,
)
from zoo.presets.records import RECORD, add_to_record, read_preset, write_preset

__all__ = [
    "RECORD",
    "add_to_record",
    "find_preset",
    "list_presets",
    "preset_info",
    "preset_root",
    "read_preset",
    "write_preset",
]
