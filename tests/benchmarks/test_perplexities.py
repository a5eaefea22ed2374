"""Perplexities of words: what is predicted, and to which word it belongs."""

import json

import keras
import numpy as np
import pytest
import tiny
from eager import without_graphs
from tiny_gpt import tiny_byte_tokenizer
from tiny_inputs import make_elmo, make_gpt, make_ulmfit

import zoo
from benchmarks.tables import perplexities, word_losses
from zoo.text import FastaiTokenizer, train_fastai_vocabulary

LINES = [
    "The film was good, and [UNK] the plot!",
    "A dull story.",
    "",
    "Not so very very very very good. It was FINE zzyzx",
    "",
]
WORDS = sum(len(line.split()) for line in LINES)


SHORT_GPT = {"start_token": True, "max_sequence_length": 12}


@pytest.fixture(autouse=True)
def sizes(monkeypatch):
    """Small streams."""
    for name, size in {"ROWS": 1, "WINDOW": 7, "STEPS": 1}.items():
        monkeypatch.setattr(word_losses, name, size)


@pytest.fixture
def text(tmp_path):
    """The lines as words, read from a file."""
    (tmp_path / "text.txt").write_text("\n".join(LINES) + "\n", "utf-8")
    return word_losses.read_lines(tmp_path / "text.txt")


@pytest.fixture(scope="module")
def tokenizer():
    texts = [line.replace("[UNK]", "xxunk") for line in LINES]
    with without_graphs():
        tokens = train_fastai_vocabulary(["\n".join(texts)], minimum_count=1)
    return FastaiTokenizer([token for token in tokens if token != "zzyzx"])


def test_lines_become_texts(text, monkeypatch):
    assert sum(map(len, text)) == WORDS and text[1] == ["A", "dull", "story."]
    assert text[2] == text[4] == []
    cut = word_losses.cut_texts(text)
    assert cut == [[text[0], text[1]], [text[3]]]
    monkeypatch.setattr(word_losses, "CHARACTERS", 10)
    assert word_losses.cut_texts(text) == [[text[0]], [text[1]], [text[3]]]


@pytest.mark.slow
def test_tokens_have_owners(text, tokenizer):
    texts = word_losses.cut_texts(text)
    ids, lengths, owners = word_losses.tokens_of(texts, tokenizer)
    tokens = [tokenizer.id_to_token(i) for i in ids]
    assert lengths.sum() == len(ids) and tokens[lengths[0]] == "xxbos"
    found = {}
    for token, owner in zip(tokens, owners, strict=True):
        found.setdefault(int(owner), []).append(token)
    assert found[0] == ["xxmaj", "the"] and found[3] == ["good", ","]
    assert found[5] == ["xxunk"] and found[7] == ["plot", "!"]
    # The four repeated words of the second text are one token.
    assert found.pop(-1) == ["xxbos", "\n", "xxbos", "xxwrep", "4"]
    assert sorted(found) == [*range(13), *range(16, WORDS)]
    assert found[16] == ["very"] and found[WORDS - 2] == ["xxup", "fine"]
    assert word_losses.equal_parts([1, 2, 3], [1, 2, 3]) == [(0, 0, 3)]


def test_words_add_up():
    losses = np.array([1.0, 2.0, 4.0, np.nan, 8.0])
    owners = np.array([0, 0, -1, 1, 2])
    unknown = np.array([False, False, True, False, True])
    scores = word_losses.add_up(losses, owners, unknown, 4)
    np.testing.assert_array_equal(scores.losses, [3, np.nan, 8, np.nan])
    assert scores.known.tolist() == [True, True, False, False] and scores.total == 15
    found = scores.summary(np.array([True, True, True, False]))
    # The second word was not predicted, and the tokens of the last one are not known.
    assert found["perplexity"] == pytest.approx(np.exp(15 / 3))
    assert found["known_to_all"] == pytest.approx(np.exp(11 / 2))
    assert (found["unknown"], found["share_known"]) == (pytest.approx(1 / 3), 0.75)


@pytest.mark.slow
@pytest.mark.parametrize("reverse", [False, True])
def test_streams_predict_every_token_once(tokenizer, reverse):
    whole = make_ulmfit(tokenizer.vocabulary, reverse)
    streams = zoo.CausalLM(whole.backbone, tokenizer, rows=1, window=7)
    streams.head.set_weights(whole.head.get_weights())
    ids = np.random.default_rng(0).integers(2, tokenizer.vocabulary_size, 24)
    found = word_losses.causal_losses(streams, ids, np.array([10, 14]))
    logits = keras.ops.convert_to_numpy(whole({"token_ids": ids[None]}))[0]
    shares = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    if reverse:
        expected = [*-shares[np.arange(1, 24), ids[:-1]], np.nan]
    else:
        expected = [np.nan, *-shares[np.arange(23), ids[1:]]]
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.slow
def test_the_baseline_is_the_entropy_of_the_tokens(tmp_path):
    tokens = train_fastai_vocabulary(["a b"], minimum_count=1)
    make_ulmfit(tokens).save_to_preset(tmp_path / "lm")
    scores = word_losses.score_unigram(tmp_path / "lm", [["a", "b", "a", "qx"]])
    assert scores.known.tolist() == [True, True, True, False]
    # The tokens are xxbos, a, b, a and xxunk.
    expected = -np.log([2 / 5, 1 / 5, 2 / 5, 1 / 5])
    np.testing.assert_allclose(scores.losses, expected)
    assert scores.total == pytest.approx(expected.sum() + np.log(5))


