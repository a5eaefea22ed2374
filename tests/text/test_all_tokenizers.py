"""Promises of every tokenizer: copies, pipelines, exported models, files, no texts."""

import copy
import functools
import json
import pathlib
import pickle

import pytest
import tensorflow as tf
from functions import used_operations
from places import GOLDENS
from tiny_cove import tiny_bitext_tokenizer
from tiny_gpt import tiny_byte_tokenizer
from tiny_translator import tiny_tokenizer

from zoo import text
from zoo.serving.graph import TEXT_OPS
from zoo.text.contents import decode
from zoo.text.tokenizer import describe_tokenizer, restore_tokenizer


def golden(file):
    return json.loads((GOLDENS / file).read_text("utf-8"))


FASTAI, OLDER = golden("fastai.json"), golden("fastai_older.json")
GPT1, SUBTOKENS = golden("gpt1.json"), golden("subword_tokenizer.json")
MARIAN = golden("marian/separate/texts.json")["texts"]
TEXTS = ["The the cat[MASK] un un", "", "lows low é \u00c9t\u00e9 cat", "中文 paris."]
TEXTS += ["dog Dog"]
GPT2_TEXTS = ["it's  the end,\n\t isn't it? \u3000", " \x1c\U0001f642\u200d 2\u00b2 "]
SHORT_TREE = "(S (NP (NN cat)) (VP (VBZ sits)))"
BPE_SPECIALS = ["<s>", "<pad>", "</s>", "<unk>"]
CHARACTERS = ["<bos>", "<eos>", *"aeht\u00e9", "<oov>", "<pad>", "<bow>", "<eow>"]
WORDS = ["<oov>", "<pad>", "the", "cat"]


def wordpiece():
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "un", "cat", "##é"]
    return text.WordPieceTokenizer(pieces, lowercase=False, specials_in_text=True)


def fastai(version):
    rows = FASTAI["tokens"] if version == "v2" else OLDER["tokens"][version]
    specials = {"0.7": ["_unk_", "_pad_", "\n", "xbos", "xfld", "1"]}
    common = ["xxunk", "xxpad", "xxbos", "xxeos", "xxfld", "xxrep", "xxwrep"]
    tokens = [*specials.get(version, [*common, "xxup", "xxmaj"])]
    tokens += [token for row in rows for token in row]
    return text.FastaiTokenizer(list(dict.fromkeys(tokens)), version)


def marian(name):
    arguments = {}
    for key, file in text.MarianTokenizer.files.items():
        path = GOLDENS / "marian" / name / file
        if path.is_file():
            arguments[key] = golden(path) if key.endswith("ary") else path
    return text.MarianTokenizer(**arguments)


def byte_pairs():
    codes = ["#version: 0.2", "l o", "lo w</w>", "lo w", "e r</w>", "low er</w>"]
    tokens = [*BPE_SPECIALS, "low", "lower", "low@@", "er", "lo@@", "l@@", "o@@", "s"]
    return text.BytePairTokenizer(codes, tokens, [*BPE_SPECIALS, "low"])


def parsing():
    tokens = text.list_tokens([text.read_tree(SHORT_TREE, clean=True)])
    model = text.train_sentencepiece(["the cat sits", "a dog runs home"] * 4, 300)
    return text.ParsingTokenizer(model, tokens)


def token_list(**options):
    tokens = ["<blank>", "<s>", "</s>", "<unk>", "the", "cat", "\u2581c", "\u00a0"]
    return text.TokenListTokenizer(tokens, **options)


def subwords():
    subtokens = SUBTOKENS["subtokens"]
    target = [*subtokens[:2], "zz_", *subtokens[3:], "z"]
    return text.SubwordTokenizer(subtokens, target)


