"""Training of translators by a recipe: words of the source, pieces of the target."""

import gzip
import json
import shutil

import numpy as np
import pytest
import tiny

import zoo
from zoo import pretraining
from zoo.checkpoint import read_vectors
from zoo.pretraining import Recipe
from zoo.pretraining.translation import MEAN_SQUARE, Translation

VECTORS = {"texts": ["more.txt", "train.tsv.gz"], "embedding_dim": 6, "epochs": 1}
CONFIG = {key: tiny.COVE_CONFIG[key] for key in ("lstm_dim", "target_embedding_dim")}


def recipe(config=(), stages=((12, 8, 4),), **options):
    vectors = {**VECTORS, "minimum": 2, "lowercase": True}
    objective = {"name": "translator", "source": "words", "vectors": vectors}
    return Recipe(
        family="cove",
        objective={**objective, **options},
        config={
            "vocabulary_size": 40,
            "target_vocabulary_size": 300,
            **CONFIG,
            **dict(config),
        },
        train=["train.tsv.gz"],
        valid=["valid.tsv"],
        stages=list(stages),
        warmup_steps=1,
    )


def write_pairs(file, pairs):
    for source, target in zip(*pairs, strict=True):
        file.write(f"{source.capitalize()}\t{target}\n")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pairs")
    with gzip.open(folder / "train.tsv.gz", "wt") as file:
        write_pairs(file, tiny.make_pairs(80))
    with open(folder / "valid.tsv", "w") as file:
        write_pairs(file, tiny.make_pairs(10, seed=1))
    (folder / "more.txt").write_text("Purred, purred and (seen) seen.\n" * 3)
    return folder


@pytest.fixture(scope="module")
def finished(data):
    """The folder of a run to its end."""
    pretraining.run(recipe(), data, data / "run", every=2)
    return data / "run"


def test_a_run_ends_in_a_preset_of_encoder_and_decoder(finished):
    translator = zoo.from_preset(finished / "preset")
    assert isinstance(translator, zoo.Translator)
    assert translator.sequence_length is None
    assert translator.tokenizer.vocabulary_size == 40
    assert len(translator.translate(["The film, purred."], max_new_tokens=4)) == 1
    scores = json.loads((finished / "report.json").read_text())["valid"]["valid.tsv"]
    assert scores["crossentropy"] > 0
    encoder = zoo.from_preset(finished / "preset", task=None)
    assert {v.path for v in translator.weights} > {v.path for v in encoder.weights}


def test_words_have_the_learned_vectors_which_training_does_not_change(finished):
    words, vectors = read_vectors(finished / "vectors.txt")
    encoder = zoo.from_preset(finished / "preset", task=None)
    layer, tokenizer = encoder.named_layers["word_embedding"], encoder.tokenizer
    assert tokenizer.vocabulary == tuple(words[:36])
    for word in (words[0], words[35]):
        expected = vectors[words.index(word)]
        expected = expected / np.linalg.norm(expected) * (6 * MEAN_SQUARE) ** 0.5
        found = layer(tokenizer.ids([word.upper()]))[0]
        np.testing.assert_allclose(found, expected, rtol=2e-3, atol=1e-4)
    assert not np.any(layer(tokenizer.ids(["unheard"])))


def test_a_run_that_stopped_ends_as_one_that_did_not(data, finished, tmp_path):
    shutil.copytree(finished, tmp_path / "run")
    weights = (finished / "preset" / "weights.safetensors").read_bytes()
    longer = recipe(stages=[(12, 8, 4)])
    for name in ("preset", "report.json"):
        path = tmp_path / "run" / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    pretraining.run(longer, data, tmp_path / "run", every=2)
    again = tmp_path / "run" / "preset" / "weights.safetensors"
    assert again.read_bytes() == weights


def test_without_vectors_the_words_are_those_of_the_source(data, tmp_path):
    run = Translation(recipe(vectors={}), data, tmp_path)
    assert {"the", "film"} <= {*run.tokenizer.vocabulary}
    assert "purred" not in run.tokenizer.vocabulary
    assert run.tokenizer.vocabulary_size == 40
    assert not (tmp_path / "vectors.txt").exists()


def test_wrong_options():
    with pytest.raises(ValueError, match="one of.*'pieces'.*Received: 'letters'"):
        recipe(source="letters")
    with pytest.raises(ValueError, match="those of words.*pieces"):
        recipe(source="pieces")
    with pytest.raises(ValueError, match="must have `texts`"):
        recipe(vectors={"epochs": 1})
