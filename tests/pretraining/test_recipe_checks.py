"""Recipes with mistakes, and what a run writes when; nothing is trained."""

import dataclasses
import json
import types

import pytest
import tiny

from zoo import pretraining
from zoo.pretraining import Recipe, recipes, running
from zoo.pretraining.learned_vectors import check_vectors
from zoo.pretraining.objective import Objective


@pytest.mark.parametrize(
    "content, message",
    [
        ("{", "r.json cannot"),
        ("[]", "an object"),
        ({"options": {"lowercase": "false"}}, "`lowercase` of .* must be true or fal"),
        ({"objective": "masked_lm"}, "`objective` of .* an object. Received: 'masked"),
        ({"config": []}, "`config` of .* must be an object"),
        ({"seed": "1"}, "`seed` of .* must be an integer"),
        ({"train": "a.txt"}, "`train` of .* must be a list"),
        ({"train": ["/a.txt"]}, "`train` must be .* relative to .*'/a.txt'"),
        ({"valid": [3]}, "`valid` must be a list of patterns"),
    ],
)
def test_a_recipe_with_a_wrong_type_is_named(tmp_path, content, message):
    path = tmp_path / "r.json"
    if isinstance(content, dict):
        content = json.dumps(tiny.recipe(**content))
    path.write_text(content)
    with pytest.raises(ValueError, match=message) as error:
        pretraining.find_recipe(path)
    assert str(path) in str(error.value)


def test_patterns_of_texts_are_a_list():
    with pytest.raises(ValueError, match="`texts` must be a list .*Received: 'a.txt'"):
        check_vectors({"texts": "a.txt"})


def test_held_out_files_are_not_used_for_training(tmp_path):
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("a film")
    found = recipes.find_train(tmp_path, ["*.txt"], ["b.*"])
    assert [path.name for path in found] == ["a.txt"]
    with pytest.raises(ValueError, match=r"must be left .*\['\*.txt'\]"):
        recipes.find_train(tmp_path, ["a.txt"], ["*.txt"])


DISTILLATION = {"name": "distillation", "teacher": "a"}
MISTAKES = (
    ({"family": "brt"}, "`family` must be one of .*'brt'"),
    ({"config": {"hiden_dim": 3}}, "`config` of .*mean 'hidden_dim'"),
    ({"dtype": "float13"}, "float13"),
    ({"optimizer": "sgd"}, "`optimizer` must be one of .*Received: 'sgd'"),
    ({"warmup_steps": 0, "decay": "inverse_square_root"}, "from 1 to"),
    ({"warmup_steps": 5}, "from 0 to 4, the updates of all stages. Received: 5"),
    ({"train": ["none.*"]}, "none"),
    ({"stages": [[16, 8]]}, r"`stages` must be .*Received: \[\[16, 8\]\]"),
    ({"stages": [[4, 8, 2]]}, "at least 5"),
    ({"objective": {"name": "x"}}, "must be one of .*'masked_lm'.*Received: 'x'"),
    ({"options": {"masks": 3}}, "Unknown option of the objective 'masked_lm'"),
    ({"options": {"tokenizer": {}}}, "Received: 'tokenizer'. Did you mean"),
    (
        {"objective": {**DISTILLATION, "repeats": {"b": 2}}},
        r"key of `repeats` must be a pattern .*Received: \['b'\]",
    ),
    (
        {"objective": {**DISTILLATION, "fields": {"b": [2]}}},
        r"key of `fields` must be a pattern .*'valid.txt'",
    ),
    ({"objective": {**DISTILLATION, "words": -1}}, "`words` of the obj.* must be .*-1"),
    ({"objective": {**DISTILLATION, "word_texts": 0}}, "`word_texts` of the obj.*: 0"),
)


@pytest.mark.parametrize("fields, message", MISTAKES)
def test_mistakes_are_found_before_a_run_begins(tmp_path, fields, message):
    tiny.write_corpus(tmp_path / "a.txt")
    error = FileNotFoundError if "train" in fields else ValueError
    with pytest.raises(error, match=message):
        recipe = Recipe(**tiny.recipe(**fields))
        pretraining.run(recipe, tmp_path, tmp_path / "run", every=2)
    assert not (tmp_path / "run").exists()


