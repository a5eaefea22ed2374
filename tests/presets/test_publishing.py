"""Publishing in a hub, which is a stand-in on this machine."""

import click.testing
import numpy as np
import pytest
import tiny
from huggingface_hub import constants
from stand_in_hub import TOKEN, StandInHub

import zoo
from zoo.commands.main import main
from zoo.models.bert import BERT, BERTConfig
from zoo.presets.model_cards import model_card
from zoo.text import WordPieceTokenizer

NAME = "owner/tickets"


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """An empty hub, to which one is logged in."""
    with StandInHub() as hub:
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        monkeypatch.setattr(constants, "ENDPOINT", hub.address)
        template = f"{hub.address}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
        yield hub
        hub.shutdown()


def make_model():
    """A classifier, whose table of embeddings has a row for each token."""
    fields = {**tiny.CONFIG, "vocabulary_size": len(tiny.VOCABULARY)}
    tokenizer = WordPieceTokenizer(tiny.VOCABULARY)
    return zoo.TextClassifier(BERT(BERTConfig(**fields)), tokenizer, tiny.LABELS)


@pytest.fixture(scope="module")
def model():
    return make_model()


def test_a_model_is_published_in_one_commit_and_read_back(hub, model):
    model.save_to_preset(f"hf://{NAME}")
    (files,) = hub.repositories[NAME]
    names = {"README.md", "preset.json", "vocabulary.txt", "weights.safetensors"}
    assert {*files} == names
    card = files["README.md"].decode()
    assert card.startswith(
        "---\nlibrary_name: keras-context-zoo\npipeline_tag: text-classification\n"
    )
    assert f'zoo.from_preset("hf://{NAME}")' in card
    assert 'Labels: "bad", "good".' in card
    copy = zoo.from_preset(f"hf://{NAME}")
    texts = ["a good film", "a bad film"]
    np.testing.assert_array_equal(
        copy.answer(texts)["scores"], model.answer(texts)["scores"]
    )


def test_a_later_version_replaces_files_and_keeps_the_card(hub, model):
    model.save_to_preset(f"hf://{NAME}")
    hub.repositories[NAME][-1]["README.md"] = b"# By hand"
    model.save_to_preset(f"hf://{NAME}", dtype="float16")
    first, second = hub.repositories[NAME]
    assert second["README.md"] == b"# By hand"
    small, large = (len(x["weights.safetensors"]) for x in (second, first))
    assert small < 0.6 * large
    hub.repositories[NAME].append({**second, "pytorch_model.bin": b""})
    with pytest.raises(FileExistsError, match="holds files that .* pytorch_model.bin"):
        model.save_to_preset(f"hf://{NAME}")
    assert len(hub.repositories[NAME]) == 3


def test_the_layout_of_hugging_face_is_published_too(hub):
    model = make_model()
    zoo.enable_lora(model, 2, ["query"])
    model.backbone.save_to_preset(f"hf://{NAME}", layout="hugging_face")
    files = hub.files(NAME)
    assert (
        "config.json" in files and b"library_name: transformers" in (files["README.md"])
    )
    copy = zoo.from_preset(f"hf://{NAME}", task=None)
    assert not [v.path for v in copy.weights if "lora" in v.path]


@pytest.mark.parametrize(
    "address, problem",
    [
        ("hf://", "no owner and name"),
        ("hf://tickets", "no owner and name"),
        ("hf://a/b/c", "no owner and name"),
        ("hf://a/b c", "Repo id must"),
        ("hf://a/b--c", "Cannot have -- or .."),
        ("hf://a/-b", "Repo id must"),
        ("kaggle://a/keras/b", "another kind of address"),
        ("https://huggingface.co/a/b", "another kind of address"),
    ],
)
def test_malformed_addresses(hub, model, address, problem):
    rule = "A model is published as hf://owner/name. Received: "
    with pytest.raises(ValueError, match=rule) as caught:
        model.save_to_preset(address)
    assert problem in str(caught.value)
    with pytest.raises(ValueError, match="scheme that fsspec knows"):
        model.save_to_preset("HF://a/b")
    assert not hub.repositories


def test_nobody_is_logged_in(hub, model, monkeypatch, tmp_path):
    monkeypatch.delenv("HF_TOKEN")
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "token"))
    with pytest.raises(PermissionError, match="Run `hf auth login`, or set HF_TOKEN"):
        model.save_to_preset(f"hf://{NAME}")
    monkeypatch.setenv("HF_TOKEN", "hf_of_somebody_else")
    with pytest.raises(PermissionError, match="hf://owner/tickets could not be writ"):
        model.save_to_preset(f"hf://{NAME}")
    assert not hub.repositories


def test_the_repository_of_somebody_else(hub, model):
    with pytest.raises(PermissionError, match="could not be .*may not write there"):
        model.save_to_preset("hf://somebody/tickets")


def test_a_hub_that_fails_has_no_commit(hub, model):
    hub.refused = {"/commit/"}
    with pytest.raises(OSError, match="could not be written: .* Nothing was committed"):
        model.save_to_preset(f"hf://{NAME}")
    assert hub.repositories == {NAME: []}
    hub.refused = set()
    model.save_to_preset(f"hf://{NAME}")
    assert len(hub.repositories[NAME]) == 1


def test_a_hub_that_cannot_be_reached(hub, model, monkeypatch):
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(OSError, match="hf://owner/tickets could not be written: "):
        model.save_to_preset(f"hf://{NAME}")


def test_the_command_convert_publishes(hub, model, tmp_path):
    model.save_to_preset(tmp_path / "preset")
    runner, source = click.testing.CliRunner(), str(tmp_path / "preset")
    result = runner.invoke(main, ["convert", source, f"hf://{NAME}"])
    assert result.exit_code == 0, result.output
    assert "preset.json" in hub.files(NAME)
    result = runner.invoke(main, ["convert", source, "hf://tickets"])
    assert result.exit_code == 1 and "published as hf://owner/name" in result.output


def test_the_card_of_a_fine_tuned_preset_has_its_licence():
    base = "bert_mini_en_uncased_distilled"
    card = model_card("a/b", "bert", 12345, "zoo", base=base)
    assert "\nlicense: apache-2.0\n" in card and "12,345 parameters" in card
    assert f"- Licence of `{base}`: Apache-2.0" in card and "pipeline_tag" not in card
    card = model_card("a/b", "taglm", 1, "zoo", base="taglm_mini_en_ner")
    assert "\nlicense: cc-by-4.0\n" in card
    assert "license:" not in model_card("a/b", "bert", 1, "zoo")


def test_an_ensemble_is_written_to_a_directory_only(model):
    ensemble = zoo.TextEnsemble([model, make_model()])
    with pytest.raises(ValueError, match="An ensemble is written to a directory"):
        ensemble.save_to_preset("hf://a/b")
