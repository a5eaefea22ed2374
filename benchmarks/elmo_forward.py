"""ELMo's forward pass: 32 sentences, from character ids to vectors, on the CPU.

The model has the size of the original, 93.6 million parameters, and random weights. The
sentences are the first 32 of 20 to 31 words in the validation text of WikiText-2. They
have 798 words, 351 of them different, and 33 positions with the sentence markers. The
peers read the weights that we write in the authors' layout. Their vectors are compared
with ours.
"""

import contextlib
import gzip
import importlib
import os
import pathlib
import re
import sys
import types
from unittest import mock

from benchmarks.peers import (
    differences,
    facts_of,
    note_of_rounding,
    prepared_files,
    require,
)

UNIT = "sentences"
NEEDS = ("data",)
SENTENCES, SHORTEST, LONGEST = 32, 20, 31  # number of sentences, and of their words
COLUMNS = 50  # characters of a word in the peers, with padding
NEAR = 1e-5  # largest difference of a float32 peer from our vectors
# AllenNLP cannot be installed together with a current PyTorch. These are packages whose
# own code is not run, and modules that take no part in the arithmetic.
BARE = ("", ".common", ".data", ".data.token_indexers", ".modules", ".nn")
REPLACED = (
    ".common.util",
    ".data.batch",
    ".data.fields",
    ".data.instance",
    ".data.tokenizers",
    ".data.tokenizers.token_class",
    ".data.vocabulary",
    ".nn.initializers",  # of weights that are then read from the file
)


def read_sentences(data):
    """Reads sentences of the right length from `wikitext2/wiki.valid.tokens.gz`.

    Headings are ignored. A sentence ends at a full stop, question or exclamation mark.
    """
    path = pathlib.Path(data) / "wikitext2" / "wiki.valid.tokens.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        lines = [line.strip() for line in file if not line.startswith(" =")]
    split = (re.split(r"(?<= [.!?]) ", line) for line in lines)
    sentences = [part.split() for parts in split for part in parts]
    fitting = [words for words in sentences if SHORTEST <= len(words) <= LONGEST]
    return fitting[:SENTENCES]


def make_inputs(sentences):
    """The inputs of our model, a dict of tensors, padded to the longest word."""
    import tensorflow as tf

    import zoo

    tokenizer = zoo.text.CharacterTokenizer()
    words = tf.ragged.constant([["<S>", *words, "</S>"] for words in sentences])
    return {"character_ids": tokenizer.spell(words.to_tensor(""))}


def build_zoo():
    """Makes our model; the size of the original is the default."""
    import zoo

    return zoo.models.elmo.ELMo(zoo.models.elmo.ELMoConfig(), dtype="float32")


def in_graph(model, inputs):
    """Makes our forward pass, a function that returns the vectors."""
    import tensorflow as tf

    forward = tf.function(
        lambda inputs: model(inputs, training=False)["sequence_output"]
    )
    return lambda: forward(inputs)


def prepare(data, directory):
    """Writes model/, our weights in the authors' layout, and arrays.npz.

    The arrays are `ids` (B, L, 50), `vectors` (B, L, D) and `lengths` (B,), with the
    sentence markers.
    """
    import numpy as np

    sentences = read_sentences(data)
    model, inputs = build_zoo(), make_inputs(sentences)
    model.save_to_preset(pathlib.Path(directory) / "model", layout="hdf5")
    ids = inputs["character_ids"].numpy()
    columns = np.repeat(ids[:, :, :1], COLUMNS - ids.shape[2], axis=2)
    pads = np.where(columns > 0, model.config.vocabulary_size - 1, 0)
    np.savez(
        pathlib.Path(directory) / "arrays.npz",
        ids=np.concatenate([ids, pads], axis=2),
        vectors=in_graph(model, inputs)().numpy(),
        lengths=[len(words) + 2 for words in sentences],
    )


@contextlib.contextmanager
def prepared(data):
    """A context with the directory that `prepare` writes, and its arrays."""
    import numpy as np

    with prepared_files("elmo_forward", data) as directory:
        with np.load(directory / "arrays.npz") as arrays:
            yield directory / "model", dict(arrays)


def difference(ours, theirs, lengths, markers=False):
    """The differences from our vectors, see `differences`.

    Ours are (B, L, D) with the sentence markers. Theirs are (B, L - 2, D) without them,
    or (B, L, D) with `markers`.
    """
    import numpy as np

    rows = np.arange(len(ours)).repeat(lengths - 2)
    places = np.concatenate([np.arange(length - 2) for length in lengths])
    return differences(ours[rows, places + 1], theirs[rows, places + markers])


def note_of(name, arrays, vectors):
    """Makes the note about the vectors of a float32 peer.

    Raises:
        ValueError: if they differ from ours by more than the tolerance.
    """
    found = difference(arrays["vectors"], vectors, arrays["lengths"])
    largest, scale = found["largest"], found["scale"]
    if not largest <= NEAR:
        raise ValueError(
            f"The vectors of {name!r} must be within {NEAR} of ours. Received: "
            f"{largest:.2g} apart, of outputs up to {scale:.1f}."
        )
    return f"{largest:.1e} from ours at most, of outputs up to {scale:.1f}"


