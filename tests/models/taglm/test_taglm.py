"""TagLM: what joins where, what is frozen, and how presets refer to presets."""

import json

import keras
import numpy as np
import pytest
import tensorflow as tf
import tiny

import zoo
from zoo.models.elmo import ELMo, ELMoConfig
from zoo.models.taglm import TagLM, TagLMConfig
from zoo.presets import directories, read_preset
from zoo.tasks.signatures import float32_clone
from zoo.text import CharacterTokenizer, TaggerTokenizer, UnicodeSpeller

TEXTS, WORDS = tiny.make_texts(16, seed=3)[0], [*tiny.PLAIN, *tiny.GOOD[:2]]
TAGS = tiny.make_tags(TEXTS)


def make_elmo(seed=0):
    elmo = ELMo(ELMoConfig(**{**tiny.ELMO_CONFIG, "dropout": 0.3}))
    draw = np.random.default_rng(seed)
    for variable in elmo.weights:
        if "seed" not in variable.path and "mix" not in variable.path:
            variable.assign(draw.normal(0, 0.4, variable.shape))
    elmo.tokenizer = CharacterTokenizer(12)
    return elmo


def make(parts=None, **fields):
    parts = {"lm_0": make_elmo()} if parts is None else parts
    others = {name: part.tokenizer for name, part in parts.items()}
    tokenizer = TaggerTokenizer(WORDS, max_characters=12, others=others)
    config = {**tiny.TAGLM_CONFIG, "num_layers": 2, **fields}
    if config["vocabulary_size"]:
        config["vocabulary_size"] = tokenizer.vocabulary_size
    keras.utils.set_random_seed(1)
    return TagLM(TagLMConfig(**config), parts=parts), tokenizer


def make_task(*arguments, **fields):
    backbone, tokenizer = make(*arguments, **fields)
    task = zoo.TokenClassifier(
        backbone, tokenizer, labels=tiny.TAGS, decoder="crf", scheme="IOB2"
    )
    task.compile(keras.optimizers.Adam(1e-2))
    return task


@pytest.mark.slow
def test_groups_are_unfrozen_with_the_language_model():
    task = make_task(lm_trainable=True)
    part = task.backbone.parts["lm_0"]
    before = [v.numpy() for v in part.trainable_weights]
    moved = []

    def note(epoch, logs):
        pairs = zip(part.trainable_weights or part.weights, before, strict=False)
        moved.append(any(np.any(v.numpy() != old) for v, old in pairs))

    callback = keras.callbacks.LambdaCallback(on_epoch_end=note)
    callbacks = [zoo.training.GradualUnfreezing(), callback]
    task.fit(TEXTS[:2], TAGS[:2], epochs=4, callbacks=callbacks, verbose=0)
    assert moved == [False, False, False, True]
    optimizer = task.default_optimizer(layer_decay=0.5)
    paths = {v.path for v in part.trainable_weights}
    assert {optimizer.rate_scale(path) for path in paths} == {0.125}


