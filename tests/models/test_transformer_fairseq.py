"""Transformers of fairseq, judged by what fairseq itself computes."""

import argparse
import dataclasses
import json
import pathlib
import shutil
import sys

import numpy as np
import pytest
import tensorflow as tf
from torch_pickles import Tensor, Touch, dump, write_zip

import zoo
from zoo.checkpoint import open_training_checkpoint
from zoo.models.transformer.fairseq import read_options, rename
from zoo.models.transformer.fairseq_dictionaries import read_dictionary
from zoo.models.transformer.weights import read, recognise
from zoo.serving import diagnose

GOLDENS = pathlib.Path(__file__).parents[1] / "goldens" / "fairseq"
NAMES = ("post_norm", "pre_norm", "oldest")
FILES = {name: "model.pt" for name in NAMES} | {"oldest": "checkpoint_best.pt"}
OUTPUTS = {name: dict(np.load(GOLDENS / name / "outputs.npz")) for name in NAMES}
ATOL = 5e-6
SEARCHES = ((4, 0.6, 0.0, 12), (4, 1.0, 1.2, 5), (5, 1.0, 0.0, 20), (2, 0.0, 0.5, 3))


@pytest.fixture(scope="module")
def models():
    """Function of a name and config fields: the golden translator, kept."""
    kept = {}

    def load(name, **options):
        key = name, *sorted(options.items())
        if key not in kept:
            kept[key] = zoo.from_preset(GOLDENS / name, **options)
        return kept[key]

    return load


def compute(model, expected):
    """The encoder's output and the logits for the golden rows."""
    inputs = {
        "encoder_token_ids": expected["source"][: len(expected["target"])],
        "decoder_token_ids": expected["target"],
    }
    inputs = {name: ids.astype("int32") for name, ids in inputs.items()}
    pad = model.backbone.config.pad_id
    inputs["encoder_padding_mask"] = (inputs["encoder_token_ids"] != pad).astype(int)
    encoded = model.backbone(inputs)["encoder_sequence_output"]
    return np.array(encoded), np.array(model(inputs))


def difference(model, expected):
    """The greatest difference from fairseq, where there is no padding."""
    encoded, logits = compute(model, expected)
    assert logits.shape == expected["logits"].shape
    known = expected["source"][: len(encoded)] != 1
    parts = encoded[known] - expected["encoder"][known], logits - expected["logits"]
    return max(np.abs(part).max() for part in parts)


@pytest.mark.parametrize("name", NAMES)
def test_computes_what_fairseq_computes(models, name):
    assert recognise(GOLDENS / name) == "fairseq"
    model = models(name)
    assert isinstance(model, zoo.Translator)
    assert difference(model, OUTPUTS[name]) < ATOL


FAULTS = [
    ("post_norm", {"num_heads": 2}),
    ("post_norm", {"activation": "gelu"}),
    ("post_norm", {"positions": "paper"}),
    ("post_norm", {"positions": "marian_hugging_face"}),
    ("post_norm", {"first_position": 1}),
    ("post_norm", {"num_encoder_layers": 1}),
    ("post_norm", {"scale_embeddings": False}),
    ("post_norm", {"layer_norm_epsilon": 1e-6}),
    ("post_norm", {"pad_id": 5}),
    ("pre_norm", {"num_heads": 3}),
    ("pre_norm", {"activation": "relu"}),
    ("pre_norm", {"activation": "tanh"}),
    ("pre_norm", {"scale_embeddings": True}),
    ("pre_norm", {"layer_norm_epsilon": 1e-3}),
    ("pre_norm", {"norm_first": False}),
    ("pre_norm", {"positions": "tensor2tensor"}),
    ("pre_norm", {"embeddings_layer_norm": False}),
    ("oldest", {"activation": "gelu_tanh"}),
    ("oldest", {"tied_output": True}),
]
WITHOUT_WEIGHTS = [
    ("post_norm", {"num_decoder_layers": 2}),
    ("post_norm", {"norm_first": True}),
    ("post_norm", {"attention_bias": False}),
    ("post_norm", {"positions": "learned"}),
    ("post_norm", {"embeddings_layer_norm": True}),
    ("post_norm", {"target_vocabulary_size": 80}),
    ("post_norm", {"intermediate_dim": 16}),
    ("post_norm", {"vocabulary_size": 80}),
    ("post_norm", {"hidden_dim": 16}),
    ("post_norm", {"tied_output": False}),
    ("oldest", {"output_bias": True}),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "fault"), FAULTS)