def make_zoo(data):
    """Ours, under `tf.function`."""
    sentences = read_sentences(data)
    model, inputs = build_zoo(), make_inputs(sentences)
    lengths = [len(words) + 2 for words in sentences]
    shape = (*inputs["character_ids"].shape[:2], 2 * model.config.projection_dim)
    facts = facts_of(lengths, model.count_params(), shape, "zoo")
    return in_graph(model, inputs), facts


def make_zoo_bfloat16(data):
    """Ours with all weights in 16 bits; the note has the difference from float32."""
    import zoo

    inputs = make_inputs(read_sentences(data))
    with prepared(data) as (directory, arrays):
        model = zoo.from_preset(str(directory), dtype="bfloat16")
    call = in_graph(model, inputs)
    vectors = call().numpy().astype("float32")
    ours, lengths = arrays["vectors"], arrays["lengths"]
    note = note_of_rounding(difference(ours, vectors, lengths, markers=True))
    return call, facts_of(lengths, model.count_params(), ours.shape, "zoo", note=note)


def import_allennlp():
    """Imports AllenNLP's `modules.elmo` without the packages of its other parts.

    Its packages import one another, and libraries that cannot be installed together
    with a current PyTorch. The computation is unchanged: `modules.elmo`, `elmo_lstm`,
    `encoder_base`, `lstm_cell_with_projection`, `highway`, `scalar_mix` and `nn.util`.
    """
    root = importlib.util.find_spec("allennlp").submodule_search_locations[0]
    modules = {}
    for name in BARE:
        module = modules[f"allennlp{name}"] = types.ModuleType(f"allennlp{name}")
        module.__path__ = [str(pathlib.Path(root, *name.split(".")))]
    modules["allennlp.common"].FromParams = type("FromParams", (), {})
    modules |= {f"allennlp{name}": mock.MagicMock() for name in REPLACED}
    indexer = type("TokenIndexer", (), {"register": lambda name: lambda cls: cls})
    modules["allennlp.data.token_indexers.token_indexer"] = mock.MagicMock(
        TokenIndexer=indexer
    )
    modules["allennlp.common.file_utils"] = mock.MagicMock(
        cached_path=lambda path: path
    )
    sys.modules.update(modules)
    return importlib.import_module("allennlp.modules.elmo")


def make_allennlp(data):
    """AllenNLP's `Elmo` on PyTorch, `eval`, `no_grad`; it adds the markers itself."""
    require("allennlp", "torch", "h5py")
    import torch

    with prepared(data) as (directory, arrays):
        files = (str(directory / name) for name in ("options.json", "weights.hdf5"))
        model = import_allennlp().Elmo(*files, 1).eval()
    lengths = arrays["lengths"]
    # Its input has no markers: the first and the last position of a row are removed.
    ids = torch.from_numpy(arrays["ids"][:, 1:-1].copy()).long()
    ids[torch.arange(ids.shape[1]) >= torch.from_numpy(lengths - 2)[:, None]] = 0
    encoder = model._elmo_lstm._elmo_lstm

    def call():
        encoder.reset_states()
        with torch.no_grad():
            return model(ids)["elmo_representations"][0]

    vectors = call().numpy()
    note = note_of("allennlp", arrays, vectors)
    # Its character table has a row of zeros for padding.
    zeros = model._elmo_lstm._token_embedder._char_embedding_weights.shape[1]
    parameters = sum(weight.numel() for weight in model.parameters()) - zeros
    return call, facts_of(lengths, parameters, vectors.shape, "allennlp", note=note)


def make_bilm_tf(data):
    """The authors' `BidirectionalLanguageModel` and `weight_layers`, in a session.

    It carries the states of the LSTMs from call to call. This changes the numbers, but
    not the amount of work.
    """
    require("bilm", "h5py", "tf_keras")
    os.environ["TF_USE_LEGACY_KERAS"] = "1"  # has the cells of TensorFlow 1
    import numpy as np
    import tensorflow as tf
    from bilm import elmo, model

    v1 = elmo.tf = model.tf = tf.compat.v1
    graph = v1.Graph()
    with prepared(data) as (directory, arrays), graph.as_default():
        ids = v1.placeholder("int32", (None, None, COLUMNS))
        files = (str(directory / name) for name in ("options.json", "weights.hdf5"))
        layers = model.BidirectionalLanguageModel(*files)(ids)
        output = elmo.weight_layers("mix", layers, l2_coef=0.0)
        session = v1.Session()
        session.run(v1.global_variables_initializer())
        # Its states have no names of their own.
        weights = [v for v in v1.global_variables() if "Variable" not in v.name]

    def call():
        return session.run(output["weighted_op"], {ids: arrays["ids"]})

    vectors = call()
    note = note_of("bilm_tf", arrays, vectors)
    parameters = sum(int(np.prod(weight.shape)) for weight in weights)
    parameters -= int(weights[0].shape[1])  # a row of zeros for padding
    facts = facts_of(arrays["lengths"], parameters, vectors.shape, "bilm_tf", note=note)
    return call, facts


PEERS = {
    "zoo": make_zoo,
    "allennlp": make_allennlp,
    "bilm_tf": make_bilm_tf,
    "zoo_bfloat16": make_zoo_bfloat16,
}

if __name__ == "__main__":
    prepare(*sys.argv[1:])
