"""The tables of translators and parsers."""

from benchmarks.tables import trees
from benchmarks.tables.translations import score_table, shown_table


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
