"""Writes the file of a SentencePiece model, without the program that trains one."""

import functools
import struct

from zoo.text.white_space import SPACES
from zoo.text.wordpieces.double_array import character_map

UNKNOWN, CONTROL, NORMAL, BYTE = 2, 3, 1, 6  # the types of a piece
BPE = 2  # the type of a model
SPACE = "\u2581"  # how a piece writes a space


def encode_model(pieces, specials):
    """Makes a model of byte-pair encoding, as the library reads it.

    A pair of pieces is joined earlier if the joined piece comes earlier in the list. A
    character without a piece becomes the pieces of its bytes. Texts do not change,
    except that a space is added in front and that white space becomes single spaces.

    Source: `sentencepiece_model.proto` of google/sentencepiece. The program that trains
    is not on TensorFlow's list of operations, and its package is not needed here.

    Args:
        pieces: list of str, without the special ones and the bytes. `▁` is a space.
        specials: list of four str: padding, the unknown token, start and end. They have
            the ids 0 to 3, the 256 bytes those from 4 to 259, and the pieces follow.
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
    return content + _rules(b"user_defined", white_space_map())


def correct_rules(model):
    """A model (bytes) with the character map that it needs, and else itself."""
    # Models that `encode_model` wrote in version 0.1 have none, so they read white
    # space other than spaces as bytes, which training never saw. Other models without a
    # map read texts as they are. They get a map that changes nothing, since the library
    # prints a message about a missing one.
    if model.endswith(_rules(b"identity")):
        return model + _field(3, _field(2, white_space_map()))
    if _has_map(model):
        return model
    # Fields of a message that occurs twice are merged.
    return model + _field(3, _field(2, character_map({" ": " "})))


@functools.cache
def white_space_map():
    """The character map that makes white space a space, bytes."""
    return character_map(dict.fromkeys(SPACES, " "))


def _rules(name, characters=None):
    """How texts are normalized, with their spaces at both ends and in rows removed."""
    fields = {1: name, 2: characters, 3: 1, 4: 1, 5: 1}
    known = (_field(k, v) for k, v in fields.items() if v is not None)
    return _field(3, b"".join(known))


def _has_map(model):
    """Whether the rules of a model have a character map."""
    return any(
        characters
        for rules in _read_fields(model, 3)
        for characters in _read_fields(rules, 2)
    )


def _read_fields(content, wanted):
    """Yields the bytes of the fields with a number; a damaged message ends there."""
    place = 0
    while place < len(content):
        key, place = _read_varint(content, place)
        size = {1: 8, 5: 4}.get(key & 7, 0)
        if key & 7 == 0:
            _, place = _read_varint(content, place)
        elif key & 7 == 2:
            size, place = _read_varint(content, place)
        if key & 7 in (3, 4, 6, 7):
            return
        if key == wanted << 3 | 2:
            yield content[place : place + size]
        place += size


def _read_varint(content, place):
    """An integer and the place after it."""
    value, shift = 0, 0
    while place < len(content):
        byte = content[place]
        value |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128 or shift > 63:
            break
    return value, place


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
