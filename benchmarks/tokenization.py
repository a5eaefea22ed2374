"""Tokenizer speed on one core, as a ratio to TensorFlow Text's `FastBertTokenizer`.

    python -m benchmarks.tokenization --data DIR

DIR has `wikitext2/wiki.train.tokens.gz` and `tatoeba_en_fr/train.tsv.gz`. The two
tokenizers take turns on the same batch with the same vocabulary. That of TensorFlow
Text is not exact: it folds case by NFKC and counts the bytes of words. So its ids may
differ.
"""

import argparse
import functools
import gzip
import json
import pathlib

import tensorflow as tf
import tensorflow_text as tf_text

from benchmarks.peers import limit_tensorflow, median_seconds
from zoo.text import WordPieceTokenizer, train_wordpiece

WORDS = 90  # a chunk of WikiText, as one example of pretraining


def read_texts(data, count):
    """Reads the texts of the two workloads, a dict of name to list of str."""
    data = pathlib.Path(data)
    with gzip.open(data / "wikitext2" / "wiki.train.tokens.gz", "rt") as file:
        words = file.read().split()
    chunks = [" ".join(words[i : i + WORDS]) for i in range(0, len(words), WORDS)]
    with gzip.open(data / "tatoeba_en_fr" / "train.tsv.gz", "rt") as file:
        french = [line.rstrip("\n").split("\t")[1] for line in file]
    return {"wikitext2": chunks[:count], "tatoeba_fr": french[: 4 * count]}


def measure(texts, vocabulary, lowercase, repetitions):
    """The median seconds of a pass, for ours and the peer, which take turns."""
    texts = tf.constant(texts)
    peer = tf_text.FastBertTokenizer(
        vocabulary, lower_case_nfd_strip_accents=lowercase, token_out_type=tf.int32
    )
    ours = functools.partial(WordPieceTokenizer(vocabulary, lowercase), texts)
    theirs = functools.partial(peer.tokenize, texts)
    times = median_seconds({"zoo": ours, "peer": theirs}, repetitions)
    return *times.values(), theirs().values.shape[0]


def main(arguments=None):
    """Prints one JSON line for each workload and casing."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", required=True, help="directory of the corpora")
    parser.add_argument("--vocabulary", help="vocab.txt; by default one is learned")
    parser.add_argument("--count", type=int, default=4096, help="WikiText chunks")
    parser.add_argument("--repetitions", type=int, default=15)
    options = parser.parse_args(arguments)
    limit_tensorflow(1)
    workloads = read_texts(options.data, options.count)
    for lowercase in (True, False):
        if options.vocabulary:
            path = pathlib.Path(options.vocabulary)
            vocabulary = path.read_text("utf-8").split("\n")[:-1]
        else:
            corpus = [text for texts in workloads.values() for text in texts]
            vocabulary = train_wordpiece(corpus, 8000, lowercase)
        for name, texts in workloads.items():
            ours, peer, tokens = measure(
                texts, vocabulary, lowercase, options.repetitions
            )
            result = {
                "workload": name,
                "lowercase": lowercase,
                "zoo_ms": round(1e3 * ours, 2),
                "fast_bert_ms": round(1e3 * peer, 2),
                "ratio": round(peer / ours, 3),
                "zoo_tokens_per_s": round(tokens / ours),
            }
            print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
