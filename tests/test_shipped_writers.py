"""The shipped translator and the shipped parser do what their cards say."""

import pathlib

import pytest

import zoo
from zoo.text import find_leaves, read_tree

PRESETS = pathlib.Path(__file__).parents[1] / "presets" / "transformer"


@pytest.mark.parametrize(
    "name", ["transformer_mini_en_fr_tatoeba", "transformer_mini_en_parser_gum"]
)
def test_presets_of_the_transformer_are_small(name):
    sizes = [path.stat().st_size for path in (PRESETS / name).iterdir()]
    assert 0 < sum(sizes) <= 20e6


def test_everyday_sentences_are_translated():
    translator = zoo.from_preset("transformer_mini_en_fr_tatoeba")
    texts = ["I am tired.", "Where is the station?", ""]
    found = translator.translate(texts, num_beams=4)
    assert found[0] in ("Je suis fatigué.", "Je suis fatiguée.")
    assert "gare" in found[1] and found[1].endswith("?")
    assert found == translator.translate(texts, num_beams=4)


def test_phrases_of_a_sentence_are_found():
    parser = zoo.from_preset("transformer_mini_en_parser_gum")
    (text,) = parser.parse(["She said that he has bought a new car ."])
    tree = read_tree(text)
    assert "(NP (DT a) (JJ new) (NN car))" in text and text.startswith("(S ")
    tags = dict((word, tag) for tag, word in find_leaves(tree))
    assert tags["She"] == "PRP" and tags["said"] == "VBD" and tags["."] == "."
