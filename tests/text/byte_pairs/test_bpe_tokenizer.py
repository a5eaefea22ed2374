"""Byte-pair encoding: the pieces and codes of subword-nmt, ids, texts and files."""

import json
import random

import pytest
import tensorflow as tf
from places import GOLDENS

from zoo.text import BytePairTokenizer, train_bpe
from zoo.text.byte_pairs.bpe_merging import BytePairMerger

PATH = GOLDENS / "subword_nmt.json"
GOLDEN = json.loads(PATH.read_text("utf-8"))
SPECIALS = ["<s>", "<pad>", "</s>", "<unk>"]
CODES = ["#version: 0.2", "l o", "lo w</w>", "lo w", "e r</w>", "low er</w>"]
VOCABULARY = [*SPECIALS, "low", "lower", "low@@", "er", "lo@@", "l@@", "o@@", "s", "w"]


@pytest.fixture(scope="module")
def tokenizer():
    """A tokenizer of a few codes."""
    return BytePairTokenizer(CODES, VOCABULARY)


@pytest.fixture(scope="module")
def vocabulary():
    """A vocabulary with four in five of the golden pieces."""
    pieces = {p for rows in GOLDEN["pieces"].values() for row in rows for p in row}
    kept = random.Random(0).sample(sorted(pieces), 4 * len(pieces) // 5)
    return [*SPECIALS, *kept]


@pytest.mark.parametrize("kind", ("0.2", "0.1", "fastBPE"))
def test_pieces_are_those_of_subword_nmt(vocabulary, kind):
    version = {"fastBPE": "0.2"}.get(kind, kind)
    codes = GOLDEN["codes"][version]
    if kind == "fastBPE":
        codes = [f"{line} {number}" for number, line in enumerate(codes[1:])]
    ids = {token: i for i, token in enumerate(vocabulary)}
    expected = [[ids.get(p, 3) for p in row] for row in GOLDEN["pieces"][version]]
    assert BytePairTokenizer(codes, vocabulary)(GOLDEN["texts"]).to_list() == expected


def test_codes_are_those_of_subword_nmt():
    codes, _ = train_bpe(GOLDEN["corpus"] * 2, num_merges=60)
    assert codes == GOLDEN["codes"]["0.2"]


def test_random_words_are_split_as_by_subword_nmt():
    apply = pytest.importorskip("subword_nmt.apply_bpe", reason="no subword-nmt")
    import io

    draw = random.Random(1)
    for letters in ("ab", "abcé中", "a</w>@", "ab\\.*["):
        words = [
            "".join(draw.choices(letters, k=draw.randrange(1, 12))) for _ in "x" * 80
        ]
        codes, vocabulary = train_bpe(words * 2, num_merges=draw.randrange(4, 40))
        words += ["".join(draw.choices(letters + "z", k=9)) for _ in "x" * 80]
        judge = apply.BPE(io.StringIO("\n".join(codes) + "\n"))
        ids = {token: i for i, token in enumerate(vocabulary)}
        found = BytePairTokenizer(codes, vocabulary)(words).to_list()
        pieces = [judge.segment_tokens([word]) for word in words]
        assert found == [[ids.get(piece, 3) for piece in row] for row in pieces]


def test_the_best_pair_is_joined_from_left_to_right():
    merger = BytePairMerger([("a", "a"), ("aa", "aa"), ("b", "a"), ("a", "a")])
    words = tf.ragged.constant(
        [[merger.ids[c] for c in word] for word in ("aaa", "aaaaa", "baa", "b", "aab")],
        dtype="int32",
    )
    names = dict(map(reversed, merger.ids.items()))
    joined = [[names[i] for i in row] for row in merger(words).to_list()]
    assert joined == [["aa", "a"], ["aaaa", "a"], ["b", "aa"], ["b"], ["aa", "b"]]


def test_rows_of_a_few_words(tokenizer):
    for text, pieces in {
        "low\u3000 lower": "low lower",
        "lows lo": "low@@ s l@@ <unk>",
        "": "",
        " ": "",
        "s": "s",
        "中low": "<unk> low",
        "<s>": "<unk> <unk> <unk>",
        b"\xff low": "<unk> low",
    }.items():
        found = [VOCABULARY[i] for i in tokenizer([text])[0].numpy()]
        assert found == pieces.split(), text


def test_ids_become_texts(tokenizer):
    ids = [[6, 8, 4, 2, 5], [0, 3, 5, 1, 1], [6, 7, 4, 6, 6]]
    texts = [t.decode() for t in tokenizer.detokenize(tf.constant(ids)).numpy()]
    assert texts == ["lowlolow", "<unk> lower", "lower low lowlow"]
    ragged = tf.ragged.constant([[4, 5], [], [9, 10]], dtype="int32")
    assert tokenizer.detokenize(ragged).numpy().tolist() == [b"low lower", b"", b"lo"]


def test_a_target_has_ids_of_its_own(tokenizer):
    target = [*SPECIALS, "lower", "low"]
    both = BytePairTokenizer(CODES, VOCABULARY, target)
    assert both(["low"]).to_list() == [[4]]
    assert both.targets(["low"]).to_list() == [[5]]
    assert both.detokenize(tf.constant([[4, 2]])).numpy().tolist() == [b"lower"]
    sizes = both.vocabulary_size, both.target_vocabulary_size
    assert sizes == (len(VOCABULARY), len(target))
    assert tokenizer.target_vocabulary_size is None


def test_a_vocabulary_may_mark_the_end_of_a_word():
    """As GPT's."""
    options = {"continuation": "", "end_of_word": "</w>"}
    options |= {"start_token": "<pad>", "end_token": "<pad>"}
    vocabulary = ["<pad>", "<unk>", "low</w>", "low", "er</w>", "s</w>"]
    tokenizer = BytePairTokenizer(CODES[:-1], vocabulary, **options)
    assert tokenizer(["low lower lows"]).to_list() == [[2, 3, 4, 3, 5]]
    written = tokenizer.detokenize(tf.ragged.constant([[2, 3, 4]], dtype="int32"))
    assert written.numpy().tolist() == [b"low lower"]


# Training -----------------------------------------------------------------------------


def test_ties_go_by_the_reversed_alphabet_and_rare_pairs_are_not_joined():
    texts = ["zy xw ba ab"] * 2
    codes, _ = train_bpe(texts, num_merges=4)
    assert codes == ["#version: 0.2", "z y</w>", "x w</w>", "b a</w>", "a b</w>"]
    assert train_bpe(reversed(texts), num_merges=4)[0] == codes
    codes, _ = train_bpe(["ab ab cd"], num_merges=10)
    assert codes == ["#version: 0.2", "a b</w>"]
    assert len(train_bpe(["ab ab cd"], num_merges=10, min_count=1)[0]) == 3


def test_the_vocabulary_has_every_piece_and_the_frequent_ones_first():
    texts = ["ab"] * 5 + ["abc"] * 3 + ["a"]
    codes, vocabulary = train_bpe(texts, num_merges=3)
    assert codes[1:] == ["a b</w>", "b c</w>", "a bc</w>"]
    assert vocabulary[:4] == SPECIALS
    assert vocabulary[4:8] == ["ab", "abc", "a", "a@@"]
    assert {*vocabulary[8:]} == {"b", "c", "b@@", "bc"}
    tokenizer = BytePairTokenizer(codes, vocabulary)
    assert 3 not in tokenizer(["ab abc ac bb bc ab"]).to_list()[0]


def test_the_size_of_the_vocabulary_is_kept():
    _, all_tokens = train_bpe(GOLDEN["corpus"] * 2, num_merges=10**6)
    for size in (90, 120, len(all_tokens)):
        _, vocabulary = train_bpe(GOLDEN["corpus"] * 2, size)
        assert len(vocabulary) == len({*vocabulary}) <= size
        assert len(vocabulary) > size - 5


@pytest.mark.external
def test_codes_of_a_real_corpus_are_those_of_subword_nmt(shared):
    learn = pytest.importorskip("subword_nmt.learn_bpe", reason="no subword-nmt")
    import gzip
    import io

    path = shared / "data" / "multi30k" / "val.de.gz"
    lines = gzip.open(path, "rt", encoding="utf-8").read().splitlines()
    expected = io.StringIO()
    learn.learn_bpe(io.StringIO("\n".join(lines) + "\n"), expected, 1000)
    codes, _ = train_bpe(lines, num_merges=1000)
    assert codes == expected.getvalue().rstrip("\n").split("\n")
