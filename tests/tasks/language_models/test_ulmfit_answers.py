"""ULMFiT's tasks from raw text to answers: in an export, and for unusual documents."""

import numpy as np
import pytest
import tensorflow as tf
import tiny
from test_causal_streams import make, tokenizer

import zoo
from zoo.tasks import TextClassifier, TextEnsemble

TEXTS = ["a good film", "", "the end of it , not so bad ! " * 20, "Unheard-of"]


def classify(head="concat_pooling", **options):
    return TextClassifier(
        make(num_layers=1, **options).backbone, tokenizer(), tiny.LABELS, head=head
    )


TASKS = {
    "causal_lm": lambda: make(num_layers=1),
    "linear": lambda: classify("linear"),
    "concat_pooling": classify,
    "ensemble": lambda: TextEnsemble([classify(), classify(reverse=True)]),
}


SLOW = {"causal_lm", "linear", "ensemble"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else [])
        for name in TASKS
    ],
)
def test_an_export_passes_the_doctor_and_answers_twice_the_same(name, tmp_path):
    model = TASKS[name]()
    version = model.export(tmp_path / "model")
    findings = zoo.serving.diagnose(version)
    failed = [finding for finding in findings if not finding.passed]
    assert not failed, zoo.serving.format_findings(failed)
    assert {"repeat", "batching"} <= {finding.check for finding in findings}
    served = tf.saved_model.load(str(version))
    signatures = served.signatures  # "score" is of a language model, which writes
    answer = signatures["score" if "score" in signatures else "serving_default"]
    first, second = (answer(tf.constant(TEXTS)) for _ in range(2))
    again, expected = model.answer(TEXTS), model.answer(TEXTS)
    assert first.keys() == expected.keys()
    for key, value in expected.items():
        np.testing.assert_array_equal(first[key], second[key])
        np.testing.assert_array_equal(again[key], value)
        if value.dtype == object:
            assert first[key].numpy().astype(str).tolist() == value.tolist()
        else:
            np.testing.assert_allclose(first[key], value, rtol=1e-5, atol=1e-5)


SEVERAL = [pytest.param(count, marks=pytest.mark.slow) for count in (1_000, 100_000)]


@pytest.mark.parametrize("count", [0, *SEVERAL])
def test_a_document_without_words_and_a_long_one_have_answers(count, request):
    if not count:
        request.getfixturevalue("eagerly")
    text = "good film " * (count // 2)
    model, classifier = make(num_layers=1), classify()
    scores = classifier.answer([text, "a good film"])["scores"]
    assert np.isfinite(scores).all()
    np.testing.assert_allclose(scores.sum(1), 1, rtol=1e-5)
    answer = model.answer([text])
    assert answer["tokens"] == [count] and np.isfinite(answer["perplexity"])
    assert (answer["log_probability"][0] < 0) == (count > 0)
    written = model.generate(text, max_new_tokens=2)
    assert written.startswith(text) and len(written) > len(text)
