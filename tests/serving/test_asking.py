import numpy as np
import pytest

from zoo.serving import ask

TEXTS = {"text": np.array(["good film", ""], dtype=object)}


def test_answers_are_those_of_the_model(classifier, good_version):
    answers = ask(good_version.parent, TEXTS)
    expected = classifier.classify(text=list(TEXTS["text"]))
    assert set(answers) == set(expected)
    for name, value in expected.items():
        value = value.numpy()
        if value.dtype == object:
            decoded = [element.decode() for element in value.ravel()]
            assert answers[name].ravel().tolist() == decoded
        else:
            np.testing.assert_allclose(answers[name], value, atol=1e-6)


def test_unknown_signature_and_inputs(good_version):
    with pytest.raises(ValueError, match="has the signatures .* 'nothing'"):
        ask(good_version, TEXTS, signature="nothing")
    with pytest.raises(ValueError, match=r"takes \['text'\]. Received: \['words'\]"):
        ask(good_version, {"words": TEXTS["text"]})
    with pytest.raises(FileNotFoundError):
        ask(good_version / "variables", TEXTS)
