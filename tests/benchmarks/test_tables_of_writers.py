"""The tables of translators and parsers."""

from benchmarks.tables import trees
from benchmarks.tables.translations import join_paragraphs, score_table, shown_table


def test_scores_stand_beside_the_baseline_with_intervals():
    references = [["the cat sat on the mat", "a dog ran to the old house"] * 4]
    result = {"commit": "abc", "date": "2026-01-01", "versions": {}}
    result |= {"hardware": "one", "cpu_seconds": 1.0}
    worse = ["the cat sat on a mat", "the dog ran to an old house"] * 4
    found = {
        "worse": {**result, "texts": worse},
        "beam 4": {**result, "texts": references[0]},
    }
    heads, _, first, second, *rest = score_table(found, references).split("\n")
    assert heads.count("|") == first.count("|") == second.count("|")
    assert first.startswith("| worse |") and second.startswith("| beam 4 | 100.0 ")
    assert float(first.split("|")[-2]) < 0.05 and second.split("|")[-2].strip() == ""
    assert any("smooth:exp" in line for line in rest)
    assert second.split("|")[-3].strip() == "8"


def test_a_paragraph_has_each_sentence_once_and_references_of_all():
    sources = [f"S{number}." for number in range(60)]
    references = [[f"{k} of {n}." for k in range(1 + n % 6)] for n in range(60)]
    texts, several = join_paragraphs(sources, references)
    assert sorted(" ".join(texts).split()) == sorted(sources)
    assert join_paragraphs(sources, references) == (texts, several)
    assert all(2 <= len(text.split()) <= 8 for text in texts[:-1])
    for text, targets in zip(texts, several, strict=True):
        numbers = [int(word[1:-1]) for word in text.split()]
        assert len(targets) == min(max(1 + n % 6 for n in numbers), 4)
        for k, target in enumerate(targets):
            assert target == " ".join(f"{k % (1 + n % 6)} of {n}." for n in numbers)


def test_every_fiftieth_sentence_is_shown():
    texts = [str(number) for number in range(120)]
    table = shown_table(texts, texts, [[text, "x"] for text in texts]).split("\n")
    assert [line for line in table if line][2:] == [
        f"| {n} | {n} | {n} / x |" for n in (0, 50, 100)
    ]


def test_a_tree_with_white_space_around_a_word_is_over_the_words():
    gold = trees.stripped(("S", ("NN", "\u00a0a"), ("VB", "b")))
    tree = "(S (NN a) (VB b))"
    assert trees.length_rows([gold, gold], [tree, "(S (XX a) (VB b))"]) == [
        ["1 to 19", 2, "100.0", "75.0"]
    ]
    cells = trees.row("set", "system", [gold], {"trees": [tree]})
    assert cells[:3] == ["set", "system", "1 of 1"]
