"""GPT-1's tokenizer: the ids of OpenAI's rule, with ftfy, spaCy and a plain BPE."""

import itertools
import json
import random
import unicodedata

import pytest
import tensorflow as tf
from places import GOLDENS

from zoo.text.english.gpt1_cleaning import character_normalizer, clean, entity_table
from zoo.text.english.gpt1_tokenizer import GPT1Tokenizer

GOLDEN = json.loads((GOLDENS / "gpt1.json").read_text("utf-8"))
TEXTS = [text.encode() for text in GOLDEN["texts"]]
BLANKS = ("\n", " ", "\t", "\r", "\x0b", "\x0c", "\x1c", "\x85", "\xa0", "\u2003")
BLANKS += ("\u2028", "\u3000")
LONG = "CounterClockwiseContourIntegral"


@pytest.fixture(scope="module")
def tokenizer():
    return GPT1Tokenizer(GOLDEN["vocabulary"], GOLDEN["merges"])


@pytest.fixture(scope="module")
def real(shared):
    """Our tokenizer with the real vocabulary."""
    return GPT1Tokenizer(*_files(shared))


@pytest.fixture(scope="module")
def maker(load_maker):
    """The script that makes the golden, with OpenAI's rule."""
    pytest.importorskip("ftfy", reason="no ftfy")
    pytest.importorskip("spacy", reason="no spaCy")
    if unicodedata.unidata_version != "14.0.0":
        pytest.skip("The rule needs Unicode 14.0.0, that is, Python 3.11.")
    return load_maker("make_gpt1")


@pytest.fixture(scope="module")
def differing(maker, real, shared):
    """Function that returns the texts with other ids than those of OpenAI's rule."""
    vocabulary, merges = _files(shared)
    lines = merges.read_text("utf-8").split("\n")[1:-1]
    reference = maker.Reference(json.loads(vocabulary.read_text("utf-8")), lines)
    graph = tf.function(real, input_signature=[tf.TensorSpec([None], tf.string)])

    def differing(texts):
        rows = graph(tf.constant([text.encode() for text in texts])).to_list()
        pairs = zip(texts, rows, strict=True)
        return [text for text, row in pairs if reference(text) != row]

    return differing


def _files(shared):
    directory = shared / "oracles" / "vocab"
    return directory / "encoder_bpe_40000.json", directory / "vocab_40000.bpe"


def words(text):
    """The words of a text, if every character is a token."""
    letters = [*map(chr, range(33, 0x400)), "中", "가"]
    tokens = ["<unk>", "\n</w>", *letters, *(letter + "</w>" for letter in letters)]
    tokenizer = GPT1Tokenizer(tokens, [])
    found = "".join(tokenizer.id_to_token(id) for id in tokenizer(text).numpy())
    return found.replace("\n</w>", "↵ ").replace("</w>", " ").strip()


