"""Texts that are tokenized already."""

import pytest
import tensorflow as tf

from zoo.text import TokenListTokenizer

TOKENS = ["<blank>", "<s>", "</s>", "a", "b", "a", "\u2581c", "\u00a0", "<unk>"]
TARGET = ["<blank>", "</s>", "<s>", "<unk>", "x", "y"]


def test_ids_and_texts():
    tokenizer = TokenListTokenizer(TOKENS, TARGET)
    texts = ["a  b\ta", " \u2581c \u00a0 z", "", "</s> a"]
    assert tokenizer(texts).to_list() == [[3, 4, 3], [6, 7, 8], [], [2, 3]]
    assert tokenizer.targets(["x a y"]).to_list() == [[4, 3, 5]]
    ids = tf.constant([[4, 0, 5, 1, 4], [3, 9, 1, 1, 1], [1, 4, 4, 4, 4]])
    texts = tokenizer.detokenize(ids).numpy().tolist()
    assert texts == [b"x y", b"<unk> <unk>", b""]
    texts = tokenizer.detokenize(tf.ragged.constant([[4], []]))
    assert texts.numpy().tolist() == [b"x", b""]


def test_ids_of_special_tokens_are_those_of_the_target():
    tokenizer = TokenListTokenizer(TOKENS, TARGET, source_start=True, source_end=True)
    assert (tokenizer.pad_id, tokenizer.start_id, tokenizer.end_id) == (0, 2, 1)
    assert tokenizer.framing == ((1,), (2,), (2,))
    assert TokenListTokenizer(TOKENS).framing == ((), (), ())
    assert (tokenizer.vocabulary_size, tokenizer.target_vocabulary_size) == (9, 6)
    assert TokenListTokenizer(TOKENS).target_vocabulary_size is None


def test_other_special_tokens():
    tokens = ["<unk>", "[E]", "[P]", "a"]
    options = {"pad": "[P]", "start": "[E]", "end": "[E]"}
    tokenizer = TokenListTokenizer(tokens, **options)
    assert (tokenizer.pad_id, tokenizer.start_id, tokenizer.end_id) == (2, 1, 1)
    assert tokenizer(["a b"]).to_list() == [[3, 0]]


def test_a_file_in_another_encoding_is_refused(tmp_path):
    path = tmp_path / "tokens.txt"
    path.write_bytes(b"\xff\n")
    with pytest.raises(ValueError, match="must be UTF-8"):
        TokenListTokenizer(path)
