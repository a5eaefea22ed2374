"""Models as files: whole or not there, with all heads, and with finite weights only."""

import contextlib
import json
import zipfile
from unittest import mock

import keras
import numpy as np
import pytest
import tiny
from command_line import run
from tiny_bert import tiny_bert

import zoo
from zoo.registry import build_backbone

HEADS = ("masked_lm_head", "next_sentence")


def make():
    """A tiny BERT of one layer."""
    return tiny_bert(num_layers=1, vocabulary_size=len(tiny.VOCABULARY))


@pytest.fixture(scope="module")
def pretrained(tmp_path_factory):
    """The preset of a masked language model with both heads."""
    directory = tmp_path_factory.mktemp("pretrained") / "preset"
    backbone = make()
    task = zoo.MaskedLM(backbone, backbone.tokenizer, next_sentence=True)
    task.save_to_preset(directory)
    return directory


@pytest.fixture(scope="module")
def backbone(pretrained):
    """A backbone with two spare heads."""
    return zoo.from_preset(pretrained, task=None)


@pytest.fixture(scope="module")
def plain():
    """A backbone without heads."""
    return make()


def assert_same(found, expected):
    np.testing.assert_equal(dict(found), dict(expected))


# Finite weights -----------------------------------------------------------------------


def change(backbone, value):
    """Gives a backbone one other weight; returns it, and its value before."""
    weight = next(v for v in backbone.weights if v.path == "pooler/bias")
    before = weight.numpy()
    weight.assign(np.full(weight.shape, value, "float32"))
    return weight, before


@pytest.mark.parametrize("value", [70_000.0, -65_520.0])
def test_a_weight_that_float16_does_not_hold_is_refused(plain, tmp_path, value):
    weight, before = change(plain, value)
    message = "finite in float16. Received: 'pooler/bias'.*dtype=\"float32"
    with pytest.raises(ValueError, match=message):
        plain.save_to_preset(tmp_path / "p", dtype="float16")
    assert not list(tmp_path.iterdir())
    weight.assign(np.full(before.shape, 65_504.0, "float32"))
    plain.save_to_preset(tmp_path / "p", dtype="float16")
    weight.assign(before)
    copy = zoo.from_preset(tmp_path / "p")
    assert max(float(v.numpy().max()) for v in copy.weights) == 65_504.0


