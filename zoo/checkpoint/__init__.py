"""Reads and writes checkpoint files, and converts the names and layouts of arrays."""

from zoo.checkpoint.activation_names import (
    ACTIVATIONS,
    find_activation,
    name_activation,
)
from zoo.checkpoint.converted import Converted
from zoo.checkpoint.ctranslate2_files import read_ctranslate2
from zoo.checkpoint.flat_yaml import read_flat_yaml
from zoo.checkpoint.formats import (
    Checkpoint,
    find_tensorflow,
    open_checkpoint,
    open_state_dict,
    open_training_checkpoint,
    save_checkpoint,
)
from zoo.checkpoint.generation_config import (
    GENERATION_FILE,
    read_generation,
    write_generation,
)
from zoo.checkpoint.hdf5_groups import check_hdf5, has_group, rename_groups
from zoo.checkpoint.hugging_face import (
    HUGGING_FACE_WEIGHTS,
    find_hugging_face,
    find_model_type,
)
from zoo.checkpoint.json_files import naming_absent, read_json
from zoo.checkpoint.label_names import default_labels
from zoo.checkpoint.missing_files import warn_user, warn_without_tokenizer
from zoo.checkpoint.pickles import read_strings, write_strings
from zoo.checkpoint.table import Row, assign, convert, expand, revert
from zoo.checkpoint.vectors import read_vectors, write_vectors

__all__ = [
    "ACTIVATIONS",
    "GENERATION_FILE",
    "HUGGING_FACE_WEIGHTS",
    "Checkpoint",
    "Converted",
    "Row",
    "assign",
    "check_hdf5",
    "convert",
    "default_labels",
    "expand",
    "find_activation",
    "find_hugging_face",
    "find_model_type",
    "find_tensorflow",
    "has_group",
    "name_activation",
    "naming_absent",
    "open_checkpoint",
    "open_state_dict",
    "open_training_checkpoint",
    "read_ctranslate2",
    "read_flat_yaml",
    "read_generation",
    "read_json",
    "read_strings",
    "read_vectors",
    "rename_groups",
    "revert",
    "save_checkpoint",
    "warn_user",
    "warn_without_tokenizer",
    "write_generation",
    "write_strings",
    "write_vectors",
]
