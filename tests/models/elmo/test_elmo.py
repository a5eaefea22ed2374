"""ELMo against the vectors of its authors' program, and the promises of its room."""

import dataclasses
import itertools
import json
import shutil

import h5py
import keras
import numpy as np
import pytest
import tensorflow as tf
import tiny
from elmo_reference import check_layers, inputs_of
from foreign_files import assert_equal

import zoo
from zoo.checkpoint import open_checkpoint
from zoo.models.elmo import ELMo, ELMoConfig, TokenVectors, weights
from zoo.text import CharacterTokenizer

TEXTS = ["The cat sat .", "It did not .", "A much longer sentence about the cat ."]
STATES = ("hidden_state", "cell_state")


def make(seed=0, **fields):
    """A tiny ELMo with weights that reach the bounds."""
    elmo = ELMo(ELMoConfig(**{**tiny.ELMO_CONFIG, **fields}))
    draw = np.random.default_rng(seed)
    for variable in elmo.weights:
        if "seed" not in variable.path:
            variable.assign(draw.normal(0, 0.4, variable.shape))
    return elmo


def write_published(elmo, directory):
    """The model's directory as the authors publish one."""
    arrays = {v.path: v.numpy() for v in elmo.weights if "seed" not in v.path}
    arrays.update(weights.new_mix(elmo.config))
    weights.write(directory, "hdf5", elmo.config, arrays)


@pytest.fixture(scope="module")
def bilm(shared, tmp_path_factory):
    """The authors' test model as a directory, and the folder of their vectors."""
    directory = tmp_path_factory.mktemp("bilm")
    for name in ("options.json", "lm_weights.hdf5"):
        shutil.copy(shared / "oracles" / "bilm_tf" / name, directory)
    return directory, shared / "oracles" / "bilm_tf"


@pytest.mark.external
@pytest.mark.parametrize("count", [1, pytest.param(None, marks=pytest.mark.slow)])
def test_the_authors_vectors(bilm, count):
    directory, oracle = bilm
    model = zoo.from_preset(directory).stateful("layer_outputs")
    lists = json.loads((oracle / "lm_embeddings_sentences.json").read_text())
    expected = [h5py.File(oracle / f"lm_embeddings_{k}.hdf5") for k in range(3)]
    for number, texts in enumerate(itertools.islice(zip(*lists, strict=True), count)):
        top = model(inputs_of(texts, 50))["layer_outputs"][:, -1].numpy()
        for row, file in zip(top, expected, strict=True):
            theirs = np.concatenate(file[str(number)], axis=-1)
            ours = row[1 : len(theirs) + 1]
            np.testing.assert_allclose(ours, theirs, atol=2e-6)


@pytest.mark.external
def test_the_authors_file_comes_back_equal(bilm, tmp_path):
    directory, oracle = bilm
    zoo.from_preset(directory).save_to_preset(tmp_path / "copy", layout="hdf5")
    paths = tmp_path / "copy" / "weights.hdf5", oracle / "lm_weights.hdf5"
    ours, theirs = (dict(open_checkpoint(path)) for path in paths)
    assert len(theirs) > 20
    assert_equal(ours, theirs)
    ours, theirs = (
        json.loads((path / "options.json").read_text())
        for path in (tmp_path / "copy", directory)
    )
    assert ours == theirs


@pytest.mark.parametrize(
    "fields, count",
    [
        ({"lstm_dim": 1024, "projection_dim": 128, "num_highways": 1}, 13_593_296),
        ({"lstm_dim": 2048, "projection_dim": 256, "num_highways": 1}, 28_027_728),
        ({}, 93_600_848),
    ],
)
def test_published_sizes_have_the_published_parameters(fields, count):
    shapes = weights.shapes(ELMoConfig(**fields))
    assert sum(int(np.prod(shape)) for shape in shapes.values()) == count


@pytest.mark.parametrize("name", zoo.list_presets("elmo"))
def test_records_of_published_models_are_true(name):
    record = zoo.preset_info(name)
    if record.get("weights"):
        pytest.skip("Shipped, and tested with the shipped ones.")
    config = ELMoConfig(**record["backbone"])
    shapes = weights.shapes(config)
    assert sum(int(np.prod(s)) for s in shapes.values()) == record["parameters"]
    filters = {"filters": None}
    assert dataclasses.asdict(config) | filters == record["backbone"] | filters
    source = record["source"]
    assert all(source["uri"].split("/")[-2] in file for file in source["files"])


