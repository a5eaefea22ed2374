"""Memory of tokenizers, if one text is much longer than the other ones of its batch."""

import json

import pytest
from places import GOLDENS
from python_process import run_python

MEASURE = """
import json, pathlib, re, resource, sys

from zoo.text import (
    BytePairTokenizer, CharacterTokenizer, FastaiTokenizer, GPT1Tokenizer,
    GPT2Tokenizer, SubwordTokenizer, UnicodeSpeller, WordPieceTokenizer, WordTokenizer,
    train_byte_bpe, train_sentencepiece, SentencePieceTokenizer,
)
from zoo.text.english.gpt1_tokenizer import LINE_BREAK

goldens = pathlib.Path(sys.argv[1])
read = lambda name: json.loads((goldens / name).read_text("utf-8"))
gpt1, special = read("gpt1.json"), ["<s>", "<pad>", "</s>", "<unk>"]
letters = ["a", "b"]
corpus = ["the old house and the other one"] * 4
fastai = {
    "v2": ["xxunk", "xxpad", "xxbos"], "v1": ["xxunk", "xxpad", "xxbos"],
    "0.7": ["_unk_", "_pad_", "xbos"],
}
TOKENIZERS = {
    "BPE": lambda: BytePairTokenizer(["#version: 0.2", "a b"], [*special, *letters]),
    "BPE 0.1": lambda: BytePairTokenizer(["a b"], [*special, *letters]),
    "GPT-1": lambda: GPT1Tokenizer(gpt1["vocabulary"], gpt1["merges"]),
    "GPT-2": lambda: GPT2Tokenizer(*train_byte_bpe(corpus, 300)),
    "subword": lambda: SubwordTokenizer(read("subword_tokenizer.json")["subtokens"]),
    "WordPiece": lambda: WordPieceTokenizer(
        ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters]
    ),
    "SentencePiece": lambda: SentencePieceTokenizer(train_sentencepiece(corpus, 280)),
    "words": lambda: WordTokenizer(letters),
    "characters": lambda: CharacterTokenizer(punctuation=True),
    **{f"fastai {v}": lambda v=v: FastaiTokenizer(fastai[v], v) for v in fastai},
}


def peak():
    status = pathlib.Path("/proc/self/status")
    if status.exists():
        return int(re.search(r"VmHWM:\\s+(\\d+) kB", status.read_text())[1]) / 1024
    usage = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return usage / 1024 ** (2 if sys.platform == "darwin" else 1)


SIZE = 100_000
LONG = {
    "letters": "ab" * (SIZE // 2),
    "one letter": "a" * SIZE,
    "marks": "a-b." * (SIZE // 8),
    "words": "a b " * (SIZE // 8),
    "equal words": "a " * (SIZE // 4),
}
short = [f"w{i}" for i in range(4000)]
found = {}
for kind, make in TOKENIZERS.items():
    tokenizer = make()
    for call in (tokenizer, tokenizer.tokenize_with_offsets):
        call(short)
        for name, text in LONG.items():
            before = peak()
            call([*short, text])
            found[f"{kind}, {name}, {call}"] = peak() - before
print(json.dumps(found))
"""


@pytest.mark.slow
def test_memory_does_not_grow_with_rows_times_the_longest():
    growth = json.loads(run_python(MEASURE, GOLDENS).stdout.splitlines()[-1])
    # A matrix of 4,000 rows of 100,000 numbers has 3,200 MB.
    assert {k: v for k, v in growth.items() if v > 300} == {}
