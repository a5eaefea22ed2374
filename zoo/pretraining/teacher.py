"""The vectors of a teacher for texts, computed once and kept on disk."""

import hashlib

import numpy as np

from zoo import registry
from zoo.files import replacing
from zoo.presets import find_preset, sha256
from zoo.tasks import TextEmbedder

TEXTS_PER_FILE = 65536
BATCH_SIZE = 256


class Teacher:
    """An embedder whose vectors another one learns.

    The vectors of each `TEXTS_PER_FILE` texts are in one file, whose name is a checksum
    of the texts and of the teacher's weights. So a file is used only for what it was
    computed from, and the computation can be stopped at any time.

    Args:
        preset: str, see `zoo.from_preset`.
        directory: pathlib.Path of the files; it is made if it does not exist.

    Attributes:
        record: dict, preset and sha256 of the largest file of its directory, the
            weights.
        width: int, of the teacher's vectors.
    """

    def __init__(self, preset, directory):
        found = find_preset(preset)
        files = [path for path in found.iterdir() if path.is_file()]
        weights = max(files, key=lambda path: path.stat().st_size)
        self.record = {
            "preset": preset,
            "file": weights.name,
            "sha256": sha256(weights),
        }
        self.directory = directory
        self.directory.mkdir(parents=True, exist_ok=True)
        self.preset, self.model = preset, None

    def embed(self, texts):
        """The teacher's vectors of length 1, float16 (N, width).

        Args:
            texts: list of str.
        """
        starts = range(0, len(texts), TEXTS_PER_FILE)
        return np.concatenate(
            [self._part(texts[i : i + TEXTS_PER_FILE]) for i in starts]
        )

    def _part(self, texts):
        """The vectors of one file, which is written first if it does not exist."""
        content = "\0".join([self.record["sha256"], *texts])
        name = hashlib.sha256(content.encode()).hexdigest()[:32]
        path = self.directory / f"{name}.npy"
        if not path.exists():
            if self.model is None:
                self.model = registry.from_preset(
                    self.preset, TextEmbedder.task_name, normalize=True
                )
                self.model.truncation_reported = True
            vectors = self.model.predict(texts, BATCH_SIZE, verbose=0)
            with replacing(path) as temporary, open(temporary, "wb") as file:
                np.save(file, vectors.astype("float16"))
        return np.load(path)


def principal_axes(vectors, width):
    """The axes on which vectors keep most of their length.

    `P` has the eigenvectors of `V^T V` with the largest eigenvalues. The vectors are
    not centred, so `V P` has the cosines of `V` as nearly as any projection.

    Args:
        vectors: float (N, D).
        width: int W. If it is more than D, the further columns are 0.

    Returns:
        float32 (D, W).
    """
    moments = np.zeros((vectors.shape[1],) * 2)
    for start in range(0, len(vectors), TEXTS_PER_FILE):
        part = vectors[start : start + TEXTS_PER_FILE].astype("float32")
        moments += part.T @ part
    _, axes = np.linalg.eigh(moments)
    axes = axes[:, ::-1][:, :width].astype("float32")
    return np.pad(axes, ((0, 0), (0, width - axes.shape[1])))


def project(vectors, axes):
    """Projects vectors (N, D) on axes (D, W); float32 (N, W) of length 1."""
    found = np.empty((len(vectors), axes.shape[1]), "float32")
    for start in range(0, len(vectors), TEXTS_PER_FILE):
        rows = slice(start, start + TEXTS_PER_FILE)
        part = vectors[rows].astype("float32") @ axes
        norm = np.linalg.norm(part, axis=1, keepdims=True)
        found[rows] = part / np.maximum(norm, 1e-12)
    return found
