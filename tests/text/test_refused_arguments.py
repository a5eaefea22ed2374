"""Arguments of tokenizers, of trees and of training that are refused."""

import json

import pytest
from places import GOLDENS

from zoo import text
from zoo.text import Vocabulary
from zoo.text.byte_pairs.gpt2_tokenizer import END, byte_symbols

GPT1 = ["<unk>", "a", "b"]
GPT2 = [*byte_symbols(), END]
FASTAI = ["xxunk", "xxpad", "xxbos"]
FASTAI_07 = ["_unk_", "_pad_", "\n", "xbos", "xfld", "1"]
SPECIALS = ["<s>", "<pad>", "</s>", "<unk>"]
BERT = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
CODES = ["#version: 0.2", "l o"]
PIECES = [*SPECIALS, "low"]
SUBTOKENS = json.loads((GOLDENS / "subword_tokenizer.json").read_text())["subtokens"]
WORDS = ["<S>", "</S>", "<UNK>", "the"]
CHARACTERS = ["<bos>", "<eos>", "<oov>", "<pad>", "<bow>", "<eow>", "t"]
LISTED = ["<blank>", "<s>", "</s>", "<unk>"]
SITS = "(S (NP (NN cat)) (VP (VB sits)))"
BOTH = ("S", ("NP", ("NP", "a")))

