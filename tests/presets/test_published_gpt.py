"""The published GPTs: records without weights."""

import dataclasses
import importlib.util
import json
import math
import pathlib

import pytest
from places import ROOT

import zoo
from zoo.models.gpt import GPT, GPTConfig

PUBLISHED = json.loads((ROOT / "presets/gpt/published.json").read_text("utf-8"))
PARAMETERS = {
    "gpt_base_en": 116_534_784,
    "gpt2_base_en": 124_439_808,
    "gpt2_medium_en": 354_823_168,
    "gpt2_large_en": 774_030_080,
    "gpt2_extra_large_en": 1_557_611_200,
}
# Our name to that of keras-nlp.
KERAS_NLP = {
    "gpt2_base_en": "gpt2_base_en",
    "gpt2_medium_en": "gpt2_medium_en",
    "gpt2_large_en": "gpt2_large_en",
    "gpt2_extra_large_en": "gpt2_extra_large_en",
}


def count(config):
    """The number of values of a model."""
    return sum(math.prod(shape) for shape in GPT.weight_shapes(config).values())


def test_every_record_is_complete():
    assert {*PUBLISHED} == {*PARAMETERS} <= {*zoo.list_presets("gpt")}
    for name in PUBLISHED:
        record = zoo.preset_info(name)
        assert set(record) == {
            *("name", "family", "description", "backbone", "parameters"),
            *("licence", "published_in", "source"),
        }
        config = GPTConfig(**record["backbone"])
        assert dataclasses.asdict(config) == record["backbone"], name
        assert record["licence"] == "Modified MIT" if config.norm_first else "MIT"
        assert config.hidden_dim == 64 * config.num_heads
        assert record["parameters"] == PARAMETERS[name] == count(config)
        assert record["source"]["verified"] is False
        assert record["source"]["layout"] == "hugging_face"


@pytest.mark.parametrize("norm_first", [True, False])
def test_the_shapes_are_those_of_a_model(norm_first):
    config = GPTConfig(11, 6, 3, 2, 5, 7, norm_first=norm_first)
    assert count(config) == GPT(config).count_params()


def test_the_sizes_are_those_of_keras_nlp():
    spec = importlib.util.find_spec("keras_hub")
    if spec is None:
        pytest.skip("keras-nlp is not installed.")
    root = pathlib.Path(spec.submodule_search_locations[0])
    path = root / "src" / "models" / "gpt2" / "gpt2_presets.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for ours, theirs in KERAS_NLP.items():
        found = module.backbone_presets[theirs]["metadata"]["params"]
        assert PUBLISHED[ours]["parameters"] == found


@pytest.mark.parametrize("name", PARAMETERS)
def test_a_record_is_what_the_converter_finds(name, tmp_path):
    """A file of Hugging Face with the sizes that it has for this model."""
    from zoo.models.gpt.hub_files import FIELDS, read_hugging_face

    record = PUBLISHED[name]["backbone"]
    names = ("vocabulary_size", "hidden_dim", "num_layers", "num_heads")
    sizes = {FIELDS[n]: record[n] for n in (*names, "max_sequence_length")}
    values = {"model_type": "gpt2" if record["norm_first"] else "openai-gpt", **sizes}
    (tmp_path / "config.json").write_text(json.dumps(values))
    assert read_hugging_face(tmp_path / "config.json")[0] == record


@pytest.mark.external
def test_the_vocabularies_have_as_many_tokens(shared):
    for name, file in (
        ("gpt_base_en", "encoder_bpe_40000.json"),
        ("gpt2_base_en", "gpt2_bpe_encoder.json"),
    ):
        tokens = json.loads((shared / "oracles/vocab" / file).read_text("utf-8"))
        assert len(tokens) == PUBLISHED[name]["backbone"]["vocabulary_size"]
