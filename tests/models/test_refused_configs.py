"""Impossible fields of the configs of recurrent families."""

import pytest
import tiny

from zoo.models.cove import CoVe
from zoo.models.elmo import ELMo
from zoo.models.taglm import TagLM
from zoo.models.ulmfit import ULMFiT


@pytest.mark.parametrize(
    ("family", "base", "fields", "message"),
    [
        (ELMo, {}, {"lstm_dim": 0}, "`lstm_dim` must be an integer from 1"),
        (ELMo, {}, {"dropout": 1.0}, r"`dropout` must be a number in \[0, 1\)"),
        (ELMo, {}, {"mix_layer_norm": "layer"}, "`mix_layer_norm` must be one of"),
        (ELMo, {}, {"word_vocabulary_size": -1}, "an integer from 0.*Received: -1"),
        (ELMo, {}, {"word_dim": 0}, "`word_dim` must be an integer from 1"),
        (ELMo, {}, {"pad_character": 0}, "`pad_character` must be positive.*: 0"),
        (ELMo, {}, {"pad_character": 262}, "below `vocabulary_size`.*262, and 262"),
        (TagLM, {}, {"lm_positions": (3,)}, r"from 0 to 2, the number of .*\(3,\)"),
        (TagLM, {}, {"lm_layers": "all"}, "`lm_layers` must be one of"),
        (TagLM, {}, {"dropout": 1.0}, r"`dropout` must be a number in \[0, 1\)"),
        (TagLM, {}, {"lstm_dim": -1}, "`lstm_dim` must be an integer from 0"),
        (CoVe, tiny.COVE_CONFIG, {"output": "both"}, "`output` must be one of"),
        (CoVe, tiny.COVE_CONFIG, {"lstm_dim": 0}, "`lstm_dim` must be an integer from"),
        (CoVe, tiny.COVE_CONFIG, {"target_vocabulary_size": 0}, "`target_vocabulary_s"),
        (CoVe, tiny.COVE_CONFIG, {"num_zero": 61}, "`num_zero` must be at most"),
        (CoVe, tiny.COVE_CONFIG, {"dropout": 1.0}, "`dropout` must be a number in"),
        (ULMFiT, tiny.ULMFIT_CONFIG, {"cell": "gru"}, "`cell` must be one of"),
        (ULMFiT, tiny.ULMFIT_CONFIG, {"pad_id": 64}, "`pad_id` must be an id"),
        (ULMFiT, tiny.ULMFIT_CONFIG, {"hidden_dropout": 1.0}, "`hidden_dropout`"),
        (ULMFiT, tiny.ULMFIT_CONFIG, {"num_layers": 0}, "`num_layers`"),
    ],
)
def test_impossible_configs_are_refused(family, base, fields, message):
    with pytest.raises(ValueError, match=message):
        family(family.config_class(**{**base, **fields}))
