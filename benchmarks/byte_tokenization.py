"""Speed of the tokenizers of GPT on one core, as a ratio to the library `tokenizers`.

    python -m benchmarks.byte_tokenization --data DIR --gpt2 VOCABULARY MERGES

DIR has `books/train-00.txt.xz`. VOCABULARY and MERGES are the two files of GPT-2's
tokenizer, such as encoder.json and vocab.bpe. The two tokenizers take turns on the same
batches, and their ids must be equal.
"""

import argparse
import json
import lzma
import os
import pathlib

os.environ["RAYON_NUM_THREADS"] = "1"  # before `tokenizers` is imported

import tensorflow as tf
import tokenizers

from benchmarks.peers import limit_tensorflow, median_seconds
from zoo.text import GPT2Tokenizer

BATCHES = 64, 512, 4096


def read_lines(data, count):
    """The first paragraphs of the books, list of str."""
    path = pathlib.Path(data) / "books" / "train-00.txt.xz"
    with lzma.open(path, "rt", encoding="utf-8") as file:
        lines = (line.strip() for line in file)
        return [line for line in lines if line][:count]


def measure(texts, ours, peer, size, repetitions):
    """The median seconds of a pass, for ours and the peer, and the tokens.

    Raises:
        ValueError: if the ids differ.
    """
    batches = [texts[start : start + size] for start in range(0, len(texts), size)]
    tensors = [tf.constant(batch) for batch in batches]
    calls = {
        "ours": lambda: [ours(tensor) for tensor in tensors],
        "peer": lambda: [peer.encode_batch(batch) for batch in batches],
    }
    rows = [row for batch in calls["ours"]() for row in batch.to_list()]
    if rows != [row.ids for batch in calls["peer"]() for row in batch]:
        raise ValueError("The ids of both tokenizers must be equal. They differ.")
    return *median_seconds(calls, repetitions).values(), sum(map(len, rows))


def main(arguments=None):
    """Prints one JSON line for each size of a batch."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", required=True, help="directory of the corpora")
    parser.add_argument("--gpt2", required=True, nargs=2, help="vocabulary, merges")
    parser.add_argument("--count", type=int, default=4096, help="paragraphs")
    parser.add_argument("--repetitions", type=int, default=5)
    options = parser.parse_args(arguments)
    limit_tensorflow(1)
    texts = read_lines(options.data, options.count)
    ours = GPT2Tokenizer(*options.gpt2)
    call = tf.function(ours, [tf.TensorSpec([None], tf.string)])
    model = tokenizers.models.BPE.from_file(*options.gpt2)
    peer = tokenizers.Tokenizer(model)
    peer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    for size in BATCHES:
        own, other, tokens = measure(texts, call, peer, size, options.repetitions)
        result = {
            "batch": size,
            "zoo_tokens_per_s": round(tokens / own),
            "tokenizers_tokens_per_s": round(tokens / other),
            "ratio": round(other / own, 2),
        }
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
