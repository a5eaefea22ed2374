"""The names of activations: one table for the readers of all families."""

import json
import shutil

import pytest
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
    values = json.loads((tmp_path / "config.json").read_text())
    layouts = {layout.name: layout for layout in family.FAMILY.layouts}
    for name, ours in ACTIVATIONS[program].items():
        text = json.dumps({**values, option: name})
        (tmp_path / "config.json").write_text(text)
        config = layouts["hugging_face"].read(tmp_path).config
        assert config.activation == ours, name
    for wrong in ("mish", ["gelu"], None, 1.5):
        text = json.dumps({**values, option: wrong})
        (tmp_path / "config.json").write_text(text)
        with pytest.raises(ValueError, match=f"`{option}` must be one of 'gelu', "):
            layouts["hugging_face"].read(tmp_path)
