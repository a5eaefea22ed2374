"""Encodes character tables for TensorFlow Text's normalizer and for SentencePiece.

The kernel `FastBertNormalize` maps every character of a text through a table. The table
is a double-array trie over UTF-8 bytes and a pool of replacement strings, in a
FlatBuffer. The buffer is part of every exported model, so its format does not change.
This module writes our own table in this format. The library of the kernel decides no
mapping.

The child of node n for byte b is at index `n ^ offset(n) ^ b`. The value of node n is
at index `n ^ offset(n)`, its base. All children of a node share this base, and no other
set of children has it. Equal subtrees are stored once, so several nodes can have the
same base.
"""

import itertools
import struct

import numpy as np

# A flag of values: the character is replaced or deleted.
_DIFFERENT = 1 << 30
_LENGTH_BITS = 6
_HAS_VALUE = 1 << 8
_IS_VALUE = 1 << 31
_PAGE = 256


def normalizer_buffer(rules):
    """A normalizer of characters, a `FastBertNormalizerModel` FlatBuffer in uint8.

    `rules` are pairs of code points, an int or a boolean array over all of them, and a
    replacement of at most 63 bytes in UTF-8. The last rule that matches a character
    applies. Characters without a rule are kept.
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


def character_map(rules):
    """The `precompiled_charsmap` of a SentencePiece model, from a dict of rules."""
    # `normalizer.cc` of google/sentencepiece: the size of the units in bytes, the
    # units, and the replacements, each with a zero byte after it.
    pool, trie = bytearray(b"\0"), {}  # a node without a value has the value 0
    for character, replacement in rules.items():
        node = trie
        for byte in character.encode():
            node = node.setdefault(byte, {})
        node[None] = len(pool)
        pool += replacement.encode() + b"\0"
    nodes = []

    def number(node):
        children = [(b, number(child)) for b, child in node.items() if b is not None]
        nodes.append((node.get(None, 0), tuple(sorted(children))))
        return len(nodes) - 1

    root = number(trie)
    units = _lay_out(nodes, root).astype("<u4").tobytes()
    return struct.pack("<I", len(units)) + units + bytes(pool)


def _trie(codes):
    """The distinct nodes (value, ((byte, node number), ...)), and the root's number."""
    # The value 0 means no value. Nodes inside a character have the value for deletion,
    # for texts that end inside a character.
    nodes, numbers, blocks = [], {}, {}

    def number(value, children=()):
        key = (value, tuple(children))
        if key not in numbers:
            numbers[key] = len(nodes)
            nodes.append(key)
        return numbers[key]

    def last_bytes(block):
        """Returns the node before the last byte of 64 consecutive code points."""
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
        # Blocks beyond the last plane are empty. The kernel never reads them.
        starts = ((0x80 + i, (byte & 7) << 12 | i << 6) for i in range(64))
        return number(_DIFFERENT, ((b, last_two_bytes(start)) for b, start in starts))

    leads = ((byte, lead(byte)) for byte in range(1, 256))
    return nodes, number(0, ((b, node) for b, node in leads if node is not None))


def _lay_out(nodes, root):
    """Returns the units of the double array, uint32."""
    bases = _place([[0, *(byte for byte, _ in children)] for _, children in nodes])
    units = np.zeros((max(bases) // _PAGE + 1) * _PAGE, np.uint32)

    def unit(index, node):
        flag = _HAS_VALUE if nodes[node][0] > 0 else 0
        return flag | (index ^ bases[node]) << 10

    units[0] = unit(0, root)
    for (value, children), base in zip(nodes, bases, strict=True):
        if value:
            units[base] = value | _IS_VALUE
        for byte, child in children:
            units[base ^ byte] = unit(base ^ byte, child) | byte
    return units


def _place(label_sets):
    """Returns a base for each set of labels, such that every base ^ label is free."""
    # Every set has the label 0, the place of a value, so no two sets share a base.
    # Labels are below 256, so a base and its children are in one page of 256 units.
    # Large sets are placed first, each in the page with the most free units. Sets of a
    # single value are placed last, in the units that are still free.
    bases = [0] * len(label_sets)
    fresh = np.zeros((1, _PAGE), bool)
    used = fresh.copy()
    # The unit of the root.
    used[0, 0] = True
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
    """Writes the table of the model: a bool, the units, the value of NUL, the pool."""
    units = units.astype("<u4").tobytes()
    vtable = struct.pack("<6H", 12, 20, 4, 8, 12, 16)
    table = 4 + len(vtable)
    # An offset to a vector is relative to the position of the offset itself.
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
