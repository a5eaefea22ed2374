"""What the tokenizer does with each character, frozen at Unicode 14.

`unicode14.npz` is made from Python 3.11's `unicodedata`, so tokenization does not
change with the Unicode version of the machine that trains or serves.
"""

import functools
import itertools
import pathlib
import re

import numpy as np

from zoo.text import double_array

KEEP, DELETE, SPACE, PUNCTUATION, CHINESE, UNASSIGNED, MARK = range(7)
UNCASED, CASED, IGNORABLE = range(3)
MAX_CODE = 0x10FFFF
SIGMA = "\u03a3"
UNKNOWN = "\uffff"  # a noncharacter: a word that holds it is in no vocabulary
ISOLATION = "\t"  # set around punctuation; a text's own white space becomes " "
PRIVATE = range(0x100000, 0x10FFFE)  # plane 16, the tokenizer's own stand-ins
_HANGUL = range(0xAC00, 0xAC00 + 11172)
_FILE = pathlib.Path(__file__).with_name("unicode14.npz")


@functools.cache
def classes():
    """Returns the class (KEEP ... MARK) of every code point, uint8 (0x110000,).

    The private plane 16 counts as unassigned, to be free for stand-ins.
    """
    values = _expand("class")
    values[PRIVATE.start :] = UNASSIGNED
    return values


@functools.cache
def casing():
    """Returns UNCASED, CASED or IGNORABLE of every code point, uint8 (0x110000,).

    IGNORABLE is Unicode's Case_Ignorable; CASED is Cased without Case_Ignorable.
    """
    return _expand("case")


def rules(lowercase):
    """Says what replaces each character before the text is split.

    Characters are deleted, made a space, or, with `lowercase`, replaced by lower case
    without accents: `NFD(lower(c))` less its non-spacing marks. Only a capital sigma
    stays: its lower case depends on its neighbours. Punctuation beyond ASCII is
    isolated here, because the splitter's own idea of it varies with its Unicode
    version; for the same reason unassigned characters become UNKNOWN. ASCII
    punctuation and Chinese characters are left to the splitter, which knows them by
    fixed ranges.

    Args:
      lowercase: bool.

    Yields:
      (code points, replacement) as `double_array.normalizer_buffer` takes them.
    """
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
    """Returns the model of `FastBertNormalize` for the rules, a uint8 array.

    Args:
      lowercase: bool.
      stand_ins: (character, replacement) pairs that come on top of the rules.
    """
    own = ((ord(character), text) for character, text in stand_ins)
    return double_array.normalizer_buffer(itertools.chain(rules(lowercase), own))


def character_class(member):
    """Writes a set of characters as a regular expression does, without the brackets.

    Args:
      member: boolean array over all code points.

    Returns:
      str, for RE2 and for Python's `re`.
    """
    edges = np.flatnonzero(np.diff(member, prepend=False, append=False)).tolist()
    ranges = zip(edges[::2], edges[1::2], strict=True)
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
