"""The names of activations: one table for the readers of all families."""

import shutil

import pytest
from foreign_files import change_json, find_layout
from places import GOLDENS

from zoo.checkpoint import ACTIVATIONS, find_activation, name_activation
from zoo.layers import get_activation
from zoo.models import bert, gpt, transformer

# Reader of Hugging Face's files to its family, directory, option and row of the table.
READERS = {
    "bert": (bert, "bert_hugging_face", "hidden_act", "hugging_face"),
    "gpt1": (gpt, "gpt_hugging_face/gpt1", "afn", "hugging_face_gpt1"),
    "gpt2": (gpt, "gpt_hugging_face/gpt2", "activation_function", "hugging_face"),
    "marian": (transformer, "marian/joint", "activation_function", "hugging_face"),
}


@pytest.mark.parametrize("program", ACTIVATIONS)
def test_every_name_is_that_of_one_of_our_activations(program):
    for name, ours in ACTIVATIONS[program].items():
        assert find_activation(program, name, "option", "file") == ours
        get_activation(ours)
        assert ACTIVATIONS[program][name_activation(program, ours)] == ours


@pytest.mark.parametrize("reader", READERS)
def test_every_reader_of_hugging_face_knows_every_name(reader, tmp_path):
    family, directory, option, program = READERS[reader]
    shutil.copytree(GOLDENS / directory, tmp_path, dirs_exist_ok=True)
    (tmp_path / "pytorch_model.bin").unlink(missing_ok=True)
    layout = find_layout(family, "hugging_face")
    for name, ours in ACTIVATIONS[program].items():
        change_json(tmp_path / "config.json", **{option: name})
        found = layout.read(tmp_path)
        assert found.config.activation == ours, name
        assert found.head_options.get("activation", ours) == ours, name
    for wrong in ("mish", ["gelu"], None, 1.5):
        change_json(tmp_path / "config.json", **{option: wrong})
        with pytest.raises(ValueError, match=f"`{option}` must be one of 'gelu', "):
            layout.read(tmp_path)
