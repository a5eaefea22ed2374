"""One text and any number of choices."""

import keras
import numpy as np
import pytest
import tiny
from tiny_tasks import make_tiny_task

import zoo
from zoo.registry import build_backbone
from zoo.tasks import MultipleChoice
from zoo.text import GPT2Tokenizer, WordPieceTokenizer
from zoo.text.byte_pairs.gpt2_tokenizer import END, byte_symbols

CHOICES = ["good", "a bad film", "", "lovely plot", "the end"]


@pytest.fixture(scope="module")
def model():
    return make_tiny_task(MultipleChoice, seed=1, num_choices=2)


@pytest.mark.shown("3")
@pytest.mark.usefixtures("eagerly")
@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_any_number_of_choices(model, count):
    found = model.choose("the film was", CHOICES[:count])
    logits = [
        model.predict((["the film was"], [choice], ["other"]), verbose=0)[0, 0]
        for choice in CHOICES[:count]
    ]
    shares = np.exp(logits) / np.exp(logits).sum()
    np.testing.assert_allclose(found["scores"], shares, atol=1e-5)
    assert found["choice"] == np.argmax(logits)
    assert found["text"] == CHOICES[found["choice"]]
    assert found["score"] == max(found["scores"])


def test_wrong_choices(model):
    with pytest.raises(ValueError, match=r"at least one text. Received: \[\]"):
        model.choose("a", [])
    for text, choices in (("a", "b"), (["a"], ["b"]), ("a", None)):
        with pytest.raises(TypeError, match="a str and a list of str"):
            model.choose(text, choices)
    with pytest.raises(TypeError, match="Every text must be a string"):
        model.choose("a", ["b", 1])


def test_another_head_and_the_pooling_of_the_preset(tmp_path):
    keras.utils.set_random_seed(1)
    backbone = build_backbone("bert", tiny.CONFIG)
    backbone.tokenizer = WordPieceTokenizer(tiny.VOCABULARY)
    backbone.defaults = {"pooling": "mean"}
    model = MultipleChoice(backbone, backbone.tokenizer, num_choices=2)
    assert model.options["pooling"] == "mean"
    model.save_to_preset(tmp_path / "a")
    found = zoo.from_preset(tmp_path / "a", pooling="compare")
    assert found.options["pooling"] == "compare" and found.new_heads == ("classifier",)
    assert zoo.from_preset(tmp_path / "a", pooling="cls").new_heads == ()
    config = {"hidden_dim": 8, "num_layers": 1, "num_heads": 2, "intermediate_dim": 16}
    config |= {"vocabulary_size": 257, "max_sequence_length": 16}
    gpt = build_backbone("gpt", config)
    tokenizer = GPT2Tokenizer([*byte_symbols(), END], [])
    for kept, other in (("delimiter", "linear"), ("linear", "delimiter")):
        path = tmp_path / kept
        MultipleChoice(gpt, tokenizer, 2, head=kept).save_to_preset(path)
        found = zoo.from_preset(path, head=other)
        assert found.options["head"] == other and "classifier" in found.new_heads
