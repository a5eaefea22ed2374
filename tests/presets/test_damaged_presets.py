"""Records that describe no model: one sentence, before anything large is made."""

import copy
import json
import shutil

import numpy as np
import pytest
import tiny
from foreign_files import change_arrays, change_json, set_value
from safetensors.numpy import load_file, save_file

import zoo
from zoo.presets import RECORD, WEIGHTS
from zoo.presets.records import sha256
from zoo.registry import build_backbone
from zoo.text import CharacterTokenizer, WordPieceTokenizer

CONFIG = {**tiny.CONFIG, "num_layers": 1, "vocabulary_size": len(tiny.VOCABULARY)}


def classifier():
    backbone = build_backbone("bert", CONFIG)
    tokenizer = WordPieceTokenizer(tiny.VOCABULARY)
    return zoo.TextClassifier(backbone, tokenizer, labels=tiny.LABELS)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Directories of a classifier and a tagger, of Hugging Face and of bilm-tf."""
    root = tmp_path_factory.mktemp("damaged")
    classifier().save_to_preset(root / "classifier")
    classifier().save_to_preset(root / "bert", "hugging_face")
    elmo = build_backbone("elmo", {**tiny.ELMO_CONFIG, "num_layers": 1})
    elmo.save_to_preset(root / "elmo", "hdf5")
    elmo.tokenizer = CharacterTokenizer(max_characters=12)
    tagger = build_backbone(
        "taglm", {**tiny.TAGLM_CONFIG, "num_layers": 1}, parts={"lm_0": elmo}
    )
    tagger.save_to_preset(root / "tagger")
    return root


@pytest.fixture
def preset(saved, tmp_path):
    """That of the classifier, to be damaged."""
    return shutil.copytree(saved / "classifier", tmp_path / "preset")


def deep(levels):
    """A list in a list in a list."""
    value = []
    for _ in range(levels):
        value = [value]
    return value


OF_CLASSIFIER = [
    ("family", "gpt9", "`family` must be one of"),
    ("family", ["bert"], "`family` must be a string"),
    ("backbone", None, "`backbone` must be an object"),
    ("backbone.size", 1, "Unknown option of `backbone`.*'size'"),
    ("backbone.vocabulary_size", 10**12, "`vocabulary_size` of .* to 2147483647"),
    ("backbone.vocabulary_size", 10**9, "more than the .* values that are stored"),
    ("backbone.hidden_dim", 10**9, "more than the .* values that are stored"),
    ("backbone.num_layers", 10**6, "`num_layers` of .* an integer from 1 to 1000"),
    ("backbone.num_layers", 40, "more than the .* values that are stored"),
    ("backbone.hidden_dim", -1, "`hidden_dim` of .* must be an integer from 1"),
    ("backbone.hidden_dim", 16.5, "`hidden_dim` of .* must be an integer"),
    ("backbone.hidden_dim", "16", "`hidden_dim` of .* must be an integer"),
    ("backbone.hidden_dim", True, "`hidden_dim` of .* must be an integer"),
    ("backbone.dropout", [], "`dropout` of .* must be a number"),
    ("backbone.layer_norm_epsilon", 1e300, "`layer_norm_epsilon` of .*float32"),
    ("backbone.activation", deep(50), "`activation` of .* must be a string"),
    ("backbone.pooler", 1, "`pooler` of .* must be true or false"),
    ("task", [1], "`task` must be an object"),
    ("task.name", "mind_reader", "`task` must be one of"),
    ("task.options", "x", "`task.options` must be an object"),
    ("task.options.colour", 1, "`task` of .*'colour'"),
    ("task.options.labels", [["good"], "bad"], "`labels` in .*different strings"),
    ("task.options.labels", ["good", "good"], "`labels` in .*different strings"),
    ("task.options.labels", 10**12, "`labels` in .* at most"),
    ("task.options.labels", [str(i) for i in range(10**5)], "`labels` in .* at most"),
    ("task.options.head_dropout", "x", "`task` of .*`head_dropout` must be a number"),
    ("task.options.sequence_length", "x", "`sequence_length` in .* an integer"),
    ("task.options.sequence_length", 10**12, "`sequence_length` in .* an integer"),
    ("task.options.pooling", {}, "`pooling` must be"),
    ("defaults", {"learning_rate": "x"}, "`defaults.learning_rate` .* positive"),
    ("defaults", {"learning_rate": 0}, "`defaults.learning_rate` .* positive"),
    ("defaults", {"head_multiplier": -1}, "`defaults.head_multiplier` .* positive"),
    ("defaults", {"epochs": 10.5}, "`defaults.epochs` .* integer"),
    ("defaults", {"epochs": True}, "`defaults.epochs` .* integer"),
    ("defaults", {"tasks": 1}, "`defaults.tasks` must be an object. Received: 1"),
    ("defaults", {"tasks": {"x": 1}}, "`defaults.tasks.x` must be an object"),
    ("defaults", {"tasks": {"x": {"epochs": 0}}}, "`defaults.tasks.x.epochs` .* int"),
    (
        "defaults",
        {"pooling": "max"},
        "`defaults.pooling` .* pooled, cls, mean, compare",
    ),
    ("head_options", [1], "`head_options` must be an object"),
    ("parts", {"lm": {"family": "elmo"}}, "`parts.lm` lacks backbone"),
    (
        "parts",
        {"lm": {"preset": "none", "sha256": ""}},
        "`parts.lm` of .*called 'none'",
    ),
    ("tokenizer.class_name", "Shredder", "`tokenizer` of .*'Shredder'"),
    ("tokenizer.arguments.lowercase", "x", "`lowercase` in .* true or false"),
    ("tokenizer.arguments.colour", "x", "`tokenizer` of .*colour"),
    ("tokenizer.files", {}, "`tokenizer` of .*vocabulary"),
    ("weights.sha256", None, "`weights.sha256` must be a string"),
    ("format", "2", "`format` must be an integer"),
    ("format", -1, "`format` must be an integer"),
]

OF_TAGGER = [
    ("backbone.filters", [1], "`filters` of `backbone` .* list of pairs"),
    ("backbone.filters", [[1, 2, 3]], "`filters` of `backbone` .* list of pairs"),
    ("backbone.filters", deep(5), "`filters` of `backbone` of .* must be a list"),
    ("backbone.lstm_dim", 10**9, "more than the .* values that are stored"),
    ("parts.lm_0.family", "gpt9", "`parts.lm_0` of .*`family` must be one of"),
    ("parts.lm_0.backbone.filters", 7, "`filters` of `parts.lm_0.backbone`"),
    ("parts.lm_0.backbone.num_highways", 10**6, "`num_highways` of `parts.lm_0.b"),
    ("parts.lm_0.backbone.num_highways", 40, "`parts.lm_0.backbone` of .*more"),
    ("parts.lm_0.tokenizer.max_characters", "x", "`parts.lm_0` of"),
]
OF_BERT = [
    ("vocab_size", 10**12, "`vocab_size` of .*config.json"),
    ("hidden_size", "x", "`hidden_size` of .*config.json"),
    ("hidden_size", 10**9, "the most that zoo builds"),
    ("num_hidden_layers", 10**6, "from 1 to 1000"),
    ("hidden_act", ["gelu"], "`hidden_act` must be one of"),
    ("id2label", [1], "cannot be used|must name every"),
]
OF_ELMO = [
    ("lstm", [], "must hold the options"),
    ("lstm.dim", "x", "`lstm_dim` of .*options.json"),
    ("lstm.dim", 10**9, "the most that zoo builds"),
    ("lstm.n_layers", 10**6, "from 1 to 1000"),
    ("char_cnn.filters", [[1, 1]] * 1001, "at most 1000"),
    ("char_cnn.filters", [1], "must hold the options"),
]
# A directory, the file that is damaged, and whether weights are read.
ROWS = [
    *(("classifier", RECORD, *row, True) for row in OF_CLASSIFIER),
    *(("tagger", RECORD, *row, True) for row in OF_TAGGER),
    *(("bert", "config.json", *row, True) for row in OF_BERT),
    *(("elmo", "options.json", *row, True) for row in OF_ELMO),
    *(
        pytest.param(
            "classifier", RECORD, *row, False, marks=[pytest.mark.slow] * (n % 8 > 0)
        )
        for n, row in enumerate(OF_CLASSIFIER)
    ),
]


@pytest.mark.parametrize("name, file, place, value, message, load", ROWS)
def test_a_damaged_record_names_file_and_field(
    saved, tmp_path, name, file, place, value, message, load
):
    directory = shutil.copytree(saved / name, tmp_path / "copy")
    change_json(directory / file, **{place: value})
    with pytest.raises(ValueError, match=message) as raised:
        zoo.from_preset(directory, load_weights=load)
    assert str(directory) in str(raised.value) and len(str(raised.value)) < 1500


@pytest.mark.parametrize(
    "field, value, model, message",
    [
        ("hidden_dim", 10**9, "BERTConfig", "the most that zoo builds"),
        ("num_layers", 10**6, "BERT", "an integer from 1 to 1000"),
    ],
)
def test_without_weights_there_is_a_limit(preset, field, value, model, message):
    change_json(preset / RECORD, weights=None, **{f"backbone.{field}": value})
    with pytest.raises(ValueError, match=message):
        zoo.from_preset(preset, load_weights=False)
    with pytest.raises(ValueError, match=f"{model}.*{message}"):
        build_backbone("bert", {**CONFIG, field: value})


def test_options_are_not_the_fault_of_the_file(preset):
    with pytest.raises(ValueError, match="^`hidden_dim` of BERT must be an integer"):
        zoo.from_preset(preset, hidden_dim="x")
    with pytest.raises(ValueError, match="^`pooling` must be"):
        zoo.from_preset(preset, pooling="x")
    with pytest.raises(ValueError, match="the most that zoo builds"):
        zoo.from_preset(preset, load_weights=False, hidden_dim=10**9)


def rewrite(preset, path, array):
    """Stores another array, and the checksum that belongs to the file."""
    arrays = load_file(preset / WEIGHTS)
    save_file({**arrays, path: array}, preset / WEIGHTS)
    change_json(preset / RECORD, **{"weights.sha256": sha256(preset / WEIGHTS)})


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_stored_weight_that_is_not_finite_is_refused(preset, value):
    rewrite(preset, "pooler/bias", np.full(16, value, "float32"))
    with pytest.raises(ValueError, match=f"finite.*'pooler/bias'.*{WEIGHTS}"):
        zoo.from_preset(preset)


def test_a_weight_of_another_shape_names_the_file(preset):
    rewrite(preset, "pooler/bias", np.zeros(17, "float32"))
    message = "(?s)`weights` of .*shape: 'pooler/bias'"
    with pytest.raises(ValueError, match=message) as found:
        zoo.from_preset(preset)
    assert str(preset) in str(found.value)


# Configs of Keras' files --------------------------------------------------------------


@pytest.fixture(scope="module")
def config():
    """The config of a classifier, as a `.keras` file holds it."""
    return json.loads(json.dumps(classifier().get_config()))


@pytest.mark.parametrize(
    "place, value, message",
    [
        ("backbone", None, "config of TextClassifier must have backbone"),
        ("backbone", {"class_name": "X"}, "`backbone` in the config of TextCl"),
        ("backbone", 5, "`backbone` in the config of TextClassifier must be"),
        ("backbone.config", [], "`backbone` in the config of TextClassifier"),
        ("backbone.config.config", None, "config of BERT must have config"),
        ("backbone.config.config.hidden_dim", "x", "`hidden_dim` of `config` of BERT"),
        ("backbone.config.config.hidden_dim", 10**9, "the most that zoo builds"),
        ("backbone.config.config.num_layers", 10**6, "`num_layers` .* 1 to 1000"),
        ("tokenizer", [1], "`tokenizer` in the config of TextClassifier"),
        ("tokenizer.config", {"x": 1}, "`tokenizer` in the config of TextClassifier"),
        ("labels", ["a", "a"], "`labels` in the config of TextClassifier"),
        ("labels", 10**12, "`labels` in the config of TextClassifier .* at most"),
        ("head_dropout", "x", "TextClassifier .*`head_dropout` must be a number"),
        ("pooling", [], "config of TextClassifier cannot be used: `pooling`"),
        ("colour", 1, "config of TextClassifier cannot be used"),
    ],
)
def test_a_damaged_config_of_keras_names_the_field(config, place, value, message):
    damaged = copy.deepcopy(config)
    set_value(damaged, place, value)
    with pytest.raises(ValueError, match=message):
        zoo.TextClassifier.from_config(damaged)


def test_foreign_weights_that_are_not_finite_are_refused(saved, tmp_path):
    directory = shutil.copytree(saved / "bert", tmp_path / "copy")
    (name,) = (
        key
        for key in load_file(directory / "model.safetensors")
        if key.endswith("embeddings.LayerNorm.bias")
    )
    change_arrays(directory, lambda arrays: {**arrays, name: arrays[name] * np.nan})
    with pytest.raises(ValueError, match="finite.*'embeddings_layer_norm/beta'") as e:
        zoo.from_preset(directory)
    assert str(directory) in str(e.value)
