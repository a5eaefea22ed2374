"""The published translators of OPUS-MT: records without weights."""

import dataclasses
import json

import pytest
from places import ROOT

import zoo
from zoo.models.transformer import Transformer, TransformerConfig

PUBLISHED = json.loads((ROOT / "presets/transformer/published.json").read_text("utf-8"))


@pytest.fixture
def published_opus_mt():
    """The maker of the records, which is importable from the checkout only."""
    from benchmarks.tables import published_opus_mt

    return published_opus_mt


def test_the_file_is_what_its_maker_writes(published_opus_mt):
    assert published_opus_mt.make_records() == PUBLISHED


def test_every_record_is_complete():
    assert {*PUBLISHED} <= {*zoo.list_presets("transformer")}
    for name in PUBLISHED:
        record = zoo.preset_info(name)
        assert set(record) == {
            *("name", "family", "description", "backbone", "parameters"),
            *("licence", "published_in", "source"),
        }
        config = TransformerConfig(**record["backbone"])
        assert dataclasses.asdict(config) == record["backbone"], name
        assert config.pad_id == config.vocabulary_size - 1
        pair = name.removeprefix("opus_mt_").replace("_", "-")
        assert record["source"]["uri"] == f"hf://Helsinki-NLP/opus-mt-{pair}"
        assert record["source"]["verified"] is False
        assert {"source.spm", "target.spm"} < {*record["source"]["files"]}


def test_the_number_of_parameters_is_that_of_the_model(published_opus_mt):
    record = PUBLISHED["opus_mt_en_de"]
    # Marian's file has 74.0 million, the bias of the logits included.
    assert record["parameters"] == 58101 * 512 + 44_138_496
    small = {"vocabulary_size": 9, "pad_id": 8, "hidden_dim": 16, "num_heads": 2}
    config = TransformerConfig(**{**record["backbone"], **small})
    shapes = Transformer.weight_shapes(config)
    counted = sum(published_opus_mt.math.prod(shape) for shape in shapes.values())
    assert counted == Transformer(config).count_params()
