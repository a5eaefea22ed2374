"""Learns the vocabularies of tokenizers, and writes the files that they read."""

import collections
import inspect

from zoo.checks.number_rules import numbers_checked
from zoo.checks.ranges import check_choice
from zoo.files.buckets import local_path
from zoo.files.lines import corpus_lines
from zoo.files.path_checks import check_writable
from zoo.files.whole_files import check_empty, filling, replacing, write_json
from zoo.text import (
    BytePairTokenizer,
    GPT2Tokenizer,
    save_vocabulary,
    train_bpe,
    train_byte_bpe,
    train_fastai_vocabulary,
    train_sentencepiece,
    train_wordpiece,
)
from zoo.text.english.fastai_training import count_tokens
from zoo.text.learning.gpt2_training import count_pieces
from zoo.text.learning.sentencepiece_training import count_plain_words
from zoo.text.learning.wordpiece_training import count_words


def save_sentencepiece(model, path):
    """Writes the result of `train_sentencepiece` to a `.model` file."""
    with replacing(path) as temporary:
        temporary.write_bytes(model)


def save_bpe(codes_and_tokens, path):
    """Writes the result of `train_bpe` to the files of a new directory."""
    names = BytePairTokenizer.files["codes"], BytePairTokenizer.files["vocabulary"]
    with filling(path) as directory:
        for name, lines in zip(names, codes_and_tokens, strict=True):
            save_vocabulary(lines, directory / name)


def save_byte_bpe(tokens_and_merges, path):
    """Writes the result of `train_byte_bpe` to the files of a new directory.

    They have the format of GPT-2's files: a dict of token to id, and lines of merges.
    """
    tokens, merges = tokens_and_merges
    with filling(path) as directory:
        ids = {token: i for i, token in enumerate(tokens)}
        save_json(ids, directory / GPT2Tokenizer.files["vocabulary"])
        lines = [MERGES_HEADER, *merges]
        save_vocabulary(lines, directory / GPT2Tokenizer.files["merges"])


def save_json(tokens, path):
    """Writes tokens to a `.json` file."""
    write_json(path, tokens, ensure_ascii=False)


MERGES_HEADER = "#version: 0.2"  # without it, other programs skip the first merge
# The functions that learn and write each kind, and those that count its texts.
KINDS = {
    "wordpiece": (train_wordpiece, save_vocabulary),
    "sentencepiece": (train_sentencepiece, save_sentencepiece),
    "bpe": (train_bpe, save_bpe),
    "byte_bpe": (train_byte_bpe, save_byte_bpe),
    "fastai": (train_fastai_vocabulary, save_json),
}

COUNTERS = {
    "wordpiece": count_words,
    "sentencepiece": count_plain_words,
    "byte_bpe": count_pieces,
    "fastai": count_tokens,
}


@numbers_checked()
def learn_vocabulary(texts, kind, size, output, **options):
    """Learns a vocabulary from texts and writes it. Equal texts give equal files.

    Args:
        texts: iterable of str or of `pathlib.Path`, see `zoo.text.train_wordpiece`; or
            the counts of a function of `COUNTERS`.
        kind: "wordpiece", "sentencepiece", "bpe", "byte_bpe" or "fastai".
        size: int, the largest number of tokens, special ones included.
        output: path of the file, which is replaced if it exists. For the kinds of bpe,
            path of a directory that is empty or does not exist, for the two files of
            `BytePairTokenizer` or `GPT2Tokenizer`.
        **options: of the function that learns the kind, such as
            `zoo.text.train_wordpiece`.

    Raises:
        FileExistsError: if the directory is not empty.
        FileNotFoundError: if there is no such file of texts.
        OSError: if the output cannot be written.
        ValueError: if the kind is unknown or has no such option, there are no words,
            or the size is too small for the characters.
    """
    learn, save = KINDS[check_choice("kind", kind, KINDS)]
    unknown = options.keys() - inspect.signature(learn).parameters.keys()
    if unknown:
        raise ValueError(
            f"A vocabulary of kind {kind!r} is learned without some options. Received: "
            f"{', '.join(sorted(unknown))}. Leave them out."
        )
    files = local_path(output)
    if kind in ("bpe", "byte_bpe"):
        check_empty(output)
        files = files / "vocabulary"
    check_writable(files)
    if not isinstance(texts, collections.Counter):
        texts = _with_words(texts)
    save(learn(texts, size, **options), local_path(output))


def _with_words(texts):
    """Yields texts and the lines of files; raises ValueError if none has a word."""
    empty = True
    for line in corpus_lines(texts):
        empty = empty and not line.strip()
        yield line
    if empty:
        raise ValueError("Texts for a vocabulary must have words. Received: none.")
