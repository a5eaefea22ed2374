"""Packs a character table into the buffer that TensorFlow Text's normalizer reads.

The kernel `FastBertNormalize` maps every character of a text through a table it is
given: a double-array trie over UTF-8 bytes with a pool of replacement strings, in a
FlatBuffer. Exported models carry such buffers, so their layout does not change. We
write our own table in that layout; nothing of the kernel's library decides a mapping.

In the trie, the child of node n by byte b sits at index n ^ offset(n) ^ b, and a
node's own value at n ^ offset(n). All indices of one node's children therefore share
a base, n ^ offset(n), that no other set of children has. Equal subtrees are stored
once: a base can be reached from many nodes.
"""

import itertools
import struct

import numpy as np

_DIFFERENT = 1 << 30  # this value's flag: the character is not kept as it is
_LENGTH_BITS = 6
_HAS_VALUE = 1 << 8
_IS_VALUE = 1 << 31
_PAGE = 256


def normalizer_buffer(rules):
    """Builds the normalizer's model from rules on characters.

    Bytes that are not UTF-8 are deleted, as `bytes.decode(errors="ignore")` does.

    Args:
      rules: iterable of (code points, replacement). The code points are an int, or a
        boolean array over all code points; the replacement is a str of at most 63
        bytes in UTF-8. Where rules meet, the last one holds; characters without a
        rule are kept.

    Returns:
      uint8 array, the `FastBertNormalizerModel` FlatBuffer.

    Raises:
      ValueError: a replacement is too long.
    """
    pool, values = bytearray(), {"": _DIFFERENT}
    codes = np.zeros(0x110000, np.int64)
    for members, replacement in rules:
        if replacement not in values:
            encoded = replacement.encode()
            if len(encoded) >= 1 << _LENGTH_BITS:
                raise ValueError(
                    "A replacement must have at most 63 bytes in UTF-8. Received: "
                    f"{len(encoded)} bytes, {replacement!r}. Shorten it."
                )
            values[replacement] = _DIFFERENT | len(pool) << _LENGTH_BITS | len(encoded)
            pool += encoded
        codes[members] = values[replacement]
    return _flatbuffer(_lay_out(*_trie(codes)), int(codes[0]), bytes(pool))


def _trie(codes):
    """Returns the distinct nodes and the root's number.

    A node is (value, ((byte, node number), ...)) with value 0 for none. Prefixes of
    characters carry the deletion's value, for texts that end inside a character.
    """
    nodes, numbers, blocks = [], {}, {}

    def number(value, children=()):
        key = (value, tuple(children))
        if key not in numbers:
            numbers[key] = len(nodes)
            nodes.append(key)
        return numbers[key]

    def last_bytes(block):
        """Returns the node before the last byte of 64 code points in a row."""
        values = codes[block * 64 : block * 64 + 64]
        key = values.tobytes()
        if key not in blocks:
            children = ((0x80 + i, number(int(values[i]))) for i in values.nonzero()[0])
            blocks[key] = number(_DIFFERENT, children)
        return blocks[key]

    def last_two_bytes(first_block):
        middle = ((0x80 + i, last_bytes(first_block + i)) for i in range(64))
        return number(_DIFFERENT, middle)

    def lead(byte):
        if byte < 0x80:
            return number(int(codes[byte])) if codes[byte] else None
        if 0xC2 <= byte < 0xE0:
            return last_bytes(byte & 0x1F)
        if not 0xE0 <= byte < 0xF5:
            return number(_DIFFERENT)
        if byte < 0xF0:
            return last_two_bytes((byte & 0xF) << 6)
        # Past the last plane the blocks are empty; the kernel never looks there.
        starts = ((0x80 + i, (byte & 7) << 12 | i << 6) for i in range(64))
        return number(_DIFFERENT, ((b, last_two_bytes(start)) for b, start in starts))

    leads = ((byte, lead(byte)) for byte in range(1, 256))
    return nodes, number(0, ((b, node) for b, node in leads if node is not None))


def _lay_out(nodes, root):
    """Returns the uint32 units of the double array."""
    bases = _place([[0, *(byte for byte, _ in children)] for _, children in nodes])
    units = np.zeros((max(bases) // _PAGE + 1) * _PAGE, np.uint32)

    def unit(index, node):
        flag = _HAS_VALUE * (nodes[node][0] > 0)
        return flag | (index ^ bases[node]) << 10

    units[0] = unit(0, root)
    for (value, children), base in zip(nodes, bases, strict=True):
        if value:
            units[base] = value | _IS_VALUE
        for byte, child in children:
            units[base ^ byte] = unit(base ^ byte, child) | byte
    return units


def _place(label_sets):
    """Returns a base for each set of labels, with every base ^ label free.

    Every set has label 0, the place of a value, so no two share a base. Labels are
    below 256, so a base and its children lie in one page of 256 units. Large sets go
    first, into the emptiest page; single values then fill the holes.
    """
    bases = [0] * len(label_sets)
    fresh = np.zeros((1, _PAGE), bool)
    used = fresh.copy()
    used[0, 0] = True  # the root's own unit
    branches = [i for i, labels in enumerate(label_sets) if labels != [0]]
    for i in sorted(branches, key=lambda i: -len(label_sets[i])):
        slots = np.arange(_PAGE)[:, None] ^ np.array(label_sets[i])
        page = used.sum(1).argmin()
        fits = ~used[page][slots].any(1)
        if not fits.any():
            page, fits = len(used), ~fresh[0]
            used = np.vstack([used, fresh])
        base = fits.argmax()
        used[page, slots[base]] = True
        bases[i] = int(page * _PAGE + base)
    holes = np.flatnonzero(~used).tolist()
    free = itertools.chain(holes, itertools.count(used.size))
    leaves = (i for i, labels in enumerate(label_sets) if labels == [0])
    for i, base in zip(leaves, free, strict=False):
        bases[i] = base
    return bases


def _flatbuffer(units, zero, pool):
    """Writes the model's table: a bool, the units, the value of NUL, the pool."""
    units = units.astype("<u4").tobytes()
    vtable = struct.pack("<6H", 12, 20, 4, 8, 12, 16)
    table = 4 + len(vtable)
    # An offset to a vector counts from the place where the offset itself stands.
    to_units = 20 - 8
    to_pool = 20 - 16 + 4 + len(units)
    parts = (
        struct.pack("<I", table),
        vtable,
        struct.pack("<iIIiI", len(vtable), 1, to_units, zero, to_pool),
        struct.pack("<I", len(units) // 4),
        units,
        struct.pack("<I", len(pool)),
        pool,
    )
    return np.frombuffer(b"".join(parts), np.uint8)
