"""Perplexities of words: what is predicted, and to which word it belongs."""

import json

import keras
import numpy as np
import pytest
import tiny
from eager import without_graphs
from tiny_gpt import tiny_byte_tokenizer

import zoo
from zoo.models.elmo import ELMo, ELMoConfig
from zoo.models.gpt import GPT, GPTConfig
from zoo.models.ulmfit import ULMFiT, ULMFiTConfig
from zoo.text import CharacterTokenizer, FastaiTokenizer, train_fastai_vocabulary

LINES = [
    "The film was good, and [UNK] the plot!",
    "A dull story.",
    "",
    "Not so very very very very good. It was FINE zzyzx",
    "",
]
WORDS = sum(len(line.split()) for line in LINES)


@pytest.fixture
def perplexities(monkeypatch, tmp_path):
    """The module under test, with a small file."""
    from benchmarks.tables import perplexities

    (tmp_path / "text.txt").write_text("\n".join(LINES) + "\n", "utf-8")
    monkeypatch.setattr(perplexities, "FILES", {"a text": "text.txt"})
    return perplexities


@pytest.fixture(autouse=True)
def word_losses(monkeypatch):
    """The module of the losses, with small streams."""
    from benchmarks.tables import word_losses

    for name, size in {"ROWS": 1, "WINDOW": 7, "STEPS": 1}.items():
        monkeypatch.setattr(word_losses, name, size)
    return word_losses


@pytest.fixture(scope="module")
def tokenizer():
    texts = [line.replace("[UNK]", "xxunk") for line in LINES]
    with without_graphs():
        tokens = train_fastai_vocabulary(["\n".join(texts)], minimum_count=1)
    return FastaiTokenizer([token for token in tokens if token != "zzyzx"])


def make_presets(folder, tokenizer, zero=False):
    """A tiny ULMFiT of each direction, a tiny ELMo and a tiny GPT, as directories."""
    models = {}
    for seed, name in enumerate(("forward", "backward")):
        keras.utils.set_random_seed(seed)
        sizes = {"vocabulary_size": tokenizer.vocabulary_size, "pad_id": 1}
        fields = {**tiny.ULMFIT_CONFIG, **sizes, "reverse": bool(seed)}
        models[name] = zoo.CausalLM(ULMFiT(ULMFiTConfig(**fields)), tokenizer)
    elmo = ELMo(ELMoConfig(**tiny.ELMO_CONFIG))
    words = CharacterTokenizer(12, tiny.WORDS, punctuation=True)
    models["elmo"] = zoo.BidirectionalLM(elmo, words)
    models["gpt"] = make_gpt()
    for name, model in models.items():
        if zero:
            model.set_weights([0 * weight for weight in model.get_weights()])
        model.save_to_preset(folder / f"tiny_{name}")
    return {name: folder / f"tiny_{name}" for name in models}


def make_gpt():
    """A tiny GPT with 12 positions."""
    keras.utils.set_random_seed(5)
    sizes = {"vocabulary_size": 400, "max_sequence_length": 12}
    config = GPTConfig(**{**tiny.GPT_CONFIG, **sizes})
    return zoo.CausalLM(GPT(config), tiny_byte_tokenizer(start_token=True))


def test_lines_become_texts(perplexities, word_losses, monkeypatch, tmp_path):
    text = word_losses.read_lines(tmp_path / "text.txt")
    assert sum(map(len, text)) == WORDS and text[1] == ["A", "dull", "story."]
    assert text[2] == text[4] == []
    cut = word_losses.cut_texts(text)
    assert cut == [[text[0], text[1]], [text[3]]]
    monkeypatch.setattr(word_losses, "CHARACTERS", 10)
    assert word_losses.cut_texts(text) == [[text[0]], [text[1]], [text[3]]]


@pytest.mark.slow
def test_tokens_have_owners(perplexities, word_losses, tokenizer, tmp_path):
    texts = word_losses.cut_texts(word_losses.read_lines(tmp_path / "text.txt"))
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


