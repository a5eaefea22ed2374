"""The token of an id, on both sides of each tokenizer that a translator has."""

import pytest
import tensorflow as tf

from zoo.text import (
    BitextTokenizer,
    BytePairTokenizer,
    ParsingTokenizer,
    SentencePieceTokenizer,
    SubwordTokenizer,
    TokenListTokenizer,
    WordTokenizer,
    list_tokens,
    read_tree,
    train_sentencepiece,
)

TREE = read_tree("(S (NP (NN cat)) (VP (VBZ sits)))", clean=True)
TEXTS = ["the cat sits", "a dog runs home"] * 4
SPECIALS = ["<s>", "<pad>", "</s>", "<unk>"]


def test_tokens_of_source_and_target():
    codes, one, two = ["#version: 0.2", "a b"], [*SPECIALS, "ab"], [*SPECIALS, "c", "d"]
    tokenizer = BytePairTokenizer(codes, one, two)
    assert tokenizer.id_to_token(4) == "ab"
    assert tokenizer.id_to_token(5, target=True) == "d"
    tokens = ["<blank>", "<s>", "</s>", "<unk>", "x"]
    tokenizer = TokenListTokenizer(tokens, tokens[:-1])
    assert tokenizer.id_to_token(4) == "x"
    with pytest.raises(ValueError, match=r"`id` must be in \[0, 4\). Received: id=4"):
        tokenizer.id_to_token(4, target=True)
    shared = ["<pad>", "<EOS>", "ab_", *"\\_u;0123456789<>EOSadpb"]
    one, two = ([*shared, last] for last in "xy")
    tokenizer = SubwordTokenizer(one, two)
    assert tokenizer.id_to_token(len(one) - 1) == "x"
    assert tokenizer.id_to_token(len(two) - 1, target=True) == "y"


def test_special_tokens_of_words_come_first():
    tokenizer = WordTokenizer(["the", "cat"])
    for word in ("the", "cat"):
        assert tokenizer.id_to_token(int(tokenizer.ids(word))) == word
    model = train_sentencepiece(TEXTS, 300)
    tokenizer = BitextTokenizer(["the", "cat"], model)
    assert tokenizer.id_to_token(int(tokenizer.ids("cat"))) == "cat"
    id = int(tokenizer.targets(["cat"])[0, 0])
    piece = SentencePieceTokenizer(model).id_to_token(id)
    assert tokenizer.id_to_token(id, target=True) == piece


@pytest.mark.parametrize("kind", ["tensor2tensor", "numbered"])
def test_tokens_of_trees(kind):
    model = train_sentencepiece(TEXTS, 300)
    tokenizer = ParsingTokenizer(model, list_tokens([TREE], kind), kind)
    plain = SentencePieceTokenizer(model)
    for token in tokenizer.target_tokens:
        id = int(tokenizer.targets([token])[0, 0])
        assert tokenizer.id_to_token(id, target=True) == token
    assert tokenizer.id_to_token(tokenizer.end_id, target=True) == "</s>"
    found = [tokenizer.id_to_token(id) for id in tokenizer("the cat").numpy()]
    pieces = [plain.id_to_token(id) for id in plain("the").numpy()]
    assert found[: len(pieces) + 1][kind == "numbered" :][: len(pieces)] == pieces
    assert found[0].startswith("#") == (kind == "numbered")
    sizes = tokenizer.vocabulary_size, tokenizer.target_vocabulary_size
    for target, size in enumerate(sizes):
        with pytest.raises(ValueError, match=rf"\[0, {size}\)"):
            tokenizer.id_to_token(size, bool(target))


def test_ragged_rows_end_at_their_end():
    model = train_sentencepiece(TEXTS, 300)
    codes, vocabulary = ["#version: 0.2", "c a"], [*SPECIALS, "cat", "dog"]
    for tokenizer in (
        SentencePieceTokenizer(model),
        BytePairTokenizer(codes, vocabulary, start_token="<s>", end_token="</s>"),
    ):
        row = tokenizer("cat").numpy().tolist()
        ids = tf.ragged.constant([[*row, tokenizer.end_id, *row], row], tf.int32)
        whole = tokenizer.detokenize(tf.ragged.constant([row], tf.int32))[0]
        assert tokenizer.detokenize(ids).numpy().tolist() == [whole.numpy()] * 2
