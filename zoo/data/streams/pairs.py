"""Pairs of texts from documents, for next-sentence prediction."""

import bisect
import dataclasses
import itertools
import random

import numpy as np
import tensorflow as tf

from zoo.checks.counts import whole_number
from zoo.data.streams.masking import mask_tokens

# Number of draws to find another document.
MAX_DRAWS = 10


@dataclasses.dataclass(frozen=True, slots=True)
class Pair:
    """Two texts as ranges of tokens of a corpus.

    Args:
        first, second: tuple (begin, end), positions of tokens in the flat corpus.
        random: bool, whether the second text is from another document.
    """

    first: tuple
    second: tuple
    random: bool


def draw_pairs(documents, max_tokens, draw, short_rate=0.1, random_rate=0.5):
    """Draws pairs of consecutive texts and pairs of unrelated texts.

    1. Each document is split into chunks of whole sentences of about `max_tokens`
       tokens. With probability `short_rate`, a target length from 2 to `max_tokens` is
       drawn for the whole document.
    2. Each chunk is split at a random sentence boundary. The first half is the first
       text.
    3. The second half is the second text. With probability `random_rate`, or if there
       is no second half, a text of that length from another document is the second
       text. The second half then belongs to the next chunk.
    4. While a pair has more than `max_tokens` tokens, the longer text loses a token, at
       its start or end with equal probability.

    Source: Devlin et al. 2019, released code `create_pretraining_data.py`. The order of
    draws is the same, so the same `random.Random` gives the same pairs.

    Args:
        documents: list of integer arrays (S + 1,), one for each document of S
            sentences. Sentence i has the tokens from position [i] to [i + 1] of the
            flat corpus. No sentence is empty.
        max_tokens: int, tokens of a pair without special tokens.
        draw: `random.Random`.
        short_rate, random_rate: float in [0, 1], see above.

    Yields:
        Pair, document by document.

    Raises:
        ValueError: if `max_tokens` is less than 2.
    """
    whole_number(max_tokens, "max_tokens", 2, "Each text needs one.")
    documents = [[int(p) for p in offsets] for offsets in documents if len(offsets) > 1]
    for index, offsets in enumerate(documents):
        target = max_tokens
        if draw.random() < short_rate:
            target = draw.randint(2, max_tokens)
        begin, count = 0, len(offsets) - 1
        while begin < count:
            end = _chunk_end(offsets, begin, target)
            middle = begin + 1
            if end - begin >= 2:
                middle = begin + draw.randint(1, end - begin - 1)
            first = (offsets[begin], offsets[middle])
            elsewhere = end - begin == 1 or draw.random() < random_rate
            if elsewhere:
                second = _elsewhere(
                    documents, index, target - first[1] + first[0], draw
                )
                begin = middle
            else:
                second = (offsets[middle], offsets[end])
                begin = end
            yield Pair(*_truncated(first, second, max_tokens, draw), elsewhere)


def _chunk_end(offsets, begin, target):
    """The first sentence boundary after at least `target` tokens, or the last one."""
    end = bisect.bisect_left(offsets, offsets[begin] + target)
    return min(max(end, begin + 1), len(offsets) - 1)


def _elsewhere(documents, index, target, draw):
    """Draws a range of whole sentences, if possible from another document."""
    for _ in range(MAX_DRAWS):
        other = draw.randint(0, len(documents) - 1)
        if other != index:
            break
    offsets = documents[other]
    begin = draw.randint(0, len(offsets) - 2)
    return offsets[begin], offsets[_chunk_end(offsets, begin, max(target, 1))]


def _truncated(first, second, max_tokens, draw):
    (a, b), (c, d) = first, second
    while b - a + d - c > max_tokens:
        front = draw.random() < 0.5
        if b - a > d - c:
            a, b = (a + 1, b) if front else (a, b - 1)
        else:
            c, d = (c + 1, d) if front else (c, d - 1)
    return (a, b), (c, d)


