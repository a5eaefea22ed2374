"""Tokens of fastai 0.7 and 1, against their rules on spaCy's tokenizer."""

import json

import pytest
from places import GOLDENS

from zoo.text import FastaiTokenizer

EXPECTED = json.loads((GOLDENS / "fastai_older.json").read_text("utf-8"))
SPECIALS = {
    "v1": ["xxunk", "xxpad", "xxbos", "xxeos", "xxfld"],
    "0.7": ["_unk_", "_pad_", "\n", "xbos", "xfld", "1"],
}


def make(version, rows):
    tokens = dict.fromkeys(token for row in rows for token in row)
    return FastaiTokenizer(list(dict.fromkeys([*SPECIALS[version], *tokens])), version)


def compare(version, texts, rows):
    tokenizer = make(version, rows)
    found = tokenizer([text.encode() for text in texts]).to_list()
    begin = [tokenizer.id_to_token(id) for id in tokenizer.framing.begin]
    for text, ids, tokens in zip(texts, found, rows, strict=True):
        assert [*begin, *map(tokenizer.id_to_token, ids)] == tokens, text


@pytest.mark.parametrize("version", ["v1", "0.7"])
def test_tokens_are_those_of_the_published_rules(version):
    rows = EXPECTED["tokens"][version]
    compare(version, EXPECTED["texts"], rows)
    # Bytes that are no text have tokens.
    assert make(version, rows)(b"\xff\x00 a").shape[0] > 0


@pytest.mark.parametrize(
    ("version", "text", "tokens"),
    [
        ("v1", "Hello A IT", "xxmaj hello a xxup it"),
        ("v1", "DON'T Don't", "xxup don't xxmaj do n't"),
        ("v1", "aaa aaaa", "aaa xxrep 4 a"),
        ("v1", "ha ha ha ha ok", "xxwrep 4 ha ok"),
        ("v1", "no-no-no-no-ok", "xxwrep 2 no- ok"),
        ("v1", "no,no,no,no, ok", "xxwrep 2 no , ok"),
        ("0.7", "Hello A IT USA", "hello a it t_up usa"),
        ("0.7", "aaaa a a a a b", "tk_rep 4 a tk_wrep 4 a b"),
        ("0.7", "a<unk>b", "au_nb"),
    ],
)
def test_rules(version, text, tokens):
    tokenizer = make(version, [tokens.split()])
    assert [tokenizer.id_to_token(i) for i in tokenizer(text).numpy()] == tokens.split()


def test_texts_are_written_again():
    text = "He said the BEST film, ha ha ha ha and so"
    for version in ("v1", "0.7"):
        tokens = "he said the film , ha and so 4 best"
        tokens = tokens.split() + ["t_up", "tk_wrep", "xxup", "xxmaj", "xxwrep"]
        tokenizer = make(version, [tokens])
        ids = [[*tokenizer.framing.begin, *tokenizer(text).numpy()]]
        expected = text if version == "v1" else text.replace("He", "he")
        if version == "0.7":
            expected = f"1 {expected}"
        assert tokenizer.detokenize(ids)[0].numpy().decode() == expected
        more = [[*ids[0], *tokenizer.framing.begin, *ids[0]]]
        assert tokenizer.detokenize(more)[0].numpy().decode() == expected


def test_other_texts_have_the_tokens_of_the_published_rules(load_maker, monkeypatch):
    pytest.importorskip("spacy", reason="spacy is needed")
    monkeypatch.syspath_prepend(str(GOLDENS))
    maker = load_maker("make_fastai_older")
    texts = maker.make_texts(seed=6, lines=500)
    for version, rows in maker.tokenize(texts).items():
        compare(version, texts, rows)
