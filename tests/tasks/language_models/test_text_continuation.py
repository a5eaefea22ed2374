"""Texts that a causal language model continues."""

import itertools

import numpy as np
import pytest
import tensorflow as tf
import tiny
from test_causal_streams import TEXTS, make, tokenizer

from zoo.registry import build_backbone
from zoo.tasks import CausalLM, TextClassifier
from zoo.tasks.inputs import windows
from zoo.text import WordPieceTokenizer

PROMPTS = ["the film", "", "a good good bad film", "The"]


@pytest.fixture(scope="module")
def model():
    made = make()
    # Scores far apart, so that no two tokens are equally likely.
    table = made.backbone.named_layers["token_embedding"].embeddings
    table.assign(4 * table)
    return made


def naive(model, text, count):
    """Reads the whole text again for every new token."""
    x = model.preprocessor((tf.constant([text]),))
    ids = x["token_ids"].numpy()[0][: int(np.sum(x["padding_mask"]))].tolist()
    begin = len(ids)
    for _ in range(count):
        logits = model({"token_ids": np.array([ids])}, training=False).numpy()[0, -1]
        logits[list(model.tokenizer.unwritten_ids)] = -np.inf
        ids.append(int(np.argmax(logits)))
        if ids[-1] == model.tokenizer.end_id:
            break
    return ids[begin:]


@pytest.mark.usefixtures("eagerly")
def test_greedy_tokens_are_those_of_the_whole_text_read_again(model):
    found = model.generate(PROMPTS[:3], max_new_tokens=4)
    for text, written in zip(PROMPTS[:3], found, strict=True):
        new = naive(model, text, 4)
        assert new and written.startswith(text)
        expected = model.tokenizer.detokenize([new]).numpy()[0].decode()
        assert written[len(text) :].strip().lower() == expected.lower()


@pytest.mark.slow
def test_a_prompt_may_be_longer_than_a_window(monkeypatch):
    monkeypatch.setattr(windows, "TOKENS_IN_WINDOW", 2)
    model = make(num_layers=1)
    prompts = ["a good good bad film", "the film", ""]
    found = model.generate(prompts, max_new_tokens=3)
    for text, written in zip(prompts, found, strict=True):
        new = model.tokenizer.detokenize([naive(model, text, 3)]).numpy()[0].decode()
        assert written[len(text) :].strip().lower() == new.lower()


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [{}, {"num_beams": 3}, {"temperature": 1.0, "seed": 5}]
)
def test_neighbours_do_not_change_a_continuation(model, options):
    together = model.generate(PROMPTS, max_new_tokens=6, **options)
    assert together == model.generate(PROMPTS, max_new_tokens=6, **options)
    number = 0  # the first row has the same random numbers alone
    assert model.generate(PROMPTS[number], max_new_tokens=6, **options) == together[0]
    if "seed" not in options:
        alone = [model.generate(text, max_new_tokens=6, **options) for text in PROMPTS]
        assert alone == together


@pytest.mark.slow
def test_a_stream_ends_in_the_whole_text(model):
    parts = list(model.generate("the film", max_new_tokens=7, stream=True))
    assert parts[-1] == model.generate("the film", max_new_tokens=7)
    assert all(b.startswith(a) for a, b in itertools.pairwise(parts))
    both = list(model.generate(PROMPTS[:2], max_new_tokens=7, stream=True))
    assert both[-1] == model.generate(PROMPTS[:2], max_new_tokens=7)


@pytest.mark.slow
def test_a_better_beam_is_more_likely(model):
    # Of two tokens: no beam is sure to hold the greedy text of more.
    _, greedy = model.generate(PROMPTS, max_new_tokens=2, return_scores=True)
    options = {"num_beams": 8, "length_penalty": 0.0, "renormalize": True}
    options["return_scores"] = True
    _, beams = model.generate(PROMPTS, max_new_tokens=2, **options)
    assert np.all(np.array(beams) >= np.array(greedy) - 1e-5)


@pytest.mark.slow
def test_samples_follow_the_distribution(model):
    draws = {"temperature": 1.0, "max_new_tokens": 1, "num_return": 1000}
    found = [
        text
        for seed in range(4)
        for text in model.generate("the film", seed=seed, **draws)
    ]
    x = model.preprocessor((tf.constant(["the film"]),))
    last = int(np.sum(x["padding_mask"])) - 1
    logits = model(x, training=False).numpy()[0, last]
    logits[list(model.tokenizer.unwritten_ids)] = -np.inf
    expected = np.exp(logits - np.log(np.sum(np.exp(logits))))
    words = [text.removeprefix("the film").strip() for text in found]
    for id in np.argsort(-expected)[:5]:
        token = model.tokenizer.id_to_token(int(id))
        if not token.startswith("xx"):
            share, p = words.count(token) / 4000, expected[id]
            assert abs(share - p) < 5 * np.sqrt(p * (1 - p) / 4000) + 1e-3


@pytest.mark.slow
def test_white_space_after_a_text_is_not_doubled(model):
    plain, spaced = (model.generate(t, max_new_tokens=4) for t in ("bad", "bad "))
    assert plain.replace("bad", "bad ", 1).split() == spaced.split()
    assert "  " not in spaced and spaced.startswith("bad ")


@pytest.mark.usefixtures("eagerly")
def test_wrong_input_is_refused(model):
    with pytest.raises(ValueError, match="reads backwards"):
        make(reverse=True).generate("a")
    bert = build_backbone("bert", {**tiny.CONFIG, "causal": True})
    causal = CausalLM(bert, WordPieceTokenizer(tiny.VOCABULARY))
    with pytest.raises(ValueError, match="'bert', which has no states"):
        causal.generate("a")
    assert model.generate([]) == []
    long = model.generate(" ".join(TEXTS), max_new_tokens=2)
    assert long.startswith("a good film") and len(long) > len(TEXTS[3])


@pytest.mark.shown("0")
@pytest.mark.parametrize("count", [0, 1_000, 100_000])
def test_a_document_without_words_and_a_long_one_have_answers(count, request):
    if not count:
        request.getfixturevalue("eagerly")
    text, model = "good film " * (count // 2), make(num_layers=1)
    options = {"labels": tiny.LABELS, "head": "concat_pooling"}
    classifier = TextClassifier(model.backbone, tokenizer(), **options)
    scores = classifier.answer([text, "a good film"])["scores"]
    assert np.isfinite(scores).all()
    np.testing.assert_allclose(scores.sum(1), 1, rtol=1e-5)
    answer = model.answer([text])
    assert answer["tokens"] == [count] and np.isfinite(answer["perplexity"])
    assert (answer["log_probability"][0] < 0) == (count > 0)
    written = model.generate(text, max_new_tokens=2)
    assert written.startswith(text) and len(written) > len(text)