def test_a_copy_in_float32_has_such_a_language_model():
    elmo = ELMo(ELMoConfig(**tiny.ELMO_CONFIG), dtype="mixed_bfloat16")
    elmo.tokenizer = CharacterTokenizer(12)
    task = make_task({"lm_0": elmo})
    copy = float32_clone(task)
    assert copy.backbone.parts["lm_0"].compute_dtype == "float32"
    assert elmo.compute_dtype == "bfloat16"
    for ours, theirs in zip(copy.weights, task.weights, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert float32_clone(copy) is copy


def inputs_of(tokenizer, texts):
    words = tokenizer([f"<S> {text} </S>" for text in texts]).to_tensor("")
    mask = tf.cast(words != "", tf.int32)
    return tokenizer.inputs({"tokens": words, "padding_mask": mask})


def run_both(task):
    """The outputs of a backbone in training and in use."""
    x = inputs_of(task.tokenizer, TEXTS[:3])
    return [task.backbone(x, training=t)["sequence_output"] for t in (True, False)]


@pytest.mark.shown("positions3-mix")
@pytest.mark.parametrize("layers", ["top", "mix"])
@pytest.mark.parametrize("positions", [(0,), (1,), (2,), (0, 2), ()])
def test_language_models_join_where_they_are_told(positions, layers):
    """The network again, by its equation, from its own layers."""
    backbone, tokenizer = make(lm_positions=positions, lm_layers=layers)
    inputs = inputs_of(tokenizer, ["the good film", "bad"])
    mask = inputs["padding_mask"]
    named, elmo = backbone.named_layers, backbone.parts["lm_0"]
    read = {"character_ids": inputs["lm_0_character_ids"], "padding_mask": mask}
    hidden = elmo.with_outputs("layer_outputs")(read)["layer_outputs"].numpy()
    found = {}
    for place in positions:
        mix = named[f"lm_0_mix_{place}"]
        mix.gamma.assign([1.5 + place])
        mixed = hidden[:, -1]
        if layers == "mix":
            mix.scalars.assign([0.1, 0.7 * place, -0.4])
            weights = np.exp(mix.scalars.numpy())
            mixed = np.einsum("n,bnld->bld", weights / weights.sum(), hidden)
        found[place] = (1.5 + place) * mixed
    words = named["word_embedding"](inputs["word_ids"])
    characters = named["character_encoder"](inputs["character_ids"])
    x = np.concatenate([words, characters], axis=-1)
    for place in range(3):
        if place:
            pair = [
                named[f"tagger_{d}_{place}"](tf.constant(x), mask=mask)[0]
                for d in ("forward", "backward")
            ]
            x = np.concatenate(pair, axis=-1)
        if place in positions:
            x = np.concatenate([x, found[place]], axis=-1)
    x = x * mask.numpy()[:, :, None]
    np.testing.assert_allclose(backbone(inputs)["sequence_output"], x, atol=1e-5)


@pytest.mark.slow
def test_a_frozen_language_model_is_the_same_in_training_and_in_use():
    task = make_task()
    before = [w.numpy() for w in task.backbone.parts["lm_0"].weights]
    assert not task.backbone.parts["lm_0"].trainable_weights
    task.fit(TEXTS, TAGS, epochs=2, verbose=0)
    after = [w.numpy() for w in task.backbone.parts["lm_0"].weights]
    for ours, theirs in zip(after, before, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    # Its dropout of 0.3 is off; all others are 0.
    np.testing.assert_allclose(*run_both(task), atol=1e-6)


@pytest.mark.slow
def test_several_language_models_and_none():
    two = {"lm_0": make_elmo(0), "lm_1": make_elmo(5)}
    backbone, tokenizer = make(two, lm_positions=(2,))
    outputs = backbone(inputs_of(tokenizer, TEXTS[:2]))["sequence_output"]
    assert outputs.shape[-1] == 2 * 8 + 2 * 16
    backbone, tokenizer = make({}, lm_positions=(2,))
    outputs = backbone(inputs_of(tokenizer, TEXTS[:2]))["sequence_output"]
    assert outputs.shape[-1] == 2 * 8


@pytest.mark.slow
def test_without_words_and_layers_it_is_the_language_model_alone():
    fields = {"num_layers": 0, "vocabulary_size": 0, "filters": ()}
    elmo = make_elmo()
    backbone, tokenizer = make({"lm_0": elmo}, lm_positions=(0,), **fields)
    inputs = inputs_of(tokenizer, TEXTS[:2])
    inputs = {"lm_0_character_ids": inputs["lm_0_character_ids"]}  # and a mask of them
    read = elmo.complete({"character_ids": inputs["lm_0_character_ids"]})
    expected = elmo.with_outputs("layer_outputs")(read)["layer_outputs"][:, -1]
    found = backbone(inputs)["sequence_output"]
    np.testing.assert_allclose(found, expected, atol=1e-6)
    others = {"lm_0": elmo.tokenizer}
    tokenizer = TaggerTokenizer(None, max_characters=None, others=others)
    task = zoo.TokenClassifier(backbone, tokenizer, labels=tiny.TAGS)
    assert len(task.tag(TEXTS[:2])) == 2


def tags_of(task):
    return [(w["tag"], round(w["score"], 4)) for row in task.tag(TEXTS) for w in row]


@pytest.fixture
def shipped(tmp_path, monkeypatch):
    """A shipped preset of a language model, and its directory."""
    path = tmp_path / "presets" / "elmo" / "elmo_of_test"
    make_elmo().save_to_preset(path)
    monkeypatch.setattr(directories, "preset_root", lambda: tmp_path / "presets")
    directories._directories.cache_clear()
    yield path
    directories._directories.cache_clear()


@pytest.mark.slow
def test_a_preset_refers_to_the_preset_of_its_language_model(shipped, tmp_path):
    task = make_task({"lm_0": zoo.from_preset("elmo_of_test", task=None)})
    task.fit(TEXTS, TAGS, epochs=2, verbose=0)
    task.save_to_preset(tmp_path / "tagger")
    record = json.loads((tmp_path / "tagger" / "preset.json").read_text())
    known = json.loads((shipped / "preset.json").read_text())
    reference = {"preset": "elmo_of_test", "sha256": known["weights"]["sha256"]}
    assert record["parts"] == {"lm_0": reference}
    _, arrays, _ = read_preset(tmp_path / "tagger")
    assert len(arrays) > 10 and not [key for key in arrays if key.startswith("lm_0/")]
    copy = zoo.from_preset(tmp_path / "tagger")
    assert tags_of(copy) == tags_of(task)
    # What the name stands for has changed since.
    known["weights"]["sha256"] = "0" * 64
    (shipped / "preset.json").write_text(json.dumps(known))
    with pytest.raises(ValueError, match="refers to 'elmo_of_test'.*Train it again"):
        zoo.from_preset(tmp_path / "tagger")


@pytest.mark.slow
def test_a_changed_language_model_is_stored(shipped, tmp_path):
    elmo = zoo.from_preset("elmo_of_test", task=None)
    elmo.weights[0].assign(elmo.weights[0] + 1)
    task = make_task({"lm_0": elmo})
    task.save_to_preset(tmp_path / "tagger")
    record = json.loads((tmp_path / "tagger" / "preset.json").read_text())
    assert record["parts"]["lm_0"]["family"] == "elmo"
    # A config that changes no weight is stored, too.
    for other in ({}, {"cell_clip": 0.5}):
        again = zoo.from_preset("elmo_of_test", task=None, **other)
        make_task({"lm_0": again}).save_to_preset(tmp_path / f"tagger{len(other)}")
        record = json.loads((tmp_path / f"tagger{len(other)}/preset.json").read_text())
        assert ("preset" in record["parts"]["lm_0"]) == (not other)
    shipped.rename(tmp_path / "gone")
    assert tags_of(zoo.from_preset(tmp_path / "tagger")) == tags_of(task)


@pytest.mark.slow
def test_documents_of_any_length_have_a_tag_for_every_word():
    texts = ["", "a " * 10_000, "x" * 10_000, " \t\n", "\x00 \ud800 b"]
    words = [0, 10_000, 1, 0, 3]  # half a character is an unknown one
    assert [len(row) for row in make_task(num_layers=1).tag(texts)] == words


@pytest.mark.slow
def test_compiled_steps_train_it():
    task = make_task(lm_layers="mix", lm_trainable=True, num_layers=1)
    task.compile(keras.optimizers.Adam(1e-2), jit_compile=True)
    history = task.fit(TEXTS[:16], TAGS[:16], epochs=3, verbose=0).history["loss"]
    assert history[-1] < history[0]


def test_there_must_be_something_to_read():
    fields = {"vocabulary_size": 0, "filters": ()}
    for parts, positions in (({}, (0,)), ({"lm_0": make_elmo()}, (1,))):
        with pytest.raises(ValueError, match="must read words, characters or"):
            TagLM(TagLMConfig(**fields, lm_positions=positions), parts=parts)


def test_other_tokenizers_must_be_of_words():
    with pytest.raises(TypeError, match="Received: function as 'lm_0'"):
        TaggerTokenizer(WORDS, others={"lm_0": lambda texts: texts})
    with pytest.raises(ValueError, match="`class_name` must be one of"):
        TaggerTokenizer(WORDS, others={"lm_0": {"class_name": "os.system"}})


def test_no_weights_were_published(tmp_path):
    with pytest.raises(ValueError, match=r"one of 'zoo'.*Received: 'hdf5'"):
        make({})[0].save_to_preset(tmp_path / "x", layout="hdf5")


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, -2])
def test_an_embedder_reads_and_trains_the_layer_that_it_names(number):
    backbone, tokenizer = make(lm_positions=[0, 1])
    task = zoo.TextEmbedder(backbone, tokenizer, layers=[number])
    above = {"tagger_forward_2", "tagger_backward_2", "lm_0_mix_1", "pooler"}
    expected = {"pooler"} if number % 2 else above
    assert zoo.tasks.task_layers.unused_layers(task) | {"pooler"} == expected
    x = task.preprocessor((tf.constant(TEXTS[:2]),))
    layers = backbone.with_outputs("layer_outputs")(x)["layer_outputs"]
    real = tf.cast(x["padding_mask"], tf.float32)[:, :, None]
    mean = tf.reduce_sum(layers[:, number] * real, 1) / tf.reduce_sum(real, 1)
    np.testing.assert_allclose(task.predict(TEXTS[:2], verbose=0), mean, atol=1e-5)


