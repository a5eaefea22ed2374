import sys

import numpy as np
import pytest
import tensorflow as tf

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


def test_what_a_model_prints_is_no_answer(tmp_path):
    class Printing(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, "x")])
        def double(self, x):
            tf.print("5", output_stream=sys.stdout)
            tf.print("no JSON", x, output_stream=sys.stdout)
            return {"y": 2 * x}

    module = Printing()
    tf.saved_model.save(module, str(tmp_path / "1"), {"serving_default": module.double})
    answers = ask(tmp_path, {"x": np.array([1.5], "float32")})
    assert answers["y"].tolist() == [3.0]
