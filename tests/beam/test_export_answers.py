"""Answers of exports in a pipeline are those of the models."""

import numpy as np
import pytest
import tensorflow as tf
from tiny_bert import tiny_bert
from tiny_translator import make_translator

import zoo

apache_beam = pytest.importorskip("apache_beam")
TEXTS = [f"good film {'bad ' * (n % 5)}{n}" for n in range(20)]


def answers_of(transform, folder):
    """The pairs of a transform of the texts, a dict."""

    def save(pairs):
        np.save(folder / "pairs.npy", np.array(pairs, object), allow_pickle=True)

    with apache_beam.Pipeline(runner="FnApiRunner") as pipeline:
        found = pipeline | apache_beam.Create(TEXTS) | transform
        _ = found | apache_beam.combiners.ToList() | apache_beam.Map(save)
    pairs = np.load(folder / "pairs.npy", allow_pickle=True).tolist()
    assert sorted(text for text, _ in pairs) == sorted(TEXTS)
    return dict(map(tuple, pairs))


@pytest.mark.slow
def test_vectors_are_those_of_the_model(tmp_path):
    backbone = tiny_bert()
    model = zoo.TextEmbedder(backbone, backbone.tokenizer)
    model.export(tmp_path / "export")
    found = answers_of(zoo.beam.Embed(tmp_path / "export"), tmp_path)
    vectors = np.stack([found[text] for text in TEXTS])
    np.testing.assert_allclose(vectors, zoo.embed(TEXTS, model, verbose=0), atol=1e-6)


@pytest.mark.slow
def test_translations_are_those_of_the_model(tmp_path):
    model = make_translator(generation={"max_new_tokens": 4})
    model.export(tmp_path / "export")
    found = answers_of(zoo.beam.Translate(tmp_path / "export"), tmp_path)
    assert [found[text] for text in TEXTS] == model.answer(TEXTS)[
        "translation"
    ].tolist()


@pytest.mark.slow
def test_tags_have_no_padding(tmp_path):
    backbone = tiny_bert()
    model = zoo.TokenClassifier(backbone, backbone.tokenizer, labels=["O", "B-X"])
    model.export(tmp_path / "export")
    found = answers_of(zoo.beam.Predict(tmp_path / "export"), tmp_path)
    expected = model.answer(TEXTS)
    for number, text in enumerate(TEXTS):
        words = text.split()
        tags = expected["tags"][number].tolist()
        assert found[text]["words"] == words
        assert found[text]["tags"] == tags[: len(words)]


class Facts(tf.Module):
    """Answers texts without a model."""

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")])
    def answer(self, text):
        return {"length": tf.strings.length(text), "upper": tf.strings.upper(text)}


def test_every_text_has_its_answer(tmp_path):
    with pytest.raises(FileNotFoundError, match="Export a model first"):
        zoo.beam.Predict(tmp_path)
    facts = Facts()
    tf.saved_model.save(facts, str(tmp_path / "export/1"), signatures=facts.answer)
    found = answers_of(zoo.beam.Predict(tmp_path / "export"), tmp_path)
    assert found == {t: {"length": len(t), "upper": t.upper()} for t in TEXTS}
    with pytest.raises(ValueError, match="'embedding'. Received: .*Use `Predict`"):
        zoo.beam.Embed(tmp_path / "export")
