"""Promises of the translators of all families: steps, searches, files and exports."""

import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf
import tiny
from tiny_cove import make_cove_translator
from tiny_translator import make_translator

import zoo
from zoo.serving import ask
from zoo.tasks.inputs.text_batches import token_lengths

TEXTS = ["the film was good", "a", "", "superb and not boring at all , so fine !"]
MAKERS = {"transformer": make_translator, "cove": make_cove_translator}
SAMPLES = {"temperature": 1.0, "seed": 3}
# Translators whose written tokens are compared with the whole decoder.
GRAPHS = [
    ("transformer", {"scale": 0.3, "separate": sides, "config": {"norm_first": norm}})
    for sides, norm in itertools.product((False, True), repeat=2)
]


@pytest.fixture(scope="module")
def translators():
    """Function of a family: its translator, which no test may change."""
    made = {}

    def find(family):
        if family not in made:
            made[family] = MAKERS[family](generation={"extra_tokens": 8})
        return made[family]

    return find


@pytest.fixture(params=MAKERS)
def translator(request, translators):
    return translators(request.param)


def logits_of(model, text, tokens):
    """The logits of the training graph, which reads the whole target."""
    inputs = model.preprocessor(([text],))
    read = np.array([[model.tokenizer.start_id, *tokens]], "int32")
    return model({**inputs, "decoder_token_ids": read}, training=False)[0].numpy()


@pytest.mark.slow
@pytest.mark.parametrize("family, options", [*GRAPHS, ("cove", {})])
def test_what_is_written_is_what_the_training_graph_predicts(family, options):
    model = MAKERS[family](generation={"extra_tokens": 6}, **options)
    end = model.tokenizer.end_id
    for text in TEXTS:
        (found,), (score,) = model.translate([text], return_scores=True)
        if not text.strip():
            assert (found, score) == ("", 0.0)
            continue
        (length,) = token_lengths(model, model.text_columns([text]))
        tokens = []
        while len(tokens) < min(int(length) + 6, 48) and end not in tokens:
            tokens.append(int(np.argmax(logits_of(model, text, tokens)[-1])))
        expected = model.tokenizer.detokenize(tf.constant([[*tokens, end]]))
        assert found == expected[0].numpy().decode("utf-8", "replace")
        logs = tf.nn.log_softmax(logits_of(model, text, tokens[:-1])).numpy()
        total = logs[np.arange(len(tokens)), tokens].sum()
        np.testing.assert_allclose(score, total, atol=1e-5 * len(tokens))


@pytest.mark.shown("transformer", "cove-0.4-3")
@pytest.mark.parametrize("beams", [1, 3])
@pytest.mark.parametrize("family, scale", [("transformer", 0.3), ("cove", 0.4)])
def test_steps_of_several_tokens_are_the_decoder(family, scale, beams):
    # With larger kernels, rounding grows from step to step.
    model = MAKERS[family](scale=scale)
    source = model.preprocessor((TEXTS,))
    read = np.random.default_rng(4).integers(5, 300, (len(TEXTS) * beams, 9))
    read = read.astype("int32")
    inputs = {key: np.repeat(value, beams, axis=0) for key, value in source.items()}
    expected = model({**inputs, "decoder_token_ids": read}, training=False)
    states, found = model.decoder.make_states(len(read), 9, source, beams), []
    for begin, end in ((0, 1), (1, 5), (5, 9)):
        outputs, states = model.decoder.step(read[:, begin:end], states, beams=beams)
        found.append(model.head(outputs["decoder_sequence_output"]))
    np.testing.assert_allclose(np.concatenate(found, axis=1), expected, atol=1e-5)
    assert np.std(expected) > 0.1


@pytest.mark.slow
def test_one_beam_is_greedy_and_more_are_better(translator):
    texts, greedy = translator.translate(TEXTS, return_scores=True)
    assert texts == translator.translate(TEXTS, num_beams=1)
    assert len({*texts}) == len(texts)  # so the tests compare different texts
    options = {"num_beams": 4, "length_penalty": 0.0}
    several, beams = translator.translate(TEXTS, return_scores=True, **options)
    assert np.sum(beams) > np.sum(greedy)
    assert several == [translator.translate([text], **options)[0] for text in TEXTS]


@pytest.mark.slow
def test_samples_depend_on_the_seed_only(translator):
    options = {**SAMPLES, "num_return": 2}
    first = translator.translate(TEXTS, **options)
    assert first == translator.translate(TEXTS, **options)
    assert first != translator.translate(TEXTS, **{**options, "seed": 4})
    assert [len(row) for row in first] == [2] * len(TEXTS)


@pytest.mark.slow
def test_a_stream_grows_to_the_translation(translator):
    for way in ({}, SAMPLES):
        parts = list(translator.translate(TEXTS, stream=True, **way))
        assert parts[-1] == translator.translate(TEXTS, **way)
        assert len(parts) > 3 and parts[0] != parts[-1]
        for before, after in itertools.pairwise(parts):
            for old, new in zip(before, after, strict=True):
                assert new.startswith(old.rstrip("\ufffd \u2047")) or "\ufffd" in old
    assert list(translator.translate([], stream=True)) == []


@pytest.mark.slow
def test_files_keep_the_translator(translator, tmp_path):
    expected = translator.translate(TEXTS)
    translator.save(tmp_path / "m.keras")
    assert zoo.load_model(tmp_path / "m.keras").translate(TEXTS) == expected
    translator.save_to_preset(tmp_path / "preset")
    loaded = zoo.from_preset(tmp_path / "preset")
    assert isinstance(loaded, zoo.Translator)
    assert loaded.translate(TEXTS) == expected


@pytest.mark.slow
@pytest.mark.parametrize("beams", [1, 3])
@pytest.mark.parametrize(
    "family, options", [("transformer", {"separate": True}), ("cove", {})]
)
def test_an_export_answers_the_same(family, options, beams, tmp_path):
    generation = {"extra_tokens": 5, "num_beams": beams}
    model = MAKERS[family](generation=generation, **options)
    version = model.export(tmp_path / "model")
    answers = ask(version, {"source": np.array(TEXTS, dtype=object)})
    texts, scores = model.translate(TEXTS, return_scores=True)
    assert answers["translation"].tolist() == texts
    np.testing.assert_allclose(answers["score"], scores, atol=1e-5)
    failed = [found for found in zoo.serving.diagnose(version) if not found.passed]
    assert not failed, zoo.serving.format_findings(failed)


WIDE = {"lstm_dim": 32, "embedding_dim": 16, "target_embedding_dim": 32}
COVE = {**WIDE, "train_words": True, "initializer_range": 0.3}


@pytest.mark.slow
@pytest.mark.parametrize(
    "family, config, epochs, budget",
    [
        ("transformer", {"hidden_dim": 32, "num_heads": 4}, 6, 400),
        ("cove", COVE, 25, 200),
    ],
    ids=["transformer", "cove"],
)
def test_it_learns_to_translate(family, config, epochs, budget):
    sources, targets = tiny.make_pairs(400, longest=4)
    model = MAKERS[family](scale=None, config=config, label_smoothing=0.0)
    if family == "transformer":
        model.compile(learning_rate=1e-2)
    else:
        model.compile(keras.optimizers.Adam(1e-2, global_clipnorm=1.0))
    options = {"epochs": epochs, "token_budget": budget, "verbose": 0}
    held_out = sources[:50], targets[:50]
    history = model.fit(sources, targets, validation_data=held_out, **options).history
    losses = history["val_crossentropy"]
    assert losses[-1] < losses[0] / 2 and history["val_accuracy"][-1] > 0.5
