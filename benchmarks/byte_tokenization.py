"""Speed of the tokenizers of GPT on one core, as a ratio to the library `tokenizers`.

    python benchmarks/byte_tokenization.py --data DIR --gpt2 VOCABULARY MERGES

DIR has `books/train-00.txt.xz`. VOCABULARY and MERGES are the two files of GPT-2's
tokenizer, such as encoder.json and vocab.bpe. The two tokenizers take turns on the same
batches, and their ids must be equal.
"""

import argparse
import json
import lzma
import os
import pathlib
import statistics
import time

os.environ["RAYON_NUM_THREADS"] = "1"  # before `tokenizers` is imported

import tensorflow as tf
import tokenizers

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
    seconds = {"ours": [], "peer": []}
    for _ in range(repetitions + 1):
        start = time.perf_counter()
        found = [ours(tensor) for tensor in tensors]
        seconds["ours"].append(time.perf_counter() - start)
        start = time.perf_counter()
        theirs = [peer.encode_batch(batch) for batch in batches]
        seconds["peer"].append(time.perf_counter() - start)
    rows = [row for batch in found for row in batch.to_list()]
    if rows != [row.ids for batch in theirs for row in batch]:
        raise ValueError("The ids of both tokenizers must be equal. They differ.")
    times = [statistics.median(values[1:]) for values in seconds.values()]
    return *times, sum(map(len, rows))


def main(arguments=None):
    """Prints one JSON line for each size of a batch."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", required=True, help="directory of the corpora")
    parser.add_argument("--gpt2", required=True, nargs=2, help="vocabulary, merges")
    parser.add_argument("--count", type=int, default=4096, help="paragraphs")
    parser.add_argument("--repetitions", type=int, default=5)
    options = parser.parse_args(arguments)
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
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
