"""Tokens, ids and vocabularies of fastai, against fastai and spaCy."""

import json

import pytest
import tensorflow as tf
from places import GOLDENS

from zoo.text import FastaiTokenizer, train_fastai_vocabulary
from zoo.text.english.fastai_rules import NULL
from zoo.text.english.fastai_splitting import SPECIALS, FastaiSplitter
from zoo.text.english.fastai_training import count_tokens
from zoo.text.english.html_entities import named_references, unescape

EXPECTED = json.loads((GOLDENS / "fastai.json").read_text("utf-8"))
MADE = {token: None for row in EXPECTED["tokens"] for token in row}
VOCABULARY = list(dict.fromkeys([*SPECIALS, *MADE]))


@pytest.fixture(scope="module")
def tokenizer():
    return FastaiTokenizer(VOCABULARY)


def train(texts):
    """The tokenizer of everything in texts."""
    texts = [text.encode() for text in texts]
    tokens = FastaiSplitter().spans(tf.constant(texts))[1].values.numpy().tolist()
    tokens = [token.decode().replace(NULL, "\0") for token in tokens]
    return FastaiTokenizer(list(dict.fromkeys([*SPECIALS, *tokens])))


def words(tokenizer, text):
    return [tokenizer.id_to_token(id) for id in tokenizer(text).numpy()]


def test_tokens_are_those_of_fastai(tokenizer):
    texts = EXPECTED["texts"]
    rows = tokenizer([text.encode() for text in texts]).to_list()
    for text, row, tokens in zip(texts, rows, EXPECTED["tokens"], strict=True):
        assert ["xxbos", *map(tokenizer.id_to_token, row)] == tokens, text


# The cases of fastai's own tests of its rules; a token of two words is written with ▁.
@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("#fast/ai\\x", "# fast / ai \\ x"),
        ("this   has  many", "this has many"),
        ("aaab cccc", "xxrep 3 a b xxrep 4 c"),
        ("bah bah bah", "xxwrep 3 bah"),
        ("the the then", "the the then"),
        ("bah bah bah bah.", "xxwrep 4 bah ."),
        ("a a a b b b", "xxwrep 3 a b b b"),
        ("a a a  b b b", "xxwrep 3 a xxwrep 3 b"),
        ("no no no-one", "xxwrep 3 no -one"),
        ("I'M SHOUTING AT U", "xxup i 'm xxup shouting xxup at u"),
        ("This is A Test", "xxmaj this is a xxmaj test"),
        ("MacDonald A1 ÉA", "macdonald xxup a1 éa"),
        ("<unk> 1 @.@ 5 a @-@ b", "xxunk 1.5 a - b"),
        ("it#39;s R&amp;B &lt;3 &eacute;", "it 's xxup r&&b <3 é"),
        ("a\\nb<br />c\n\n d", "a \n b \n c \n\n▁ d"),
        ("U.S. e.g., Mr. vs. p.m.", "xxup u.s . e.g. , xxmaj mr . vs. p.m."),
        ("isn't can't've they'd", "is n't ca n't 've they 'd"),
        ("$5 5$ 10% 7pm 3km 2+2", "$ 5 5 $ 10 % 7 pm 3 km 2 + 2"),
        ("well-known 1-2 a--b x-", "well - known 1 - 2 a -- b x-"),
        ("wait... no.. so", "wait … no .. so"),
        ("“so” ‘tis’ (it’s)", "“ so ” ‘ tis ’ ( it ’s )"),
        ("ok:) :-( 😀😀", "ok :) :-( 😀 😀"),
        ("(http://a.com/?b=c, me@x.org)", "( http : / / a.com / ? b = c , me@x.org )"),
        ("web.a-b.org:80. 8.8.8.8 www.x", "web.a-b.org:80 . 8.8.8.8 xxrep 3 w .x"),
        ("a\xa0b\u2003\x1cc", "a \xa0 b \u2003\x1c c"),
        ("x\x00y", "x\x00y"),
        ("'em! :), 'cause, ok", "'em ! :) , 'cause , ok"),
        ("ΑΣ Σ", "ας σ"),
    ],
)
def test_rules(text, tokens):
    assert words(train([text]), text) == tokens.split(" ")


def test_unusual_texts(tokenizer):
    rows = tokenizer(["", " \n\t ", "\ud7ff", b"\xff\xfeis\xc3"])
    assert rows.to_list()[:2] == [[], []]
    assert tokenizer.id_to_token(rows[3][-2]) == "xxunk"
    long = tokenizer("the Go. " * 50000).numpy()
    assert len(long) == 200000 and set(long[:4]) == set(long)
    alone = tokenizer("the Go.").numpy().tolist()
    assert long[-4:].tolist() == alone
    assert words(train(["é" * 5000]), "é" * 5000) == ["xxrep", "5000", "é"]


