"""Byte-pair encoding: joins the most frequent pair of neighbouring pieces."""

import collections
import heapq


def counted(texts, count, *options):
    """The counts of texts by the function `count`, unless `texts` are counts."""
    return texts if isinstance(texts, collections.Counter) else count(texts, *options)


def frequent_characters(counts, coverage, ignored=()):
    """The most frequent characters of texts, whose share is at least `coverage`, a set.

    `counts` says how often each text occurs.
    """
    frequency, kept = collections.Counter(), set()
    for text, count in counts.items():
        for character in text:
            frequency[character] += count
    for character in ignored:
        del frequency[character]
    left = coverage * sum(frequency.values())
    for character, count in sorted(frequency.items(), key=lambda x: (-x[1], x[0])):
        if left <= 0:
            break
        kept.add(character)
        left -= count
    return kept


def join_pairs(spelled, counts, join, order=None):
    """Joins the most frequent pair of pieces in all words, again and again.

    Source: Sennrich et al. 2016, algorithm 1.

    The pieces of the words, `spelled`, are changed; `counts` says how often a word
    occurs. Of equally frequent pairs, the one with the smallest key `order(pair)` is
    joined first. Yields the joined piece, its parts and how often they occur. A piece
    may come twice, from different pairs.
    """
    order = order or (lambda pair: pair)
    frequency, places = collections.Counter(), collections.defaultdict(set)
    for index, pieces in enumerate(spelled):
        for pair in zip(pieces, pieces[1:], strict=False):
            frequency[pair] += counts[index]
            places[pair].add(index)
    heap = [(-count, order(pair), pair) for pair, count in frequency.items()]
    heapq.heapify(heap)
    while heap:
        count, key, pair = heapq.heappop(heap)
        # An outdated count: the pair returns to the heap with its new count.
        if -count != frequency[pair]:
            if frequency[pair] > 0:
                heapq.heappush(heap, (-frequency[pair], key, pair))
            continue
        joined = join(*pair)
        yield joined, pair, -count
        for other in _join(pair, joined, spelled, counts, frequency, places):
            heapq.heappush(heap, (-frequency[other], order(other), other))


def _join(pair, joined, spelled, counts, frequency, places):
    """Joins one pair in all words, and returns the pairs that are new."""
    born = set()
    for index in places.pop(pair):
        old, new, position = spelled[index], [], 0
        while position < len(old):
            match = tuple(old[position : position + 2]) == pair
            new.append(joined if match else old[position])
            position += 1 + match
        for other in zip(old, old[1:], strict=False):
            frequency[other] -= counts[index]
        for other in zip(new, new[1:], strict=False):
            frequency[other] += counts[index]
            places[other].add(index)
            if joined in other:
                born.add(other)
        spelled[index] = new
    return born
