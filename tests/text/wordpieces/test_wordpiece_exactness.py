"""WordPieceTokenizer against Google's own, in every way of running it."""

import random

import keras
import pytest
import tensorflow as tf
from functions import used_operations

from zoo.text import WordPieceTokenizer

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
# Ops of TensorFlow Text that TF Serving links, as far as a tokenizer may need them.
SERVED_OPS = {"FastBertNormalize", "FastWordpieceTokenizeWithOffsets"}
RANGES = [(0x80, 0x3000), (0x300, 0x370), (0xAC00, 0xD7A4), (0x3400, 0xA000)]
RANGES += [(0x20000, 0x30000), (0xE000, 0x110000), (0x10000, 0x20000)]
RANGES += [(0x100000, 0x110000)]


def random_character(draw):
    kind = draw.random()
    if kind < 0.3:
        return draw.choice("abcdeABCDE 12,.'!  ")
    if kind < 0.4:
        return draw.choice("ΣσςΑαΒ’·.:\u0301\u0345ʰ\u00ad\u200b")
    if kind < 0.5:
        return draw.choice(" \t\n\r\u00a0\u3000\u2028\x0b\x1c\x85\x00\ufffd\x7f")
    return chr(draw.randrange(*draw.choice(RANGES)))


def random_text(draw):
    """Returns bytes: any characters, sometimes a long word, sometimes garbage."""
    size = draw.choice([0, 1, 2, 5, 20, 60])
    text = "".join(random_character(draw) for _ in range(size))
    if draw.random() < 0.05:
        text += draw.choice("aé한Σ\U0001d400") * draw.choice([199, 200, 201, 250])
        text += draw.choice(["", "b", " b", "\u0301"])
    data = text.encode()
    for _ in range(draw.choice([0, 0, 3])):
        i = draw.randrange(len(data) + 1)
        data = data[:i] + draw.randbytes(draw.randrange(3)) + data[i + 1 :]
    return data


def random_vocabulary(draw, words):
    """Returns tokens that spell about half of the words."""
    tokens = set()
    for word in words:
        first = draw.randrange(len(word))
        part = word[first : first + draw.randrange(1, 5)]
        tokens.add("##" * (first > 0) + part)
        if draw.random() < 0.7:
            tokens |= {word[0], *("##" + c for c in word[1:])}
    return SPECIALS + sorted(tokens - {"##"} - set(SPECIALS))


@pytest.fixture(scope="module", params=[True, False], ids=["uncased", "cased"])
def fuzz(request, google):
    """Random texts, a tokenizer with a vocabulary made for them, and the answers."""
    draw = random.Random(14)
    texts = [random_text(draw) for _ in range(1500)]
    decoded = [text.decode(errors="ignore") for text in texts]
    words = [w for text in decoded for w in google.split(text, request.param)]
    vocabulary = random_vocabulary(draw, [w for w in words if len(w) <= 200])
    tokenizer = WordPieceTokenizer(vocabulary, lowercase=request.param)
    known = set(vocabulary)
    expected = [google.tokenize(text, known, request.param) for text in decoded]
    ids = [[tokenizer.token_to_id(t) for t in row] for row in expected]
    assert 0.02 < sum(row.count(1) for row in ids) / sum(map(len, ids)) < 0.5
    return tokenizer, texts, ids


def test_fuzz_eagerly_and_in_a_dataset(fuzz):
    tokenizer, texts, expected = fuzz
    assert tokenizer(texts).to_list() == expected
    batches = tf.data.Dataset.from_tensor_slices(texts).batch(32).map(tokenizer)
    assert [row for ids in batches for row in ids.to_list()] == expected


@pytest.mark.parametrize("unit", ["bytes", "characters"])
def test_fuzz_offsets(fuzz, google, unit):
    tokenizer, texts, expected = fuzz
    if unit == "characters":
        texts = [text.decode(errors="ignore") for text in texts]
    spans = tokenizer.tokenize_with_offsets(texts, unit=unit)
    assert spans[0].to_list() == expected
    rows = zip(texts, *(span.to_list() for span in spans), strict=True)
    for text, ids, starts, ends in rows:
        assert starts == sorted(starts) and ends == sorted(ends)
        for i, start, end in zip(ids, starts, ends, strict=True):
            part = text[start:end]
            part = part if unit == "characters" else part.decode(errors="ignore")
            words = "".join(google.split(part, tokenizer.lowercase))
            piece = tokenizer.id_to_token(i)
            piece = piece[2:] if len(piece) > 2 else piece
            same_sigma = words.replace("ς", "σ")
            assert words and (i == 1 or piece.replace("ς", "σ") in same_sigma)


@pytest.mark.shown("uncased")
def test_export(fuzz, tmp_path):
    tokenizer, texts, expected = fuzz
    archive = keras.export.ExportArchive()
    archive.track(tokenizer)
    signature = [tf.TensorSpec([None], tf.string, name="text")]
    archive.add_endpoint("serve", lambda x: tokenizer(x).to_tensor(-1), signature)
    archive.write_out(str(tmp_path), verbose=False)
    loaded = tf.saved_model.load(str(tmp_path))
    rows = loaded.serve(tf.constant(texts)).numpy()
    assert [row[row >= 0].tolist() for row in rows] == expected
    assert loaded.serve(tf.constant([], tf.string)).shape[0] == 0
    ops = used_operations(loaded.signatures["serve"].graph)
    text_ops = {op for op in ops if "Text>" in op or op.startswith("Fast")}
    assert text_ops == SERVED_OPS
    assert not {op for op in ops if "PyFunc" in op or "Table" in op}


@pytest.mark.external
@pytest.mark.parametrize("case", ["uncased", "cased"])
def test_google_oracle(shared, oracle, case):
    vocabulary = shared / "oracles" / "vocab" / f"bert_base_{case}_vocab.txt"
    tokenizer = WordPieceTokenizer(vocabulary, lowercase=case == "uncased")
    expected = [[tokenizer.token_to_id(t) for t in row[case]] for row in oracle]
    assert tokenizer([row["text"] for row in oracle]).to_list() == expected