def test_ids_are_those_of_the_released_rule(tokenizer):
    rows = tokenizer(TEXTS).to_list()
    for text, row, ids in zip(GOLDEN["texts"], rows, GOLDEN["ids"], strict=True):
        assert row == ids, text
    found = {id for row in rows for id in row}
    assert len(rows) > 130 and 0 in found and tokenizer.start_id in found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("“It’s” ‘so‛ ʼ‚ „‟ Ａ！ｶﾞ", "\" It's \" 'so' '' \"\" A ! ガ"),
        ("ĲĳŉǄǅǆǇǈǉǊǋǌǱǲǳ", "IJij'nDŽDždžLJLjljNJNjnjDZDzdz"),
        ("ﬀﬁﬂﬃﬄﬅﬆ ﬗ", "fffiflffifflſtst ﬗ"),
        ("&amp;amp;lt; &AMP; &EACUTE;&SZLIG; &eacute", "< & ÉSS &eacute"),
        ("&#59;&#x3b; &#65;&#x0041; &#12ab;", "&#59 ; &#x3b ; AA &#12ab ;"),
        ("x&#1;&#0; &#128; &#xD800; &#x110000;", "x� € � �"),
        ("&CounterClockwiseContourIntegral;&lt;", f"&{LONG} ; <"),
        ("&LTIMES; &ltimes; &TIMES; &ETH; &eth;", "&LTIMES ; ⋉ × Ð ð"),
        (f"&#{'65':0>24};&#{'65':0>25};", f"A&#{'65':0>25} ;"),
        (f"&#x{'41':0>23};&#x{'41':0>24};", f"A&#x{'41':0>24} ;"),
        ("＆lt； &l\x01t; &lt\u037e &l\x00t;", "< < < <"),
        ("&#13;a&NewLine;b&nbsp;c", "a \n b c"),
        ("&lt;\n&lt; <b>\n&lt;", "< \n &lt ; <b> \n &lt ;"),
        ("&lt;\r<b>\r\n&lt;", "&lt ; \n <b> \n &lt ;"),
        ("a\x1b[31mb\x1b[;٣mc\x1b\x01[1md\x1b［1me", "abc [ 1mde"),
        ("\x00a\ufeffb\u206ac\x7fd\ufffce\x81f\x9fg\x93h", 'abcde\x81fŸg " h'),
        ("e\u0301 \u212b \u1100\u1161", "é Å 가"),
        ("a—b–c―d… e´s", "a - b - c - d... e's"),
        ("a--b~~!!??;[[{(x)}]]", "a -- b ~~ !! ?? ; [[ { ( x ) } ]]"),
        ('\\\\ ""+,*|_/.:<>=', '\\\\ "" + , * | _ / .:<>='),
        (" a \t\xa0b\u2003\u3000 \x0c ", "a b"),
        ("a\u1680b\u2000c\u200ad\u202fe\u205ff\u200bg", "a b c d e f\u200bg"),
        ("\n a\r\n \r\u2028\u2029 b\x0b\n\n", "a \n b"),
        ("", ""),
    ],
)
def test_cleaning(text, expected):
    found = clean([text.encode()], character_normalizer(), entity_table())
    assert found[0].numpy().decode() == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Don't can’t I'm y'all cannot", "do n't ca n't i 'm y' all can not"),
        ("U.S. Mr. A.B. 5% $5 10km 7pm.", "u.s. mr. a.b. 5 % $ 5 10 km 7 pm ."),
        ("(http://a.com) me@x.org a:b", "( http : // a.com ) me@x.org a : b"),
        (":D <3 ^_^ :-) o.O", ":d <3 ^ _ ^ : - ) o.o"),
        ("6gB 6GB a'' ''b''c ''''d", "6gb 6 gb a '' ' ' b''c '' ' 'd"),
        ("( =D...: =D...:", "( = d ... : =d ... :"),
        ("ΑΣ ΑΣΑ İ É ß", "ας ασα i\u0307 é ß"),
        ("a\n\n b\\c\\n \\t", "a ↵ b\\c\\n \\t"),
        ("中文 가", "中<unk>가"),
    ],
)
def test_words(text, expected):
    assert words(text).split() == expected.split()


def test_unusual_texts(tokenizer):
    rows = tokenizer(["", " \n\t ", "\u2028", b"\xff\xfeis\xc3", "\ufeff\x00"])
    assert rows.to_list()[:3] == [[], [], []] and rows.to_list()[4] == []
    expected = tokenizer("\ufffd\ufffdis\ufffd").numpy().tolist()
    assert rows[3].numpy().tolist() == expected
    assert tokenizer("").dtype == tf.int32
    long = tokenizer("the cat.\n" * 50000).numpy()
    first = tokenizer("the cat.\nthe").numpy()
    assert len(long) % 50000 == 49999 and long[: len(first)].tolist() == first.tolist()


