"""Taggers made from sentences, and their training by a recipe."""

import json

import keras
import numpy as np
import pytest
import tiny

import zoo
from zoo import pretraining
from zoo.data import write_conll
from zoo.layers import quantized_layers
from zoo.models.elmo import ELMo, ELMoConfig
from zoo.presets import directories
from zoo.pretraining import Recipe
from zoo.pretraining.tagger import TaggerTraining
from zoo.programs.vocabulary import taggers
from zoo.text import CharacterTokenizer
from zoo.training.resume import SaveWhole

TEXTS, _ = tiny.make_texts(24, seed=5)
SENTENCES = [text.split() for text in TEXTS]
TAGS = tiny.make_tags(TEXTS)
SIZES = {"lstm_dim": 6, "num_layers": 1, "embedding_dim": 5, "filters": ((2, 4),)}
VECTORS = ["superb", "zebra", "the"], np.arange(12, dtype="float32").reshape(3, 4)
LM = {"language_models": ["elmo_of_test"]}


def make(*language_models, **options):
    """A small tagger of the sentences."""
    options = {**SIZES, "language_models": language_models, **options}
    return zoo.make_tagger(SENTENCES, TAGS, **options)


def make_elmo():
    elmo = ELMo(ELMoConfig(**tiny.ELMO_CONFIG))
    elmo.tokenizer = CharacterTokenizer(12)
    return elmo


@pytest.fixture(scope="module")
def shipped(tmp_path_factory):
    """The root of shipped presets, with one language model."""
    root = tmp_path_factory.mktemp("presets")
    keras.utils.set_random_seed(3)
    make_elmo().save_to_preset(root / "elmo" / "elmo_of_test", dtype="float16")
    return root


@pytest.fixture
def root(shipped, monkeypatch):
    """As shipped."""
    monkeypatch.setattr(directories, "preset_root", lambda: shipped)
    directories._directories.cache_clear()
    yield shipped
    directories._directories.cache_clear()


def test_by_default_a_tagger_reads_a_mix_of_the_layers_of_a_bert(root, monkeypatch):
    monkeypatch.setattr(taggers, "DEFAULT_MODELS", LM["language_models"])
    default = zoo.make_tagger(SENTENCES, TAGS, **SIZES)
    assert [*default.backbone.parts] == ["lm_0"]
    config = default.backbone.config
    assert (config.lm_positions, config.lm_layers) == ((0,), "mix")
    top = zoo.make_tagger(SENTENCES, TAGS, lm_layers="top", **SIZES)
    assert top.backbone.config.lm_layers == "top"


