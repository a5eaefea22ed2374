"""Reads and writes checkpoint files, and converts the names and layouts of arrays."""

from zoo.checkpoint.activation_names import (
    ACTIVATIONS,
    find_activation,
    name_activation,
)
from zoo.checkpoint.array_archives import check_hdf5
from zoo.checkpoint.converted import Converted, default_labels
from zoo.checkpoint.ctranslate2_files import read_ctranslate2
from zoo.checkpoint.directory_writing import keras_object, write_directory
from zoo.checkpoint.flat_yaml import read_flat_yaml
from zoo.checkpoint.formats import (
    Checkpoint,
    find_tensorflow,
    find_variables,
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
from zoo.checkpoint.hugging_face import (
    HUGGING_FACE_WEIGHTS,
    KERAS_NLP_WEIGHTS,
    find_hugging_face,
    find_model_type,
    is_hugging_face,
    is_keras_nlp,
    open_hugging_face,
    read_keras_nlp,
)
from zoo.checkpoint.json_files import (
    check_supported,
    check_values,
    naming_absent,
    read_json,
    read_lines,
    read_text,
)
from zoo.checkpoint.missing_files import warn_of_added_tokens, warn_without_tokenizer
from zoo.checkpoint.pickles import read_strings, write_strings
from zoo.checkpoint.problem_types import name_problem, read_problem
from zoo.checkpoint.table import (
    KERAS_LEAVES,
    TORCH_LEAVES,
    Row,
    assign,
    convert,
    expand,
    module_rows,
    revert,
)
from zoo.checkpoint.torch_files import add_biases
from zoo.checkpoint.vectors import read_vectors, write_vectors
from zoo.checks.user_warnings import warn_user

__all__ = [
    "ACTIVATIONS",
    "GENERATION_FILE",
    "HUGGING_FACE_WEIGHTS",
    "KERAS_LEAVES",
    "KERAS_NLP_WEIGHTS",
    "TORCH_LEAVES",
    "Checkpoint",
    "Converted",
    "Row",
    "add_biases",
    "assign",
    "check_hdf5",
    "check_supported",
    "check_values",
    "convert",
    "default_labels",
    "expand",
    "find_activation",
    "find_hugging_face",
    "find_model_type",
    "find_tensorflow",
    "find_variables",
    "is_hugging_face",
    "is_keras_nlp",
    "keras_object",
    "module_rows",
    "name_activation",
    "name_problem",
    "naming_absent",
    "open_checkpoint",
    "open_hugging_face",
    "open_state_dict",
    "open_training_checkpoint",
    "read_ctranslate2",
    "read_flat_yaml",
    "read_generation",
    "read_json",
    "read_keras_nlp",
    "read_lines",
    "read_problem",
    "read_strings",
    "read_text",
    "read_vectors",
    "revert",
    "save_checkpoint",
    "warn_of_added_tokens",
    "warn_user",
    "warn_without_tokenizer",
    "write_directory",
    "write_generation",
    "write_strings",
    "write_vectors",
]
