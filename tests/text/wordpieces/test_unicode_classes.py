"""The frozen character data, against the Python it was made from."""

import collections
import pathlib

import numpy as np
import pytest

from zoo.text.learning.wordpiece_training import count_words
from zoo.text.wordpieces import unicode_classes

# All of planes 0 and 1, the compatibility ideographs, and the others at steps.
CODES = [
    *range(1, 0xD800),
    *range(0xE000, 0x20000),
    *range(0x2F800, 0x2FA20),
    *range(0x20000, 0x110000, 97),
]


def known(word):
    """Writes unassigned characters as the tokenizer does."""
    kinds = unicode_classes.classes()
    unassigned = unicode_classes.UNASSIGNED
    return "".join(
        unicode_classes.UNKNOWN if kinds[ord(c)] == unassigned else c for c in word
    )


@pytest.mark.parametrize("lowercase", [True, False])
def test_every_character_in_a_word(google, lowercase):
    text = " ".join(f"a{chr(code)}b" for code in CODES)
    expected = collections.Counter(map(known, google.split(text, lowercase)))
    assert count_words([text], lowercase) == expected


def test_sigma_beside_every_character_with_casing(google):
    casing = unicode_classes.casing()
    beside = [chr(code) for code in CODES[:0x20000:3] if casing[code]]
    text = " ".join(f"Σ A{c}Σ AΣ{c} AΣ{c}A A’{c}Σ {c}Σ 1{c}Σ ΣΣ{c}Σ" for c in beside)
    assert len(beside) > 500
    expected = collections.Counter(map(known, google.split(text, True)))
    assert count_words([text], True) == expected


@pytest.mark.slow
def test_file_is_what_its_maker_makes(google, load_maker, tmp_path, monkeypatch):
    maker = load_maker("make_unicode14")
    committed = maker.OUTPUT
    monkeypatch.setattr(maker, "OUTPUT", tmp_path / "unicode14.npz")
    maker.main()
    with np.load(maker.OUTPUT) as made, np.load(committed) as stored:
        assert set(made) == set(stored)
        for name in made:
            np.testing.assert_array_equal(made[name], stored[name])


def test_data_stays_small():
    path = pathlib.Path(unicode_classes.__file__).with_name("unicode14.npz")
    assert path.stat().st_size < 20_000


def test_character_class_escapes_what_means_something():
    member = np.zeros(0x110000, bool)
    member[[ord(c) for c in "-]^\\é"]] = True
    assert unicode_classes.character_class(member) == r"\--\-\\-\^é-é"
