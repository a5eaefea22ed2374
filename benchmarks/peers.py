"""Functions that the peers of several workloads use."""

import contextlib
import importlib.metadata
import importlib.util
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from benchmarks.worker import Measured

TRANSFORMERS = ("torch", "transformers", "tokenizers")
# Libraries, or what they export, to the packages whose versions are stored.
PACKAGES = {
    "zoo": ("tensorflow", "keras"),
    "zoo_export": ("tensorflow", "tensorflow-text"),
    "tensorflow": ("tensorflow",),
    "tensorflow_text": ("tensorflow", "tensorflow-text"),
    "keras_nlp": ("keras-nlp", "keras-hub", "keras", "tensorflow", "tensorflow-text"),
    "model_garden": ("tf-models-official", "tf-keras", "tensorflow"),
    "bilm_tf": ("bilm", "tensorflow", "tf-keras"),
    "torch": ("torch",),
    "transformers": TRANSFORMERS,
    "sentence_transformers": ("sentence-transformers", *TRANSFORMERS),
    "allennlp": ("allennlp", "torch"),
    "fastai": ("fastai", "torch"),
    "fastai_text": ("fastai", "torch", "spacy"),
    "ctranslate2": ("ctranslate2",),
}
SQUARE, PRODUCTS = 2048, 10  # size and number of products for the rate of a bound
# Policies that compute in 16 bits, with weights and updates in float32.
POLICIES = {"float32": "float32", "bfloat16": "mixed_bfloat16"}
LEARNING_RATE, WEIGHT_DECAY = 5e-5, 0.01  # of the steps of AdamW


def facts_of(
    lengths,
    parameters,
    shape,
    library,
    items=None,
    note="",
    may_differ=0,
    result=None,
    near=1e-4,
):
    """Makes the facts of a peer, which the runner compares and stores.

    Args:
        lengths: list of int, tokens of every row, with special tokens; None if the peer
            reads no tokens.
        parameters: int, of the whole model, or None if there is no model.
        shape: iterable of int, the shape of the output of the call.
        library: str, key of `PACKAGES`.
        items: int, units of the workload in one call; by default the number of rows.
        may_differ: float, share of rows that may have other tokens than ours, for a
            tokenizer that is not exact.
        note: str, a remark about the result of this peer.
        result: iterable of float, numbers that all peers compute from the same weights
            and inputs, without dropout; None if there are none to compare.
        near: float, the largest difference of the result from ours.
    """
    lengths = lengths if lengths is None else [int(length) for length in lengths]
    packages = PACKAGES[library]
    return {
        "items": len(lengths) if items is None else int(items),
        "lengths": lengths,
        "parameters": parameters if parameters is None else int(parameters),
        "shape": [int(size) for size in shape],
        "versions": {name: importlib.metadata.version(name) for name in packages},
        "note": note,
        "may_differ": may_differ,
        "result": None if result is None else [float(number) for number in result],
        "near": near,
    }


def zoo_backbone(vocabulary, layers, width, heads, inner, dtype=None, **options):
    """Makes our BERT from five ints, a policy, and other fields of its config."""
    import zoo

    config = zoo.models.bert.BERTConfig(
        vocabulary_size=vocabulary,
        num_layers=layers,
        hidden_dim=width,
        num_heads=heads,
        intermediate_dim=inner,
        **options,
    )
    return zoo.models.bert.BERT(config, dtype=dtype)


def keras_nlp_backbone(vocabulary, layers, width, heads, inner, **options):
    """Makes keras-nlp's `BertBackbone` from five ints and its other arguments."""
    import keras_nlp

    return keras_nlp.models.BertBackbone(
        vocabulary_size=vocabulary,
        num_layers=layers,
        num_heads=heads,
        hidden_dim=width,
        intermediate_dim=inner,
        **options,
    )