def test_the_golden_fails_for_another_config(models, name, fault):
    assert difference(models(name, **fault), OUTPUTS[name]) > 4 * ATOL


@pytest.mark.shown("post_norm-fault0", "post_norm-fault4", "oldest-fault10")
@pytest.mark.parametrize(("name", "fault"), WITHOUT_WEIGHTS)
def test_the_weights_do_not_fit_another_config(name, fault):
    with pytest.raises(ValueError, match="of its shape|more than the"):
        zoo.from_preset(GOLDENS / name, **fault)


def test_the_config_has_every_option_of_the_file():
    config = dataclasses.asdict(read(GOLDENS / "pre_norm").config)
    sizes = {
        side: len(read_dictionary(GOLDENS / "pre_norm" / f"dict.{side}.txt"))
        for side in ("en", "de")
    }
    assert config == {
        "vocabulary_size": sizes["en"],
        "target_vocabulary_size": sizes["de"],
        "hidden_dim": 6,
        "num_encoder_layers": 2,
        "num_decoder_layers": 1,
        "num_heads": 2,
        "intermediate_dim": 10,
        "max_sequence_length": 24,
        "activation": "gelu_tanh",
        "norm_first": True,
        "attention_bias": True,
        "positions": "learned",
        "first_position": 2,
        "scale_embeddings": False,
        "zero_padding": True,
        "embeddings_layer_norm": True,
        "tied_output": True,
        "output_bias": False,
        "dropout": 0.15,
        "attention_dropout": 0.05,
        "activation_dropout": 0.25,
        "layer_norm_epsilon": 1e-5,
        "final_layer_norm": None,
        "target_space": False,
        "pad_id": 1,
    }
    assert read(GOLDENS / "post_norm").config.max_sequence_length == 50
    assert read(GOLDENS / "post_norm").config.target_vocabulary_size is None


@pytest.mark.parametrize("name", NAMES)
def test_stored_weights_are_loaded(models, name):
    """Also those that the outputs do not show, such as the biases of keys."""
    arrays, _ = open_training_checkpoint(GOLDENS / name / FILES[name], "model")
    arrays = rename(dict(arrays))
    weights = read(GOLDENS / name).weights
    model = models(name)
    paths = model.backbone.variable_paths()
    loaded = {paths.get(id(v), v.path): v.numpy() for v in model.variables}
    assert {*weights} <= {*loaded}
    for path, array in weights.items():
        np.testing.assert_array_equal(loaded[path], array)
    for part, ours in (("k", "key"), ("v", "value"), ("q", "query")):
        for their, our in (
            ("self_attn", "attention"),
            ("encoder_attn", "cross_attention"),
        ):
            stored = arrays[f"decoder.layers.0.{their}.{part}_proj.bias"]
            path = f"decoder_block_0/{our}/{ours}/bias"
            np.testing.assert_array_equal(weights[path], stored)


# Every model and every search once; the other combinations are slow.
@pytest.mark.parametrize(
    ("name", "number"),
    [
        pytest.param(
            name, number, marks=[] if i == number % len(NAMES) else pytest.mark.slow
        )
        for i, name in enumerate(NAMES)
        for number in range(len(SEARCHES))
    ],
)
def test_beam_search_finds_what_fairseq_finds(models, name, number):
    model, expected = models(name), OUTPUTS[name]
    source = tf.constant(expected["source"].astype("int32"))
    beams, penalty, a, b = SEARCHES[number]
    longest = int(a * source.shape[1] + b) + 1
    assert longest == expected[f"tokens_{number}"].shape[-1]
    options = model.generation_options(
        num_beams=beams,
        num_return=beams,
        length_penalty=penalty,
        max_new_tokens=longest,
    )
    inputs = {
        "encoder_token_ids": source,
        "encoder_padding_mask": tf.cast(source != 1, tf.int32),
    }
    tokens, scores = model.generate_tokens(inputs, options)
    np.testing.assert_array_equal(tokens, expected[f"tokens_{number}"])
    np.testing.assert_allclose(scores, expected[f"scores_{number}"], atol=2e-5)


def test_generation_starts_with_the_defaults_of_fairseq(models):
    options = models("post_norm").generation_options()
    assert (options.num_beams, options.penalty, options.length_penalty) == (
        5,
        "fairseq",
        1.0,
    )
    assert (options.max_new_tokens, options.min_new_tokens) == (50, 2)
    assert (options.last_token, list(options.suppressed)) == (2, [1])
    assert models("post_norm").options["label_smoothing"] == 0.2
    assert models("post_norm").options["smoothing_kind"] == "fairseq"


