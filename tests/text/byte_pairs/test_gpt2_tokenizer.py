"""GPT-2's tokenizer against the rule of OpenAI's code."""

import itertools
import json
import os
import random

import pytest
import tensorflow as tf

from zoo.text import GPT2Tokenizer, train_byte_bpe
from zoo.text.byte_pairs.gpt2_splitting import split_pieces
from zoo.text.byte_pairs.gpt2_tokenizer import (
    END,
    byte_symbols,
    without_partial_character,
)

regex = pytest.importorskip("regex")
PATTERN = regex.compile(
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
)
CORPUS = ["the old house and the other one", "it's the end, isn't it?", "caf\u00e9s"]
POOL = (
    "a b z S 1 \u0663 \u00b2 's 't 're 've 'll 'm 'd 'S ! ? ... \u2014 \u00e9 e\u0301 "
    "\u00df \u4e2d \uac00 \U0001f642 \u200d \x00 \x1c ' '' \" <|endoftext|>"
).split(" ")
SPACES = ["\n", "\t", "\u00a0", "\u2003", "\u3000", "\r", "\x85", "\x0b"]


def rule(tokenizer):
    """OpenAI's `encode`, in plain Python."""
    ids = {token: i for i, token in enumerate(tokenizer.vocabulary)}
    merges = [tuple(merge.split(" ")) for merge in tokenizer.get_config()["merges"]]
    ranks = {merge: i for i, merge in enumerate(merges)}
    symbols = byte_symbols()

    def join(word):
        while True:
            pairs = set(itertools.pairwise(word))
            best = min(pairs, key=lambda pair: ranks.get(pair, 1e9), default=None)
            if best not in ranks:
                return word
            new, place = [], 0
            while place < len(word):
                match = tuple(word[place : place + 2]) == best
                new.append("".join(best) if match else word[place])
                place += 1 + match
            word = new

    def encode(text):
        pieces = PATTERN.findall(text)
        words = ([symbols[byte] for byte in piece.encode()] for piece in pieces)
        return [ids[token] for word in words for token in join(word)]

    return encode


@pytest.fixture(scope="module")
def tokenizer():
    return GPT2Tokenizer(*train_byte_bpe(CORPUS * 3, 300))


def runs_of(characters, longest):
    """All texts of these characters up to a length."""
    lengths = range(1, longest + 1)
    return [
        "".join(r) for n in lengths for r in itertools.product(characters, repeat=n)
    ]


def random_texts(count, seed=0):
    draw = random.Random(seed)
    pool = [*POOL, *SPACES, *[" "] * 9]
    return ["".join(draw.choices(pool, k=draw.randrange(25))) for _ in range(count)]


def test_ids_are_those_of_the_rule(tokenizer):
    texts = ["", " ", "\n", *CORPUS, *random_texts(400)]
    texts += runs_of(" \n\t", 3)
    found, encode = tokenizer(texts), rule(tokenizer)
    assert found.to_list() == [encode(text) for text in texts]
    back = tokenizer.detokenize(found)
    assert [text.decode() for text in back.numpy()] == texts


def test_pieces_are_those_of_the_pattern():
    spaced = [" " + c for c in SPACES] + [c + " " for c in SPACES]
    texts = [f"{a}{b}" for a in ("", "x", "1", "!", "'s") for b in (*spaced, *SPACES)]
    texts += [f"{text}{end}" for text in texts for end in ("x", "'s", " 's", "!")]
    texts += ["'s's", "''s", "!'s", "x'll've", "\n's", " \n's", "'", "'r", "x'r", "a'"]
    found = split_pieces(tf.constant(texts)).to_list()
    assert found == [[p.encode() for p in PATTERN.findall(text)] for text in texts]
    assert split_pieces(tf.constant([], tf.string)).to_list() == []


def test_special_tokens_only_when_asked(tokenizer):
    text = f"the{END}old{END}"
    plain = tokenizer(text).numpy().tolist()
    assert tokenizer.end_id not in plain and len(plain) > 8
    asked = GPT2Tokenizer(**{**tokenizer.get_config(), "special_tokens": True})
    end = [asked.end_id]
    the, old = (tokenizer(word).numpy().tolist() for word in ("the", "old"))
    expected = [the + end + old + end, [], end, the]
    assert asked([text, "", END, "the"]).to_list() == expected
    first = GPT2Tokenizer(**{**tokenizer.get_config(), "start_token": True})
    assert first.framing.begin == (first.end_id,) and not tokenizer.framing.begin