def transformers_config(vocabulary, layers, width, heads, inner, **options):
    """Makes Hugging Face's `BertConfig` from five ints and its other arguments."""
    import transformers

    return transformers.BertConfig(
        vocab_size=vocabulary,
        num_hidden_layers=layers,
        hidden_size=width,
        num_attention_heads=heads,
        intermediate_size=inner,
        **options,
    )


def differences(expected, found):
    """How far numbers are from those expected: the largest and the typical difference.

    Returns:
        dict with "scale", too: the largest number that is expected.
    """
    import numpy as np

    apart = np.abs(found - expected)
    return {
        "largest": float(apart.max()),
        "typical": float(np.sqrt(np.mean(apart**2))),
        "scale": float(np.abs(expected).max()),
    }


def note_of_rounding(found):
    """The note of a peer in 16 bits; see `differences`."""
    return (
        "{largest:.3f} from float32 at most, {typical:.4f} in the root mean square, "
        "of outputs up to {scale:.1f}".format(**found)
    )


def limit_tensorflow(threads):
    """Sets the number of threads of TensorFlow, before its first operation."""
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)


def require(*names):
    """Checks that packages are installed, without importing them.

    Raises:
        ModuleNotFoundError: if one is not installed. A peer that runs in other
            processes is then skipped, as other peers are.
    """
    for name in names:
        if importlib.util.find_spec(name) is None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def make_products(dtype, operations, items):
    """The peer that is a bound: products of a model at the rate of large ones."""
    import tensorflow as tf

    sides = [
        tf.cast(tf.random.stateless_normal((SQUARE, SQUARE), (7, n)), dtype)
        for n in range(2)
    ]
    measured = PRODUCTS * 2 * SQUARE**3

    def call():
        start = time.perf_counter()
        for _ in range(PRODUCTS):
            product = tf.matmul(*sides)
        seconds = time.perf_counter() - start
        return Measured(product.shape, seconds * operations / measured)

    note = f"{operations / 1e9:.1f} GFLOP at the rate of {SQUARE} x {SQUARE} products"
    shape = (SQUARE, SQUARE)
    return call, facts_of(None, None, shape, "tensorflow", items=items, note=note)


def make_torch_step(model, dtype, find_loss):
    """A plain step of training on PyTorch as a call, with autocast for 16 bits."""
    import torch

    optimizer = torch.optim.AdamW(
        model.parameters(), LEARNING_RATE, weight_decay=WEIGHT_DECAY
    )

    def call():
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=dtype == "bfloat16"):
            loss = find_loss()
        loss.backward()
        optimizer.step()
        return loss.detach().numpy()

    return call


@contextlib.contextmanager
def prepared_files(module, *arguments):
    """A context with the directory in which a module of benchmarks writes files.

    Another process writes them, because the memory of this one is measured. It gets the
    arguments and the directory.
    """
    with tempfile.TemporaryDirectory() as directory:
        command = [sys.executable, "-m", f"benchmarks.{module}", *arguments, directory]
        subprocess.run(command, stdout=sys.stderr, check=True)
        yield pathlib.Path(directory)


def transformers_model(vocabulary, kind, sizes):
    """Makes a model of Hugging Face of a class, and its tokenizer.

    The weights are random, and always the same.
    """
    import torch
    import transformers

    torch.manual_seed(0)
    tokenizer = transformers.BertTokenizerFast(vocab=str(vocabulary))
    config = transformers_config(len(tokenizer), *sizes)
    return getattr(transformers, kind)(config).eval(), tokenizer


def write_transformers(vocabulary, kind, sizes, directory):
    """Writes the files of `transformers_model` to a directory."""
    model, tokenizer = transformers_model(vocabulary, kind, sizes)
    model.save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    path = pathlib.Path(directory, "vocab.txt")
    path.write_bytes(pathlib.Path(vocabulary).read_bytes())


def median_seconds(calls, repetitions):
    """The median seconds of calls that take turns, after a round for warm-up."""
    seconds = {name: [] for name in calls}
    for _ in range(repetitions + 1):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(times[1:]) for name, times in seconds.items()}