@pytest.mark.parametrize("name", NAMES)
def test_tokens_are_those_of_fairseq(models, name):
    tokenizer, expected = models(name).tokenizer, OUTPUTS[name]
    rows = np.split(expected["ids"], np.cumsum(expected["lengths"])[:-1])
    texts = expected["texts"].tolist()
    found = [*tokenizer(texts).to_list(), *tokenizer.targets(texts).to_list()]
    assert [[*row, 2] for row in found] == [row.tolist() for row in rows]
    written = tokenizer.detokenize(expected["target"][:, 1:].astype("int32"))
    assert [t.decode() for t in written.numpy()] == expected["written"].tolist()
    assert (tokenizer.start_id, tokenizer.end_id, tokenizer.pad_id) == (2, 2, 1)


@pytest.mark.slow
def test_an_export_translates(models, tmp_path):
    model = models("pre_norm")
    texts = [text for text in OUTPUTS["pre_norm"]["texts"].tolist() if text]
    version = model.export(tmp_path / "model")
    assert all(finding.passed for finding in diagnose(version))
    loaded = tf.saved_model.load(str(version))
    answers = loaded.signatures["serving_default"](tf.constant(texts))
    written = [t.decode() for t in answers["translation"].numpy()]
    assert written == model.translate(texts)
    assert len({*written}) > 1


@pytest.mark.slow
def test_a_preset_of_our_own_translates_as_before(models, tmp_path):
    model = models("pre_norm")
    model.save_to_preset(tmp_path / "preset")
    texts = OUTPUTS["pre_norm"]["texts"].tolist()[:2]
    again = zoo.from_preset(tmp_path / "preset")
    assert again.translate(texts) == model.translate(texts)


# Damaged and unsupported directories ------------------------------------------------