def test_words_add_up(word_losses):
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
def test_streams_predict_every_token_once(word_losses, tokenizer, reverse):
    keras.utils.set_random_seed(3)
    sizes = {"vocabulary_size": tokenizer.vocabulary_size, "pad_id": 1}
    config = ULMFiTConfig(**{**tiny.ULMFIT_CONFIG, **sizes, "reverse": reverse})
    backbone = ULMFiT(config)
    whole = zoo.CausalLM(backbone, tokenizer)
    streams = zoo.CausalLM(backbone, tokenizer, rows=1, window=7)
    streams.head.set_weights(whole.head.get_weights())
    ids = np.random.default_rng(0).integers(2, sizes["vocabulary_size"], 24)
    found = word_losses.causal_losses(streams, ids, np.array([10, 14]))
    logits = keras.ops.convert_to_numpy(whole({"token_ids": ids[None]}))[0]
    shares = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    if reverse:
        expected = [*-shares[np.arange(1, 24), ids[:-1]], np.nan]
    else:
        expected = [np.nan, *-shares[np.arange(23), ids[1:]]]
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.slow
def test_the_baseline_is_the_entropy_of_the_tokens(word_losses, tmp_path):
    tokens = train_fastai_vocabulary(["a b"], minimum_count=1)
    sizes = {"vocabulary_size": len(tokens), "pad_id": 1}
    backbone = ULMFiT(ULMFiTConfig(**{**tiny.ULMFIT_CONFIG, **sizes}))
    zoo.CausalLM(backbone, FastaiTokenizer(tokens)).save_to_preset(tmp_path / "lm")
    scores = word_losses.score_unigram(tmp_path / "lm", [["a", "b", "a", "qx"]])
    assert scores.known.tolist() == [True, True, True, False]
    # The tokens are xxbos, a, b, a and xxunk.
    expected = -np.log([2 / 5, 1 / 5, 2 / 5, 1 / 5])
    np.testing.assert_allclose(scores.losses, expected)
    assert scores.total == pytest.approx(expected.sum() + np.log(5))


@pytest.mark.slow
def test_an_elmo_has_the_probability_of_its_task(word_losses, tokenizer, tmp_path):
    preset = make_presets(tmp_path, tokenizer)["elmo"]
    text = [["The", "film", "was", "good,", "and", "zzyzx", "fine."]]
    forward, backward = word_losses.score_elmo(preset, text)
    answer = zoo.from_preset(preset, "bidirectional_lm").answer([" ".join(text[0])])
    assert forward.known.tolist() == [False, True, True, True, True, False, True]
    assert forward.total == pytest.approx(-answer["forward"][0], rel=1e-5)
    assert backward.total == pytest.approx(-answer["backward"][0], rel=1e-5)
    # The end of the sentence belongs to no word.
    assert 0 < np.nansum(forward.losses) < forward.total
    assert np.isfinite(forward.losses).all()


def test_tokens_of_bytes_have_owners(perplexities, word_losses, tmp_path):
    tokenizer = tiny_byte_tokenizer()
    text = word_losses.read_lines(tmp_path / "text.txt")
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
def test_a_gpt_has_the_probability_of_its_task(word_losses, tmp_path):
    model = make_gpt()
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
def test_windows_predict_every_token_but_the_first(word_losses, count):
    model = make_gpt()
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
    perplexities, word_losses, tokenizer, tmp_path, command
):
    presets = make_presets(tmp_path / "models", tokenizer, zero=True)
    notes = tmp_path / "presets/ulmfit/tiny_forward/notes.md"
    for name in presets:
        (tmp_path / f"presets/ulmfit/tiny_{name}").mkdir(parents=True)
    notes.write_text("Some notes.\n")
    given = [f"--preset={name}={path}" for name, path in presets.items()]
    command("perplexities", *given)
    (path,) = (tmp_path / "tables/perplexities/results").iterdir()
    assert path.name == "text-tiny_forward+tiny_backward+tiny_gpt.json"
    found = json.loads(path.read_text())
    assert found["words"] == WORDS
    texts = word_losses.cut_texts(word_losses.read_lines(tmp_path / "text.txt"))
    ids, _, _ = word_losses.tokens_of(texts, tokenizer)
    size = tokenizer.vocabulary_size
    numbers = found["models"]["tiny_forward"]
    assert "frequencies of tokens, no context" in found["models"]
    # The first token of all is not predicted.
    assert np.log(numbers["perplexity"]) == pytest.approx(
        (len(ids) - 1) * np.log(size) / WORDS, rel=1e-4
    )
    ids, _ = word_losses.byte_tokens(
        word_losses.read_lines(tmp_path / "text.txt"), tiny_byte_tokenizer()
    )
    assert np.log(found["models"]["tiny_gpt"]["perplexity"]) == pytest.approx(
        (len(ids) - 1) * np.log(400) / WORDS, rel=1e-4
    )
    assert found["models"]["tiny_gpt"]["unknown"] == 0
    assert found["models"]["tiny_elmo, forward"]["known_to_all"] < len(tiny.WORDS) ** 3
    text = notes.read_text()
    assert text.startswith("Some notes.\n\n## Perplexity of words")
    assert f"| a text, {WORDS} words | `tiny_elmo, backward` |" in text
    assert (tmp_path / "presets/ulmfit/tiny_gpt/notes.md").exists()
    assert not (tmp_path / "presets/ulmfit/tiny_elmo/notes.md").exists()