@pytest.mark.usefixtures("eagerly")
def test_vocabulary_and_labels_are_the_sentences():
    model = make(minimum=3, seed=1)
    counts = {w: sum(row.count(w) for row in SENTENCES) for w in sum(SENTENCES, [])}
    often = {word for word, count in counts.items() if count >= 3}
    assert {*model.tokenizer.words.vocabulary} == often
    assert model.labels == ("B-GOOD", "O") and not model.backbone.parts
    assert model.backbone.config.vocabulary_size == model.tokenizer.vocabulary_size
    losses = model.fit(SENTENCES, TAGS, epochs=2, verbose=0).history["loss"]
    assert losses[-1] < losses[0]
    same, other = (make(minimum=3, seed=seed) for seed in (1, 2))
    same.fit(SENTENCES, TAGS, epochs=2, verbose=0)
    for ours, theirs in zip(model.get_weights(), same.get_weights(), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    first = [m.backbone.named_layers["word_embedding"].table() for m in (same, other)]
    assert (first[0] != first[1]).any()


@pytest.mark.slow
@pytest.mark.parametrize("unknown", ["random", "unk", "class"])
@pytest.mark.usefixtures("eagerly")
def test_a_trained_tagger_learns_more_words(unknown):
    model = make(embedding_dim=4, unknown=unknown, decoder="softmax")
    known = [*SENTENCES, ["Rome", "xyz", "7", "film"]]
    before, rare = (model.answer(x)["scores"] for x in (known, [["zebra"]]))
    more = zoo.extend_vocabulary(model, ["film", "zebra"], [[1] * 4, [7] * 4])
    np.testing.assert_array_equal(more.answer(known)["scores"], before)
    assert (more.answer([["zebra"]])["scores"] != rare).any()
    layer = more.backbone.named_layers["word_embedding"]
    np.testing.assert_array_equal(layer(more.tokenizer.words.ids(["zebra"])), [[7] * 4])
    assert "zebra" not in model.tokenizer.words.vocabulary


@pytest.mark.slow
def test_added_words_keep_their_vectors_in_training():
    options = {"embedding_dim": 4, "lm_layers": "mix", "decoder": "softmax"}
    model = make(make_elmo(), make_elmo(), **options)
    more = zoo.extend_vocabulary(model, ["zebra"], [[7] * 4])
    again = zoo.extend_vocabulary(more, ["yak", "zebra"], np.ones((2, 4)))
    found = [m.answer(SENTENCES[:2])["scores"] for m in (model, again)]
    np.testing.assert_array_equal(*found)
    again.fit([["zebra", "yak"]] * 8, [["O", "B-GOOD"]] * 8, verbose=0)
    layer = again.backbone.named_layers["word_embedding"]
    ids = again.tokenizer.words.ids(["zebra", "yak"])
    np.testing.assert_array_equal(layer(ids), [[7] * 4, [1] * 4])
    assert again.backbone.config.num_frozen == 2
    assert again.backbone.defaults == model.backbone.defaults == more.backbone.defaults
    assert again.backbone.defaults["epochs"] == 10


def test_frozen_language_models_stay_frozen():
    elmo = make_elmo()
    model = make(elmo, embedding_dim=4, lm_trainable=True)
    assert elmo.trainable_weights
    elmo.trainable = False
    more = zoo.extend_vocabulary(model, ["zebra"], [[7] * 4])
    assert not elmo.trainable_weights and more.backbone.parts["lm_0"] is elmo


@pytest.mark.slow
def test_a_tagger_with_more_words_is_saved(tmp_path):
    model = make(embedding_dim=4)
    model.backbone.named_layers["word_embedding"].trainable = False
    more = zoo.extend_vocabulary(model, *VECTORS)
    assert not more.backbone.named_layers["word_embedding"].trainable
    more.save_to_preset(tmp_path / "more")
    read = zoo.from_preset(tmp_path / "more")
    found = [m.answer([["zebra", "the"]])["scores"] for m in (more, read)]
    np.testing.assert_array_equal(*found)


@pytest.mark.slow
def test_a_tagger_of_int8_learns_more_words_too():
    model = make(embedding_dim=4)
    model.quantize("int8")
    more = zoo.extend_vocabulary(model, *VECTORS)
    assert quantized_layers(more) == quantized_layers(model)
    found = [m.answer(SENTENCES[:2])["scores"] for m in (model, more)]
    np.testing.assert_allclose(*found, atol=1e-6)


def test_what_has_no_words_learns_none(make_task):
    for model in (make(minimum=None), make_task()):
        with pytest.raises(ValueError, match="must be a TagLM with word vectors"):
            zoo.extend_vocabulary(model, *VECTORS)
    model = make()
    for vectors, message in (
        (VECTORS[1], "of width 5"),
        (VECTORS[1][:, 0], "of width 5"),
        (VECTORS[1][:2], "a vector for every word"),
        ([[1, 2], [3], [4]], r"of one width. Received: shapes \[\(1,\), \(2,\)"),
    ):
        with pytest.raises(ValueError, match=message):
            zoo.extend_vocabulary(model, VECTORS[0], vectors)


def test_texts_and_words_with_spaces_are_the_same():
    rows, tags = [["New York", "is", "good"]], [["O", "O", "B-GOOD"]]
    options = {"minimum": 1, **SIZES}
    made = zoo.make_tagger(rows, tags, (), **options)
    texts = zoo.make_tagger(["New_York is good"], ["O O B-GOOD"], (), **options)
    for model in (made, texts):
        assert model.tokenizer.words.vocabulary == ("New_York", "good", "is")
        assert model.labels == ("B-GOOD", "O")


@pytest.mark.slow
def test_words_with_a_vector_are_known():
    model = make(vectors=VECTORS, minimum=1)
    layer = model.backbone.named_layers["word_embedding"]
    ids = model.tokenizer.words.ids(["superb", "zebra", "the"]).numpy()
    np.testing.assert_array_equal(layer(ids), VECTORS[1])
    model.fit(SENTENCES, TAGS, epochs=2, verbose=0)
    np.testing.assert_array_equal(layer(ids[1:2]), VECTORS[1][1:2])
    assert (layer(ids[2:]).numpy() != VECTORS[1][2:]).any()
    assert model.backbone.config.num_frozen == 1
    words = make(vectors=VECTORS, limit=4).tokenizer.words.vocabulary
    assert words[:4] == model.tokenizer.words.vocabulary[:4]
    assert {*words[4:]} == {*VECTORS[0]} - {*words[:4]}


@pytest.mark.slow
def test_a_tagger_may_read_a_language_model_alone(root):
    fields = {"num_layers": 0, "filters": (), "minimum": None, "lm_positions": (0,)}
    model = make("elmo_of_test", lm_layers=1, **fields)
    assert {*model.backbone.input} == {"lm_0_character_ids", "padding_mask"}
    assert model.tokenizer.words is None and model.tokenizer.characters is None
    elmo = model.backbone.parts["lm_0"]
    x = model.preprocessor((["the good film"],))
    read = {"character_ids": x["lm_0_character_ids"]}
    layers = elmo.with_outputs("layer_outputs")(elmo.complete(read))["layer_outputs"]
    x.pop("word_positions")
    found = model.backbone(x)["sequence_output"]
    np.testing.assert_allclose(found, layers[:, 1], atol=1e-6)


@pytest.mark.slow
def test_a_tagger_without_frequent_words_is_kept(tmp_path):
    model = zoo.make_tagger([["a", "b"], ["c"]], [["X", "Y"], ["Y"]], (), **SIZES)
    assert model.tokenizer.words.vocabulary == ()
    model.save_to_preset(tmp_path / "preset")
    copy = zoo.from_preset(tmp_path / "preset")
    assert copy.tag(["a d"]) == model.tag(["a d"])


def test_bad_arguments_are_refused(root):
    no_vectors = [], np.zeros((0, 4))
    for options, error, message in (
        ({"lstm_dimension": 3}, ValueError, "Did you mean 'lstm_dim'"),
        ({"vectors": VECTORS, "minimum": None}, ValueError, "minimum=None"),
        ({**LM, "lm_layers": 3}, ValueError, "must be from -3 to 2. Received: 3"),
        ({"lm_layers": True}, ValueError, "`lm_layers` of TagLM .*Received: True"),
        ({"language_models": "elmo"}, TypeError, "must be a list. Received: 'elmo'"),
        ({"vectors": no_vectors}, ValueError, "`vectors` must hold words"),
        ({"language_models": ["elmo_of_tests"]}, KeyError, "elmo_of_tests"),
        ({"learning_rate": 0}, ValueError, "`learning_rate` must be a number"),
    ):
        with pytest.raises(error, match=message):
            make(**options)


def recipe(**fields):
    """Ten updates of a tiny tagger."""
    return Recipe(
        **{
            "family": "taglm",
            "objective": {
                "name": "token_classifier",
                "tagger": {**LM, "scheme": "IOB2"},
            },
            "config": {**SIZES, "lm_positions": [0], "lm_layers": "mix"},
            "train": ["train.tsv"],
            "valid": ["test.tsv"],
            "stages": [[10, 4, 10]],
            "learning_rate": 0.01,
            "warmup_steps": 2,
            **fields,
        }
    )


@pytest.fixture
def data(tmp_path):
    """Files of tagged sentences."""
    write_conll(tmp_path / "train.tsv", SENTENCES, TAGS)
    write_conll(tmp_path / "test.tsv", SENTENCES[:5], TAGS[:5])
    return tmp_path


class Stop(Exception):
    """What stops a run."""


@pytest.mark.slow
def test_a_run_stops_resumes_and_ends_in_a_preset(root, data, monkeypatch):
    pretraining.run(recipe(), data, data / "whole", every=5)
    save = SaveWhole.on_epoch_end

    def save_and_stop(callback, epoch, logs=None):
        save(callback, epoch, logs)
        raise Stop

    with monkeypatch.context() as patch, pytest.raises(Stop):
        patch.setattr(SaveWhole, "on_epoch_end", save_and_stop)
        pretraining.run(recipe(), data, data / "parts", every=5)
    model = pretraining.run(recipe(), data, data / "parts", every=5)
    assert int(model.optimizer.iterations) == 10
    folders = [data / name / "preset" for name in ("whole", "parts")]
    files = [(folder / "weights.safetensors").read_bytes() for folder in folders]
    assert files[0] == files[1]
    record = json.loads((folders[1] / "preset.json").read_text())
    assert record["parts"]["lm_0"]["preset"] == "elmo_of_test"
    scores = record["valid"]["test.tsv"]
    assert 0 < scores["accuracy"] <= 1 and 0 <= scores["f1"] <= 1
    tagger = zoo.from_preset(folders[1])
    assert [len(row) for row in tagger.tag(SENTENCES[:2])] == [
        len(row) for row in SENTENCES[:2]
    ]
    found = tagger.evaluate(SENTENCES[:5], TAGS[:5], return_dict=True, verbose=0)
    assert found["accuracy"] == pytest.approx(scores["accuracy"], abs=0.05)


@pytest.mark.slow
def test_long_sentences_are_left_out_and_every_epoch_is_another(root, data):
    run = TaggerTraining(recipe(), data, data / "run")
    short = [row for row in SENTENCES if len(row) <= 10]
    assert run.train[0] == short and len(short) < len(SENTENCES)
    assert run.tokens() == 10 * round(4 * np.mean([len(row) for row in short]))
    model = run.build()
    updates = -(-len(short) // 4)
    sizes = [
        [x["padding_mask"].numpy().sum(1).tolist() for x, *_ in run.batches(model, n)]
        for n in (0, updates, updates + 2)
    ]
    assert sizes[0][: len(sizes[1])] != sizes[1]
    assert sizes[0][updates:] == sizes[1] and sizes[1][2:] == sizes[2]


def test_impossible_recipes_are_refused(root, data):
    missing = {"name": "token_classifier", "tagger": {"language_models": ["no_model"]}}
    write_conll(data / "train.tsv", [["a"] * 11], [["O"] * 11])  # a later error
    with pytest.raises((KeyError, FileNotFoundError), match="no_model"):
        pretraining.run(recipe(objective=missing), data, data / "z", every=5)
    with pytest.raises(ValueError, match="must have one stage. Received"):
        pretraining.run(recipe(stages=[[10, 4, 5], [9, 4, 5]]), data, data / "a", 5)
    write_conll(data / "train.tsv", [["a"] * 11], [["O"] * 11])
    with pytest.raises(ValueError, match="at most 10 words. Received: none"):
        pretraining.run(recipe(), data, data / "b", every=5)
    write_conll(data / "train.tsv", SENTENCES, TAGS)
    for words, tags in ([["a"]], [["B-BAD"]]), ([], []):
        write_conll(data / "test.tsv", words, tags)
        with pytest.raises(ValueError, match=f"Received: {len(words)} sentences in"):
            pretraining.run(recipe(), data, data / "c", every=5)
    (data / "more").mkdir()
    write_conll(data / "more" / "test.tsv", SENTENCES, TAGS)
    with pytest.raises(ValueError, match="must have different names"):
        pretraining.run(recipe(valid=["test.tsv", "more/*"]), data, data / "d", every=5)


@pytest.mark.slow
def test_a_new_tagger_trains_for_ten_epochs_by_a_plan(tmp_path):
    model = zoo.make_tagger(SENTENCES[:4], TAGS[:4], (), **SIZES)
    model.run_eagerly = True
    assert len(model.fit(SENTENCES[:4], TAGS[:4], verbose=0).epoch) == 10
    assert model.optimizer._learning_rate.peak == 3e-3
    assert float(model.optimizer.learning_rate) < 3e-3 / 2
    model.save_to_preset(tmp_path / "tagger")
    again = zoo.from_preset(tmp_path / "tagger", learning_rate=1e-2)
    assert again.backbone.defaults == {"learning_rate": 3e-3, "epochs": 10}
    other = make(learning_rate=1e-2)
    assert other.default_learning_rate == other.optimizer._learning_rate.peak == 1e-2


def test_a_tagger_on_pieces_reads_long_texts_in_windows(make_task):
    bert = make_task("text_embedder").backbone
    model = make(bert)
    positions = tiny.CONFIG["max_sequence_length"]
    assert model.backbone.config.max_sequence_length == positions // 2
    x = model.preprocessor(([" ".join(["good"] * 40)],))
    assert len(x["word_positions"]) > 1 or x["padding_mask"].shape[1] <= positions
    assert make(bert, max_sequence_length=9).backbone.config.max_sequence_length == 9
