"""Directories that keras-nlp and transformers load, with equal outputs."""

import dataclasses

import numpy as np
import pytest
from bert_golden import CONVERTED, GOLDEN, OUTPUTS, compute
from foreign_files import ATOL, assert_equal, draw_weights, run_transformers
from places import GOLDENS

import zoo
from zoo.models.bert.shapes import shapes
from zoo.models.bert.weights import KERAS_NLP_HEAD, read, write

NAMES = ("token_ids", "segment_ids", "padding_mask")
LABELS = ("x", "y", "z")
HUB, NLP = "hugging_face", "keras_nlp"
RUNNER = GOLDENS / "run_transformers.py"
# transformers' names of the same outputs in different classes.
LOGITS = {
    ("BertForPreTraining", "masked_lm_head"): "prediction_logits",
    ("BertForPreTraining", "next_sentence"): "seq_relationship_logits",
    ("BertForMaskedLM", "masked_lm_head"): "logits",
    ("BertForNextSentencePrediction", "next_sentence"): "logits",
}


def make(heads=(), num_classes=0, **fields):
    """The golden configuration with other fields, and random arrays."""
    fields = {"activation": "gelu_tanh", **fields}
    config = dataclasses.replace(CONVERTED.config, **fields)
    weights = draw_weights(shapes(config, heads, num_classes), 24)
    return config, weights, {**CONVERTED.tokenizer}


KERAS = {"layer_norm_epsilon": 1e-12, "dropout": 0.1, "attention_dropout": 0.1}


@pytest.mark.parametrize(
    ("heads", "num_classes"), (((), 0), (("masked_lm_head",), 0), (("classifier",), 3))
)
def test_keras_nlp_computes_what_we_compute(keras_nlp, tmp_path, heads, num_classes):
    config, weights, tokenizer = make(heads, num_classes, **KERAS)
    path = tmp_path / "preset"
    options = KERAS_NLP_HEAD
    write(path, NLP, config, weights, tokenizer, head_options=options)
    converted = read(path)
    assert converted.config == config
    assert converted.tokenizer == tokenizer
    assert_equal(converted.weights, weights)
    expected = compute(converted, OUTPUTS)
    backbone = keras_nlp.models.BertBackbone.from_preset(str(path))
    inputs = {name: OUTPUTS[name] for name in NAMES}
    for name, output in backbone(inputs).items():
        np.testing.assert_allclose(output, expected[name], 0, ATOL)
    theirs = keras_nlp.models.BertTokenizer.from_preset(str(path))
    assert list(theirs("The CAT s\u00e2t")) == [5, 7, 9]
    if heads == ("masked_lm_head",):
        task = keras_nlp.models.BertMaskedLM.from_preset(str(path))
        logits = task({**inputs, "mask_positions": OUTPUTS["mask_positions"]})
        np.testing.assert_allclose(logits, expected["masked_lm_logits"], 0, ATOL)
        assert task.preprocessor.tokenizer.vocabulary_size() == 17
    if heads == ("classifier",):
        task = keras_nlp.models.BertTextClassifier.from_preset(str(path))
        logits = task(inputs)
        np.testing.assert_allclose(logits, expected["classifier_logits"], 0, ATOL)
        own = zoo.from_preset(path)  # its classes have no names there
        own.save_to_preset(tmp_path / "again", layout=NLP)
        assert_equal(read(tmp_path / "again").weights, weights)


ARCHITECTURES = {
    "BertModel": ((), True),
    "BertForPreTraining": (("masked_lm_head", "next_sentence"), True),
    "BertForMaskedLM": (("masked_lm_head",), False),
    "BertForNextSentencePrediction": (("next_sentence",), True),
    "BertForSequenceClassification": (("classifier",), True),
    "BertForTokenClassification": (("classifier",), False),
    "BertForQuestionAnswering": (("spans",), False),
}


