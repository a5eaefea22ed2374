"""Peak memory of vectors of many texts: the paragraphs of books, repeated.

    python -m benchmarks.large_embedding --data DIR --gigabytes 1

DIR has `books/train-*.txt.xz`. The corpus is written to a temporary directory. A new
process runs `zoo embed` on it with a shipped preset, which reads the first tokens of
each paragraph. The program prints the peak resident memory of this process and its time
in seconds.
"""

import argparse
import json
import pathlib
import tempfile

import numpy as np

from benchmarks.large_corpus import run_zoo, write_corpus


def main(arguments=None):
    """Prints one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", required=True, help="directory of the books")
    parser.add_argument("--gigabytes", type=float, default=1.0, help="unit: 10^9 bytes")
    parser.add_argument("--preset", default="bert_mini_en_uncased_distilled")
    parser.add_argument("--sequence-length", type=int, default=16, help="unit: tokens")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        corpus, output = (pathlib.Path(folder, n) for n in ("a.txt", "a.npy"))
        write_corpus(options.data, corpus, options.gigabytes * 1e9)
        given = ["--output", output, "--sequence-length", options.sequence_length]
        measured = run_zoo("embed", options.preset, corpus, *given)
        shape = np.load(output, mmap_mode="r").shape
    print(json.dumps({"corpus_gb": options.gigabytes, "vectors": shape, **measured}))


if __name__ == "__main__":
    main()
