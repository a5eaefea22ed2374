"""The vectors of a teacher for texts, computed once and kept on disk."""

import functools
import hashlib

import numpy as np

from zoo import registry
from zoo.distribution import chief_first
from zoo.files.whole_files import replacing
from zoo.presets import find_preset, sha256
from zoo.pretraining.distillation.text_and_words import embed_words, with_words
from zoo.programs.scores.stored_settings import find_weights
from zoo.tasks import TextEmbedder

TEXTS_PER_FILE = 65536
BATCH_SIZE = 256


class Teacher:
    """An embedder whose vectors another one learns.

    The vectors of each `TEXTS_PER_FILE` texts are in one file, whose name is a checksum
    of the texts and of the teacher's weights. So a file is used only for what it was
    computed from, and the computation can be stopped at any time. `record` names the
    preset and the largest file of its directory, the weights.
    """

    def __init__(self, preset, directory):
        weights = find_weights(find_preset(preset))
        self.record = {
            "preset": preset,
            "file": weights.name,
            "sha256": sha256(weights),
        }
        self.directory = directory
        self.directory.mkdir(parents=True, exist_ok=True)
        self.preset = preset

    @functools.cached_property
    def model(self):
        """The embedder, whose vectors have length 1."""
        task = TextEmbedder.task_name
        model = registry.from_preset(self.preset, task, normalize=True)
        model.truncation_reported = True
        return model

    def embed(self, texts):
        """The teacher's vectors of length 1 of a list of texts, float16 (N, width)."""
        return np.concatenate([vectors for _, vectors in self._kept(texts, "npy")])

    def embed_words(self, texts):
        """Yields some of the texts, and vectors float16 of all their words."""
        yield from self._kept(texts, "words.npy")

    def _kept(self, texts, ending):
        """Yields the texts and the vectors of every file; writes files that miss."""
        for start in range(0, len(texts), TEXTS_PER_FILE):
            part = texts[start : start + TEXTS_PER_FILE]
            content = "\0".join([self.record["sha256"], *part])
            name = hashlib.sha256(content.encode()).hexdigest()[:32]
            path = self.directory / f"{name}.{ending}"
            chief_first(self._write, path, part, ending == "words.npy")
            yield part, np.load(path)

    def _write(self, path, texts, words):
        """Writes the vectors of texts, or of their words, unless the file exists."""
        if not path.exists():
            vectors = self._compute(texts, words)
            with replacing(path) as temporary, open(temporary, "wb") as file:
                np.save(file, vectors.astype("float16"))

    def _compute(self, texts, words):
        if not words:
            return self.model.predict(texts, BATCH_SIZE, verbose=0)
        return embed_words(with_words(self.model), texts)


def principal_axes(vectors, width):
    """The axes float32 (D, W) on which vectors (N, D) keep most of their length.

    `P` has the eigenvectors of `V^T V` with the largest eigenvalues. The vectors are
    not centred, so `V P` has the cosines of `V` as nearly as any projection. Beyond D,
    columns are 0.
    """
    moments = np.zeros((vectors.shape[1],) * 2)
    for start in range(0, len(vectors), TEXTS_PER_FILE):
        part = vectors[start : start + TEXTS_PER_FILE].astype("float32")
        moments += part.T @ part
    _, axes = np.linalg.eigh(moments)
    axes = axes[:, ::-1][:, :width].astype("float32")
    return np.pad(axes, ((0, 0), (0, width - axes.shape[1])))


def aligned_axes(vectors, wanted):
    """Orthonormal axes (D, W) on which vectors (N, D) are nearest to others (N, W).

    Source: the orthogonal Procrustes problem, Schoenemann 1966, for axes that are fewer
    than, as many as, or more than the width of the vectors.
    """
    product = vectors.astype("float32").T @ wanted.astype("float32")
    left, _, right = np.linalg.svd(product, full_matrices=False)
    return left @ right


def project(vectors, axes):
    """Projects vectors (N, D) on axes (D, W); float32 (N, W) of length 1."""
    found = np.empty((len(vectors), axes.shape[1]), "float32")
    for start in range(0, len(vectors), TEXTS_PER_FILE):
        rows = slice(start, start + TEXTS_PER_FILE)
        part = vectors[rows].astype("float32") @ axes
        norm = np.linalg.norm(part, axis=1, keepdims=True)
        found[rows] = part / np.maximum(norm, 1e-12)
    return found
