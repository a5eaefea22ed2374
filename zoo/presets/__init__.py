"""Presets as directories and in hubs. This package imports no TensorFlow."""

from zoo.presets.directories import (
    check_preset,
    describe_record,
    find_preset,
    list_presets,
    preset_info,
    preset_root,
    shipped_directory,
)
from zoo.presets.records import (
    RECORD,
    WEIGHTS,
    add_to_record,
    check_weights,
    read_preset,
    sha256,
    write_preset,
)

__all__ = [
    "RECORD",
    "WEIGHTS",
    "add_to_record",
    "check_preset",
    "check_weights",
    "describe_record",
    "find_preset",
    "list_presets",
    "preset_info",
    "preset_root",
    "read_preset",
    "sha256",
    "shipped_directory",
    "write_preset",
]
