"""Makes `zoo/text/wordpieces/unicode14.npz`, the character data of the tokenizer.

Run it with Python 3.11, whose `unicodedata` is Unicode 14.0.0, the version that
Google's tokenizer saw when the released vocabularies' reference ids were made:

    python tests/goldens/make_unicode14.py

The file is reproducible byte for byte. Arrays: run-length coded classes of all
code points (`class_starts`, `class_values`), run-length coded casing for the
final-sigma rule (`case_starts`, `case_values`), and the lower-casing table
(`lower_sources`, `lower_lengths`, `lower_targets`) with Hangul left out, since it
decomposes by arithmetic; and the code points where letters and numbers begin and end
(`alphanumeric_edges`).
"""

import os
import pathlib
import sys
import unicodedata

import numpy as np

KEEP, DELETE, SPACE, PUNCTUATION, CHINESE, UNASSIGNED, MARK = range(7)
UNCASED, CASED, IGNORABLE = range(3)
CHINESE_RANGES = (
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0x2F800, 0x2FA1F),
)
OUTPUT = (
    pathlib.Path(__file__).parents[2] / "zoo" / "text" / "wordpieces" / "unicode14.npz"
)


def character_class(code):
    """Returns what the tokenizer does with one code point."""
    character = chr(code)
    category = unicodedata.category(character)
    if character in "\t\n\r" or category in ("Zs", "Zl", "Zp"):
        return SPACE
    if code in (0, 0xFFFD) or category in ("Cc", "Cf"):
        return DELETE
    if any(first <= code <= last for first, last in CHINESE_RANGES):
        return CHINESE
    ascii_symbol = 33 <= code < 127 and not character.isalnum()
    if ascii_symbol or category.startswith("P"):
        return PUNCTUATION
    return {"Cn": UNASSIGNED, "Mn": MARK}.get(category, KEEP)


def casing(code):
    """Returns one code point's part in Final_Sigma, read off `str.lower`.

    Unicode's Cased and Case_Ignorable are not in `unicodedata`; how a capital sigma
    beside the character is lowered tells them.
    """
    character = chr(code)
    if (character + "Σ").lower().endswith("ς"):
        return CASED
    return IGNORABLE if ("A" + character + "Σ").lower().endswith("ς") else UNCASED


def lowered(character):
    """Returns lower case, decomposed, without non-spacing marks."""
    decomposed = unicodedata.normalize("NFD", character.lower())
    return "".join(c for c in decomposed if unicodedata.category(c) != "Mn")


def run_lengths(values):
    """Returns the starts and the values of the runs of equal neighbours."""
    values = np.asarray(values, np.uint8)
    starts = np.flatnonzero(np.diff(values, prepend=255)).astype(np.uint32)
    return starts, values[starts]


def main():
    """Writes the file, through a temporary name."""
    if unicodedata.unidata_version != "14.0.0":
        sys.exit("This maker needs Python 3.11, the Python with Unicode 14.0.0.")
    codes = [c for c in range(sys.maxunicode + 1) if not 0xD800 <= c < 0xE000]
    classes = np.full(sys.maxunicode + 1, KEEP, np.uint8)
    classes[codes] = [character_class(code) for code in codes]
    cases = np.full(sys.maxunicode + 1, UNCASED, np.uint8)
    cases[codes] = [casing(code) for code in codes]
    lower = {
        code: lowered(chr(code))
        for code in codes
        if not 0xAC00 <= code < 0xAC00 + 11172
        and classes[code] in (KEEP, PUNCTUATION, CHINESE)
        and lowered(chr(code)) != chr(code)
    }
    class_starts, class_values = run_lengths(classes)
    case_starts, case_values = run_lengths(cases)
    alphanumeric = [
        unicodedata.category(c)[0] in "LN" for c in map(chr, range(0x110000))
    ]
    edges = np.flatnonzero(np.diff(alphanumeric, prepend=False)).astype(np.uint32)
    arrays = {
        "alphanumeric_edges": edges,
        "class_starts": class_starts,
        "class_values": class_values,
        "case_starts": case_starts,
        "case_values": case_values,
        "lower_sources": np.array(list(lower), np.uint32),
        "lower_lengths": np.array([len(t) for t in lower.values()], np.uint8),
        "lower_targets": np.array([ord(c) for t in lower.values() for c in t], "u4"),
    }
    temporary = OUTPUT.with_suffix(".tmp.npz")
    np.savez_compressed(temporary, **arrays)
    os.replace(temporary, OUTPUT)
    print(f"{OUTPUT.name}: {OUTPUT.stat().st_size} bytes, {len(lower)} mappings")


if __name__ == "__main__":
    main()
