"""Pairs of texts, against the rules written once more in another way."""

import itertools
import random
import types

import numpy as np
import pytest
import tensorflow as tf
from scipy.stats import chisquare

from zoo.data import draw_pairs, pair_batches, unmask

CLS, SEP = 1, 2
TOKENIZER = types.SimpleNamespace(
    pad_id=0, cls_id=CLS, sep_id=SEP, mask_id=3, vocabulary_size=2000
)


def reference(documents, max_tokens, draw, short_rate=0.1, random_rate=0.5):
    """The rules on lists of sentences, a sentence being a list of token positions."""
    pairs = []
    for number, document in enumerate(documents):
        target = max_tokens
        if draw.random() < short_rate:
            target = draw.randint(2, max_tokens)
        left = list(document)
        while left:
            chunk = []
            while left and sum(map(len, chunk)) < target:
                chunk.append(left.pop(0))
            cut = draw.randint(1, len(chunk) - 1) if len(chunk) > 1 else 1
            a = list(itertools.chain(*chunk[:cut]))
            rest = chunk[cut:]
            elsewhere = not rest or draw.random() < random_rate
            if elsewhere:
                left = rest + left
                for _ in range(10):
                    other = draw.randint(0, len(documents) - 1)
                    if other != number:
                        break
                start = draw.randint(0, len(documents[other]) - 1)
                b = []
                for sentence in documents[other][start:]:
                    b += sentence
                    if len(b) >= target - len(a):
                        break
            else:
                b = list(itertools.chain(*rest))
            while len(a) + len(b) > max_tokens:
                longer = a if len(a) > len(b) else b
                longer.pop(0 if draw.random() < 0.5 else -1)
            pairs.append((a, b, elsewhere))
    return pairs


def make_documents(seed, count=12, longest=14):
    """Offsets of each document, and the same as lists of positions."""
    rng = np.random.default_rng(seed)
    offsets, sentences, position = [], [], 0
    for _ in range(count):
        sizes = rng.integers(1, longest, rng.integers(1, 20))
        bounds = position + np.concatenate([[0], np.cumsum(sizes)])
        offsets.append(bounds)
        sentences.append(
            [list(range(a, b)) for a, b in itertools.pairwise(bounds.tolist())]
        )
        position = int(bounds[-1])
    return offsets, sentences


@pytest.mark.parametrize("count, max_tokens", [(12, 20), (12, 5), (12, 125), (1, 20)])
@pytest.mark.parametrize("short_rate", [0.0, 0.1, 1.0])
def test_pairs_are_those_of_the_reference(count, max_tokens, short_rate):
    for seed in range(20):
        offsets, sentences = make_documents(seed, count)
        expected = reference(sentences, max_tokens, random.Random(seed), short_rate)
        pairs = draw_pairs(offsets, max_tokens, random.Random(seed), short_rate)
        actual = [([*range(*p.first)], [*range(*p.second)], p.random) for p in pairs]
        assert actual == expected


@pytest.mark.slow  # to import it takes long
def test_pairs_are_those_of_the_model_garden(monkeypatch):
    """Its own function, without masks, from the same random numbers."""
    garden = pytest.importorskip("official.nlp.data.create_pretraining_data")
    unmasked = lambda tokens, *others: (tokens, [], [])  # noqa: E731
    monkeypatch.setattr(garden, "create_masked_lm_predictions", unmasked)
    for seed in range(10):
        offsets, sentences = make_documents(seed)
        documents = [[[str(t) for t in s] for s in d] for d in sentences]
        draw, expected = random.Random(seed), []
        for index in range(len(documents)):
            expected += garden.create_instances_from_document(
                documents, index, 23, 0.1, 0.15, 20, [], draw
            )
        pairs = list(draw_pairs(offsets, 20, random.Random(seed)))
        assert len(pairs) == len(expected) > 20
        for pair, instance in zip(pairs, expected, strict=True):
            first, second = (map(str, range(*r)) for r in (pair.first, pair.second))
            assert instance.tokens == ["[CLS]", *first, "[SEP]", *second, "[SEP]"]
            assert instance.is_random_next == pair.random