# Function: its arguments, and what the error says.
VALUES = {
    text.GPT1Tokenizer: [
        ((["a"], []), r"must have '<unk>'.*1 missing.*\['<unk>'\]"),
        ((GPT1, ["a b"]), r"1 missing ones, such as \['ab'\].*two files"),
        (([*GPT1, "a"], []), "no token twice. Received: 'a' twice"),
        (({"<unk>": 0, "a": 2}, []), "must be 0, 1, 2 and so on"),
        ((GPT1, ["a b c d"]), "two symbols, separated by a space.*'a b c d'"),
    ],
    text.GPT2Tokenizer: [
        ((GPT2[:-1], []), "all bytes.*1 missing ones"),
        ((GPT2, ["a b"]), "1 missing ones.*'ab'"),
        (([*GPT2, END], []), "twice"),
        ((GPT2, ["a"]), "two symbols"),
        (({"a": 0, "b": 2}, []), "0, 1, 2 and so on"),
    ],
    text.FastaiTokenizer: [
        ((FASTAI[1:],), r"without \['xxunk'\]"),
        ((FASTAI[::2],), r"without \['xxpad'\]"),
        ((FASTAI[:2],), r"without \['xxbos'\]"),
        (([*FASTAI, "a", "a"],), "'a' at ids 3 and 4"),
        ((FASTAI, "v3"), "must be one of 'v2', 'v1', '0.7'.*Received: 'v3'"),
        ((FASTAI, "0.7"), r"\['_unk_', '_pad_', 'xbos'\].*without"),
        ((FASTAI_07, "v1"), r"\['xxunk', 'xxpad', 'xxbos'\].*without"),
    ],
    text.WordTokenizer: [
        ((["a", "b", "a"],), "repeated tokens.*'a' at ids 0 and 2"),
        ((["a", ""],), "must not have empty tokens"),
        ((["a", "<S>"],), r"must not have special tokens.*\['<S>'\]"),
        ((["<unk>"], True), "must not have special tokens"),
        ((["<NUMBER>"], False, False, "class"), "not have special tokens"),
        ((["a"], False, False, "hash"), "`unknown` must be one of.*'hash'"),
    ],
    text.BytePairTokenizer: [
        ((["a"], PIECES), "two symbols.*Received: 'a' in line 1"),
        ((["#version: 0.2", "a b", "a b c"], PIECES), "'a b c' in line 3"),
        ((["#version: 0.3", "a b"], PIECES), "version 0.1 or 0.2"),
        ((CODES, [*SPECIALS[1:], "a", "a"]), "no repeated tokens. Received: 'a'"),
        ((CODES, ["a", "</s>"]), r"without \['<pad>', '<unk>'\]"),
        ((CODES, PIECES, SPECIALS[::-1]), "the same special tokens"),
    ],
    text.SubwordTokenizer: [
        (([s for s in SUBTOKENS if s != "7"],), r"as a subtoken.*without \['7'\]"),
        (([*SUBTOKENS, "a" * 257],), "at most 256 bytes each"),
    ],
    text.WordPieceTokenizer: [
        (([*BERT, "é" * 129],), "at most 256 bytes. Received: 'éé.* 258 b"),
        (([*BERT[:4], "the"],), r"without \['\[MASK\]'\]"),
    ],
    text.CharacterTokenizer: [
        ((2,), "at least 3"),
        ((12, ["</S>", "<S>", "<UNK>"]), "must begin with <S>, </S>, <UNK>"),
        ((12, WORDS[::-1]), "must begin with <S>"),
        ((12, WORDS[:2]), r"without \['<UNK>'\]"),
        ((12, []), "special tokens"),
        ((12, [*WORDS, "the"]), "'the' at ids 3 and 4"),
        ((12, [*WORDS, " "]), "empty one at id 4"),
    ],
    text.UnicodeSpeller: [
        ((CHARACTERS[1:],), "`characters` must include.*without <bos>"),
        (([*CHARACTERS, "t"],), "repeated entries.*'t'"),
        ((CHARACTERS, ["<pad>", "a"]), "`vocabulary` must.*without <oov>"),
        ((CHARACTERS, [*CHARACTERS[:4], "t", "t"]), "repeated entries.*'t'"),
        ((CHARACTERS, [*CHARACTERS[:4], "t\nt"]), "or line breaks"),
        ((CHARACTERS, CHARACTERS[:4], 2), "at least 3"),
    ],
    text.TokenListTokenizer: [
        ((["<blank>", "</s>", "<unk>"],), "must include the special token '<s>'"),
        ((LISTED, [*LISTED[1:], "<blank>"]), "padding at the same id. .* 0 and 3"),
    ],
    Vocabulary: [
        ((["a", " ", "b"],), "not have empty tokens. Received an empty one at id 1"),
        ((["a", "b", "a "],), "repeated tokens. Received 'a' at ids 0 and 2"),
        ((["a"], ["[UNK]"]), r"tokens \['\[UNK\]'\]. Received 1 tokens without"),
    ],
    text.train_bpe: [
        ((["ab"],), "Exactly one"),
        ((["ab"], 10, 10), "Exactly one"),
        ((["ab"], 5), "special tokens and the characters, 6"),
    ],
    text.train_byte_bpe: [((["a"], 256), "must hold at least 257")],
    text.train_fastai_vocabulary: [
        ((["a"], 8), "`size` must hold the 9 special tokens"),
        ((["a"], 99, 0), "`minimum_count` must be an integer from 1"),
    ],
    text.train_wordpiece: [
        ((["low"], 9), "must hold the special .* Received: .*=9"),
        ((["low"], 99, True, 0), "`character_coverage` must be a number"),
    ],
    text.count_words: [((["a"], 0), "`minimum` must be an integer from 1")],
    text.read_tree: [
        ((SITS + SITS,), "must be one bracket. Received: 2"),
        (("",), "must be one bracket. Received: 0"),
    ],
    text.write_tree: [
        ((("S", ("NN", "a b")),), "must have characters, and no white"),
        ((("S", ("NN", "")),), "must have characters, and no white"),
        ((("S(", ("NN", "a")),), "must have characters, and no white"),
    ],
    text.linearize: [
        ((("S", "a"), "other"), "`kind` must be one of 'tensor2tensor', 'vinyals'"),
    ],
    text.list_tokens: [
        (([BOTH],), "must not be the label of a phrase. .*NP"),
        (([("S", ("#0", "a"))], "numbered"), "nor a number. Received: #0"),
        (([("S", ("#3", ("NP", "a")))], "numbered"), "nor a number. Received: #3"),
    ],
}
PATH = "`vocabulary` must be a path or a sequence"
TYPES = {
    text.GPT1Tokenizer: [
        (([*GPT1, 5], []), "an entry 5"),
        ((5, []), "must be the path of a JSON file"),
    ],
    text.GPT2Tokenizer: [(([1], []), "list of str")],
    text.FastaiTokenizer: [
        (([*FASTAI, 5],), "an entry 5"),
        ((5,), "must be a list of str"),
    ],
    text.SubwordTokenizer: [(([*SUBTOKENS, 5],), "sequence of str. Received: 5")],
    text.CharacterTokenizer: [((12, [*WORDS, 3]), "sequence of str. Received: 3")],
    text.UnicodeSpeller: [
        (("abc",), "`characters` must be a sequence of str"),
        (([*CHARACTERS, 1],), "`characters` must be a sequence of str"),
    ],
    text.TokenListTokenizer: [
        ((LISTED, [*LISTED, 1]), "`target_tokens` must be a path or a sequence"),
    ],
    Vocabulary: [(([b"a"],), PATH), ((3,), PATH), ((None,), PATH), ((b"a",), PATH)],
    text.train_bpe: [(("ab", 10), "single str")],
    text.train_byte_bpe: [(("a text", 300), "iterable of texts")],
    text.train_fastai_vocabulary: [(("a b",), "Put it in a list")],
    text.train_wordpiece: [
        ((texts, 1000), "`texts` must") for texts in ("text", b"text", [1])
    ],
    text.count_words: [(("a b",), "must be an iterable of texts")],
}
ROWS = [
    pytest.param(function, *row, error, id=f"{function.__name__}-{error.__name__}-{n}")
    for error, table in ((ValueError, VALUES), (TypeError, TYPES))
    for function, rows in table.items()
    for n, row in enumerate(rows)
]


@pytest.mark.parametrize("function, arguments, message, error", ROWS)
def test_refused_arguments(function, arguments, message, error):
    with pytest.raises(error, match=message):
        function(*arguments)
