"""Vectors of known words before the LSTMs, computed once."""

from pathlib import Path

import numpy as np

from zoo.checkpoint import open_checkpoint, save_checkpoint

BLOCK = 4096  # words computed at once


class TokenVectors:
    """Looks the vectors of a known vocabulary's words up, and computes others.

    They depend on no context, so that a server or a run over a large corpus need not
    compute them anew: `elmo.with_token_vectors("sequence_output")` takes them.

    Source: bilm-tf's `dump_token_embeddings` and AllenNLP's `vocab_to_cache`, whose
    files these are: a dataset "embedding", a row for each word.

    Args:
        elmo: `ELMo` with a tokenizer.
        words: sequence of str, each once.
        vectors: float (V, P), of the words; None computes them.

    Inputs:
        string (B, L), numpy or nested lists; "" where no word is.

    Returns:
        float32 (B, L, P); zeros where no word is.

    Raises:
        ValueError: if there are not as many vectors as words.
    """

    def __init__(self, elmo, words, vectors=None):
        self.elmo = elmo
        self.words = {word: number for number, word in enumerate(words)}
        self.vectors = self.compute(list(words)) if vectors is None else vectors
        shape = len(self.words), elmo.config.projection_dim
        if len(words) != shape[0] or self.vectors.shape != shape:
            raise ValueError(
                "There must be a vector for each word, and each word once. Received: "
                f"{len(words)} words, {shape[0]} different ones, and vectors of shape "
                f"{self.vectors.shape}; {shape} was expected."
            )

    def compute(self, words):
        """The vectors (N, P) of words, list of str, by the layers."""
        elmo, found = self.elmo, []
        for start in range(0, len(words), BLOCK):
            block = np.array([words[start : start + BLOCK]])
            mask = np.ones(block.shape, "int32")
            features = {"tokens": block, "padding_mask": mask}
            inputs = elmo.tokenizer.inputs(features)
            vectors = elmo.encode_words(elmo.config, elmo.named_layers, inputs)
            found.append(np.asarray(vectors, "float32")[0])
        empty = np.zeros((0, elmo.config.projection_dim), "float32")
        return np.concatenate([empty, *found])

    def __call__(self, words):
        """Looks up, and computes once what is unknown."""
        words = np.asarray(words, dtype=object)
        flat = words.ravel().tolist()
        flat = [word.decode() if isinstance(word, bytes) else word for word in flat]
        unknown = sorted({*flat} - self.words.keys() - {""})
        known = len(self.words)
        places = {**self.words, **{w: known + i for i, w in enumerate(unknown)}, "": -1}
        none = np.zeros((1, self.vectors.shape[1]), "float32")
        rows = np.concatenate([self.vectors, self.compute(unknown), none])
        vectors = rows[[places[word] for word in flat]]
        return vectors.reshape(*words.shape, rows.shape[1])

    def save(self, path):
        """Writes the vectors to an HDF5 file; the words are the caller's."""
        save_checkpoint(Path(path), {"embedding": self.vectors})

    @classmethod
    def load(cls, elmo, words, path):
        """Reads what `save`, or bilm-tf, wrote for these words.

        Raises:
            ValueError: if the file is of another number of words or another width.
        """
        arrays = dict(open_checkpoint(path).items())
        if arrays.keys() != {"embedding"}:
            raise ValueError(
                f"`{path}` must hold the dataset `embedding` only. Received: "
                f"{sorted(arrays)}."
            )
        return cls(elmo, words, arrays["embedding"].astype("float32"))
