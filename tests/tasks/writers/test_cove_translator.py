"""Translators of a CoVe: the decoder as a head."""

import numpy as np
import pytest
from tiny_cove import make_cove_translator

import zoo

TEXTS = ["The film was good.", "a", "", "superb and not boring at all , so fine !"]


@pytest.fixture(scope="module")
def translator():
    return make_cove_translator(generation={"extra_tokens": 6})


@pytest.mark.slow
def test_an_encoder_keeps_the_weights_of_the_translator(translator, tmp_path):
    translator.save_to_preset(tmp_path / "whole")
    encoder = zoo.from_preset(tmp_path / "whole", task=None)
    names = {path.split("/")[0] for path in encoder.spare_heads}
    assert names == {"attentional_decoder", "token_logits"}
    encoder.save_to_preset(tmp_path / "encoder")
    again = zoo.from_preset(tmp_path / "encoder", task="translator")
    assert again.translate(TEXTS, extra_tokens=6) == translator.translate(TEXTS)


def test_beams_share_the_states_of_the_source(translator):
    source = translator.preprocessor((TEXTS,))
    states = translator.decoder.make_states(3 * len(TEXTS), 7, source, 3)
    assert states["source"]["memory"].shape[0] == len(TEXTS)


@pytest.mark.usefixtures("eagerly")
def test_other_tasks_have_the_encoder_only(translator, tmp_path):
    translator.save_to_preset(tmp_path / "preset")
    classifier = zoo.from_preset(
        tmp_path / "preset", task="text_classifier", labels=["bad", "good"]
    )
    tops = {weight.path.split("/")[0] for weight in classifier.weights}
    assert not tops & {"attentional_decoder", "token_logits"}
    assert np.isfinite(classifier.answer(TEXTS)["score"]).all()


def test_wrong_inputs(translator):
    inputs = translator.preprocessor((TEXTS,))
    with pytest.raises(ValueError, match="needs `decoder_token_ids`"):
        translator(inputs)
    with pytest.raises(ValueError, match="needs `word_ids`"):
        translator({"decoder_token_ids": np.zeros((1, 2), "int32")})
