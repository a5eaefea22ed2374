"""The exported SavedModel: its size on disk, and the time of loading it.

`tf.saved_model.load` loads the classifier of `cold_start`, in a process that has
imported TensorFlow before. After each load the model answers once, which is not timed.
"""

import pathlib
import time

from benchmarks.cold_start import TEXT, save, saved_facts
from benchmarks.peers import require
from benchmarks.worker import Measured

UNIT = "loads"
NEEDS = ("vocabulary",)


def size_mib(directory):
    """The size of all files in a directory, in MiB."""
    files = pathlib.Path(directory).rglob("*")
    return sum(file.stat().st_size for file in files if file.is_file()) / 2**20


def make(kind, library, vocabulary, request, contents):
    """Makes call and facts of a peer.

    `request` makes the inputs, given TensorFlow. `contents` is what the export takes.
    """
    import tensorflow as tf
    import tensorflow_text  # noqa: F401  its operations are in our graph

    holder, saved = save(kind, vocabulary)

    def call(holder=holder):
        start = time.perf_counter()
        model = tf.saved_model.load(saved["path"])
        seconds = time.perf_counter() - start
        answers = model.signatures["serving_default"](**request(tf))
        # Ours also answers with a label and its score, and with all labels.
        output = answers.get("scores", next(iter(answers.values())))
        return Measured(output.shape, seconds)

    note = f"{size_mib(saved['path']):.1f} MiB on disk, takes {contents}"
    return call, saved_facts(saved, library, note)


def make_zoo(vocabulary):
    """Ours: `export`, with tokenizer, two signatures and warm-up requests."""

    def request(tf):
        return {"text": tf.constant([TEXT])}

    return make("zoo_export", "zoo_export", vocabulary, request, "text")


def make_keras_nlp(vocabulary):
    """keras-nlp: `export`, which has no tokenizer and takes token ids."""
    require("keras_nlp")

    def request(tf):
        names = ("token_ids", "segment_ids", "padding_mask")
        return dict.fromkeys(names, tf.ones((1, 8), tf.int32))

    return make("keras_nlp_export", "keras_nlp", vocabulary, request, "ids")


PEERS = {"zoo": make_zoo, "keras_nlp": make_keras_nlp}
