"""The normalizer's buffer, read by the kernel that it is written for."""

import itertools
import random

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_text as tf_text

from zoo.text.wordpieces import double_array

ALL_CODES = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]


def kernel(rules):
    buffer = double_array.normalizer_buffer(rules)
    return tf_text.FastBertNormalizer(model_buffer=tf.constant(buffer))


def test_random_mappings():
    draw = random.Random(3)
    codes = [*draw.sample(ALL_CODES, 3000), *range(0x100), *range(0x4E00, 0x5000)]
    replacements = ["", " ", "x", "é", "\t中\t", "z" * 63]
    table = {c: draw.choice([*replacements, chr(c)]) for c in codes}
    texts = ["".join(map(chr, draw.sample(ALL_CODES, 300) + codes)) for _ in range(5)]
    normal = kernel(table.items()).normalize(texts).numpy()
    assert [n.decode() for n in normal] == [t.translate(table) for t in texts]


def test_later_rules_hold_and_masks_are_rules():
    letters = np.zeros(0x110000, bool)
    letters[ord("a") : ord("e")] = True
    rules = [(ord("a"), "x"), (letters, "-"), (ord("c"), "")]
    assert kernel(rules).normalize(["abcde"]).numpy() == [b"---e"]


def test_everything_but_utf8_is_deleted():
    """All short byte strings around the leads where validity changes."""
    edges = [0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF]
    edges += [0xE0, 0xE1, 0xED, 0xEF, 0xF0, 0xF1, 0xF4, 0xF5, 0xFF]
    texts = [bytes(t) for n in (1, 2, 3) for t in itertools.product(edges, repeat=n)]
    draw = random.Random(4)
    texts += [bytes(draw.choices(edges, k=6)) for _ in range(5000)]
    normal = kernel([]).normalize(texts).numpy()
    assert normal.tolist() == [t.decode(errors="ignore").encode() for t in texts]


def test_offsets_point_to_the_character():
    _, sources = kernel([(ord("é"), "xyz"), (ord("b"), "")]).normalize_with_offsets(
        ["aébc"]
    )
    assert sources.to_list() == [[0, 1, 1, 1, 4, 5]]


def test_replacements_are_short():
    with pytest.raises(ValueError, match="63 bytes in UTF-8. Received: 64 bytes"):
        double_array.normalizer_buffer([(65, "x" * 64)])
