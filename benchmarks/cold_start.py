"""Cold start: from the start of a process to its first answer, on the CPU.

The model is a BERT classifier of 4 layers, width 256, with random weights, which was
saved before. Every call starts a new process. It imports the library, loads the model,
answers one text and ends. The files are in the page cache, since the warm-up has read
them.
"""

import functools
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from benchmarks.peers import facts_of, require
from benchmarks.text_to_label import (
    LABELS,
    build_keras_nlp,
    build_transformers,
    build_zoo,
)
from benchmarks.worker import Measured, peak_mib

UNIT = "starts"
NEEDS = ("vocabulary",)
TEXT = "a warm and funny film, and two hours of my life well spent"
SEQUENCE_LENGTH = 64  # keras-nlp pads the text to this; its default is 512

# Programs as a user would write them. The arguments are the directory and the text. The
# last line of the output is the shape of the answer.
PROGRAMS = {
    "zoo": """
import sys
import zoo
model = zoo.from_preset(sys.argv[1])
print(list(model.predict([sys.argv[2]], verbose=0).shape))
""",
    "zoo_export": """
import sys
import tensorflow as tf
import tensorflow_text
model = tf.saved_model.load(sys.argv[1])
answer = model.signatures["serving_default"](text=tf.constant([sys.argv[2]]))
print(list(answer["scores"].shape))
""",
    "keras_nlp": """
import sys
import keras_nlp
model = keras_nlp.models.BertTextClassifier.from_preset(sys.argv[1])
print(list(model.predict([sys.argv[2]], verbose=0).shape))
""",
    "transformers": """
import sys
import torch
from transformers import BertForSequenceClassification, BertTokenizerFast
tokenizer = BertTokenizerFast.from_pretrained(sys.argv[1])
model = BertForSequenceClassification.from_pretrained(sys.argv[1]).eval()
with torch.no_grad():
    logits = model(**tokenizer([sys.argv[2]], return_tensors="pt")).logits
print(list(logits.shape))
""",
}


def save_zoo(vocabulary, directory, export=False):
    """Saves our preset or export; returns path, parameters and tokens of the text.

    The export takes strings and returns answers.
    """
    model = build_zoo(vocabulary)
    tokens = int(model.tokenizer([TEXT]).row_lengths()[0]) + 2
    if export:
        return model.export(directory / "export"), model.count_params(), tokens
    model.save_to_preset(directory / "preset")
    return directory / "preset", model.count_params(), tokens


def save_keras_nlp(vocabulary, directory, export=False):
    """Saves the preset of keras-nlp, or its export from token ids to logits."""
    model = build_keras_nlp(vocabulary, SEQUENCE_LENGTH)
    tokens = int(model.preprocessor([TEXT])["padding_mask"].numpy().sum())
    write = model.export if export else model.save_to_preset
    write(str(directory / "model"))
    return directory / "model", model.count_params(), tokens


def save_transformers(vocabulary, directory):
    """Saves model and tokenizer with Hugging Face's `save_pretrained`."""
    model, tokenizer = build_transformers(vocabulary)
    model.save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    return directory, model.num_parameters(), len(tokenizer(TEXT)["input_ids"])


SAVE = {
    "zoo": save_zoo,
    "zoo_export": functools.partial(save_zoo, export=True),
    "keras_nlp": save_keras_nlp,
    "keras_nlp_export": functools.partial(save_keras_nlp, export=True),
    "transformers": save_transformers,
}


def save(kind, vocabulary):
    """Saves a model in a new process, so that the memory of this one does not grow.

    Returns a `TemporaryDirectory` and a dict of path, parameters and tokens.
    """
    holder = tempfile.TemporaryDirectory(prefix="zoo-benchmark-")
    command = [sys.executable, "-m", "benchmarks.cold_start", kind]
    command += [str(vocabulary), holder.name]
    output = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return holder, json.loads(output.stdout.splitlines()[-1])


def run_fresh(program, arguments):
    """Runs a Python program in a new process.

    This process must use little memory: on Linux, the peak memory of a new process
    starts at that of the process that started it.

    Args:
        program: str, a program that prints the shape of its answer last.
        arguments: iterable of str.

    Returns:
        Measured.

    Raises:
        RuntimeError: if the program fails.
    """
    command = [sys.executable, "-c", program, *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    with process.stdout:
        output = process.stdout.read()
    # `process.wait` does not return the resources that the process used.
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(
            f"A program must answer. Received: code {process.returncode} of {program}"
        )
    shape = json.loads(output.splitlines()[-1])
    return Measured(shape, peak_mib=peak_mib(usage))


def make(kind, vocabulary, note=""):
    """Makes the call and the facts of one peer, a key of `SAVE`."""
    holder, saved = save(kind, vocabulary)
    arguments = (saved["path"], TEXT)

    def call(holder=holder):
        return run_fresh(PROGRAMS[kind], arguments)

    return call, saved_facts(saved, kind, note)


def saved_facts(saved, library, note):
    """The facts of a peer with a model that was saved; see `save`."""
    tokens, parameters = [saved["tokens"]], saved["parameters"]
    return facts_of(tokens, parameters, (1, LABELS), library, note=note)


def make_zoo(vocabulary):
    """Ours: `from_preset` and `predict`."""
    return make("zoo", vocabulary)


def make_zoo_export(vocabulary):
    """Our export in plain TensorFlow, with the operations of TensorFlow Text."""
    return make("zoo_export", vocabulary, "without keras")


def make_keras_nlp(vocabulary):
    """keras-nlp: `from_preset` and `predict`."""
    require("keras_nlp")
    return make("keras_nlp", vocabulary)


def make_transformers(vocabulary):
    """Hugging Face on PyTorch: `from_pretrained` twice and one call."""
    require("torch", "transformers")
    return make("transformers", vocabulary)


PEERS = {
    "zoo": make_zoo,
    "zoo_export": make_zoo_export,
    "keras_nlp": make_keras_nlp,
    "transformers": make_transformers,
}


def main(arguments):
    """Saves a model; prints its path, its parameters and the tokens of the text."""
    kind, vocabulary, directory = arguments
    path, parameters, tokens = SAVE[kind](vocabulary, pathlib.Path(directory))
    facts = {"path": str(path), "parameters": int(parameters), "tokens": tokens}
    print(json.dumps(facts))


if __name__ == "__main__":
    main(sys.argv[1:])