CASES = [(a, b) for a in ARCHITECTURES for b in ("gelu", "gelu_tanh")]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Directory of directories that we wrote and transformers ran."""
    directory = tmp_path_factory.mktemp("hugging_face")
    paths = []
    for architecture, activation in CASES:
        heads, pooler = ARCHITECTURES[architecture]
        config, weights, tokenizer = make(
            heads, 3, pooler=pooler, activation=activation
        )
        tokenizer["lowercase"] = activation == "gelu"
        labels = LABELS if "classifier" in heads else None
        paths.append(directory / architecture / activation)
        write(paths[-1], HUB, config, weights, tokenizer, labels)
    run_transformers(RUNNER, GOLDEN / "outputs.npz", *paths)
    return directory


@pytest.mark.slow
@pytest.mark.parametrize(("architecture", "activation"), CASES)
def test_transformers_computes_what_we_compute(written, architecture, activation):
    heads, pooler = ARCHITECTURES[architecture]
    path = written / architecture / activation
    converted = read(path)
    config, weights, _ = make(heads, 3, pooler=pooler, activation=activation)
    assert converted.config == config
    assert_equal(converted.weights, weights)
    assert converted.labels == (LABELS if "classifier" in heads else None)
    theirs = dict(np.load(path / "theirs.npz"))
    assert theirs["problems"].tolist() == []
    lowercase = activation == "gelu"
    ids = [2, 5, 7, 9, 3] if lowercase else [2, 1, 1, 1, 3]
    assert theirs["text_ids"].tolist() == ids and theirs["model_max_length"] == 9
    assert converted.tokenizer["lowercase"] == lowercase
    ours = compute(converted, OUTPUTS)
    pairs = {"encoder_last_hidden_state": "sequence_output"}
    if pooler:
        pairs["encoder_pooler_output"] = "pooled_output"
    for head, name in (("masked_lm_head", "masked_lm"), ("next_sentence",) * 2):
        if head in heads:
            theirs[f"{name}_logits"] = theirs[LOGITS[architecture, head]]
            pairs[f"{name}_logits"] = f"{name}_logits"
    if "masked_lm_head" in heads:
        positions = OUTPUTS["mask_positions"][:, :, None]
        logits = theirs["masked_lm_logits"]
        theirs["masked_lm_logits"] = np.take_along_axis(logits, positions, axis=1)
    if "classifier" in heads:
        assert tuple(theirs["labels"]) == LABELS
        pairs["logits"] = "classifier_logits"
    if "spans" in heads:
        spans = [theirs["start_logits"], theirs["end_logits"]]
        theirs["spans"] = np.stack(spans, axis=-1)
        pairs["spans"] = "spans_logits"
    for name, name_of_ours in pairs.items():
        np.testing.assert_allclose(theirs[name], ours[name_of_ours], 0, ATOL)


# Layout, heads, fields of the config, arguments of `write`, and message.
REFUSED = (
    (NLP, (), {"activation": "gelu"}, {}, "always has.*gelu_tanh.*Received.*'gelu'"),
    (NLP, (), {"layer_norm_epsilon": 1e-5}, {}, "always has.*1e-12.*Received.*1e-05"),
    (NLP, (), {"attention_dropout": 0.0}, {}, "always has.*attention_dropout': 0.1"),
    (NLP, (), {"pooler": False}, {}, "always has.*'pooler': True.*'pooler': False"),
    (NLP, ("next_sentence",), {}, {}, "holds one head"),
    (NLP, ("classifier",), {}, {"labels": LABELS}, "no labels.*'x', 'y'"),
    (NLP, ("masked_lm_head",), {}, {}, "always has.*1e-05.*gelu_tanh"),
    (HUB, ("masked_lm_head",), {}, {"head_options": KERAS_NLP_HEAD}, "encoder's opt"),
    (HUB, ("classifier", "spans"), {}, {}, "Hugging Face has a"),
    (HUB, ("classifier",), {}, {"labels": ("a",)}, r"\('a',\) for 3 outputs"),
)


@pytest.mark.parametrize(("layout", "heads", "fields", "options", "message"), REFUSED)
def test_what_a_layout_cannot_hold_is_refused(
    tmp_path, layout, heads, fields, options, message
):
    config, weights, tokenizer = make(heads, 3, **{**KERAS, **fields})
    with pytest.raises(ValueError, match=message):
        write(tmp_path / "new", layout, config, weights, tokenizer, **options)
    assert not list(tmp_path.iterdir())


def test_what_does_not_belong_together_is_refused(tmp_path):
    config, weights, tokenizer = make()
    arguments = (tmp_path / "new", HUB, config)
    short = {**tokenizer, "vocabulary": tokenizer["vocabulary"][1:]}
    with pytest.raises(ValueError, match="16 tokens, 17 rows"):
        write(*arguments, weights, short)
    with pytest.raises(ValueError, match="unused: 'other'"):
        write(*arguments, {**weights, "other": np.ones(1)})
    weights = {**weights, "pooler/bias": np.ones(3)}
    with pytest.raises(ValueError, match=r"'pooler/bias' must be \(8,\)"):
        write(*arguments, weights)
    with pytest.raises(ValueError, match="`layout` must be one of.*'google'"):
        write(tmp_path / "new", "google", config, weights)
    assert not list(tmp_path.iterdir())
