"""Makes `zoo/text/byte_pairs/unicode16.npz`, the character classes of GPT-2.

Run it with regex 2024.11.6, whose data is Unicode 16.0.0. The library `tokenizers` 0.23
has the same version:

    python tests/goldens/make_unicode16.py

The file is reproducible byte for byte. Arrays: run-length coded classes of all code
points (`starts`, `values`).
"""

import pathlib

import numpy as np
import regex

OTHER, LETTER, NUMBER, SPACE = range(4)
PATTERNS = {LETTER: r"\p{L}", NUMBER: r"\p{N}", SPACE: r"\s"}
OUTPUT = (
    pathlib.Path(__file__).parents[2] / "zoo" / "text" / "byte_pairs" / "unicode16.npz"
)


def character_class(code):
    """Returns which part of GPT-2's pattern matches one code point."""
    for kind, pattern in PATTERNS.items():
        if regex.match(pattern, chr(code)):
            return kind
    return OTHER


def main():
    assert regex.match(r"\p{L}", "\u1c89"), "regex has no data of Unicode 16"
    assert not regex.match(r"\p{L}", "\u088f"), "regex has data of Unicode 17"
    values = np.array([character_class(code) for code in range(0x110000)], np.uint8)
    starts = np.flatnonzero(np.diff(values, prepend=255)).astype(np.uint32)
    np.savez_compressed(OUTPUT, starts=starts, values=values[starts])


if __name__ == "__main__":
    main()
