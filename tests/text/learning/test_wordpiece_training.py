"""Vocabulary training: the tokenizer's own words, exact sizes, no chance in it."""

import collections
import gzip
import lzma
import random

from zoo.text import WordPieceTokenizer, train_wordpiece
from zoo.text.learning.wordpiece_training import count_words

TEXTS = ["low lower lowest", "New newer newest, café!", "low low new 中中 ΟΣ"] * 3


def added(vocabulary):
    """Returns the joined pieces: what has more than one character."""
    return [t for t in vocabulary[5:] if len(t.removeprefix("##")) > 1]


def test_words_are_the_tokenizers(google):
    for lowercase in (True, False):
        expected = [w for text in TEXTS for w in google.split(text, lowercase)]
        assert count_words(TEXTS, lowercase) == collections.Counter(expected)
    assert count_words(TEXTS) == count_words(TEXTS, True)


def test_the_most_frequent_pair_is_joined_first_and_ties_go_by_the_alphabet():
    texts = ["ab"] * 5 + ["cb"] * 4 + ["abd"] * 3
    assert added(train_wordpiece(texts, 1000)) == ["ab", "cb", "abd"]
    texts = ["zy", "xw", "ba", "ab"] * 2
    assert added(train_wordpiece(texts, 1000)) == ["ab", "ba", "xw", "zy"]
    shuffled = random.Random(1).sample(TEXTS, len(TEXTS))
    assert train_wordpiece(TEXTS, 160) == train_wordpiece(shuffled, 160)


def test_size_is_exact_and_specials_come_first():
    base = len(train_wordpiece(["x"], 1000))
    vocabulary = train_wordpiece(TEXTS, base + 7)
    assert vocabulary[:5] == ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    assert len(vocabulary) == len(set(vocabulary)) == base + 7


def test_vocabulary_spells_its_corpus():
    tokenizer = WordPieceTokenizer(train_wordpiece(TEXTS, 400))
    ids = tokenizer(TEXTS)
    assert tokenizer.unknown_id not in ids.values.numpy()
    assert tokenizer("low newest")[0] == tokenizer.token_to_id("low")
    words = "low lower lowest new newer newest , cafe !".split()
    assert [tokenizer.id_to_token(i) for i in ids[:2].values.numpy()] == words


def test_rare_characters_and_words_are_left_out():
    texts = ["aaaa bbbb"] * 1000 + ["жж", "qrs"]
    vocabulary = train_wordpiece(texts, 1000, character_coverage=0.999)
    assert "ж" not in vocabulary and "qr" not in vocabulary
    vocabulary = train_wordpiece(texts, 1000, character_coverage=1.0, min_count=1)
    assert "ж" in vocabulary and "##ж" in vocabulary and "qrs" in vocabulary


def test_punctuation_stands_alone_and_cased_vocabularies_have_capitals():
    vocabulary = train_wordpiece(["a’a 中 a.a"], 1000, character_coverage=1.0)
    assert {"’", "中", "."} < set(vocabulary)
    assert not {"##’", "##中", "##."} & set(vocabulary)
    assert "N" in train_wordpiece(TEXTS, 400, lowercase=False)
    assert "N" not in train_wordpiece(TEXTS, 400)


def test_files_are_read_line_by_line(tmp_path):
    text, expected = "\n".join(TEXTS).encode(), count_words(TEXTS)
    packers = {"a.txt": bytes, "a.gz": gzip.compress, "a.xz": lzma.compress}
    for name, pack in packers.items():
        (tmp_path / name).write_bytes(pack(text))
        assert count_words([tmp_path / name]) == expected
    assert count_words(text.split(b"\n")) == expected


def test_long_words_teach_nothing():
    vocabulary = train_wordpiece(["ab" * 60] * 9, 1000)
    assert added(vocabulary) == []
    WordPieceTokenizer(train_wordpiece(["é" * 50, "中"] * 9, 1000, lowercase=False))
