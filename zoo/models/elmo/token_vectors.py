"""Word vectors before the LSTMs, computed once."""

from pathlib import Path

import numpy as np

from zoo.checkpoint import open_checkpoint, save_checkpoint

# The number of words that are computed at once.
WORDS_IN_BLOCK = 4096


class TokenVectors:
    """Stores the vectors of a vocabulary, and computes the vectors of other words.

    They do not depend on the context, so a server computes each only once.
    `elmo.with_token_vectors("sequence_output")` is the model that reads them.

    Source: bilm-tf's `dump_token_embeddings` and AllenNLP's `vocab_to_cache`. The files
    have the same format: a dataset "embedding" with one row for each word.

    Args:
        elmo: `ELMo` with a tokenizer.
        words: sequence of str without repetitions.
        vectors: float (V, P), the vectors of the words; None to compute them.

    Inputs:
        string (B, L), numpy or nested lists; "" is padding.

    Returns:
        float32 (B, L, P); zeros at padding.

    Raises:
        ValueError: if the numbers of words and vectors differ.
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
        """Computes the vectors (N, P) of words, list of str, with the layers."""
        elmo, found = self.elmo, []
        for start in range(0, len(words), WORDS_IN_BLOCK):
            block = np.array([words[start : start + WORDS_IN_BLOCK]])
            mask = np.ones(block.shape, "int32")
            features = {"tokens": block, "padding_mask": mask}
            inputs = elmo.tokenizer.inputs(features)
            vectors = elmo.encode_words(elmo.config, elmo.named_layers, inputs)
            found.append(np.asarray(vectors, "float32")[0])
        empty = np.zeros((0, elmo.config.projection_dim), "float32")
        return np.concatenate([empty, *found])

    def __call__(self, words):
        """Returns the vectors of words; unknown words are computed."""
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
        """Writes the vectors to an HDF5 file. The words are not in the file."""
        save_checkpoint(Path(path), {"embedding": self.vectors})

    @classmethod
    def load(cls, elmo, words, path):
        """Reads a file of `save` or of bilm-tf, whose rows are those of `words`."""
        arrays = dict(open_checkpoint(path).items())
        if arrays.keys() != {"embedding"}:
            raise ValueError(
                f"`{path}` must hold the dataset `embedding` only. Received: "
                f"{sorted(arrays)}."
            )
        return cls(elmo, words, arrays["embedding"].astype("float32"))
