"""Google's tokenization rules in plain Python, makers of goldens, and oracles."""

import gzip
import importlib.util
import json
import types
import unicodedata

import pytest
from places import GOLDENS

_CHINESE = [(0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F)]
_CHINESE += [(0x2B740, 0x2B81F), (0x2B820, 0x2CEAF), (0xF900, 0xFAFF)]
_CHINESE += [(0x2F800, 0x2FA1F)]


def _clean(text):
    """Drops control characters and sets Chinese characters apart."""
    for character in text:
        category = unicodedata.category(character)
        if character in " \t\n\r" or category == "Zs":
            yield " "
        elif category in ("Cc", "Cf") or character == "\ufffd":
            continue
        elif any(a <= ord(character) <= b for a, b in _CHINESE):
            yield f" {character} "
        else:
            yield character


def _punctuation(character):
    code = ord(character)
    ascii_symbol = 33 <= code <= 47 or 58 <= code <= 64 or 91 <= code <= 96
    ascii_symbol = ascii_symbol or 123 <= code <= 126
    return ascii_symbol or unicodedata.category(character)[0] == "P"


def split(text, lowercase):
    """Returns the words of a text: white space, accents, punctuation."""
    words = []
    for token in "".join(_clean(text)).split():
        if lowercase:
            token = unicodedata.normalize("NFD", token.lower())
            token = "".join(c for c in token if unicodedata.category(c) != "Mn")
        word = ""
        for character in token:
            if _punctuation(character):
                words += [word, character]
                word = ""
            else:
                word += character
        words.append(word)
    return [word for word in words if word]


def cut(word, vocabulary):
    """Returns a word's pieces: the longest first, from left to right."""
    if len(word) > 200:
        return ["[UNK]"]
    pieces, start = [], 0
    while start < len(word):
        prefix = "##" if start else ""
        for end in range(len(word), start, -1):
            if prefix + word[start:end] in vocabulary:
                break
        else:
            return ["[UNK]"]
        pieces.append(prefix + word[start:end])
        start = end
    return pieces


def tokenize(text, vocabulary, lowercase):
    """Returns the pieces of a text."""
    words = split(text, lowercase)
    return [piece for word in words for piece in cut(word, vocabulary)]


@pytest.fixture(scope="session")
def google():
    """The reference; only with the Unicode version that the tokenizer froze."""
    if unicodedata.unidata_version != "14.0.0":
        pytest.skip("The reference needs Unicode 14.0.0, that is, Python 3.11.")
    return types.SimpleNamespace(split=split, cut=cut, tokenize=tokenize)


@pytest.fixture(scope="session")
def load_maker():
    """Function of a name: the script that makes a golden, as a module."""

    def load(name):
        spec = importlib.util.spec_from_file_location(name, GOLDENS / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


@pytest.fixture(scope="session")
def oracle(shared):
    """2,033 texts with their pieces by Google's own tokenizers, dicts."""
    path = shared / "oracles" / "wordpiece_google.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    assert len(rows) == 2033
    return rows