@pytest.mark.slow
def test_an_elmo_has_the_probability_of_its_task(elmo):
    text = [["The", "film", "was", "good,", "and", "zzyzx", "fine."]]
    forward, backward = word_losses.score_elmo(elmo, text)
    answer = zoo.from_preset(elmo, "bidirectional_lm").answer([" ".join(text[0])])
    assert forward.known.tolist() == [False, True, True, True, True, False, True]
    assert forward.total == pytest.approx(-answer["forward"][0], rel=1e-5)
    assert backward.total == pytest.approx(-answer["backward"][0], rel=1e-5)
    # The end of the sentence belongs to no word.
    assert 0 < np.nansum(forward.losses) < forward.total
    assert np.isfinite(forward.losses).all()


def test_tokens_of_bytes_have_owners(text):
    tokenizer = tiny_byte_tokenizer()
    ids, owners = word_losses.byte_tokens(text, tokenizer)
    lines = [line.replace("[UNK]", "<unk>") for line in LINES]
    documents = ["\n".join(lines[:2]) + "\n", lines[3] + "\n"]
    whole = [[tokenizer.end_id, *tokenizer(d).numpy().tolist()] for d in documents]
    assert ids.tolist() == sum(whole, [])
    assert sorted({*owners}) == [*range(-1, WORDS)]
    assert (owners == -1).sum() == 2 + 3  # documents and lines
    words = [word for line in text for word in line]
    for number, word in ((0, "The"), (5, "[UNK]"), (WORDS - 1, "zzyzx")):
        own = tokenizer.detokenize([ids[owners == number]])[0].numpy().decode()
        assert words[number] == word
        assert own == " " * bool(number) + word.replace("[UNK]", "<unk>")


@pytest.mark.slow
def test_a_gpt_has_the_probability_of_its_task(tmp_path):
    model = make_gpt(**SHORT_GPT)
    model.save_to_preset(tmp_path / "gpt")
    text = [["The", "film", "was", "good,"], ["and", "zzyzx", "fine."]]
    scores = word_losses.score_gpt(tmp_path / "gpt", text)
    # Windows that overlap by half, as `answer` has them.
    answer = model.answer(["The film was good,\nand zzyzx fine.\n"])
    assert answer["tokens"][0] > 18
    assert scores.total == pytest.approx(-answer["log_probability"][0], rel=1e-5)
    assert scores.known.all() and np.isfinite(scores.losses).all()
    assert 0 < scores.losses.sum() < scores.total


@pytest.mark.shown("1", "13")
@pytest.mark.parametrize("count", [1, 2, 7, 12, 13, 14, 30])
def test_windows_predict_every_token_but_the_first(count):
    model = make_gpt(**SHORT_GPT)
    ids = np.random.default_rng(0).integers(0, 400, count).astype("int32")
    losses = word_losses.window_losses(model, ids)
    assert len(losses) == count and np.isnan(losses[0])
    for place in range(1, count):
        begin = 0 if place <= 12 else 6 * ((place - 7) // 6)
        x = ids[None, begin:place]
        logits = model({"token_ids": x, "padding_mask": np.ones_like(x)})[0, -1]
        expected = -keras.ops.log_softmax(logits)[ids[place]]
        assert losses[place] == pytest.approx(float(expected), abs=1e-5)


@pytest.mark.slow
def test_models_that_know_nothing_are_equal_per_token(
    text, tokenizer, monkeypatch, tmp_path, command
):
    monkeypatch.setattr(perplexities, "FILES", {"a text": "text.txt"})
    models = {"forward": make_ulmfit(tokenizer.vocabulary)}
    models["backward"] = make_ulmfit(tokenizer.vocabulary, reverse=True)
    models |= {"elmo": make_elmo(), "gpt": make_gpt(**SHORT_GPT)}
    given, cards = [], tmp_path / "presets/ulmfit"
    for name, model in models.items():
        model.set_weights([0 * weight for weight in model.get_weights()])
        model.save_to_preset(tmp_path / f"models/tiny_{name}")
        given.append(f"--preset={name}={tmp_path}/models/tiny_{name}")
        (cards / f"tiny_{name}").mkdir(parents=True)
    (cards / "tiny_forward/notes.md").write_text("Some notes.\n")
    command("perplexities", *given)
    (path,) = (tmp_path / "tables/perplexities/results").iterdir()
    assert path.name == "text-tiny_forward+tiny_backward+tiny_gpt.json"
    result = json.loads(path.read_text())
    found = result["models"]
    assert result["words"] == WORDS and "frequencies of tokens, no context" in found
    counts = {
        "forward": word_losses.tokens_of(word_losses.cut_texts(text), tokenizer),
        "gpt": word_losses.byte_tokens(text, tiny_byte_tokenizer()),
    }
    for name, size in (("forward", tokenizer.vocabulary_size), ("gpt", 400)):
        # The first token of all is not predicted.
        loss = (len(counts[name][0]) - 1) * np.log(size) / WORDS
        perplexity = found[f"tiny_{name}"]["perplexity"]
        assert np.log(perplexity) == pytest.approx(loss, rel=1e-4)
    assert found["tiny_gpt"]["unknown"] == 0
    assert found["tiny_elmo, forward"]["known_to_all"] < len(tiny.WORDS) ** 3
    notes = (cards / "tiny_forward/notes.md").read_text()
    assert notes.startswith("Some notes.\n\n## Perplexity of words")
    assert f"| a text, {WORDS} words | `tiny_elmo, backward` |" in notes
    assert (cards / "tiny_gpt/notes.md").exists()
    assert not (cards / "tiny_elmo/notes.md").exists()
