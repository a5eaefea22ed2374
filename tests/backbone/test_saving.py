"""Models as files: whole or not there, with all heads, and with finite weights only."""

import contextlib
import json
import zipfile

import keras
import numpy as np
import pytest
import tiny
from click.testing import CliRunner

import zoo
from zoo.commands.main import main
from zoo.registry import build_backbone
from zoo.text import WordPieceTokenizer

CONFIG = {**tiny.CONFIG, "num_layers": 1, "vocabulary_size": len(tiny.VOCABULARY)}
HEADS = ("masked_lm_head", "next_sentence")


def make(**fields):
    """A tiny BERT with its tokenizer."""
    backbone = build_backbone("bert", {**CONFIG, **fields})
    backbone.tokenizer = WordPieceTokenizer(tiny.VOCABULARY)
    return backbone


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
    assert found.keys() == expected.keys() and expected
    for path, array in expected.items():
        np.testing.assert_array_equal(found[path], array)


# Finite weights -----------------------------------------------------------------------


def change(backbone, value):
    """Gives a backbone one other weight; returns its path and the weight before."""
    weight = next(v for v in backbone.weights if v.path == "pooler/bias")
    before = weight.numpy()
    weight.assign(np.full(weight.shape, value, "float32"))
    return weight, before


@pytest.mark.parametrize("value", [70_000.0, -65_520.0])
def test_a_weight_that_float16_does_not_hold_is_refused(plain, tmp_path, value):
    weight, before = change(plain, value)
    with pytest.raises(
        ValueError, match="finite in float16. Received: 'pooler/bias'.*dtype=\"float32"
    ):
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


def test_a_file_keeps_the_heads_of_a_backbone(backbone, tmp_path):
    heads = backbone.spare_heads
    backbone.head_options = {"head_activation": "gelu"}
    backbone.save(tmp_path / "a.keras")
    copy = zoo.load_model(tmp_path / "a.keras")
    assert_same(copy.spare_heads, heads)
    assert copy.head_options == {"head_activation": "gelu"}
    backbone.head_options = {}


def test_a_file_keeps_the_heads_of_a_task_and_of_a_directory(
    backbone, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
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
    for ours, theirs in zip(backbone.weights, copy.weights, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_all_heads_are_written_where_there_is_a_class(backbone, tmp_path):
    backbone.save_to_preset(tmp_path / "p", "hugging_face")
    config = json.loads((tmp_path / "p" / "config.json").read_text())
    assert config["architectures"] == ["BertForPreTraining"]
    copy = zoo.from_preset(tmp_path / "p", task=None)
    assert_same(copy.spare_heads, dict(backbone.spare_heads))


@pytest.mark.parametrize(
    "heads, architecture",
    [
        ((), "BertModel"),
        (HEADS[:1], "BertForMaskedLM"),
        (HEADS[1:], "BertForNextSentencePrediction"),
        (HEADS, "BertForPreTraining"),
    ],
)
def test_heads_are_chosen(backbone, tmp_path, heads, architecture):
    backbone.save_to_preset(tmp_path / "p", "hugging_face", heads=heads)
    config = json.loads((tmp_path / "p" / "config.json").read_text())
    assert config["architectures"] == [architecture]
    assert heads_in(tmp_path / "p") == {*heads}


def test_heads_that_are_not_there_are_refused(backbone, tmp_path):
    for heads in (("classifier",), "masked_lm_head"):
        with pytest.raises(
            ValueError, match=r"`heads` must be a (tuple|list) .*Received"
        ):
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
    def convert(name, *options):
        arguments = ["convert", pretrained, tmp_path / name, "--to", *options]
        result = CliRunner().invoke(main, [str(a) for a in arguments])
        assert result.exit_code == 0, result.output

    convert("one", "hugging_face", "--head", HEADS[0])
    assert heads_in(tmp_path / "one") == {HEADS[0]}
    with pytest.warns(UserWarning, match="is left out"):
        convert("none", "keras_nlp", "--task", "none")
    assert not heads_in(tmp_path / "none")


# `.keras` files -----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["m.h5", "m.hdf5", "m", "m.weights.h5", "m.keras.zip"])
def test_a_file_of_another_ending_is_refused(plain, tmp_path, name):
    with pytest.raises(ValueError, match=r"ends in `.keras`.*save_to_preset"):
        plain.save(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_directory_of_keras_has_no_ending(plain, tmp_path):
    with pytest.raises(ValueError, match="Leave the ending out"):
        plain.save(tmp_path / "m.keras", zipped=False)


def test_a_failure_leaves_the_file_as_it_was(plain, tmp_path, monkeypatch):
    path = tmp_path / "m.keras"
    plain.save(path)
    before = path.read_bytes()

    def fail(store):
        raise OSError("No space left on device")

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
    (tmp_path / "preset").mkdir()
    (tmp_path / "a.tsv").touch()
    options = ["--data", str(tmp_path / "a.tsv"), "--output", str(tmp_path / "m.h5")]
    result = CliRunner().invoke(main, ["finetune", str(tmp_path / "preset"), *options])
    assert result.exit_code == 1 and "ends in `.keras`" in result.output


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
    longer = zoo.from_preset(
        tmp_path / "preset", max_sequence_length=30, sequence_length=20
    )
    assert longer.sequence_length == 20
    longer.save_to_preset(tmp_path / "longer")
    assert (
        zoo.from_preset(tmp_path / "longer").backbone.config.max_sequence_length == 30
    )
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
