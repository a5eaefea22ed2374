"""Word vectors that a training run learns from plain texts before it starts."""

import itertools

import numpy as np
import tensorflow as tf

from zoo.backbone.config import check_fields
from zoo.checkpoint import read_vectors, write_vectors
from zoo.files.lines import corpus_lines
from zoo.pretraining.recipes import check_patterns, find_files
from zoo.programs.vectors.word_vectors import SkipGramTraining, train_word_vectors
from zoo.text import CharacterTokenizer

VECTORS = "vectors.txt"
LINES_AT_ONCE = 2048  # lines of text that are split into words at a time


def check_vectors(options):
    """Raises ValueError if options of `learn_vectors` are wrong, or have no texts."""
    if not options:
        return
    if not options.get("texts"):
        raise ValueError(
            "`vectors` must have `texts`, a list of patterns of text files. "
            f"Received: {options}."
        )
    check_patterns("texts", options["texts"], least=1)
    fields = {name: value for name, value in options.items() if name != "texts"}
    check_fields("`vectors`", SkipGramTraining, fields)


def learn_vectors(options, data, output):
    """Learns word vectors, or reads those that an earlier call stored in `output`.

    `options` has `texts`, glob patterns of files in `data`, and arguments of
    `zoo.train_word_vectors`; {} for no vectors. They are stored in `vectors.txt` of the
    directory `output`. Returns words (V,), the most frequent first, and vectors float32
    (V, D) of length 1; None without options.
    """
    options = dict(options)
    if not options:
        return None
    path = output / VECTORS
    if not path.exists():
        texts = split_texts(find_files(data, options.pop("texts")))
        write_vectors(path, *train_word_vectors(texts, **options))
    words, vectors = read_vectors(path)
    return words, vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def split_texts(paths):
    """Yields the lines of text files, bytes, with white space around punctuation.

    Only the first column of a line with tabs is read, such as the first language of a
    file of translations. Empty lines are left out.
    """
    return split_lines(line.split("\t")[0] for line in corpus_lines(paths))


def split_lines(lines):
    """Yields lines with white space around punctuation, see `split_texts`."""
    tokenizer, lines = CharacterTokenizer(punctuation=True), iter(lines)
    while batch := list(itertools.islice(lines, LINES_AT_ONCE)):
        words = tokenizer(tf.constant(batch))
        joined = tf.strings.reduce_join(words, axis=1, separator=" ").numpy()
        yield from filter(None, joined.tolist())
