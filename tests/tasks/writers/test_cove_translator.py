"""Translators of a CoVe: the decoder as a head, its steps, writing and files."""

import keras
import numpy as np
import pytest
import tensorflow as tf
import tiny
from tiny_cove import make_cove_translator

import zoo
from zoo.serving import ask
from zoo.tasks.inputs.text_batches import token_lengths

TEXTS = ["The film was good.", "a", "", "superb and not boring at all , so fine !"]


@pytest.fixture(scope="module")
def translator():
    return make_cove_translator(generation={"extra_tokens": 6})


def logits_of(model, text, tokens):
    """The logits of the training graph, which reads the whole target."""
    inputs = model.preprocessor(([text],))
    read = np.array([[model.tokenizer.start_id, *tokens]], "int32")
    return model({**inputs, "decoder_token_ids": read}, training=False)[0].numpy()


@pytest.mark.slow
def test_what_is_written_is_what_the_training_graph_predicts(translator):
    end = translator.tokenizer.end_id
    for text in TEXTS:
        (found,), (score,) = translator.translate([text], return_scores=True)
        tokens, most = (
            [],
            int(token_lengths(translator, translator.text_columns([text]))[0]) + 6,
        )
        while len(tokens) < most and end not in tokens:
            tokens.append(int(np.argmax(logits_of(translator, text, tokens)[-1])))
        expected = translator.tokenizer.detokenize(tf.constant([[*tokens, end]]))
        if not text.strip():
            assert (found, score) == ("", 0.0)
            continue
        assert found == expected[0].numpy().decode("utf-8", "replace")
        logs = tf.nn.log_softmax(logits_of(translator, text, tokens[:-1])).numpy()
        total = logs[np.arange(len(tokens)), tokens].sum()
        np.testing.assert_allclose(score, total, atol=1e-4)


@pytest.mark.shown("3")
@pytest.mark.parametrize("beams", [1, 3])
def test_steps_are_the_training_graph(beams):
    # With larger kernels, rounding grows from step to step.
    translator = make_cove_translator(scale=0.4)
    decoder, draw = translator.decoder, np.random.default_rng(4)
    source = translator.preprocessor((TEXTS,))
    read = draw.integers(5, 300, (len(TEXTS) * beams, 7)).astype("int32")
    inputs = {k: np.repeat(v, beams, axis=0) for k, v in source.items()}
    expected = translator({**inputs, "decoder_token_ids": read}, training=False)
    states, found = decoder.make_states(len(read), 7, source, beams), []
    assert states["source"]["memory"].shape[0] == len(TEXTS)
    for begin, end in ((0, 1), (1, 4), (4, 7)):
        outputs, states = decoder.step(read[:, begin:end], states, beams=beams)
        found.append(translator.head(outputs["decoder_sequence_output"]))
    np.testing.assert_allclose(np.concatenate(found, axis=1), expected, atol=1e-5)
    assert np.std(expected) > 0.1


@pytest.mark.slow
def test_one_beam_is_greedy_and_more_are_better(translator):
    texts, greedy = translator.translate(TEXTS, return_scores=True)
    assert texts == translator.translate(TEXTS, num_beams=1)
    assert len({*texts}) == len(texts)  # so the test compares different texts
    options = {"num_beams": 4, "length_penalty": 0.0}
    several, beams = translator.translate(TEXTS, return_scores=True, **options)
    assert np.sum(beams) > np.sum(greedy)
    alone = [translator.translate([text], **options)[0] for text in TEXTS]
    assert several == alone


@pytest.mark.slow
def test_samples_and_streams(translator):
    options = {"temperature": 1.0, "seed": 3}
    samples = translator.translate(TEXTS, num_return=2, **options)
    assert samples == translator.translate(TEXTS, num_return=2, **options)
    for way in ({}, options):
        parts = list(translator.translate(TEXTS, stream=True, **way))
        assert len(parts) > 3 and parts[-1] == translator.translate(TEXTS, **way)


@pytest.mark.slow
def test_files_keep_the_translator(translator, tmp_path):
    expected = translator.translate(TEXTS)
    translator.save(tmp_path / "m.keras")
    assert zoo.load_model(tmp_path / "m.keras").translate(TEXTS) == expected
    translator.save_to_preset(tmp_path / "whole")
    assert zoo.from_preset(tmp_path / "whole").translate(TEXTS) == expected
    encoder = zoo.from_preset(tmp_path / "whole", task=None)
    names = {path.split("/")[0] for path in encoder.spare_heads}
    assert names == {"attentional_decoder", "token_logits"}
    encoder.save_to_preset(tmp_path / "encoder")
    again = zoo.from_preset(tmp_path / "encoder", task="translator")
    assert again.translate(TEXTS, extra_tokens=6) == expected


@pytest.mark.usefixtures("eagerly")
def test_other_tasks_have_the_encoder_only(translator, tmp_path):
    translator.save_to_preset(tmp_path / "preset")
    classifier = zoo.from_preset(
        tmp_path / "preset", task="text_classifier", labels=["bad", "good"]
    )
    tops = {weight.path.split("/")[0] for weight in classifier.weights}
    assert not tops & {"attentional_decoder", "token_logits"}
    assert np.isfinite(classifier.answer(TEXTS)["score"]).all()


@pytest.mark.slow
def test_it_learns_to_translate():
    sources, targets = tiny.make_pairs(400, longest=4)
    sizes = {"lstm_dim": 32, "embedding_dim": 16, "target_embedding_dim": 32}
    config = {**sizes, "train_words": True, "initializer_range": 0.3}
    model = make_cove_translator(scale=None, config=config, label_smoothing=0.0)
    model.compile(keras.optimizers.Adam(1e-2, global_clipnorm=1.0))
    history = model.fit(
        sources, targets, validation_data=(sources[:50], targets[:50]), epochs=25,
        token_budget=200, verbose=0,
    ).history  # fmt: skip
    losses = history["val_crossentropy"]
    assert losses[-1] < losses[0] / 2
    assert history["val_accuracy"][-1] > 0.5


@pytest.mark.slow
@pytest.mark.parametrize("beams", [1, 3])
def test_an_export_answers_the_same(tmp_path, beams):
    model = make_cove_translator(generation={"extra_tokens": 5, "num_beams": beams})
    version = model.export(tmp_path / "model")
    answers = ask(version, {"source": np.array(TEXTS, dtype=object)})
    texts, scores = model.translate(TEXTS, return_scores=True)
    assert answers["translation"].tolist() == texts
    np.testing.assert_allclose(answers["score"], scores, atol=1e-5)
    failed = [f for f in zoo.serving.diagnose(version) if not f.passed]
    assert not failed, zoo.serving.format_findings(failed)


def test_wrong_inputs(translator):
    inputs = translator.preprocessor((TEXTS,))
    with pytest.raises(ValueError, match="needs `decoder_token_ids`"):
        translator(inputs)
    with pytest.raises(ValueError, match="needs `word_ids`"):
        translator({"decoder_token_ids": np.zeros((1, 2), "int32")})
