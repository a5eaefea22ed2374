"""Speed of tokenizers on one core, as a ratio to those of other libraries.

    python -m benchmarks.tokenization --data DIR
    python -m benchmarks.tokenization --data DIR --gpt2 VOCABULARY MERGES

DIR has `wikitext2/wiki.train.tokens.gz` and `tatoeba_en_fr/train.tsv.gz`, and for GPT-2
`books/train-00.txt.xz`. Both tokenizers take turns on the same batches with the same
vocabulary.

- The peer is TensorFlow Text's `FastBertTokenizer`. It is not exact: it folds case by
  NFKC and counts the bytes of words. So its ids may differ.
- With `--gpt2`, our `GPT2Tokenizer` is compared with the library `tokenizers`.
  VOCABULARY and MERGES are such as encoder.json and vocab.bpe. All ids must be equal.
"""

import argparse
import functools
import gzip
import json
import lzma
import os
import pathlib

import tensorflow as tf
import tensorflow_text as tf_text

from benchmarks.peers import limit_tensorflow, median_seconds
from zoo.text import GPT2Tokenizer, WordPieceTokenizer, train_wordpiece

WORDS = 90  # a chunk of WikiText, as one example of pretraining
BATCHES = 64, 512, 4096  # of the tokenizers of GPT-2


def read_texts(data, count):
    """Reads the texts of the two workloads, a dict of name to list of str."""
    with gzip.open(data / "wikitext2" / "wiki.train.tokens.gz", "rt") as file:
        words = file.read().split()
    chunks = [" ".join(words[i : i + WORDS]) for i in range(0, len(words), WORDS)]
    with gzip.open(data / "tatoeba_en_fr" / "train.tsv.gz", "rt") as file:
        french = [line.rstrip("\n").split("\t")[1] for line in file]
    return {"wikitext2": chunks[:count], "tatoeba_fr": french[: 4 * count]}


def read_lines(data, count):
    """The first paragraphs of the books, list of str."""
    with lzma.open(data / "books" / "train-00.txt.xz", "rt", encoding="utf-8") as file:
        lines = (line.strip() for line in file)
        return [line for line in lines if line][:count]


def each(tokenize, batches):
    """The tokens of each batch, a list."""
    return [tokenize(batch) for batch in batches]


def measure(ours, theirs, tokens, repetitions):
    """The speed of two calls that take turns, a dict."""
    times = median_seconds({"zoo": ours, "peer": theirs}, repetitions)
    found = {"ratio": round(times["peer"] / times["zoo"], 3)}
    for name, seconds in times.items():
        found[f"{name}_ms"] = round(1e3 * seconds, 2)
        found[f"{name}_tokens_per_s"] = round(tokens / seconds)
    return found


def compare_wordpieces(data, options):
    """The results of the word pieces, for each workload and casing."""
    workloads = read_texts(data, options.count)
    for lowercase in (True, False):
        if options.vocabulary:
            text = pathlib.Path(options.vocabulary).read_text("utf-8")
            vocabulary = text.split("\n")[:-1]
        else:
            corpus = [text for texts in workloads.values() for text in texts]
            vocabulary = train_wordpiece(corpus, 8000, lowercase)
        peer = tf_text.FastBertTokenizer(
            vocabulary, lower_case_nfd_strip_accents=lowercase, token_out_type=tf.int32
        )
        tokenizer = WordPieceTokenizer(vocabulary, lowercase)
        for name, texts in workloads.items():
            batch = tf.constant(texts)
            calls = (functools.partial(f, batch) for f in (tokenizer, peer.tokenize))
            tokens = peer.tokenize(batch).values.shape[0]
            speeds = measure(*calls, tokens, options.repetitions)
            yield {"workload": name, "lowercase": lowercase, **speeds}


def compare_bytes(data, options):
    """The results of the byte pairs of GPT-2, for each size of a batch.

    Raises:
        ValueError: if the ids differ.
    """
    os.environ["RAYON_NUM_THREADS"] = "1"  # before `tokenizers` is imported
    import tokenizers

    texts = read_lines(data, options.count)
    ours = tf.function(GPT2Tokenizer(*options.gpt2), [tf.TensorSpec([None], tf.string)])
    peer = tokenizers.Tokenizer(tokenizers.models.BPE.from_file(*options.gpt2))
    peer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    for size in BATCHES:
        batches = [texts[start : start + size] for start in range(0, len(texts), size)]
        tensors = [tf.constant(batch) for batch in batches]
        rows = [row for part in each(ours, tensors) for row in part.to_list()]
        found = [row.ids for part in each(peer.encode_batch, batches) for row in part]
        if rows != found:
            raise ValueError("The ids of both tokenizers must be equal. They differ.")
        calls = (
            functools.partial(each, ours, tensors),
            functools.partial(each, peer.encode_batch, batches),
        )
        tokens = sum(map(len, rows))
        yield {"batch": size, **measure(*calls, tokens, options.repetitions)}


def main(arguments=None):
    """Prints one JSON line for each result."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", required=True, help="directory of the corpora")
    parser.add_argument("--vocabulary", help="vocab.txt; by default one is learned")
    parser.add_argument("--gpt2", nargs=2, help="vocabulary, merges")
    parser.add_argument("--count", type=int, default=4096, help="chunks or paragraphs")
    parser.add_argument("--repetitions", type=int, default=15)
    options = parser.parse_args(arguments)
    limit_tensorflow(1)
    compare = compare_bytes if options.gpt2 else compare_wordpieces
    for result in compare(pathlib.Path(options.data), options):
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