def test_references_are_those_of_python():
    import html

    names = named_references()
    texts = [f"&{name}x &{name}" for name in html.entities.html5]
    texts += [f"&#{n};&#x{n:x}&#0{n}" for n in [*range(300), 0xD800, 0xFDD0, 0xFFFE]]
    texts += ["&#1114111; &#1114112 &#x110000; &#99999999999999;", "&;&#;&# &", ""]
    found = unescape(tf.constant(texts), names).numpy().tolist()
    assert [text.decode() for text in found] == [*map(html.unescape, texts)]


def test_ids_and_framing():
    tokens = ["xxpad", "xxfake", "xxbos", "xxfld", "a", "xxunk", "xxfake"]
    tokenizer = FastaiTokenizer(tokens)
    assert tokenizer("a b A xxfake xxbos").numpy().tolist() == [4, 5, 4, 5, 2]
    assert (tokenizer.pad_id, tokenizer.unknown_id, tokenizer.end_id) == (0, 5, 2)
    assert tokenizer.unwritten_ids == (0, 1, 3, 5, 6)
    assert tokenizer.framing == ((2,), (3, 5), ()) and tokenizer.vocabulary_size == 7
    old = FastaiTokenizer(["_unk_", "_pad_", "xbos", "xfld", "1", "\n"], "0.7")
    assert old.framing == ((5, 2, 3, 4), (3, 4), ())
    features = {"tokens": [[2, 4]], "padding_mask": [[1, 1]]}
    inputs = {"token_ids": [[2, 4]], "padding_mask": [[1, 1]]}
    assert tokenizer.inputs(features) == inputs


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("Don't stop! It’s the BEST (ever), SHOULDN'T it?", None),
        ('He said "no way." and left: 10% of $5.\n\nNext', None),
        ("wow!!! ha ha ha", None),
        ("Été ÎLE McCoy", "été île mccoy"),
        ("a   b\n c", "a b\nc"),
        ("xxfld 1 xxunk x xxrep", "1 x"),
        ("xxrep y xxwrep 3", "y 3"),
        ("xxwrep 2 go Go", "go go Go"),
    ],
)
def test_texts_are_written_again(text, written):
    tokenizer = train([text])
    found = tokenizer.detokenize(tokenizer([text]))[0].numpy().decode()
    assert found == (text if written is None else written)


def test_rows_end_where_the_next_document_begins(tokenizer):
    ids = {token: id for id, token in enumerate(VOCABULARY)}
    rows = [["xxbos", "the", "hi", "xxbos", "go"], ["xxmaj"], [], ["xxpad", "xxmaj"]]
    ragged = tf.ragged.constant([[ids[t] for t in row] for row in rows], tf.int32)
    expected = [b"the hi", b"", b"", b""]
    assert tokenizer.detokenize(ragged).numpy().tolist() == expected
    dense = ragged.to_tensor(tokenizer.pad_id)
    assert tokenizer.detokenize(dense).numpy().tolist() == expected


def test_special_tokens_in_texts_are_counted_with_the_others():
    assert count_tokens(["xxbos a", "b"])["xxbos"] == 3


@pytest.mark.slow
def test_vocabulary_is_that_of_fastai(tmp_path):
    texts = ["The b b a", "a c \n c", "B the <unk>"]
    tokens = train_fastai_vocabulary(texts, minimum_count=1)
    assert tokens == [*SPECIALS, "b", "the", "a", "c", "\n▁"]
    assert train_fastai_vocabulary(texts, minimum_count=3) == [*SPECIALS, "b"]
    assert train_fastai_vocabulary(texts, 11, 1) == [*SPECIALS, "b", "the"]
    # The most frequent tokens are taken before special tokens are added.
    assert len(train_fastai_vocabulary(texts * 300, 12)) == 12
    (tmp_path / "a.txt").write_text("x y\ny z\n")
    assert train_fastai_vocabulary([tmp_path / "a.txt"], 99, 2) == [*SPECIALS, "y"]
    many = [f"w{i % 700} x{i}" for i in range(1400)]
    many = train_fastai_vocabulary(many, minimum_count=2)
    words = [token for token in many if token[:1] == "w" != token]
    assert words[:3] == ["w0", "w1", "w2"]


def test_2000_other_texts_have_the_tokens_of_fastai(load_maker):
    pytest.importorskip("fastai", reason="fastai and spacy are needed")
    pytest.importorskip("spacy", reason="fastai and spacy are needed")
    maker = load_maker("make_fastai")
    texts = maker.generate(seed=5, lines=1000)
    tokens = maker.tokenize(texts)
    distinct = dict.fromkeys(token for row in tokens for token in row)
    tokenizer = FastaiTokenizer(list(dict.fromkeys([*SPECIALS, *distinct])))
    rows = tokenizer([text.encode() for text in texts]).to_list()
    found = [["xxbos", *map(tokenizer.id_to_token, row)] for row in rows]
    assert found == tokens