def test_detokenize(tokenizer):
    ids = tokenizer("the old").numpy().tolist()
    end = tokenizer.end_id
    rows = [[end, *ids, end, *ids], [*ids, end, end, *ids], [end] * (2 * len(ids) + 2)]
    found = tokenizer.detokenize(rows).numpy().tolist()
    assert found == [b"the old", b"the old", b""]
    assert tokenizer.detokenize([[0xC3]]).numpy().tolist() != [b"\xc3"]  # not UTF-8
    parts = [b"", b"a", b"a\xc3", b"\xe4\xb8", b"a\xf0\x9f\x99", b"\xf0\x9f\x99\x82"]
    kept = [b"", b"a", b"a", b"", b"a", b"\xf0\x9f\x99\x82"]
    assert without_partial_character(tf.constant(parts)).numpy().tolist() == kept
    # Invalid bytes become the replacement character.
    found = tokenizer.detokenize(tokenizer(tf.constant([b"a\xffb", b"\xc3"])))
    assert [text.decode() for text in found.numpy()] == ["a\ufffdb", "\ufffd"]


def test_words_of_a_tagger_have_a_space_before_them(tokenizer):
    found = tokenizer.pieces(tf.constant(["the", "xyz"])).to_list()
    assert found == [tokenizer(f" {w}").numpy().tolist() for w in ("the", "xyz")]
    assert tokenizer.split(tf.constant([" a  b\n"]))[0].to_list() == [[b"a", b"b"]]


def test_files_of_openai_hold_it(tokenizer, tmp_path):
    tokens, merges = tokenizer.vocabulary, tokenizer.get_config()["merges"]
    vocabulary, codes = tmp_path / "encoder.json", tmp_path / "vocab.bpe"
    vocabulary.write_text(json.dumps({token: i for i, token in enumerate(tokens)}))
    codes.write_text("\n".join(["#version: 0.2", *merges, ""]), "utf-8")
    assert GPT2Tokenizer(vocabulary, codes).get_config() == tokenizer.get_config()
    assert tokenizer.id_to_token(tokenizer.end_id) == END


def test_training_joins_frequent_pairs():
    tokens, merges = train_byte_bpe(["aab aab aab b"], 260, min_count=2)
    assert tokens[-1] == END and set(byte_symbols()) < set(tokens)
    assert merges == ["a a", "aa b", "\u0120 aab"]
    assert train_byte_bpe(["ab"], 300)[1] == []  # each pair occurs once


@pytest.fixture(scope="module")
def published(shared):
    """The tokenizer of GPT-2, and that of the library `tokenizers`."""
    tokenizers = pytest.importorskip("tokenizers")
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    folder = shared / "oracles" / "vocab"
    files = [str(folder / f"gpt2_bpe_{name}") for name in ("encoder.json", "vocab.bpe")]
    peer = tokenizers.Tokenizer(tokenizers.models.BPE.from_file(*files))
    peer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    return GPT2Tokenizer(*files), peer


def differing(published, texts):
    """The texts whose ids differ, or that are not restored."""
    ours, peer = published
    ids = ours(texts)
    back = ours.detokenize(ids).numpy().tolist()
    expected = [row.ids for row in peer.encode_batch(texts)]
    rows = zip(texts, ids.to_list(), expected, back, strict=True)
    return [t for t, own, theirs, b in rows if own != theirs or b.decode() != t]


@pytest.mark.external
@pytest.mark.parametrize("count", [3000, pytest.param(10000, marks=pytest.mark.slow)])
def test_published_ids_are_those_of_tokenizers(published, oracle, count):
    texts = [row["text"] for row in oracle]
    assert differing(published, texts) == []
    assert differing(published, random_texts(count, seed=1)) == []
    encode = rule(published[0])
    assert [encode(t) for t in texts[:300]] == published[0](texts[:300]).to_list()


@pytest.mark.external
def test_runs_of_white_space(published):
    runs = runs_of([" ", *SPACES], 4)
    assert differing(published, [*runs, *(f"a{run}b" for run in runs)]) == []


@pytest.mark.slow
@pytest.mark.external
def test_all_characters(published):
    every = [chr(i) for i in range(0x110000) if not 0xD800 <= i < 0xE000]
    for start in range(0, len(every), 2**17):
        part = every[start : start + 2**17]
        assert differing(published, [*part, *(f"a{c}b" for c in part)]) == []


def test_offsets_after_bytes_that_are_not_utf8():
    tokenizer = GPT2Tokenizer([*byte_symbols(), END], [])
    texts = tf.constant([b"\xff ab", b"a\xc3", b"ab"])
    ids, starts, ends = tokenizer.tokenize_with_offsets(texts)
    assert starts.to_list() == [[0, 0, 0, 1, 2, 3], [0, 1, 1, 1], [0, 1]]
    assert ends.to_list() == [[1, 1, 1, 2, 3, 4], [1, 2, 2, 2], [1, 2]]
