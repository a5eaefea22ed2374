"""The encoder of a Transformer alone, in tasks of one sequence."""

import numpy as np
import pytest
import tensorflow as tf
import tiny
from tiny_translator import make_translator

import zoo
from zoo.models.transformer import Transformer, TransformerConfig

TEXTS = tiny.make_pairs(60)[0][:5]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A translator with two vocabularies, and the directory of its preset."""
    model, path = make_translator(separate=True), tmp_path_factory.mktemp("encoder")
    model.save_to_preset(path / "preset")
    return model, path / "preset"


def test_a_task_of_one_sequence_has_the_encoder_of_a_translator(saved, tmp_path):
    translator, path = saved
    embedder = zoo.from_preset(path, "text_embedder", layers=[0, -1])
    names = {layer.split("/")[0] for layer in embedder.backbone.named_layers}
    assert not any(name.startswith(("decoder", "target")) for name in names)
    whole = zoo.embed_words(TEXTS, translator, None)
    alone = zoo.embed_words(TEXTS, embedder, None)
    for one, other in zip(whole, alone, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)
    vectors = embedder.predict(TEXTS, verbose=0)
    embedder.save_to_preset(tmp_path / "encoder")
    again = zoo.from_preset(tmp_path / "encoder")
    assert isinstance(again, zoo.TextEmbedder)
    np.testing.assert_allclose(again.predict(TEXTS, verbose=0), vectors, atol=1e-6)
    with pytest.raises(ValueError, match="a decoder. Received: an encoder only"):
        embedder.save_to_preset(tmp_path / "marian", layout="hugging_face")
    with pytest.raises(ValueError, match="needs a backbone with an encoder and a dec"):
        zoo.from_preset(tmp_path / "encoder", "translator")


def test_a_backbone_with_a_decoder_is_refused(saved):
    translator, _ = saved
    with pytest.raises(ValueError, match="Make one with {'num_decoder_layers': 0"):
        zoo.TextClassifier(translator.backbone, translator.tokenizer)


def test_padding_is_derived_from_the_id_of_padding():
    config = TransformerConfig(
        **tiny.TRANSFORMER_CONFIG | {"num_decoder_layers": 0, "pad_id": 3},
        vocabulary_size=20,
    )
    backbone = Transformer(config)
    complete = backbone.complete({"token_ids": np.array([[5, 0, 3]])})
    assert complete["padding_mask"].numpy().tolist() == [[1, 1, 0]]
    assert backbone.predicts is None and "attention_scores" in backbone.on_request
    with pytest.raises(
        ValueError, match="`num_decoder_layers` must be an integer from 0"
    ):
        TransformerConfig(num_decoder_layers=-1)


def test_the_texts_of_a_pair_are_separate(saved):
    _, path = saved
    options = {"labels": ["no", "yes"], "pooling": "mean"}
    classifier = zoo.from_preset(path, "text_classifier", **options)
    pairs = (["the cat", "the"], ["sat", "cat sat"])
    ids = classifier.preprocessor(tuple(map(tf.constant, pairs)))["token_ids"].numpy()
    end = classifier.tokenizer.end_id
    assert (ids == end).sum(axis=1).tolist() == [2, 2]
    assert ids[0].tolist() != ids[1].tolist()
