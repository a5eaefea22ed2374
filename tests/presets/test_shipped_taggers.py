"""The shipped taggers find what their cards say."""

import json

import pytest
from places import ROOT

import zoo
from zoo.evaluation import find_spans

# Each text is read once.
pytestmark = pytest.mark.usefixtures("eagerly")
PRESETS = ROOT / "presets" / "taglm"


@pytest.fixture(scope="module")
def names():
    return zoo.from_preset("taglm_mini_en_ner")


def find_names(model, text):
    """The names in a text, dict of words to type."""
    (words,) = model.tag([text])
    return {
        " ".join(word["word"] for word in words[begin:end]): kind
        for kind, begin, end in find_spans([word["tag"] for word in words])
    }


@pytest.mark.slow
def test_names_of_several_words_are_one_span(names):
    text = "We saw the Empire State Building in New York ."
    found = find_names(names, text)
    # The annotators of the training data call buildings either.
    assert found.pop("Empire State Building") in ("LOC", "ORG")
    assert found == {"New York": "LOC"}


def test_people_and_organizations_are_told_from_other_words(names):
    text = "John Smith works for the United Nations in Geneva ."
    found = find_names(names, text)
    assert found == {"John Smith": "PER", "United Nations": "ORG", "Geneva": "LOC"}
    assert not find_names(names, "they walked to the house in the rain .")


def test_a_preset_of_names_is_small():
    sizes = [path.stat().st_size for path in (PRESETS / "taglm_mini_en_ner").iterdir()]
    assert 0 < sum(sizes) < 12e6


def test_a_preset_means_the_shipped_one_in_every_directory(
    names, tmp_path, monkeypatch
):
    (tmp_path / "elmo_mini_en_books").mkdir()
    monkeypatch.chdir(tmp_path)
    found = zoo.from_preset("taglm_mini_en_ner")
    assert found.backbone.parts["lm_0"].origin == "elmo_mini_en_books"
    assert found.tag(["in New York"]) == names.tag(["in New York"])
    found.save_to_preset("again")
    record = json.loads((tmp_path / "again" / "preset.json").read_text())
    assert record["parts"]["lm_0"]["preset"] == "elmo_mini_en_books"
    assert zoo.from_preset("again").tag(["in New York"]) == found.tag(["in New York"])
