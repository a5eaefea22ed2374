"""A GPT that is trained on packed rows, and continues what it has learned."""

import keras
import numpy as np
import pytest
import tensorflow as tf
import tiny
from tiny_gpt import tiny_byte_tokenizer
from tiny_tasks import make_tiny_task

import zoo
from zoo.registry import build_backbone
from zoo.tasks import CausalLM
from zoo.text import WordPieceTokenizer

TEXTS = ["a good film", "bad", "the story was dull and the music was not so good"] * 4


def make(tokenizer=None, family="gpt", **options):
    tokenizer = tokenizer or tiny_byte_tokenizer()
    config = {"vocabulary_size": tokenizer.vocabulary_size}
    return make_tiny_task(CausalLM, family, config, tokenizer=tokenizer, **options)


@pytest.mark.shown("True")
@pytest.mark.parametrize("norm_first", [True, False])
def test_a_document_in_a_row_is_read_as_alone(norm_first):
    keras.utils.set_random_seed(0)
    config = {**tiny.GPT_CONFIG, "norm_first": norm_first}
    gpt = build_backbone("gpt", config)
    ids = np.random.default_rng(0).integers(0, 380, (2, 12))
    numbers = np.array([[1] * 5 + [2] * 7, [1] * 4 + [2] * 4 + [3] * 2 + [0] * 2])
    found = gpt({"token_ids": ids, "padding_mask": numbers})["sequence_output"]
    for row in range(2):
        for number in range(1, 4):
            own = numbers[row] == number
            if own.any():
                alone = gpt(ids[row][own][None])["sequence_output"][0]
                np.testing.assert_allclose(found[row][own], alone, atol=1e-5)


@pytest.mark.usefixtures("eagerly")
def test_the_loss_of_separate_documents_is_that_of_the_documents():
    packed, plain = make(packing="documents"), make()
    # No document is split, since a row has 96 tokens and the first four have fewer.
    few = TEXTS[:3]
    losses = [
        m.evaluate(few, verbose=0, return_dict=True)["loss"] for m in (packed, plain)
    ]
    np.testing.assert_allclose(*losses, rtol=1e-5)
    stream = make(packing="streams").evaluate(few, verbose=0, return_dict=True)["loss"]
    assert abs(stream - losses[0]) > 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("packing", ["streams", "documents"])
def test_it_learns_a_text_and_where_it_ends(packing):
    tokenizer = tiny_byte_tokenizer(start_token=True)
    model = make(tokenizer, packing=packing, sequence_length=32)
    model.compile(keras.optimizers.Adam(1e-2))
    text = "the story was dull and the music was not so good"
    history = model.fit([text] * 64, batch_size=8, epochs=12, verbose=0)
    assert history.history["loss"][-1] < 0.2
    assert model.generate("the story", max_new_tokens=40) == text
    found = model.answer([text])
    assert found["perplexity"][0] < 1.3


@pytest.mark.slow
def test_a_file_holds_how_it_is_trained(tmp_path):
    model = make(packing="documents", stride=8, generation={"max_new_tokens": 3})
    model.save(tmp_path / "model.keras")
    assert zoo.load_model(tmp_path / "model.keras").options == model.options


def test_what_does_not_fit_raises():
    with pytest.raises(ValueError, match="`packing` must be one of"):
        make(packing="rows")
    with pytest.raises(ValueError, match="A recurrent backbone takes `rows`"):
        make(family="ulmfit", packing="documents")
    for stride in (-1, 0):
        with pytest.raises(ValueError, match="`stride` must be an integer from 1"):
            make(stride=stride)
    model = make(packing="streams")
    with pytest.raises(ValueError, match="takes a list of texts"):
        model.fit(tf.data.Dataset.from_tensor_slices(TEXTS).batch(2))


@pytest.mark.usefixtures("eagerly")
def test_a_tokenizer_without_an_end_writes_nothing():
    model = make(WordPieceTokenizer(tiny.VOCABULARY), family="ulmfit")
    with pytest.raises(ValueError, match="needs a tokenizer with a token that ends"):
        model.generate("a film")
    assert [*model.serving_methods()] == ["serving_default"]
    assert model.answer(["a film"])["tokens"].shape == (1,)
