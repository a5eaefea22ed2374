"""Presets as directories and in hubs. This package imports no TensorFlow."""

from zoo.presets.adapter_files import arrays_checksum, read_adapter, write_adapter
from zoo.presets.directories import (
    check_preset,
    describe_record,
    find_preset,
    list_presets,
    preset_info,
    preset_root,
    shipped_directory,
)
from zoo.presets.model_cards import write_card
from zoo.presets.publishing import is_address, publishing, repository_name
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
    "arrays_checksum",
    "check_preset",
    "check_weights",
    "describe_record",
    "find_preset",
    "is_address",
    "list_presets",
    "preset_info",
    "preset_root",
    "publishing",
    "read_adapter",
    "read_preset",
    "repository_name",
    "sha256",
    "shipped_directory",
    "write_adapter",
    "write_card",
    "write_preset",
]
