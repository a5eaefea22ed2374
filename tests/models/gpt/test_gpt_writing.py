"""Directories of GPTs that transformers and keras-nlp load, with equal outputs."""

import dataclasses
import json

import h5py
import numpy as np
import pytest
from foreign_files import (
    ATOL,
    assert_equal,
    change_json,
    draw_weights,
    run_transformers,
)
from gpt_golden import CONVERTED, GOLDEN, KINDS, MAKER, OUTPUTS, compute

import zoo
from zoo.checkpoint import Converted
from zoo.models.gpt import GPT, read, recognise
from zoo.models.gpt.gpt_writing import write_hugging_face, write_keras_nlp

# What keras-nlp's GPT-2 always has.
KERAS = {
    "layer_norm_epsilon": 1e-5,
    "initializer_range": 0.02,
    **dict.fromkeys(("dropout", "embedding_dropout", "attention_dropout"), 0.15),
}
WRITERS = {"hugging_face": write_hugging_face, "keras_nlp": write_keras_nlp}


def make(kind="gpt2", **fields):
    """The golden configuration and tokenizer with other fields, and random arrays."""
    golden = CONVERTED[kind]
    config = dataclasses.replace(golden.config, **fields)
    weights = draw_weights(GPT.weight_shapes(config), 32)
    return Converted("", config, weights, tokenizer={**golden.tokenizer})


# transformers -------------------------------------------------------------------------