def test_a_published_model_is_fetched_once(tmp_path, monkeypatch):
    write_published(make(), tmp_path / "published")
    asked = []

    def urlopen(url, timeout):
        asked.append(url)
        name = url.rsplit("_", 1)[-1]
        return open(tmp_path / "published" / name, "rb")

    monkeypatch.setattr("urllib.request.urlopen", urlopen)
    monkeypatch.setenv("ZOO_HOME", str(tmp_path / "home"))
    for _ in range(2):
        elmo = zoo.from_preset("elmo_small_en")
        assert elmo.config.lstm_dim == 12 and elmo.origin is None
    stem = "elmo_2x1024_128_2048cnn_1xhighway"
    expected = [f"{stem}_options.json", f"{stem}_weights.hdf5"]
    assert [url.rsplit("/", 1)[-1] for url in asked] == expected


@pytest.mark.parametrize("residual", [True, False])
def test_what_is_written_is_what_the_equations_read(residual, tmp_path):
    elmo = make(residual=residual, cell_clip=0.6, projection_clip=0.5, num_layers=3)
    write_published(elmo, tmp_path / "published")
    options = json.loads((tmp_path / "published" / "options.json").read_text())
    check_layers(elmo, TEXTS, tmp_path / "published" / "weights.hdf5", options)


def test_a_published_directory_is_read_back(tmp_path):
    elmo = make()
    write_published(elmo, tmp_path / "published")
    copy = zoo.from_preset(tmp_path / "published")
    absent = {"dropout": 0.1, "initializer_range": 0.02}  # from the file
    assert copy.config == ELMoConfig(**{**tiny.ELMO_CONFIG, **absent})
    x = inputs_of(TEXTS)
    ours, theirs = (
        m.with_outputs("layer_outputs")(x)["layer_outputs"].numpy()
        for m in (copy, elmo)
    )
    np.testing.assert_array_equal(ours, theirs)
    mean = ours.mean(axis=1)
    np.testing.assert_allclose(copy(x)["sequence_output"], mean, atol=1e-6)


def test_it_is_stateless_and_states_are_explicit():
    elmo, x = make(), inputs_of(TEXTS)
    first = elmo(x)["sequence_output"].numpy()
    elmo(inputs_of(TEXTS[::-1]))
    np.testing.assert_array_equal(elmo(x)["sequence_output"], first)
    model = elmo.with_outputs("sequence_output", *STATES)
    zero = elmo.make_states(3)
    outputs = model({**x, **zero})
    np.testing.assert_array_equal(outputs["sequence_output"], first)
    found, states = elmo.step(x, zero)
    np.testing.assert_array_equal(found["sequence_output"], first)
    for name in STATES:
        np.testing.assert_array_equal(states[name], outputs[name])
    outputs = model({**x, **states})
    memory = elmo.stateful("sequence_output")
    np.testing.assert_array_equal(memory(x)["sequence_output"], first)
    second = memory(x)["sequence_output"].numpy()
    np.testing.assert_array_equal(second, outputs["sequence_output"])
    assert np.abs(second - first).max() > 1e-3


@pytest.mark.slow
def test_rows_beyond_a_smaller_batch_keep_their_states():
    memory, other, x = make().stateful(), make().stateful(), inputs_of(TEXTS)
    memory(x)
    other(x)
    memory(inputs_of(TEXTS[:1]))
    ours, theirs = (m(x)["sequence_output"].numpy() for m in (memory, other))
    assert np.abs(ours[0] - theirs[0]).max() > 1e-4
    np.testing.assert_allclose(ours[1:], theirs[1:], atol=1e-6)
    memory.reset()
    first, new = memory(x)["sequence_output"], make()(x)["sequence_output"]
    np.testing.assert_array_equal(first, new)


