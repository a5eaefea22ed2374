"""Functions that the peers of several workloads use."""

import importlib.metadata
import importlib.util

ZOO = ("tensorflow", "keras")
KERAS_NLP = ("keras-nlp", "keras-hub", "keras", "tensorflow", "tensorflow-text")
TRANSFORMERS = ("torch", "transformers", "tokenizers")
MODEL_GARDEN = ("tf-models-official", "tf-keras", "tensorflow")
ALLENNLP = ("allennlp", "torch")
BILM = ("bilm", "tensorflow", "tf-keras")
FASTAI = ("fastai", "torch", "spacy")
TENSORFLOW_TEXT = ("tensorflow", "tensorflow-text")


def facts_of(
    lengths,
    parameters,
    shape,
    packages,
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
        packages: names of the distributions whose versions are stored.
        items: int, units of the workload in one call; by default the number of rows.
        may_differ: float, share of rows that may have other tokens than ours, for a
            tokenizer that is not exact.
        note: str, a remark about the result of this peer.
        result: iterable of float, numbers that all peers compute from the same weights
            and inputs, without dropout; None if there are none to compare.
        near: float, the largest difference of the result from ours.
    """
    lengths = lengths if lengths is None else [int(length) for length in lengths]
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