CASES = {
    "gpt1": ("gpt1", {}),
    "gpt1_relu": ("gpt1", {"activation": "relu"}),
    "gpt2": ("gpt2", {}),
    "gpt2_gelu": ("gpt2", {"activation": "gelu", "intermediate_dim": 5}),
}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Directory of directories that we wrote and transformers ran."""
    directory = tmp_path_factory.mktemp("hugging_face")
    for case, (kind, fields) in CASES.items():
        write_hugging_face(directory / case, make(kind, **fields))
        names = ("token_ids", "padding_mask", "text")
        inputs = {name: OUTPUTS[kind][name] for name in names}
        np.savez(directory / case / "inputs.npz", **inputs)
    run_transformers(MAKER, *(directory / case for case in CASES))
    return directory


@pytest.mark.parametrize("case", CASES)
def test_transformers_computes_what_we_compute(written, case):
    kind, fields = CASES[case]
    theirs, contents = np.load(written / case / "theirs.npz"), make(kind, **fields)
    assert theirs["problems"].tolist() == []
    names = {"gpt1": "OpenAIGPTLMHeadModel", "gpt2": "GPT2LMHeadModel"}
    assert str(theirs["kind"]) == names[kind]
    mask = OUTPUTS[kind]["padding_mask"].astype(bool)
    ours = compute(contents, OUTPUTS[kind])["logits"]
    np.testing.assert_allclose(theirs["logits"][mask], ours[mask], 0, ATOL)
    assert theirs["text_ids"].tolist() == OUTPUTS[kind]["text_ids"].tolist()
    assert theirs["tokens"] == len(contents.tokenizer["vocabulary"])
    assert theirs["end_id"] == {"gpt1": -1, "gpt2": 256}[kind]
    assert theirs["model_max_length"] == 9


@pytest.mark.parametrize("kind", KINDS)
def test_a_backbone_without_a_tokenizer_is_written(kind, tmp_path):
    backbone = zoo.from_preset(GOLDEN / kind, task=None)
    backbone.tokenizer = None
    backbone.save_to_preset(tmp_path / "backbone", layout="hugging_face")
    names = {path.name for path in (tmp_path / "backbone").iterdir()}
    assert names == {"config.json", "model.safetensors"}
    values = json.loads((tmp_path / "backbone" / "config.json").read_text())
    assert values["eos_token_id"] is values["bos_token_id"] is None


# keras-nlp ----------------------------------------------------------------------------


@pytest.mark.parametrize("start", [False, True])
def test_keras_nlp_computes_what_we_compute(keras_nlp, tmp_path, start):
    contents = make(**KERAS)
    contents.tokenizer["start_token"] = start
    path = tmp_path / "new"
    write_keras_nlp(path, contents)
    assert recognise(path) == "keras_nlp"
    found = read(path)
    assert found.config == contents.config and found.tokenizer == contents.tokenizer
    assert found.heads == ("lm_head",)
    assert_equal(found.weights, contents.weights)
    theirs = keras_nlp.models.GPT2CausalLM.from_preset(str(path))
    inputs = {k: OUTPUTS["gpt2"][k] for k in ("token_ids", "padding_mask")}
    mask = inputs["padding_mask"].astype(bool)
    ours = compute(found, inputs)
    logits = np.asarray(theirs(inputs))
    np.testing.assert_allclose(logits[mask], ours["logits"][mask], 0, ATOL)
    hidden = np.asarray(theirs.backbone(inputs))
    expected = ours["layer_outputs"][:, -1]
    np.testing.assert_allclose(hidden[mask], expected[mask], 0, ATOL)
    preprocessor = theirs.preprocessor
    assert preprocessor.sequence_length == 9
    assert preprocessor.add_start_token == start
    text, ids = str(OUTPUTS["gpt2"]["text"]), OUTPUTS["gpt2"]["text_ids"].tolist()
    assert list(preprocessor.tokenizer(text)) == ids


def test_presets_of_keras_nlp_are_read(keras_nlp, tmp_path):
    backbone = keras_nlp.models.GPT2Backbone(263, 2, 4, 8, 12, 0.05, 9)
    generator = np.random.default_rng(33)
    for variable in backbone.weights:
        mean = 1.0 if variable.name == "gamma" else 0.0
        variable.assign(generator.normal(mean, 0.3, variable.shape))
    contents = CONVERTED["gpt2"].tokenizer
    ids = {token: i for i, token in enumerate(contents["vocabulary"])}
    tokenizer = keras_nlp.models.GPT2Tokenizer(ids, list(contents["merges"]))
    preprocessor = keras_nlp.models.GPT2CausalLMPreprocessor(tokenizer, 9)
    lm = keras_nlp.models.GPT2CausalLM(backbone, preprocessor)
    lm.save_to_preset(str(tmp_path / "preset"))
    model = zoo.from_preset(tmp_path / "preset")
    assert isinstance(model, zoo.CausalLM) and model.tokenizer.start_token
    config = model.backbone.config
    assert (config.dropout, config.attention_dropout) == (0.05, 0.05)
    inputs = {k: OUTPUTS["gpt2"][k] % 263 for k in ("token_ids", "padding_mask")}
    mask = inputs["padding_mask"].astype(bool)
    expected, found = np.asarray(lm(inputs)), np.asarray(model(inputs))
    np.testing.assert_allclose(found[mask], expected[mask], 0, ATOL)
    # Files of Keras 2 have another root.
    old = tmp_path / "old"
    old.mkdir()
    (old / "config.json").write_text((tmp_path / "preset/config.json").read_text())
    with h5py.File(tmp_path / "preset" / "model.weights.h5") as source:
        with h5py.File(old / "model.weights.h5", "w") as target:
            source.copy("layers", target, "_layer_checkpoint_dependencies")
    converted = read(old)
    assert converted.tokenizer is None
    assert_equal(converted.weights, read(tmp_path / "preset").weights)
    change_json(old / "config.json", class_name="OPTBackbone")
    assert recognise(old) is None


# What cannot be written ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("layout", "kind", "fields", "message"),
    [
        ("keras_nlp", "gpt1", {}, "keras-nlp has no GPT-1.*norm_first=False"),
        ("keras_nlp", "gpt2", {"activation": "gelu"}, "always has.*Received: .*'gelu'"),
        ("keras_nlp", "gpt2", {"layer_norm_epsilon": 1e-3}, "always has.*0.001"),
        ("keras_nlp", "gpt2", {"attention_dropout": 0.2}, "always has.*0.2"),
        ("hugging_face", "gpt1", {"activation": "gelu"}, "activation='gelu'"),
        ("hugging_face", "gpt1", {"intermediate_dim": 12}, "intermediate_dim=12"),
        ("hugging_face", "gpt2", {"vocabulary_size": 262}, "263 and 262"),
    ],
)
def test_what_a_layout_cannot_hold_is_refused(tmp_path, layout, kind, fields, message):
    base = KERAS if layout == "keras_nlp" else {}
    contents = make(kind, **{**base, **fields})
    with pytest.raises(ValueError, match=message):
        WRITERS[layout](tmp_path / "new", contents)
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("layout", WRITERS)
def test_heads_and_other_tokenizers_are_refused(tmp_path, layout):
    contents, write = make(**KERAS), WRITERS[layout]
    with pytest.raises(ValueError, match=r"with classifier. Pass `heads=\(\)`"):
        write(tmp_path / "new", dataclasses.replace(contents, heads=("classifier",)))
    other = {k: contents.tokenizer[k] for k in ("vocabulary", "merges")}
    for tokenizer in (other, {"vocabulary": ("a",)}):
        wrong = dataclasses.replace(contents, tokenizer=tokenizer)
        with pytest.raises(ValueError, match="needs a `zoo.text.GPT2Tokenizer`"):
            write(tmp_path / "new", wrong)
    lacking = dict(contents.weights)
    lacking.pop("position_embedding/embeddings")
    with pytest.raises(ValueError, match="missing: 'position_embedding/embeddings'"):
        write(tmp_path / "new", dataclasses.replace(contents, weights=lacking))
    gpt1 = dataclasses.replace(make("gpt1"), tokenizer=contents.tokenizer)
    with pytest.raises(ValueError, match="needs a `zoo.text.GPT1Tokenizer`|no GPT-1"):
        write(tmp_path / "new", gpt1)
    assert not [*tmp_path.iterdir()]


def test_defaults_of_generate_are_kept(tmp_path):
    options = {"temperature": 0.8, "top_p": 0.9, "max_new_tokens": 3, "suppressed": [2]}
    contents = dataclasses.replace(make(), options={"generation": options})
    write_hugging_face(tmp_path / "a", contents)
    values = json.loads((tmp_path / "a/generation_config.json").read_text())
    assert values["do_sample"] and values["top_k"] == 0
    assert read(tmp_path / "a").options == {"generation": options}
    model = zoo.from_preset(tmp_path / "a")
    assert model.writer.generation_options().temperature == 0.8
    options = {"num_beams": 2, "stop": ["."]}
    contents = dataclasses.replace(make(), options={"generation": options})
    with pytest.warns(UserWarning, match="no place for the options stop"):
        write_hugging_face(tmp_path / "b", contents)
    assert read(tmp_path / "b").options == {"generation": {"num_beams": 2}}
    path = tmp_path / "b" / "generation_config.json"
    path.write_text('{"repetition_penalty": 1.3}')
    with pytest.warns(UserWarning, match="tokens of a prompt do not count.*1.3 in"):
        assert read(tmp_path / "b").options["generation"] == {"repetition_penalty": 1.3}
    path.unlink()
    assert read(tmp_path / "b").options == {"generation": {}}


def test_the_end_of_a_text_is_no_new_token_of_hugging_face(tmp_path):
    options = {"min_new_tokens": 5, "renormalize": True}
    contents = dataclasses.replace(make(), options={"generation": options})
    write_hugging_face(tmp_path / "a", contents)
    path = tmp_path / "a" / "generation_config.json"
    values = {"min_new_tokens": 4, "renormalize_logits": True, "eos_token_id": 256}
    assert json.loads(path.read_text()) == values
    assert read(tmp_path / "a").options == {"generation": options}
    path.write_text('{"min_new_tokens": 4, "max_new_tokens": 4}')
    assert read(tmp_path / "a").options["generation"]["min_new_tokens"] == 4


def test_older_directories_have_the_options_in_their_config(tmp_path):
    write_hugging_face(tmp_path / "a", make())
    path = tmp_path / "a" / "config.json"
    change_json(path, num_beams=3)
    assert read(tmp_path / "a").options == {"generation": {"num_beams": 3}}


def test_keras_nlp_starts_texts_with_a_token_by_default(tmp_path):
    contents = dataclasses.replace(make(**KERAS), heads=())
    contents.tokenizer["start_token"] = False
    write_keras_nlp(tmp_path / "a", contents)
    path = tmp_path / "a" / "preprocessor.json"
    assert read(tmp_path / "a").tokenizer["start_token"] is False
    change_json(path, class_name="GPT2Preprocessor")
    assert read(tmp_path / "a").tokenizer["start_token"] is True
    path.unlink()
    assert read(tmp_path / "a").tokenizer["start_token"] is True