@pytest.mark.parametrize("layout", ["zoo", "hugging_face", "keras_nlp"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_weight_that_is_not_finite_is_refused(plain, tmp_path, layout, value):
    weight, before = change(plain, value)
    with pytest.raises(ValueError, match="must be finite.*'pooler/bias'.*earlier"):
        plain.save_to_preset(tmp_path / "p", layout)
    weight.assign(before)
    assert not list(tmp_path.iterdir())


# Spare heads --------------------------------------------------------------------------


def test_a_file_keeps_the_heads_of_a_backbone_and_of_a_task(
    backbone, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(backbone, "head_options", {"head_activation": "gelu"})
    backbone.save("backbone.keras")
    copy = zoo.load_model("backbone.keras")
    assert_same(copy.spare_heads, backbone.spare_heads)
    assert copy.head_options == {"head_activation": "gelu"}
    task = zoo.TextClassifier(backbone, backbone.tokenizer, labels=tiny.LABELS)
    task.save("a.keras")
    assert_same(zoo.load_model("a.keras").backbone.spare_heads, backbone.spare_heads)
    backbone.save("directory", zipped=False)
    copy = keras.saving.load_model("directory")
    assert_same(copy.spare_heads, backbone.spare_heads)


def test_weights_and_files_without_spare_heads_are_as_before(backbone, plain, tmp_path):
    plain.save(tmp_path / "plain.keras")
    with zipfile.ZipFile(tmp_path / "plain.keras") as archive:
        assert len(archive.namelist()) == 3
    assert not zoo.load_model(tmp_path / "plain.keras").spare_heads
    for name, model in (("a", backbone), ("b", plain)):
        model.save_weights(tmp_path / f"{name}.weights.h5")
    sizes = {path.stat().st_size for path in tmp_path.glob("*.weights.h5")}
    assert len(sizes) == 1
    plain.load_weights(tmp_path / "a.weights.h5")


# Heads of other layouts ---------------------------------------------------------------


def heads_in(directory):
    """Names of the heads in a directory."""
    return {path.split("/")[0] for path in zoo.from_preset(directory).spare_heads}


def test_a_backbone_is_written_without_the_heads_that_do_not_fit(backbone, tmp_path):
    with pytest.warns(UserWarning, match="'keras_nlp' cannot hold .*masked_lm_head, n"):
        backbone.save_to_preset(tmp_path / "p", "keras_nlp")
    copy = zoo.from_preset(tmp_path / "p")
    assert not copy.spare_heads
    np.testing.assert_equal(copy.get_weights(), backbone.get_weights())


@pytest.mark.parametrize(
    "heads, architecture",
    [
        ((), "BertModel"),
        (HEADS[:1], "BertForMaskedLM"),
        (HEADS[1:], "BertForNextSentencePrediction"),
        (HEADS, "BertForPreTraining"),
        (None, "BertForPreTraining"),
    ],
)
def test_heads_are_chosen(backbone, tmp_path, heads, architecture):
    backbone.save_to_preset(tmp_path / "p", "hugging_face", heads=heads)
    config = json.loads((tmp_path / "p" / "config.json").read_text())
    assert config["architectures"] == [architecture]
    found = zoo.from_preset(tmp_path / "p", task=None).spare_heads
    chosen = HEADS if heads is None else heads
    arrays = backbone.spare_heads.items()
    assert_same(found, {k: v for k, v in arrays if k.split("/")[0] in chosen})


def test_heads_that_are_not_there_are_refused(backbone, tmp_path):
    message = r"`heads` must be a (tuple|list) .*Received"
    for heads in (("classifier",), "masked_lm_head"):
        with pytest.raises(ValueError, match=message):
            backbone.save_to_preset(tmp_path / "p", "hugging_face", heads=heads)
    with pytest.raises(ValueError, match='Layout "zoo" writes every head'):
        backbone.save_to_preset(tmp_path / "p", heads=())
    assert not list(tmp_path.iterdir())


def test_a_task_says_how_to_leave_its_head_out(pretrained, tmp_path):
    task = zoo.from_preset(pretrained)
    with pytest.raises(ValueError, match=r"`heads=\(\)` writes the backbone"):
        task.save_to_preset(tmp_path / "p", "keras_nlp")
    task.save_to_preset(tmp_path / "p", "keras_nlp", heads=())
    assert not heads_in(tmp_path / "p")


def test_the_command_line_chooses_heads(pretrained, tmp_path):
    one, none = (tmp_path / name for name in ("one", "none"))
    run("convert", pretrained, one, "--to", "hugging_face", "--head", HEADS[0])
    assert heads_in(one) == {HEADS[0]}
    with pytest.warns(UserWarning, match="is left out"):
        run("convert", pretrained, none, "--to", "keras_nlp", "--task", "none")
    assert not heads_in(none)


# `.keras` files -----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["m.h5", "m.hdf5", "m", "m.weights.h5", "m.keras.zip"])
def test_a_file_of_another_ending_is_refused(plain, tmp_path, name):
    with pytest.raises(ValueError, match=r"ends in `.keras`.*save_to_preset"):
        plain.save(tmp_path / name)
    with pytest.raises(ValueError, match="Leave the ending out"):
        plain.save(tmp_path / "m.keras", zipped=False)
    assert not list(tmp_path.iterdir())


def test_a_failure_leaves_the_file_as_it_was(plain, tmp_path, monkeypatch):
    path = tmp_path / "m.keras"
    plain.save(path)
    before = path.read_bytes()
    fail = mock.Mock(side_effect=OSError("No space left on device"))
    monkeypatch.setattr(plain, "save_own_variables", fail)
    with pytest.raises(OSError, match="No space left"):
        plain.save(path)
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


def test_a_file_is_replaced_only_if_that_is_wanted(plain, tmp_path):
    path = tmp_path / "m.keras"
    plain.save(str(path), overwrite=False)
    with pytest.raises(FileExistsError, match="m.keras exists. Received: overwrite=F"):
        plain.save(path, overwrite=False)
    plain.save(path)


def test_a_directory_replaces_a_saved_model_only(plain, tmp_path):
    path = tmp_path / "model"
    for _ in range(2):
        plain.save(path, zipped=False)
    assert keras.saving.load_model(path).config == plain.config
    inside = path.parent / "inside"
    inside.mkdir()
    with contextlib.chdir(inside):
        for _ in range(2):  # a directory that cannot be renamed
            plain.save(".", zipped=False)
    assert keras.saving.load_model(inside).config == plain.config
    (path / "diary.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="something other than a saved model"):
        plain.save(path, zipped=False)
    assert (path / "diary.txt").read_text() == "mine"


def test_fine_tuning_checks_the_name_of_the_file_first(tmp_path):
    preset, table, output = (tmp_path / name for name in ("preset", "a.tsv", "m.h5"))
    preset.mkdir()
    table.touch()
    command = ("finetune", preset, "--data", table, "--output", output)
    assert "ends in `.keras`" in run(*command, code=1)


def test_a_backbone_keeps_how_its_head_was_made(make_task, texts, tmp_path):
    """The head goes through a preset of the backbone alone, with its activation."""
    task = make_task("masked_lm", head_activation="relu", head_layer_norm_epsilon=0.3)
    task.save_to_preset(tmp_path / "task")
    backbone = zoo.from_preset(tmp_path / "task", task=None)
    backbone.save_to_preset(tmp_path / "backbone")
    again = zoo.from_preset(tmp_path / "backbone", task="masked_lm")
    assert again.options["head_activation"] == "relu"
    asked = [f"{text} [MASK]" for text in texts[:3]]
    for key, value in task.answer(asked).items():
        np.testing.assert_array_equal(again.answer(asked)[key], value, err_msg=key)


@pytest.mark.usefixtures("eagerly")
def test_a_table_of_positions_becomes_longer_or_shorter(make_task, tmp_path):
    model = make_task("text_classifier", {"max_sequence_length": 12})
    model.save_to_preset(tmp_path / "preset")
    table = model.backbone.named_layers["position_embedding"].embeddings.numpy()
    texts = ["a good film", "bad"]
    expected = model.predict(texts, verbose=0)
    for length in (30, 8):
        other = zoo.from_preset(tmp_path / "preset", max_sequence_length=length)
        assert other.sequence_length == length
        found = other.backbone.named_layers["position_embedding"].embeddings.numpy()
        np.testing.assert_array_equal(found, np.resize(table, (length, 16)))
        np.testing.assert_allclose(other.predict(texts, verbose=0), expected, atol=1e-6)
    lengths = {"max_sequence_length": 30, "sequence_length": 20}
    longer = zoo.from_preset(tmp_path / "preset", **lengths)
    assert longer.sequence_length == 20
    longer.save_to_preset(tmp_path / "longer")
    again = zoo.from_preset(tmp_path / "longer")
    assert again.backbone.config.max_sequence_length == 30
    fields = {"positions": "learned", "vocabulary_size": 30}
    translator = build_backbone("transformer", {**tiny.TRANSFORMER_CONFIG, **fields})
    translator.save_to_preset(tmp_path / "translator")
    shorter = zoo.from_preset(tmp_path / "translator", max_sequence_length=5)
    for side in ("encoder", "decoder"):
        name = f"{side}_position_embedding"
        longer, found = (m.named_layers[name].embeddings for m in (translator, shorter))
        np.testing.assert_array_equal(found, longer[:5])
    for wrong in (-5, 0, "long"):
        message = f"`max_sequence_length`.* must be an integer.*Received: {wrong!r}"
        with pytest.raises(ValueError, match=message):
            zoo.from_preset(tmp_path / "preset", max_sequence_length=wrong)