def test_ids_and_framing():
    tokens = ["a", "<unk>", "a</w>", "\n</w>", "ba</w>", "b"]
    tokenizer = GPT1Tokenizer(tokens, ["#version: 0.2", "b a</w>"])
    ids = tokenizer("a ba A\nbaa aab Ba").numpy().tolist()
    assert ids == [2, 4, 2, 3, 5, 0, 2, 0, 0, 1, 4]
    assert (tokenizer.pad_id, tokenizer.unknown_id, tokenizer.end_id) == (0, 1, 6)
    assert tokenizer.start_id == 3 and tokenizer.vocabulary_size == 6
    assert tokenizer.unwritten_ids == (1,) and tokenizer.framing == ((), (), ())
    assert GPT1Tokenizer(["a", "<unk>"], []).start_id == 1
    assert GPT1Tokenizer(["a", "<unk>"], [])("\n a\nb").numpy().tolist() == [1, 1, 1]
    features = {"tokens": [[2, 4]], "padding_mask": [[1, 1]]}
    inputs = {"token_ids": [[2, 4]], "padding_mask": [[1, 1]]}
    assert tokenizer.inputs(features) == inputs
    assert [tokenizer.id_to_token(i) for i in range(6)] == tokens
    ids = {token: i for i, token in enumerate(tokens)}
    assert GPT1Tokenizer(ids, ["b a</w>"]).get_config() == tokenizer.get_config()


def test_rows_of_ids_become_texts(tokenizer):
    texts = ["Don't stop,  the cat!", "a \n b", "", "\n\n"]
    rows = tokenizer(texts)
    expected = [b"do n't stop , the cat !", b"a \n b", b"", b""]
    assert tokenizer.detokenize(rows).numpy().tolist() == expected
    assert tokenizer.detokenize_unfinished(rows).numpy().tolist() == expected
    ended = tf.concat([rows, [[tokenizer.end_id, 1, 10**6, 2]] * 4], axis=1)
    assert tokenizer.detokenize(ended).numpy().tolist() == expected
    dense = ended.to_tensor(10**9)
    assert tokenizer.detokenize(dense).numpy().tolist() == expected
    assert tokenizer.detokenize(dense.numpy().tolist()).numpy().tolist() == expected
    start = [[tokenizer.start_id, 10**6, 2], [2, 10**6, 2]]
    first = GOLDEN["vocabulary"][2].encode()
    assert tokenizer.detokenize(start).numpy().tolist() == [b"", first]
    assert tokenizer.detokenize([[0]]).numpy().tolist() == [b"<unk>"]


@pytest.mark.external
def test_ids_are_those_of_a_published_example(real, shared):
    directory = shared / "oracles" / "gpt1_tiny"
    lines = (directory / "text.txt").read_text("utf-8").splitlines()
    expected = json.loads((directory / "indexed_text.json").read_text("utf-8"))
    assert real(lines).to_list() == expected and len(expected) == 2
    assert real.vocabulary_size == real.end_id == 40478
    assert real.unknown_id == real.pad_id == 0 and real.start_id == 40477


@pytest.mark.slow
@pytest.mark.external
def test_2033_texts_have_the_ids_of_the_rule(differing, oracle):
    assert differing([row["text"] for row in oracle]) == []


@pytest.mark.external
def test_runs_of_white_space_have_the_ids_of_the_rule(differing):
    runs = (r for n in range(1, 4) for r in itertools.product(BLANKS, repeat=n))
    assert differing([f"a{''.join(run)}b" for run in runs]) == []


@pytest.mark.external
@pytest.mark.parametrize("count", [2000, pytest.param(10000, marks=pytest.mark.slow)])
def test_random_texts_have_the_ids_of_the_rule(differing, maker, count):
    assert differing(maker.generate(seed=3, count=count)) == []
    faces = [*":=8xXD<>^oO03.'P|()[]-/*; ", "''", "''a", "a''", "...", "'em"]
    draw = random.Random(4)
    rows = range(count // 2)
    texts = ["".join(draw.choices(faces, k=draw.randrange(25))) for _ in rows]
    assert differing(texts) == []


@pytest.mark.slow
@pytest.mark.external
def test_all_characters_have_the_ids_of_the_rule(differing):
    characters = [chr(i) for i in range(0x110000) if not 0xD800 <= i < 0xE000]
    texts = [f"{c}\na{c}b" for c in characters]
    for start in range(0, len(texts), 2**15):
        assert differing(texts[start : start + 2**15]) == []