def pair_rows(pairs, tokens, tokenizer, length):
    """Rows `[CLS] first [SEP] second [SEP]` of pairs of at most `length - 3` tokens.

    Returns token_ids, segment_ids and padding_mask int32 (B, L), and next_sentence
    (B,), 1 if the second text is from another document.
    """
    begin_a, end_a = np.array([pair.first for pair in pairs]).T[:, :, None]
    begin_b, end_b = np.array([pair.second for pair in pairs]).T[:, :, None]
    # The column of the first [SEP].
    middle = end_a - begin_a + 1
    last = middle + end_b - begin_b + 1
    column = np.arange(length)[None]
    source = np.where(column < middle, begin_a - 1, begin_b - middle - 1) + column
    token_ids = tokens[np.clip(source, 0, len(tokens) - 1)].astype("int32")
    token_ids = np.where(column < last, token_ids, tokenizer.pad_id)
    token_ids[:, 0] = tokenizer.cls_id
    np.put_along_axis(token_ids, np.hstack([middle, last]), tokenizer.sep_id, axis=1)
    return {
        "token_ids": token_ids.astype("int32"),
        "segment_ids": ((column > middle) & (column <= last)).astype("int32"),
        "padding_mask": (column <= last).astype("int32"),
        "next_sentence": np.array([pair.random for pair in pairs], "int32"),
    }


def pair_batches(
    documents, tokenizer, length, seed=0, repeats=1, pool=2**23, rows=1024, part=0,
    **masking,
):  # fmt: skip
    """Makes batches of masked pairs from any number of documents.

    The function holds one pool of documents in memory at a time. It shuffles the
    documents of a pool, draws pairs from all of them `repeats` times, and shuffles the
    pairs.

    Args:
        documents: iterable of (token ids, offsets), from `tokenize_documents`.
        tokenizer: see `zoo.data.mask_tokens`.
        length: int, L, tokens per row, special tokens included.
        seed: int, seed of all random choices.
        repeats: int, number of times that pairs are drawn from a document.
        pool: int, tokens of a pool, at least. A random text is from a document of the
            same pool.
        rows: int, upper bound of B.
        part: int, number of these documents, if they are a part of a corpus. Each part
            has random choices of its own.
        **masking: arguments of `zoo.data.mask_tokens`, e.g. whole_words.

    Yields:
        dict of arrays (B, ...), the input of `zoo.data.write_records`.
    """
    step = part << 32
    for number, gathered in enumerate(_pools(documents, pool), start=part << 32):
        draw = random.Random(f"{seed} {number}")
        draw.shuffle(gathered)
        starts = np.cumsum([0, *(len(ids) for ids, _ in gathered)])
        tokens = np.concatenate([ids for ids, _ in gathered])
        offsets = [o + s for (_, o), s in zip(gathered, starts[:-1], strict=True)]
        drawn = [draw_pairs(offsets, length - 3, draw) for _ in range(repeats)]
        pairs = list(itertools.chain(*drawn))
        draw.shuffle(pairs)
        for begin in range(0, len(pairs), rows):
            batch = pair_rows(pairs[begin : begin + rows], tokens, tokenizer, length)
            ids, draws = tf.constant(batch["token_ids"]), tf.constant([seed, step])
            masked = mask_tokens(ids, tokenizer, tf.cast(draws, tf.int64), **masking)
            missing = masking.get("max_predictions", 20) - masked["mask_ids"].shape[1]
            for key in ("mask_positions", "mask_ids", "mask_weights"):
                # Other programs need exactly `max_predictions` columns.
                masked[key] = tf.pad(masked[key], [[0, 0], [0, missing]])
            yield {**batch, **{key: value.numpy() for key, value in masked.items()}}
            step += 1


def _pools(documents, size):
    gathered, tokens = [], 0
    for ids, offsets in documents:
        if len(ids):
            gathered.append((ids, offsets))
            tokens += len(ids)
        if tokens >= size:
            yield gathered
            gathered, tokens = [], 0
    if gathered:
        yield gathered
