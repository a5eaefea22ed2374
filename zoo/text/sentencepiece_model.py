"""Writes the file of a SentencePiece model, without the program that trains one."""

import struct

UNKNOWN, CONTROL, NORMAL, BYTE = 2, 3, 1, 6  # the types of a piece
BPE = 2  # the type of a model
SPACE = "\u2581"  # how a piece writes a space


def encode_model(pieces, specials, normalizer="identity"):
    """Makes a model of byte-pair encoding, as the library reads it.

    A pair of pieces is joined earlier if the joined piece comes earlier in the list. A
    character without a piece becomes the pieces of its bytes. Texts do not change,
    except that a space is added in front and that spaces in a row become one.

    Source: `sentencepiece_model.proto` of google/sentencepiece. The program that trains
    is not on TensorFlow's list of operations, and its package is not needed here.

    Args:
        pieces: list of str, without the special ones and the bytes. `▁` is a space.
        specials: list of four str: padding, the unknown token, start and end. They have
            the ids 0 to 3, the 256 bytes those from 4 to 259, and the pieces follow.
        normalizer: str, the name that the file gives to the rules.

    Returns:
        bytes.
    """
    kinds = [CONTROL, UNKNOWN, CONTROL, CONTROL]
    entries = [(piece, 0.0, kind) for piece, kind in zip(specials, kinds, strict=True)]
    entries += [(f"<0x{byte:02X}>", 0.0, BYTE) for byte in range(256)]
    entries += [(piece, -float(rank), NORMAL) for rank, piece in enumerate(pieces)]
    content = b"".join(
        _field(1, _field(1, piece.encode()) + _number(2, score) + _field(3, kind))
        for piece, score, kind in entries
    )
    pad, unknown, start, end = specials
    trainer = {3: BPE, 4: len(entries), 35: 1, 40: 1, 41: 2, 42: 3, 43: 0}
    names = {45: unknown, 46: start, 47: end, 48: pad, 44: " \u2047 "}
    fields = {**trainer, **{key: name.encode() for key, name in names.items()}}
    content += _field(2, b"".join(_field(k, fields[k]) for k in sorted(fields)))
    rules = {1: normalizer.encode(), 3: 1, 4: 1, 5: 1}
    return content + _field(3, b"".join(_field(k, v) for k, v in rules.items()))


def _varint(value):
    """An integer of protocol buffers."""
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])


def _field(key, value):
    """A field with an integer or with bytes."""
    if isinstance(value, int):
        return _varint(key << 3) + _varint(value)
    return _varint(key << 3 | 2) + _varint(len(value)) + value


def _number(key, value):
    """A field with a float."""
    return _varint(key << 3 | 5) + struct.pack("<f", value)