def test_there_are_no_other_layers():
    backbone, tokenizer = make()
    for wrong in (2, -3):
        with pytest.raises(ValueError, match=r"numbers in \[-2, 2\)"):
            zoo.TextEmbedder(backbone, tokenizer, layers=[wrong])
    with pytest.raises(ValueError, match="It has layer_outputs, sequence_output."):
        backbone.with_outputs("attention_scores")


def test_every_language_model_has_its_own_markers():
    specials = ["<bos>", "<eos>", "<oov>", "<pad>", "<bow>", "<eow>"]
    vocabulary = ["<oov>", "<bos>", "<eos>", "<pad>", "the"]
    speller = UnicodeSpeller([*specials, *"aceht"], vocabulary)
    tokenizer = TaggerTokenizer(["the"], others={"lm_0": speller})
    words = tf.constant([["<S>", "the", "cat", "</S>"], ["<S>", "</S>", "", ""]])
    mask = tf.constant([[1, 1, 1, 1], [1, 1, 0, 0]])
    own = tokenizer.inputs({"tokens": words, "padding_mask": mask})
    theirs = [["<bos>", "the", "cat", "<eos>"], ["<bos>", "<eos>", "", ""]]
    features = {"tokens": tf.constant(theirs), "padding_mask": mask}
    expected = speller.inputs(features)
    for name in ("word_ids", "character_ids"):
        np.testing.assert_array_equal(own[f"lm_0_{name}"], expected[name])
