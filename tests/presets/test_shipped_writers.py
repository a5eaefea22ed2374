"""The shipped translators, language models and parser do what their cards say."""

import os
import pathlib

import numpy as np
import pytest
from places import ROOT

import zoo
from zoo.text import find_leaves, read_tree

PRESETS = ROOT / "presets"
MEMORY = pathlib.Path("/proc/self/statm")
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
    texts = ["I am tired.", "Where is the station?", "", " \u2028\n"]
    found = translator.translate(texts, num_beams=4)
    assert found[2:] == ["", ""]
    assert found[0] in ("Je suis fatigué.", "Je suis fatiguée.")
    assert "gare" in found[1] and found[1].endswith("?")
    spaces = ["\n", "\t", "\r\n", "\u00a0", "\u2028", "\u3000"]
    others = [f"Where is{space}the{space}station?{space}" for space in spaces]
    assert translator.translate(others, num_beams=4) == [found[1]] * len(others)


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


@pytest.mark.slow
@pytest.mark.skipif(not MEMORY.exists(), reason="needs /proc")
def test_a_service_whose_users_choose_all_options_compiles_little():
    """Prints compiled functions and memory of 200 calls with 200 combinations."""
    model = zoo.from_preset("gpt_mini_en_books")
    draw = np.random.default_rng(1)
    first = None
    for number in range(200):
        options = {
            "max_new_tokens": int(draw.integers(1, 31)),
            "repetition_penalty": draw.uniform(1, 2),
            "no_repeat_ngram_size": int(draw.integers(0, 4)),
            "stop": [".", "the"][: number % 3],
            "suppressed": draw.integers(10, 8000, number % 4),
            "seed": number,
        }
        if number % 4 == 1:
            options["num_beams"] = int(draw.integers(2, 5))
            options["length_penalty"] = draw.uniform(0, 2)
        elif number % 4:
            options["temperature"] = draw.uniform(0.1, 2)
            options["top_k"] = int(draw.integers(1, 50))
            options["top_p"] = draw.uniform(0.1, 1)
        model.generate("The old house", **options)
        first = first or resident_megabytes()
    functions = model.answer_function.values()
    traces = sum(function.experimental_get_tracing_count() for function in functions)
    grown = resident_megabytes() - first
    print(f"{traces} compiled functions; {grown:.0f} MB more than after the first call")
    assert traces <= 6
    assert grown < 200  # 42 MB for each call, if it compiles


def resident_megabytes():
    """The resident memory of this process, in MB."""
    pages = int(MEMORY.read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
