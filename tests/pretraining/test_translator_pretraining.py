"""Training of translators by a recipe: words of the source, pieces of the target."""

import dataclasses
import gzip
import json
import shutil

import numpy as np
import pytest
import tensorflow as tf
import tiny
from eager import without_graphs

import zoo
from zoo import pretraining
from zoo.checkpoint import read_vectors
from zoo.pretraining import Recipe
from zoo.pretraining.translation import MEAN_SQUARE, Translation, join_pairs

VECTORS = {"texts": ["more.txt", "train.tsv.gz"], "embedding_dim": 6, "epochs": 1}
CONFIG = {key: tiny.COVE_CONFIG[key] for key in ("lstm_dim", "target_embedding_dim")}
# Some held-out targets are longer than the rows of the tiny recipe.
pytestmark = pytest.mark.filterwarnings("ignore:.*were truncated")


def recipe(config=(), stages=((12, 8, 4),), **options):
    vectors = {**VECTORS, "minimum": 2, "lowercase": True}
    objective = {"name": "translator", "source": "words", "vectors": vectors}
    objective |= {"joined": 0.4, "most_joined": 3}
    return Recipe(
        family="cove",
        objective={**objective, **options},
        config={
            "vocabulary_size": 60,
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
    with without_graphs():
        pretraining.run(recipe(), data, data / "run", every=2)
    return data / "run"


@pytest.mark.usefixtures("eagerly")
def test_a_run_ends_in_a_preset_of_encoder_and_decoder(finished):
    translator = zoo.from_preset(finished / "preset")
    assert isinstance(translator, zoo.Translator)
    assert translator.sequence_length is None
    assert translator.tokenizer.vocabulary_size <= 60
    assert len(translator.translate(["The film, purred."], max_new_tokens=4)) == 1
    scores = json.loads((finished / "report.json").read_text())["valid"]["valid.tsv"]
    assert scores["crossentropy"] > 0
    encoder = zoo.from_preset(finished / "preset", task=None)
    assert {v.path for v in translator.weights} > {v.path for v in encoder.weights}


def test_words_have_the_learned_vectors_which_training_does_not_change(finished):
    words, vectors = read_vectors(finished / "vectors.txt")
    encoder = zoo.from_preset(finished / "preset", task=None)
    layer, tokenizer = encoder.named_layers["word_embedding"], encoder.tokenizer
    for word in tokenizer.vocabulary:
        expected = vectors[words.index(word)]
        expected = expected / np.linalg.norm(expected) * (6 * MEAN_SQUARE) ** 0.5
        found = layer(tokenizer.ids([word.upper()]))[0]
        np.testing.assert_allclose(found, expected, rtol=2e-3, atol=1e-4)
    assert not np.any(layer(tokenizer.ids(["unheard"])))


def test_words_of_the_source_come_first(finished):
    words, _ = read_vectors(finished / "vectors.txt")
    found = zoo.from_preset(finished / "preset", task=None).tokenizer.vocabulary
    others = {"purred", "seen", "(", ")"}
    assert {*found[:10]} <= {*words} - others
    assert "purred" in found[-len(others) :] and len(found) == len(words)


@pytest.mark.slow
@pytest.mark.usefixtures("eagerly")
def test_a_run_that_stopped_ends_as_one_that_did_not(
    data, finished, tmp_path, monkeypatch
):
    folder, batches = tmp_path / "run", Translation.batches
    folder.mkdir()
    shutil.copy(finished / "vectors.txt", folder)

    def broken(self, model, start):
        assert start == 0
        first = batches(self, model, start).take(3).as_numpy_iterator()
        yield from first
        raise RuntimeError("stopped")

    def stopping(self, model, start):
        whole = batches(self, model, start)
        return tf.data.Dataset.from_generator(
            lambda: broken(self, model, start), output_signature=whole.element_spec
        )

    monkeypatch.setattr(Translation, "batches", stopping)
    with pytest.raises(tf.errors.OpError):
        pretraining.run(recipe(), data, folder, every=2)
    assert (folder / "checkpoint.keras").exists() and not (folder / "preset").exists()
    monkeypatch.setattr(Translation, "batches", batches)
    pretraining.run(recipe(), data, folder, every=2)
    name = "preset/weights.safetensors"
    assert (folder / name).read_bytes() == (finished / name).read_bytes()


def test_without_vectors_the_words_are_those_of_the_source(data, tmp_path):
    run = Translation(recipe({"vocabulary_size": 40}, vectors={}), data, tmp_path)
    assert {"the", "film"} <= {*run.tokenizer.vocabulary}
    assert "purred" not in run.tokenizer.vocabulary
    assert run.tokenizer.vocabulary_size == 40
    assert not (tmp_path / "vectors.txt").exists()


def test_joined_rows_are_several_pairs_in_the_same_order(data, tmp_path):
    sources, targets = (list(map(str, range(50))), [f"t{n}" for n in range(50)])
    found = join_pairs(sources, targets, 200, 4, seed=1)
    assert found == join_pairs(sources, targets, 200, 4, seed=1)
    assert found != join_pairs(sources, targets, 200, 4, seed=2)
    for source, target in zip(*found, strict=True):
        assert [f"t{n}" for n in source.split()] == target.split()
    assert {len(source.split()) for source in found[0]} == {2, 3, 4}
    run = Translation(recipe(), data, tmp_path)
    single, joined = (
        [side[part] for side in run.train] for part in (slice(80), slice(80, None))
    )
    assert single == list(Translation(recipe(joined=0.0), data, tmp_path).train)
    assert len(joined[0]) == 53  # 40 % of all
    assert joined == join_pairs(*single, 53, 3, recipe().seed)


def test_a_preset_knows_its_longest_source(finished, data, tmp_path):
    run = Translation(recipe(), data, tmp_path)
    lengths = run.lengths[:80][run.lengths[:80].max(axis=1) <= 12]
    found = zoo.from_preset(finished / "preset").options["longest_source"]
    assert found == lengths[:, 0].max() < run.lengths[80:, 0].max()


def test_wrong_options():
    for value in (0.91, -0.1, "half", np.nan):
        with pytest.raises(ValueError, match=r"`joined` .*in \[0, 0\.9\]"):
            recipe(joined=value)
    with pytest.raises(ValueError, match=r"`most_joined` .*in \[2, 100\]"):
        recipe(most_joined=1)
    with pytest.raises(ValueError, match="one of.*'pieces'.*Received: 'letters'"):
        recipe(source="letters")
    with pytest.raises(ValueError, match="those of words.*pieces"):
        recipe(source="pieces")
    with pytest.raises(ValueError, match="must have `texts`"):
        recipe(vectors={"epochs": 1})


@pytest.mark.slow
def test_a_recipe_from_a_preset_keeps_its_options(finished, data, tmp_path):
    model = zoo.from_preset(finished / "preset", generation={"num_beams": 3})
    model.save_to_preset(tmp_path / "start")
    start = dataclasses.replace(
        recipe(), objective={"name": "translator"}, config={}, start=tmp_path / "start"
    )
    built = Translation(start, data, tmp_path).build()
    assert built.options["generation"] == {"num_beams": 3}
    own = {"name": "translator", "generation": {"num_beams": 2}}
    built = Translation(dataclasses.replace(start, objective=own), data, tmp_path)
    assert built.build().options["generation"] == {"num_beams": 2}
    wrong = dataclasses.replace(start, objective=recipe().objective)
    with pytest.raises(ValueError, match="has the vectors of the preset"):
        Translation(wrong, data, tmp_path)