def test_no_token_of_a_document_is_lost_where_nothing_is_random():
    offsets, _ = make_documents(0, longest=3)
    pairs = draw_pairs(offsets, 40, random.Random(0), random_rate=0.0)
    seen = {t for p in pairs for t in (*range(*p.first), *range(*p.second))}
    assert len(seen) > 0.95 * offsets[-1][-1]


@pytest.mark.slow
def test_lengths_and_random_texts_have_the_stated_probabilities():
    """Chi-square at one in a thousand, on 100,000 documents of 100 tokens."""
    documents = [np.arange(101) + 100 * n for n in range(100_000)]
    pairs = [*draw_pairs(documents, 100, random.Random(1))]
    pairs = [pair for pair in pairs if pair.first[0] % 100 == 0]
    assert len(pairs) == 100_000
    elsewhere = sum(pair.random for pair in pairs)
    # A text that has an end of its own is followed by it half of the time.
    assert chisquare([elsewhere, 1e5 - elsewhere]).statistic < 10.83
    # A random text ends with its document; the others have the length asked for.
    lengths = [p.second[1] - p.first[0] for p in pairs if not p.random]
    observed = np.bincount(lengths, minlength=101)[2:]
    expected = np.full(99, 0.1 / 99)
    expected[-1] += 0.9
    expected *= len(lengths)
    assert chisquare(observed, expected).statistic < 148.2  # 98 degrees of freedom


def test_no_documents_give_no_pairs_and_a_pair_has_two_tokens():
    assert list(draw_pairs([], 10, random.Random(0))) == []
    assert list(draw_pairs([np.array([5])], 10, random.Random(0))) == []
    with pytest.raises(ValueError, match="at least 2. Received: 1. Each text"):
        list(draw_pairs([], 1, random.Random(0)))


def make_corpus(count=30):
    """Documents whose tokens are all different, so that each text is unique."""
    offsets, _ = make_documents(3, count)
    return [(np.arange(o[0], o[-1], dtype="uint16") + 10, o - o[0]) for o in offsets]


def texts_of(batch):
    """The two texts of each row, as lists of ids, before they were masked."""
    ids = unmask({key: tf.constant(value) for key, value in batch.items()})["token_ids"]
    for row, segments, mask in zip(
        ids.numpy(), batch["segment_ids"], batch["padding_mask"], strict=True
    ):
        length = mask.sum()
        assert (mask[:length] == 1).all() and (row[length:] == 0).all()
        first, second = row[:length][segments[:length] == 0], row[segments == 1]
        assert first[0] == CLS and first[-1] == SEP == second[-1]
        yield first[1:-1].tolist(), second[:-1].tolist()


@pytest.mark.parametrize("pool", [1, 200, 2**20])
def test_rows_are_pairs_of_consecutive_or_unrelated_texts(pool):
    documents = make_corpus()
    home = {int(id): n for n, (ids, _) in enumerate(documents) for id in ids}
    batches = list(pair_batches(documents, TOKENIZER, 24, seed=1, pool=pool, rows=7))
    assert {len(b["token_ids"]) for b in batches[:-1]} >= {7}
    counts = [0, 0]
    for batch in batches:
        assert batch["mask_positions"].shape[1] == 20
        for (a, b), label in zip(texts_of(batch), batch["next_sentence"], strict=True):
            assert a == list(range(a[0], a[-1] + 1))
            assert b == list(range(b[0], b[-1] + 1))
            counts[label] += 1
            if not label:
                assert home[a[0]] == home[b[-1]] and b[0] > a[-1]
            elif pool > 1:
                assert home[a[0]] != home[b[0]]
    assert min(counts) > 20


def test_the_seed_decides_everything_and_repeats_differ():
    def run(**options):
        return [
            {key: value.tolist() for key, value in batch.items()}
            for batch in pair_batches(make_corpus(), TOKENIZER, 24, **options)
        ]

    assert run(seed=4) == run(seed=4) != run(seed=5)
    assert run(seed=4) == run(seed=4, part=0) != run(seed=4, part=1)
    once, twice = run(seed=4)[0], run(seed=4, repeats=2)[0]
    assert len(twice["token_ids"]) > 1.8 * len(once["token_ids"])
    rows = {tuple(row) for row in twice["token_ids"]}
    assert len(rows) > 0.95 * len(twice["token_ids"])
    assert list(pair_batches([], TOKENIZER, 24)) == []
