"""Reading, cleaning and writing of trees, and their linear forms."""

import gzip
import lzma
import random

import pytest

from zoo.text import (
    clean_tree,
    find_labels,
    find_leaves,
    linearize,
    list_tokens,
    read_tree,
    read_trees,
    to_tree,
    write_tree,
)

SITS = "(S (NP (DT The) (NN cat)) (VP (VBZ sits)) (. .))"
TREE = ("S", ("NP", ("DT", "The"), ("NN", "cat")), ("VP", ("VBZ", "sits")), (".", "."))
LABELS = ["S", "NP", "VP", "PP", "TOP"]
TAGS = ["DT", "NN", "-LRB-", ".", "$", "/"]
KINDS = ["tensor2tensor", "vinyals", "numbered"]


def words_of(tree):
    return [word for _, word in find_leaves(tree)]


def draw_tree(draw, depth=0):
    """A random phrase with at least one word."""
    children = []
    for _ in range(draw.randrange(1, 4)):
        if depth < 5 and draw.random() < 0.5:
            children.append(draw_tree(draw, depth + 1))
        else:
            children.append((draw.choice(TAGS), draw.choice(["a", "(", "b)", "é"])))
    return (draw.choice(LABELS[:-1]), *children)


def test_a_tree_is_a_nested_tuple():
    assert read_tree(SITS) == TREE and write_tree(TREE) == SITS
    assert find_leaves(TREE)[1] == ("NN", "cat")
    assert read_tree("( (S (NN a)))") == ("", ("S", ("NN", "a")))
    assert write_tree(("", ("S", ("NN", "a")))) == "( (S (NN a)))"
    assert read_tree("(TOP)") == read_tree("()") == ("TOP",)
    assert write_tree(("TOP",)) == "(TOP)"


def test_brackets_in_words_are_escaped():
    text = "(PRN (-LRB- -LRB-) (NP (SYM :-RRB-) (NN [)) (-RRB- -RRB-))"
    tree = read_tree(text)
    assert words_of(tree) == ["(", ":)", "[", ")"]
    assert [tag for tag, _ in find_leaves(tree)] == ["-LRB-", "SYM", "NN", "-RRB-"]
    assert write_tree(tree) == text


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz"])
def test_files_of_trees(tmp_path, suffix):
    content = f"\ufeff{SITS}{SITS}\n\n( (S\n   (NP-SBJ-1 (NN a)\n)\t(VP (VB é)) ) )\r\n"
    path = tmp_path / f"trees.mrg{suffix}"
    pack = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress}[suffix]
    path.write_bytes(pack(content.encode()))
    last = ("S", ("NP", ("NN", "a")), ("VP", ("VB", "é")))
    assert read_trees(path) == [TREE, TREE, last]
    raw = read_trees(path, clean=False)[2]
    assert raw == ("", ("S", ("NP-SBJ-1", ("NN", "a")), ("VP", ("VB", "é"))))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "A file of trees must have a tree. Received: none in .*trees.mrg"),
        (" \n\n", "must have a tree"),
        (f"{SITS}\n(S (NP (NN a))\n", "begins in line 2 of .*trees.mrg with 1 open"),
        (f"{SITS}\n\n(S (NN a)))", r"Received: '\)' in line 3 of .*trees.mrg"),
        (f"{SITS} word", "inside the brackets of a tree. Received: 'word' in line 1"),
        ("(S (NP the cat))", "bracket with its tag.* Received: 'cat' in line 1"),
        ("(S (NP (DT the) cat))", "bracket with its tag.* Received: 'cat' in line 1"),
        ("(S\n(NP the (NN cat)))", "bracket with its tag.* Received: 'the' in line 2"),
        ("(S (NP) (NN a))", r"a label and phrases. Received: \(NP\) in line 1"),
        ("(S\n() (NN a))", r"Received: \(\) in line 2"),
    ],
)
def test_wrong_files_raise_errors(tmp_path, content, message):
    path = tmp_path / "trees.mrg"
    path.write_text(content, "utf-8")
    with pytest.raises(ValueError, match=message):
        read_trees(path)


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("( (S (NP-SBJ-1 (NN a)) (VP=2 (VB b))))", "(S (NP (NN a)) (VP (VB b)))"),
        ("(ROOT (TOP (S (NN a))))", "(S (NN a))"),
        ("(ROOT (S (NN a)) (. .))", "(TOP (S (NN a)) (. .))"),
        ("(ROOT (NN a))", "(TOP (NN a))"),
        ("(NN a)", "(TOP (NN a))"),
        ("(S (NP (NP (NN a))))", "(S (NP (NP (NN a))))"),
        ("(S (NP (-NONE- *)) (VP (VB b) (SBAR (-NONE- 0))))", "(S (VP (VB b)))"),
        ("(S (NP (NP (-NONE- *T*-1)) (: -)))", "(S (NP (: -)))"),
        ("(S (NP (-NONE- *)))", "(TOP)"),
        ("(S (-LRB--X (-LRB- -LRB-)))", "(S (-LRB (-LRB- -LRB-)))"),
        ("(S (ADVP|PRT (RB a)))", "(S (ADVP|PRT (RB a)))"),
    ],
)
def test_cleaning(text, cleaned):
    assert write_tree(read_tree(text, clean=True)) == cleaned
    assert write_tree(clean_tree(read_tree(cleaned))) == cleaned