@pytest.mark.parametrize("which", ["bilm", "allennlp"])
def test_layer_norm_sees_the_markers_or_not(which):
    elmo, x = make(mix_layer_norm=which), inputs_of(TEXTS)
    outputs = elmo.with_outputs("sequence_output", "layer_outputs")(x)
    mask = x["padding_mask"].numpy().astype(bool)
    if which == "bilm":
        mask[:, 0] = False
        for row, length in enumerate(mask.sum(1)):
            mask[row, length] = False
    layers = outputs["layer_outputs"].numpy()
    scalars = elmo.named_layers["scalar_mix"].scalars.numpy()
    gamma, shares = elmo.named_layers["scalar_mix"].gamma.numpy(), np.exp(scalars)
    mixed = 0
    for number, share in enumerate(shares / shares.sum()):
        inside = layers[:, number][mask]
        mixed = mixed + gamma * share * (inside - inside.mean()) / inside.std()
    found = outputs["sequence_output"].numpy()[mask]
    np.testing.assert_allclose(found, mixed, atol=1e-5)


def test_options_for_training_are_read_too(tmp_path):
    write_published(make(), tmp_path / "published")
    path = tmp_path / "published" / "options.json"
    path.write_text(path.read_text().replace("262", "261"))
    assert zoo.from_preset(tmp_path / "published").config.vocabulary_size == 262


def test_a_trained_mix_is_not_lost_silently(tmp_path):
    elmo = make()
    with pytest.raises(ValueError, match="scalar_mix/gamma, scalar_mix/scalars"):
        elmo.save_to_preset(tmp_path / "copy", layout="hdf5")
    assert not (tmp_path / "copy").exists()


def test_a_masked_language_model_is_refused(tmp_path):
    write_published(make(), tmp_path / "published")
    with pytest.raises(ValueError, match="predicts tokens.*'elmo'"):
        zoo.from_preset(tmp_path / "published", task="masked_lm")


def test_extreme_texts_have_answers():
    task = zoo.tasks.TextEmbedder(make(), CharacterTokenizer(12))
    for rows in (["a", "", "a " * 200, "x" * 10_000, " \t\n"], [""]):
        answer = task.answer(rows)["embedding"]
        assert answer.shape == (len(rows), 16) and np.isfinite(answer).all()


@pytest.mark.slow
def test_other_rows_change_the_rounding_only():
    """At a published size: there the last bits of a product vary with its rows."""
    keras.utils.set_random_seed(0)
    config = ELMoConfig(lstm_dim=1024, projection_dim=128, num_highways=1)
    elmo, draw = ELMo(config), np.random.default_rng(0)
    vectors = tf.function(lambda x: elmo(x, training=False)["sequence_output"])
    own = " ".join(["It is not known what became of the other rows ."] * 3)
    words = [f"word{number}" for number in range(500)]

    def batch(longest):
        rows = [
            " ".join(draw.choice(words, draw.integers(longest) + 1)) for _ in "1234567"
        ]
        return vectors(inputs_of([own, *rows], 50))[0].numpy()

    first = batch(30)
    for longest in (1, 4, 30):
        np.testing.assert_allclose(batch(longest), first, atol=1e-6)


def test_vectors_of_known_words_are_computed_once(tmp_path, monkeypatch):
    elmo = make()
    elmo.tokenizer = CharacterTokenizer(12)
    known = ["the", "cat", "<S>", "</S>"]
    cache = TokenVectors(elmo, known)
    rows = [["<S>", "the", "cat", "</S>", ""], ["<S>", "a", "cat", "sat", "</S>"]]
    mask = (np.array(rows) != "").astype("int32")
    expected = elmo(
        elmo.tokenizer.inputs({"tokens": tf.constant(rows), "padding_mask": mask})
    )
    expected = expected["sequence_output"]
    computed, compute = [], TokenVectors.compute
    monkeypatch.setattr(
        TokenVectors, "compute", lambda s, w: computed.append(w) or compute(s, w)
    )
    model = elmo.with_token_vectors("sequence_output")
    cache.save(tmp_path / "vectors.hdf5")
    again = TokenVectors.load(elmo, known, tmp_path / "vectors.hdf5")
    assert computed == []
    for vectors in (cache, again):
        found = model({"token_vectors": vectors(rows), "padding_mask": mask})
        np.testing.assert_allclose(found["sequence_output"], expected, atol=1e-6)
    assert computed == [["a", "sat"]] * 2
    assert cache(np.zeros((2, 0), object)).shape == (2, 0, 8)
    with pytest.raises(ValueError, match="each word once. Received: 2 words, 1 diff"):
        TokenVectors(elmo, ["a", "a"])
    with pytest.raises(ValueError, match=r"\(4, 8\); \(3, 8\) was expected"):
        TokenVectors.load(elmo, known[:3], tmp_path / "vectors.hdf5")
