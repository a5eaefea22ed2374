"""Vectors of 2,000 sentences of SST-2, from raw text, on the CPU.

The model has the shape of MiniLM, 6 layers of width 384, and random weights, which both
peers share. The vector of a sentence is the mean over its tokens, of length 1. A batch
has 32 rows of similar length.
"""

import pathlib
import tempfile

import numpy as np

from benchmarks.peers import facts_of, write_transformers

UNIT = "sentences"
NEEDS = ("data", "vocabulary")
ROWS, BATCH_SIZE, SHOWN = 2000, 32, 8  # shown: numbers of each vector to compare
SIZES = (6, 384, 12, 1536)


def read_texts(data):
    """The first sentences of the training set, list of str."""
    import zoo

    return zoo.data.read_glue(pathlib.Path(data) / "glue", "sst2", "train")[0][:ROWS]


def make_zoo(data, vocabulary):
    """Ours: `zoo.embed` on a list of str."""
    import zoo

    texts = read_texts(data)
    with tempfile.TemporaryDirectory() as directory:
        write_transformers(vocabulary, "BertModel", SIZES, directory)
        options = {"pooling": "mean", "normalize": True}
        model = zoo.from_preset(directory, task="text_embedder", **options)
    lengths = model.tokenizer(texts).row_lengths().numpy() + 2

    def call():
        return zoo.embed(texts, model, batch_size=BATCH_SIZE, verbose=0)

    return call, _facts(call(), lengths, model.count_params(), "zoo")


def make_sentence_transformers(data, vocabulary):
    """sentence-transformers on PyTorch: `encode`, which sorts by length."""
    import sentence_transformers
    from sentence_transformers import models

    texts = read_texts(data)
    with tempfile.TemporaryDirectory() as directory:
        write_transformers(vocabulary, "BertModel", SIZES, directory)
        transformer = models.Transformer(directory)
    parts = [transformer, models.Pooling(SIZES[1], "mean"), models.Normalize()]
    model = sentence_transformers.SentenceTransformer(modules=parts, device="cpu")
    lengths = [len(ids) for ids in transformer.tokenizer(texts)["input_ids"]]
    parameters = sum(part.numel() for part in model.parameters())

    def call():
        return model.encode(texts, batch_size=BATCH_SIZE, show_progress_bar=False)

    return call, _facts(call(), lengths, parameters, "sentence_transformers")


def _facts(found, lengths, parameters, library):
    options = {"result": np.ravel(found[:, :SHOWN]), "near": 1e-4}
    return facts_of(lengths, parameters, found.shape, library, **options)


PEERS = {"zoo": make_zoo, "sentence_transformers": make_sentence_transformers}
