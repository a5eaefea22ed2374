"""Caches of keys and values, for decoders that read some tokens at a step.

A cache has, for each block, a pair of keys and values of old entries (B, H, C, K), and
one of later entries (B, H, C', K). A step writes the later ones only, since TensorFlow
copies what it writes to. The rows of a source share its entries. `seen` says which of
them a row attends to, so that nothing is moved if hypotheses change their places.
"""

from keras import ops


def empty_cache(rows, num_heads, entries, width, dtype):
    """The cache of a block before the first token.

    Args:
        rows: int, B.
        num_heads: int, H.
        entries: int, C', for how many entries there is room.
        width: int, K.
        dtype: str.

    Returns:
        Two pairs of zeros, (B, H, 0, K) and (B, H, C', K).
    """

    def pair(entries):
        return (ops.zeros((rows, num_heads, entries, width), dtype),) * 2

    # Not 0 itself: the number of old entries changes in a loop.
    return pair(0 * entries), pair(entries)


def visible_entries(seen, cache, used, count, beams=1):
    """The entries that each of the next tokens attends to.

    A token attends to what its row has seen, to itself, and to the tokens of its row
    that come before it in the same step.

    Args:
        seen: bool (R, C + C'), the entries that each row has seen.
        cache: the cache of a block, see `empty_cache`.
        used: int32 (B,), later entries in use.
        count: int, T, the number of next tokens of a row.
        beams: int, R / B.

    Returns:
        bool (R, T, C + C').
    """
    old = ops.shape(cache[0][0])[2]
    hypothesis = ops.arange(beams, dtype="int32")[None] * count
    first = ops.reshape(old + used[:, None] + hypothesis, (-1, 1, 1))
    tokens = ops.arange(count, dtype="int32")[None, :, None]
    entries = ops.arange(ops.shape(seen)[1], dtype="int32")[None, None]
    own = (entries >= first) & (entries <= first + tokens)
    return seen[:, None] | own


def entry_index(place, num_heads, count):
    """Where new entries stand in a cache (B, H, C, K).

    Args:
        place: int32 (B,), the first new entry of each row, at most C - N.
        num_heads: int, H.
        count: int, N.

    Returns:
        int32 (B * H * N, 3): row, head and entry.
    """
    places = place[:, None] + ops.arange(count, dtype="int32")[None]
    shape = (ops.shape(place)[0], num_heads, count)
    places = ops.broadcast_to(places[:, None], shape)
    row = ops.arange(shape[0], dtype="int32")[:, None, None] + ops.zeros_like(places)
    head = ops.arange(num_heads, dtype="int32")[:, None] + ops.zeros_like(places)
    return ops.reshape(ops.stack([row, head, places], axis=-1), (-1, 3))