words = functools.partial(text.WordTokenizer, ["the", "cat", "0"])
characters = functools.partial(text.CharacterTokenizer, 12)
unicode = functools.partial(text.UnicodeSpeller, CHARACTERS)
gpt1 = functools.partial(text.GPT1Tokenizer, GPT1["vocabulary"], GPT1["merges"])
KNOWN, LISTED = ["<S>", "</S>", "<UNK>", "the"], ["<blank>", "<s>", "</s>", "<unk>"]
FILE, JSON = ["vocabulary.txt"], ["vocabulary.json"]
SPELLED, IDS = ("spell", "word_ids"), ("ids",)
# Name: a function that makes the tokenizer, its texts, the names of its files, and
# methods that read the words of texts.
CASES = {
    "wordpiece": (wordpiece, TEXTS, FILE, ()),
    "characters": (characters, TEXTS, [], ("spell",)),
    "characters with words": (lambda: characters(KNOWN, True), TEXTS, FILE, SPELLED),
    "unicode": (unicode, TEXTS, None, ("spell",)),
    "unicode with words": (lambda: unicode(WORDS, 12), TEXTS, None, SPELLED),
    "words": (lambda: words(True, True, "class"), TEXTS, FILE, IDS),
    "words by hash": (lambda: words(unknown="random"), TEXTS, FILE, IDS),
    "words and one unknown": (words, TEXTS, FILE, IDS),
    "bitext": (tiny_bitext_tokenizer, TEXTS, [*FILE, "target.model"], IDS),
    "byte pairs": (byte_pairs, TEXTS, None, ()),
    "gpt2": (tiny_byte_tokenizer, [*TEXTS, *GPT2_TEXTS], None, ()),
    "gpt1": (gpt1, GPT1["texts"][:40], [*JSON, "merges.txt"], ()),
    "fastai 2": (lambda: fastai("v2"), FASTAI["texts"][:60], JSON, ()),
    "fastai 1": (lambda: fastai("v1"), OLDER["texts"][:10], JSON, ()),
    "fastai 0.7": (lambda: fastai("0.7"), OLDER["texts"][:10], JSON, ()),
    "marian joint": (lambda: marian("joint"), MARIAN, None, ()),
    "marian separate": (lambda: marian("separate"), MARIAN, None, ()),
    "sentencepiece": (tiny_tokenizer, TEXTS, None, ()),
    "subwords": (subwords, SUBTOKENS["texts"], None, ()),
    "token list": (token_list, TEXTS, ["tokens.txt"], ()),
    "token lists": (lambda: token_list(target_tokens=LISTED), TEXTS, None, ()),
    "parsing": (parsing, TEXTS, None, ()),
}
PARTS = ("pieces", "starts", "ends")
LONG = ("gpt1", "fastai 2", "fastai 1", "fastai 0.7")
SHOWN = ("wordpiece", "words", "byte pairs", "sentencepiece")
EVERY = pytest.mark.parametrize(
    "name",
    [pytest.param(k, marks=[pytest.mark.slow] if k in LONG else []) for k in CASES],
)


# Arguments that are no paths, or paths of files in another format.
NO_PATHS = {
    text.MarianTokenizer: {"vocabulary", "target_vocabulary"},
    text.SubwordTokenizer: {"subtokens", "target_subtokens"},
    text.UnicodeSpeller: {"vocabulary", "characters"},
}


def results(tokenizer, texts, methods):
    """Dense tensors of all that a tokenizer makes of texts, a dict."""
    tokens = tokenizer(texts)
    found = {"tokens": tokens}
    for unit in ("bytes", "characters"):
        parts = tokenizer.tokenize_with_offsets(texts, unit)
        found |= dict(zip((f"{unit} {name}" for name in PARTS), parts, strict=True))
    for method in methods:
        found[method] = getattr(tokenizer, method)(tokens.to_tensor(""))
    for method in ("targets", "detokenize"):
        if hasattr(tokenizer, method):
            argument = texts if method == "targets" else found.get("targets", tokens)
            if getattr(tokenizer, "target_vocabulary_size", None) or argument is tokens:
                found[method] = getattr(tokenizer, method)(argument)
    return {
        key: value.to_tensor("" if value.dtype == tf.string else -1)
        if isinstance(value, tf.RaggedTensor)
        else value
        for key, value in found.items()
    }


def assert_equal(found, expected):
    assert found.keys() == expected.keys()
    for key, tensor in expected.items():
        tf.debugging.assert_equal(found[key], tensor, key)


@EVERY
def test_copies_and_files_hold_the_tokenizer(name):
    make, texts, files, methods = CASES[name]
    tokenizer, texts = make(), tf.constant(texts)
    config = json.loads(json.dumps(tokenizer.get_config()))
    arguments, contents = tokenizer.to_files()
    assert files is None or [*contents] == files
    assert all(isinstance(content, bytes) for content in contents.values())
    expected = results(tokenizer, texts, methods)
    for other in (
        type(tokenizer).from_config(config),
        type(tokenizer).from_files(json.loads(json.dumps(arguments)), contents),
        restore_tokenizer(json.loads(json.dumps(describe_tokenizer(tokenizer)))),
        copy.deepcopy(tokenizer),
        pickle.loads(pickle.dumps(tokenizer)),
    ):
        assert other.get_config() == tokenizer.get_config() == config
        assert_equal(results(other, texts, methods), expected)