@pytest.fixture
def write(tmp_path):
    """Function that writes a changed copy of a golden directory."""

    def write(name="post_norm", arrays=None, entries=None, leave=(), **options):
        source = GOLDENS / name
        stored, others = open_training_checkpoint(source / FILES[name], "model")
        stored = {**{k: stored[k] for k in stored if k not in leave}, **(arrays or {})}
        found = {**read_options(others, source), **options}
        tensors, storages = {}, {}
        for number, (key, array) in enumerate(stored.items()):
            array = np.ascontiguousarray(array, "float32")
            strides = tuple(s // 4 for s in array.strides)
            place = {"key": str(number), "size": array.size}
            tensors[key] = Tensor(0, array.shape, strides, **place)
            storages[str(number)] = array.tobytes()
        shutil.copytree(source, tmp_path / "model", dirs_exist_ok=True)
        content = {"model": tensors, "args": argparse.Namespace(**found)}
        path = tmp_path / "model" / FILES[name]
        write_zip(path, dump({**content, **(entries or {})}), storages)
        return tmp_path / "model"

    return write


def test_a_copy_is_read_as_the_original(write):
    copy, original = read(write()), read(GOLDENS / "post_norm")
    assert copy.config == original.config
    for path, array in original.weights.items():
        np.testing.assert_array_equal(copy.weights[path], array)


@pytest.mark.parametrize(
    ("name", "value"),
    (
        ("adaptive_input", True),
        ("adaptive_softmax_cutoff", [10, 20]),
        ("cross_self_attention", True),
        ("no_cross_attention", True),
        ("no_token_positional_embeddings", True),
        ("no_decoder_final_norm", True),
        ("encoder_layers_to_keep", "0"),
        ("quant_noise_scalar", 0.5),
        ("decoder_attention_heads", 2),
        ("decoder_normalize_before", True),
        ("decoder_learned_pos", True),
        ("decoder_embed_dim", 16),
        ("decoder_output_dim", 4),
        ("activation_fn", "linear"),
        ("encoder_attention_heads", "4"),
        ("dropout", None),
    ),
)
def test_an_option_that_cannot_be_computed_is_named(write, name, value):
    with pytest.raises(ValueError, match=rf"(?s){name}.*Received: ") as error:
        read(write(**{name: value}))
    assert "model.pt" in str(error.value)


@pytest.mark.parametrize(
    ("options", "message"),
    (
        ({"leave": ("encoder.layers.0.fc1.bias",)}, r"with more than the \d+ values"),
        ({"arrays": {"encoder.extra": np.ones(3)}}, r"unused: 'encoder\.extra'"),
        ({"leave": ("decoder.embed_tokens.weight",)}, "an encoder and a decoder"),
        (
            {"arrays": {"decoder.output_projection.weight": np.ones((72, 8))}},
            "must equal 'decoder.embed_tokens.weight'",
        ),
        ({"name": "pre_norm", "leave": ("decoder.version",)}, "decoder.version"),
        (
            {"name": "pre_norm", "arrays": {"encoder.version": np.ones(1)}},
            "encoder.version must be at least 2",
        ),
        ({"name": "pre_norm", "max_target_positions": 30}, "must be equal"),
        ({"encoder_layers": 3}, "missing|more than"),
        ({"entries": {"args": None}}, "options of its model as 'args' or 'cfg'"),
        ({"entries": {"model": 3}}, "a dict of tensors as 'model'"),
        ({"target_lang": "fr"}, "dictionary of the language 'fr'"),
    ),
)
def test_a_damaged_model_is_explained(write, options, message):
    with pytest.raises(ValueError, match=message):
        read(write(**options))


@pytest.mark.parametrize(
    ("change", "message"),
    (
        (lambda text: text + "new 1\n", "a token for every row"),
        (lambda text: text.replace(" ", "\t", 1), "a space and its count"),
        (lambda text: text + text.split("\n")[0] + "\n", "a new token"),
        (lambda text: text + "<unk> 3\n", "a new token"),
        (lambda text: text.replace("the ", "teh ", 1), "dictionaries .* the same"),
    ),
)
def test_a_damaged_dictionary_is_explained(write, change, message):
    directory = write()
    path = directory / "dict.en.txt"
    path.write_text(change(path.read_text("utf-8")), "utf-8")
    with pytest.raises(ValueError, match=message):
        read(directory)


def test_damaged_files_are_named(write):
    directory = write()
    (directory / "dict.en.txt").write_bytes(b"\xff\xff 3\n")
    with pytest.raises(ValueError, match=r"dict\.en\.txt` must be UTF-8"):
        read(directory)
    directory = write()
    (directory / "bpecodes").write_text("a b c d\n", "utf-8")
    with pytest.raises(ValueError, match="two symbols.*line 1"):
        zoo.from_preset(directory)
    for share in (0.3, 0.9):
        content = (GOLDENS / "post_norm" / "model.pt").read_bytes()
        (directory / "model.pt").write_bytes(content[: int(share * len(content))])
        with pytest.raises(ValueError, match=r"model\.pt"):
            read(directory)
    (directory / "model.pt").unlink()
    for name in ("a.pt", "b.pt"):
        shutil.copy(GOLDENS / "post_norm" / "model.pt", directory / name)
    with pytest.raises(ValueError, match="one checkpoint.*Received: a.pt, b.pt"):
        read(directory)


def test_without_codes_there_is_no_translator(write):
    directory = write()
    (directory / "bpecodes").unlink()
    model = zoo.from_preset(directory)
    assert not isinstance(model, zoo.Translator) and model.tokenizer is None


def test_languages_that_are_not_named_may_share_a_dictionary(write):
    directory = write(source_lang=None, target_lang=None)
    assert read(directory).tokenizer == read(GOLDENS / "post_norm").tokenizer


class System:
    """Unpickles into a command of the shell."""

    def __init__(self, command):
        self.command = command

    def __reduce__(self):
        import os

        return os.system, (self.command,)


def test_a_malicious_pickle_is_refused_and_not_executed(write, tmp_path):
    mark = tmp_path / "mark"
    for hostile in (Touch(mark), System(f"touch {mark}")):
        for name in ("args", "cfg", "extra_state"):
            directory = write(entries={name: {"deep": [hostile]}})
            with pytest.raises(ValueError, match="no code of it was executed"):
                read(directory)
    assert not mark.exists()


def test_classes_of_other_programs_are_never_imported():
    before = {*sys.modules}
    _, entries = open_training_checkpoint(GOLDENS / "pre_norm" / "model.pt", "model")
    assert not any("omegaconf" in name for name in {*sys.modules} - before)
    options = read_options(entries, "model.pt")
    assert json.loads(json.dumps(options))["encoder_learned_pos"] is True
    assert "decoder_input_dim" not in options  # a reference to another option
