"""The class of each character for the tokenizer, fixed at Unicode 14.

`unicode14.npz` is made from `unicodedata` of Python 3.11. Tokenization therefore does
not depend on the Unicode version of the machine that trains or serves.
"""

import functools
import itertools
import pathlib
import re

import numpy as np
import tensorflow as tf

from zoo.text.wordpieces import double_array

KEEP, DELETE, SPACE, PUNCTUATION, CHINESE, UNASSIGNED, MARK = range(7)
UNCASED, CASED, IGNORABLE = range(3)
MAX_CODE = 0x10FFFF
SIGMA = "\u03a3"
# A noncharacter: no vocabulary has a word that contains it.
UNKNOWN = "\uffff"
# Surrounds punctuation. White space of the text itself becomes " ".
ISOLATION = "\t"
# Plane 16, from which the tokenizer takes its stand-ins.
PRIVATE = range(0x100000, 0x10FFFE)
_HANGUL = range(0xAC00, 0xAC00 + 11172)
_FILE = pathlib.Path(__file__).with_name("unicode14.npz")


@functools.cache
def classes():
    """The class (KEEP ... MARK) of every code point, uint8 (0x110000,)."""
    # The private plane 16 is unassigned here, so that its characters are free for
    # stand-ins.
    values = _expand("class")
    values[PRIVATE.start :] = UNASSIGNED
    return values


@functools.cache
def casing():
    """UNCASED, CASED or IGNORABLE of every code point, uint8 (0x110000,)."""
    # IGNORABLE is Unicode's Case_Ignorable; CASED is Cased without Case_Ignorable.
    return _expand("case")


@functools.cache
def alphanumeric_edges():
    """The `edges` of letters (L*) and numbers (N*), int32 (2 N,)."""
    with np.load(_FILE) as data:
        return data["alphanumeric_edges"].astype(np.int32)


def rules(lowercase):
    """Yields rules for texts before the split; see `normalizer_buffer`."""
    # Some characters are deleted, and others become a space. With `lowercase`, a letter
    # becomes its lower case without accents: `NFD(lower(c))` without non-spacing marks.
    # A capital sigma is kept, because its lower case depends on its neighbours.
    # Punctuation outside of ASCII is surrounded by `ISOLATION`, and unassigned
    # characters become `UNKNOWN`. For both, the splitter's rules depend on its Unicode
    # version. ASCII punctuation and Chinese characters are kept. The splitter knows
    # them as fixed ranges.
    kinds = classes()
    yield kinds == DELETE, ""
    yield kinds == UNASSIGNED, UNKNOWN
    yield (kinds == SPACE) & (np.arange(len(kinds)) != ord(" ")), " "
    for code in np.flatnonzero(kinds == PUNCTUATION).tolist():
        if code >= 0x80:
            yield code, _isolated(chr(code))
    if lowercase:
        yield kinds == MARK, ""
        for code in _HANGUL:
            yield code, _hangul_parts(code)
        for code, text in _lower():
            if chr(code) != SIGMA:
                yield code, _isolated(text)


@functools.cache
def normalizer(lowercase, stand_ins=()):
    """The model of `FastBertNormalize`, uint8; pairs of stand-ins precede the rules."""
    pairs = ((ord(character), text) for character, text in stand_ins)
    return double_array.normalizer_buffer(itertools.chain(rules(lowercase), pairs))


def edges(member):
    """Where the ranges of a set of code points begin and end in turn, int32 (2 N,).

    `member` is bool (0x110000,), whether each code point is in the set.
    """
    return np.flatnonzero(np.diff(member, prepend=False, append=False)).astype(np.int32)


def inside(codes, edges):
    """Whether code points are in the set that has these `edges`."""
    return tf.searchsorted(edges, codes, side="right") % 2 == 1


def character_class(member):
    """The inside of a character class from booleans of all code points."""
    bounds = edges(member).tolist()
    ranges = zip(bounds[::2], bounds[1::2], strict=True)
    return "".join(f"{re.escape(chr(a))}-{re.escape(chr(b - 1))}" for a, b in ranges)


def _expand(name):
    with np.load(_FILE) as data:
        starts, values = data[f"{name}_starts"], data[f"{name}_values"]
    lengths = np.diff(starts, append=np.uint32(MAX_CODE + 1))
    return np.repeat(values, lengths)


def _lower():
    with np.load(_FILE) as data:
        sources, lengths = data["lower_sources"].tolist(), data["lower_lengths"]
        targets = "".join(map(chr, data["lower_targets"].tolist()))
    ends = np.cumsum(lengths, dtype=int).tolist()
    starts = [0, *ends[:-1]]
    return [(s, targets[a:b]) for s, a, b in zip(sources, starts, ends, strict=True)]


def _isolated(text):
    if len(text) == 1 and text >= "\x80" and classes()[ord(text)] == PUNCTUATION:
        return ISOLATION + text + ISOLATION
    return text


def _hangul_parts(code):
    """Decomposes a Hangul syllable (The Unicode Standard, section 3.12)."""
    index = code - _HANGUL.start
    tail = chr(0x11A7 + index % 28) if index % 28 else ""
    return chr(0x1100 + index // 588) + chr(0x1161 + index % 588 // 28) + tail