@pytest.mark.shown(*SHOWN)
@EVERY
def test_pipelines_and_exported_models_compute_the_same(name, tmp_path):
    make, texts, _, methods = CASES[name]
    module, texts = tf.Module(), tf.constant(texts)
    module.tokenizer = make()
    expected = results(module.tokenizer, texts, methods)
    module.call = tf.function(
        lambda texts: results(module.tokenizer, texts, methods),
        input_signature=[tf.TensorSpec((None,), tf.string)],
    )
    data = tf.data.Dataset.from_tensors(texts)
    data = data.map(lambda texts: results(module.tokenizer, texts, methods))
    assert_equal(next(iter(data)), expected)
    tf.saved_model.save(module, str(tmp_path))
    loaded = tf.saved_model.load(str(tmp_path))
    assert_equal(loaded.call(texts), expected)
    used = used_operations(module.call.get_concrete_function().graph)
    assert {op for op in used if "Text>" in op} <= TEXT_OPS
    assert not {"PyFunc", "EagerPyFunc"} & used


@pytest.mark.parametrize("name", CASES)
def test_files_may_be_given_by_their_paths(name, tmp_path):
    tokenizer = CASES[name][0]()
    arguments, contents = tokenizer.to_files()
    files = {key: file for key, file in tokenizer.files.items() if file in contents}
    values = {key: decode(contents[file], file) for key, file in files.items()}

    def make(key, path):
        return type(tokenizer)(**arguments, **{**values, key: path})

    for key in files.keys() - NO_PATHS.get(type(tokenizer), ()):
        path = tmp_path / files[key]
        path.write_bytes(contents[files[key]])
        for form in (str, pathlib.Path):
            assert make(key, form(path)).get_config() == tokenizer.get_config()
        with pytest.raises(FileNotFoundError, match="none"):
            make(key, tmp_path / "none")
    if hasattr(tokenizer, "save_vocabulary"):
        tokenizer.save_vocabulary(tmp_path / "saved.txt")
        assert (tmp_path / "saved.txt").read_bytes() == contents["vocabulary.txt"]


@pytest.mark.parametrize("name", CASES)
def test_single_texts_no_texts_and_no_tokens(name):
    make, texts, _, _ = CASES[name]
    tokenizer, texts = make(), texts[:9]
    rows = tokenizer(texts).to_list()
    assert [tokenizer(text).numpy().tolist() for text in texts] == rows
    assert tokenizer(tf.constant(texts[0])).numpy().tolist() == rows[0]
    assert tokenizer([]).to_list() == tokenizer(tf.zeros(0, tf.string)).to_list() == []
    assert tokenizer(["", ""]).to_list() == [[], []] and tokenizer("").shape == (0,)
    for unit in ("bytes", "characters"):
        for texts, empty in (([], []), (["", ""], [[], []])):
            parts = tokenizer.tokenize_with_offsets(texts, unit)
            assert [part.to_list() for part in parts] == [empty] * 3
    if hasattr(tokenizer, "detokenize"):
        texts = tokenizer.detokenize(tf.zeros((2, 0), tf.int32))
        assert texts.numpy().tolist() == [b"", b""]


@pytest.mark.parametrize("name", CASES)
def test_what_is_no_text_no_unit_and_no_id_is_refused(name):
    tokenizer = CASES[name][0]()
    for texts in (3, [1, 2], None, [["the"], 1], [1.5]):
        with pytest.raises(TypeError, match="`texts` must be a str, or a list"):
            tokenizer.tokenize_with_offsets(texts)
    with pytest.raises(ValueError, match=r"one dimension. Received: shape=\(1, 1\)"):
        tokenizer.tokenize_with_offsets([["the"]])
    with pytest.raises(ValueError, match="`unit` must be one of 'bytes', 'characters'"):
        tokenizer.tokenize_with_offsets("the", unit="words")
    has_ids = isinstance(tokenizer, text.SentencePieceTokenizer)
    for id in (-1, 10**6) if has_ids or tokenizer.all_tokens() else ():
        with pytest.raises(ValueError, match=rf"must be in \[0, \d+\). .*id={id}\."):
            tokenizer.id_to_token(id)
