"""Published BERTs with the head of a task are that task, and compute what theirs do."""

import json

import keras
import numpy as np
import pytest
import tiny

import zoo
from zoo.registry import build_backbone
from zoo.text import WordPieceTokenizer

TEXTS = (["the film"], ["good"], ["bad plot"], ["a"], ["movie ."])


@pytest.fixture(scope="module")
def tokenizer():
    return WordPieceTokenizer(tiny.VOCABULARY)


def build(tokenizer, **changes):
    keras.utils.set_random_seed(1)
    size = {"vocabulary_size": tokenizer.vocabulary_size}
    return build_backbone("bert", {**tiny.CONFIG, **size, **changes})


def test_a_question_answerer_is_written_and_read(tokenizer, tmp_path):
    task = zoo.QuestionAnswerer(build(tokenizer), tokenizer, num_answers=4)
    task.save_to_preset(tmp_path / "qa", layout="hugging_face")
    config = json.loads((tmp_path / "qa/config.json").read_text())
    assert config["architectures"] == ["BertForQuestionAnswering"]
    copy = zoo.from_preset(tmp_path / "qa", num_answers=4)
    assert isinstance(copy, zoo.QuestionAnswerer)
    rows = (["how"], ["the film was very good"])
    found, expected = copy.answer(rows), task.answer(rows)
    np.testing.assert_allclose(found["scores"], expected["scores"], atol=1e-6)
    assert found["texts"].tolist() == expected["texts"].tolist()


def test_a_tagger_is_written_and_read(tokenizer, tmp_path):
    backbone = build(tokenizer, pooler=False)
    task = zoo.TokenClassifier(backbone, tokenizer, labels=tiny.TAGS)
    task.save_to_preset(tmp_path / "tags", layout="hugging_face")
    copy = zoo.from_preset(tmp_path / "tags")
    assert isinstance(copy, zoo.TokenClassifier) and copy.labels == tuple(tiny.TAGS)
    assert copy.tag(["the good film"]) == task.tag(["the good film"])


def test_a_classifier_with_one_output_is_a_regressor(tokenizer, tmp_path):
    task = zoo.TextRegressor(build(tokenizer), tokenizer)
    task.save_to_preset(tmp_path / "number", layout="hugging_face")
    copy = zoo.from_preset(tmp_path / "number")
    assert isinstance(copy, zoo.TextRegressor)
    texts = ["the film was very good"]
    found, expected = (model.predict(texts, verbose=0) for model in (copy, task))
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("architecture", "kind"),
    [
        ("BertForQuestionAnswering", zoo.QuestionAnswerer),
        ("BertForTokenClassification", zoo.TokenClassifier),
        ("BertForMultipleChoice", zoo.MultipleChoice),
    ],
)
def test_logits_are_those_of_transformers(tokenizer, tmp_path, architecture, kind):
    transformers = pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    config = tiny.transformers_config(id2label=dict(enumerate(tiny.TAGS[:2])))
    theirs = getattr(transformers, architecture)(config).eval()
    theirs.save_pretrained(tmp_path)
    tokenizer.save_vocabulary(tmp_path / "vocab.txt")
    ours = zoo.from_preset(tmp_path)
    assert type(ours) is kind
    columns = TEXTS[: len(ours.required_columns)]
    x = ours.preprocessor(tuple(np.array(column, object) for column in columns))
    names = {"token_ids": "input_ids", "segment_ids": "token_type_ids"}
    names["padding_mask"] = "attention_mask"
    given = {n: torch.tensor(x[name].numpy()).long() for name, n in names.items()}
    with torch.no_grad():
        found = theirs(**given)
    if kind is zoo.QuestionAnswerer:
        expected = np.stack([found.start_logits.numpy(), found.end_logits.numpy()], 1)
        expected = np.where(x["padding_mask"][:, None] > 0, expected, -1e9)
    else:
        expected = found.logits.numpy()
    outputs = ours(x, training=False).numpy()
    if kind is zoo.TokenClassifier:
        places = np.maximum(x["word_positions"].numpy(), 0)
        expected = np.take_along_axis(expected, places[:, :, None], axis=1)
    np.testing.assert_allclose(outputs, expected, rtol=1e-5, atol=1e-5)
