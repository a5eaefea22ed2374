"""The shipped translators, language models and parser do what their cards say."""

import pathlib

import pytest

import zoo
from zoo.text import find_leaves, read_tree

PRESETS = pathlib.Path(__file__).parents[1] / "presets"
NAMES = (
    "transformer_mini_en_fr_tatoeba",
    "transformer_mini_en_parser_gum",
    "ulmfit_mini_en_books",
    "ulmfit_mini_en_books_backward",
    "cove_mini_en_fr_tatoeba",
    "gpt_mini_en_books",
)


@pytest.mark.parametrize("name", NAMES)
def test_they_are_small(name):
    (folder,) = PRESETS.glob(f"*/{name}")
    sizes = [path.stat().st_size for path in folder.iterdir()]
    assert 0 < sum(sizes) <= 20e6


@pytest.mark.shown("transformer_mini_en_fr_tatoeba")
@pytest.mark.parametrize("name", [n for n in NAMES if "en_fr" in n])
def test_everyday_sentences_are_translated(name):
    translator = zoo.from_preset(name)
    texts = ["I am tired.", "Where is the station?", ""]
    found = translator.translate(texts, num_beams=4)
    assert found[0] in ("Je suis fatigué.", "Je suis fatiguée.")
    assert "gare" in found[1] and found[1].endswith("?")
    assert found == translator.translate(texts, num_beams=4)


@pytest.mark.usefixtures("eagerly")
def test_language_models_know_the_order_of_words():
    text = "He looked at her, and then he went out of the room without a word."
    words = text.rstrip(".").split()
    swapped = " ".join([*words[::2], *words[1::2]]) + "."
    for name in (n for n in NAMES if "books" in n):
        found = zoo.from_preset(name).answer([text, swapped])["log_probability"]
        assert found[0] > found[1] + 20


def test_a_gpt_writes_words_and_predicts_a_sentence():
    model = zoo.from_preset("gpt_mini_en_books")
    options = {"max_new_tokens": 20, "top_p": 0.9}
    first, other = (model.generate("The old house", **options, seed=i) for i in (1, 2))
    assert first != other
    for text in (first, other):
        assert text.startswith("The old house") and len(text.split()) > 10
    answer = model.answer(["It was a dark night."])
    assert answer["perplexity"][0] < 60  # 37; 8,192 tokens are equally likely by chance


def test_phrases_of_a_sentence_are_found():
    parser = zoo.from_preset("transformer_mini_en_parser_gum")
    (text,) = parser.parse(["She said that he has bought a new car ."])
    tree = read_tree(text)
    assert "(NP (DT a) (JJ new) (NN car))" in text and text.startswith("(S ")
    tags = dict((word, tag) for tag, word in find_leaves(tree))
    assert tags["She"] == "PRP" and tags["said"] == "VBD" and tags["."] == "."