def test_missing_fields_of_the_config_have_the_defaults_of_the_family():
    recipe = Recipe(**tiny.recipe(config={"hidden_dim": 16}))
    assert recipe.config_value("hidden_dim") == 16
    assert recipe.config_value("vocabulary_size") == 30522
    with pytest.raises(ValueError, match="must have 'words'. Received: .'hidden_dim'"):
        recipe.config_value("words")


@dataclasses.dataclass(frozen=True)
class NoOptions:
    """The options of an objective without options."""


class Stub(Objective):
    """An objective that reads one file and trains nothing."""

    name, Options, sizes = "stub", NoOptions, [1]

    def __init__(self, recipe, data, output):
        assert json.loads((output / "files.json").read_text()).keys() == {"a.txt"}
        if (data / "a.txt").read_text() == "bad":
            raise ValueError("a.txt is bad")

    def build(self):
        return None

    def finished(self, model):
        return types.SimpleNamespace(
            backbone=types.SimpleNamespace(),
            save_to_preset=lambda directory, dtype: directory.mkdir(),
        )


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A function that runs a recipe of `Stub` on a.txt."""
    monkeypatch.setitem(recipes.OBJECTIVES, Stub.name, Stub)
    monkeypatch.setattr(running, "train_steps", lambda model, *rest: model)
    recipe = Recipe(**tiny.recipe(objective={"name": Stub.name}, valid=[]))
    return lambda: pretraining.run(recipe, tmp_path, tmp_path / "run", every=2)


def test_files_are_recorded_before_the_preparation(run, tmp_path, monkeypatch):
    monkeypatch.setattr(running.presets, "add_to_record", lambda *arguments: None)
    (tmp_path / "a.txt").write_text("bad")
    with pytest.raises(ValueError, match="a.txt is bad"):
        run()
    assert not (tmp_path / "run" / "files.json").exists()
    (tmp_path / "a.txt").write_text("a better file")
    run()
    (tmp_path / "a.txt").write_text("another one")
    with pytest.raises(ValueError, match="has a run of other files: a.txt"):
        run()
    (tmp_path / "a.txt").write_text("bad")
    (tmp_path / "run" / "files.json").write_text('{"a.txt": 3}')
    with pytest.raises(ValueError, match="a.txt is bad"):
        run()
    assert (tmp_path / "run" / "files.json").exists()


def test_a_preset_is_replaced_when_the_new_one_is_complete(run, tmp_path, monkeypatch):
    def complete(directory, record):
        (directory / "card").write_text(str(record["log_every"]))

    def fail(directory, record):
        raise OSError("The disk is full.")

    (tmp_path / "a.txt").write_text("a film")
    monkeypatch.setattr(running.presets, "add_to_record", complete)
    run()
    monkeypatch.setattr(running.presets, "add_to_record", fail)
    with pytest.raises(OSError, match="full"):
        run()
    card = tmp_path / "run" / "preset" / "card"
    assert card.read_text() == "2"
    card.write_text("old")
    monkeypatch.setattr(running.presets, "add_to_record", complete)
    run()
    assert card.read_text() == "2" and not (tmp_path / "run" / "new_preset").exists()


def test_a_run_keeps_the_preset_that_it_started_from(tmp_path):
    preset = tmp_path / "preset"
    preset.mkdir()
    (preset / "weights").write_text("one")
    (tmp_path / "a.txt").write_text("text")
    recipe = types.SimpleNamespace(train=["a.txt"], valid=[], start=str(preset))
    found = running.check_files(recipe, tmp_path, tmp_path)
    (tmp_path / "files.json").write_text(json.dumps(found))
    assert running.check_files(recipe, tmp_path, tmp_path) == found
    (preset / "weights").write_text("two")
    with pytest.raises(
        ValueError, match="must not change while .*other weights of .*preset"
    ):
        running.check_files(recipe, tmp_path, tmp_path)
    (tmp_path / "files.json").write_text('{"a.txt": 4}')  # an older record
    assert running.check_files(recipe, tmp_path, tmp_path) == {"a.txt": 4}
