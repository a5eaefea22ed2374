"""Caches of keys and values, for decoders that read some tokens at a step.

A cache has, for each block, a pair of keys and values of old entries (B, H, C, K), and
one of later entries (B, H, C', K). A step writes the later ones only, since TensorFlow
copies what it writes to. The rows of a source share its entries. `seen` says which of
them a row attends to, so that nothing is moved if hypotheses change their places.
"""

from keras import ops


def empty_cache(rows, num_heads, entries, width, dtype):
    """The empty cache of a block: pairs of (B, H, 0, K) and of (B, H, C', K)."""

    def pair(entries):
        return (ops.zeros((rows, num_heads, entries, width), dtype),) * 2

    # Not 0 itself: the number of old entries changes in a loop.
    return pair(0 * entries), pair(entries)


def visible_entries(seen, cache, used, count, beams=1):
    """What T next tokens attend to: `seen`, and new entries; bool (R, T, C + C')."""
    old = ops.shape(cache[0][0])[2]
    hypothesis = ops.arange(beams, dtype="int32")[None] * count
    first = ops.reshape(old + used[:, None] + hypothesis, (-1, 1, 1))
    tokens = ops.arange(count, dtype="int32")[None, :, None]
    entries = ops.arange(ops.shape(seen)[1], dtype="int32")[None, None]
    new_entries = (entries >= first) & (entries <= first + tokens)
    return seen[:, None] | new_entries


def entry_index(place, num_heads, count):
    """Row, head and entry, (B * H * N, 3), of N new entries from `place` (B,) on."""
    places = place[:, None] + ops.arange(count, dtype="int32")[None]
    shape = (ops.shape(place)[0], num_heads, count)
    places = ops.broadcast_to(places[:, None], shape)
    row = ops.arange(shape[0], dtype="int32")[:, None, None] + ops.zeros_like(places)
    head = ops.arange(num_heads, dtype="int32")[:, None] + ops.zeros_like(places)
    return ops.reshape(ops.stack([row, head, places], axis=-1), (-1, 3))