def test_deep_trees_need_no_recursion(tmp_path):
    deep = "(S " * 10_000 + "(NN a)" + ")" * 10_000
    path = tmp_path / "deep.mrg"
    path.write_text(deep)
    (tree,) = read_trees(path)
    assert write_tree(tree) == deep and find_leaves(tree) == [("NN", "a")]
    for kind, tag in (("tensor2tensor", "NN"), ("vinyals", "XX")):
        again = to_tree(linearize(tree, kind), ["a"], kind)
        assert write_tree(again) == deep.replace("NN", tag)


def test_linear_forms():
    assert " ".join(linearize(TREE)) == "S NP DT NN /NP VP VBZ /VP . /S"
    assert " ".join(linearize(TREE, "vinyals")) == "(S (NP XX XX )NP (VP XX )VP XX )S"
    numbered = "S NP #0 DT #1 NN /NP VP #2 VBZ /VP #3 . /S"
    assert " ".join(linearize(TREE, "numbered")) == numbered
    long = linearize(("S", *[("NN", "a")] * 40), "numbered")
    assert long[1::2][30:34] == ["#30", "#31", "#0", "#1"]
    assert linearize(("TOP", TREE)) == linearize(TREE)
    assert linearize(("TOP", ("NN", "a"))) == linearize(("NN", "a")) == ["NN"]
    assert find_labels(linearize(TREE)) == {"S", "NP", "VP"}
    assert find_labels(linearize(TREE, "vinyals"), "vinyals") == {"S", "NP", "VP"}
    assert list_tokens([TREE], "vinyals") == sorted({*linearize(TREE, "vinyals")})
    both = ("S", ("NP", ("NP", "a")))
    for number in (("S", ("#0", "a")), ("S", ("#3", ("NP", "a")))):
        assert list_tokens([number])
    assert list_tokens([both], "vinyals") == ["(NP", "(S", ")NP", ")S", "XX"]


@pytest.mark.parametrize("count", [600, pytest.param(2000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", KINDS)
def test_a_round_trip_is_exact(kind, count):
    draw = random.Random(7)
    for number in range(count):
        tree = draw_tree(draw)
        if number % 5 == 0:
            tree = ("TOP", tree, *(draw_tree(draw) for _ in range(number % 3)))
            tree = tree if len(tree) > 2 else tree[1]
        found = to_tree(linearize(tree, kind), words_of(tree), kind)
        expected = write_tree(tree)
        if kind == "vinyals":
            assert words_of(found) == words_of(tree)
            assert linearize(found, kind) == linearize(tree, kind)
            assert {tag for tag, _ in find_leaves(found)} == {"XX"}
        else:
            assert write_tree(found) == expected
        assert read_tree(expected) == tree


@pytest.mark.parametrize("count", [1500, pytest.param(5000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", KINDS)
def test_any_tokens_give_a_tree_over_the_words(kind, count):
    draw = random.Random(11)
    forms = {
        "tensor2tensor": ("{}", "/{}", TAGS),
        "vinyals": ("({}", "){}", ["XX"]),
        "numbered": ("{}", "/{}", [*TAGS, "#0", "#1"]),
    }
    begin, end, leaves = forms[kind]
    tokens = [form.format(label) for form in (begin, end) for label in LABELS]
    tokens += [*leaves] * (10 // len(leaves)) + ["", "<unk>"]
    for number in range(count):
        written = draw.choices(tokens, k=draw.randrange(20))
        words = draw.choices(["a", "(", ")", "é", "-LRB"], k=draw.randrange(8))
        labels = LABELS if number % 2 else None
        tree = to_tree(written, words, kind, labels)
        assert words_of(tree) == words
        left = [tree]
        while left:  # every phrase but the outer one has a child
            node = left.pop()
            assert len(node) > 1 or not words
            left += [child for child in node[1:] if isinstance(child, tuple)]
        assert to_tree(linearize(tree, kind), words, kind, labels)


@pytest.mark.parametrize(
    ("tokens", "words", "expected"),
    [
        ("", "a b", "(TOP (XX a) (XX b))"),
        ("", "", "(TOP)"),
        ("S NN", "a", "(S (NN a))"),
        ("S NP NN /S", "a", "(S (NP (NN a)))"),
        ("S NP NN /VP VB /NP /S", "a b", "(S (NP (NN a) (VB b)))"),
        ("/S NN", "a", "(TOP (NN a))"),
        ("S NN NN /S", "a", "(S (NN a))"),
        ("S NN /S", "a b", "(TOP (S (NN a)) (XX b))"),
        ("S NP /NP VP NN /VP /S", "a", "(S (VP (NN a)))"),
        ("S NP NN /NP /S VP VB /VP", "a b", "(TOP (S (NP (NN a))) (VP (VB b)))"),
        ("S NP NN PP IN /S VB", "a b c", "(TOP (S (NP (NN a) (PP (IN b)))) (VB c))"),
    ],
)
def test_repairs(tokens, words, expected):
    labels = {"S", "NP", "VP", "PP"}
    assert write_tree(to_tree(tokens.split(), words.split(), labels=labels)) == expected


@pytest.mark.external
def test_round_trips_of_real_trees(shared):
    for name in (
        "gum_trees/test.ptb.gz",
        "wsj_sample_trees/test.mrg.gz",
        "craft_trees/valid.mrg.xz",
    ):
        trees = read_trees(shared / "data" / name)
        assert not list_tokens(trees) == []
        for tree in trees:
            assert read_tree(write_tree(tree)) == tree
            assert to_tree(linearize(tree), words_of(tree)) == tree
