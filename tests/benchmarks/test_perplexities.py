"""Perplexities of words: what is predicted, and to which word it belongs."""

import json
import pathlib

import click.testing
import keras
import numpy as np
import pytest
import tiny

import zoo
from zoo.models.elmo import ELMo, ELMoConfig
from zoo.models.ulmfit import ULMFiT, ULMFiTConfig
from zoo.text import CharacterTokenizer, FastaiTokenizer, train_fastai_vocabulary

ROOT = pathlib.Path(__file__).parents[2]
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
    """The module under test, with a small file and folders of its own."""
    monkeypatch.syspath_prepend(ROOT)
    from benchmarks.tables import perplexities

    (tmp_path / "text.txt").write_text("\n".join(LINES) + "\n", "utf-8")
    monkeypatch.setattr(perplexities, "FILES", {"a text": "text.txt"})
    monkeypatch.setattr(perplexities, "FOLDER", tmp_path / "perplexities")
    monkeypatch.setattr(perplexities, "PRESETS", tmp_path / "presets")
    return perplexities


@pytest.fixture(autouse=True)
def word_losses(monkeypatch):
    """The module of the losses, with small streams."""
    monkeypatch.syspath_prepend(ROOT)
    from benchmarks.tables import word_losses

    for name, size in {"ROWS": 1, "WINDOW": 7, "STEPS": 1}.items():
        monkeypatch.setattr(word_losses, name, size)
    return word_losses


@pytest.fixture(scope="module")
def tokenizer():
    texts = [line.replace("[UNK]", "xxunk") for line in LINES]
    tokens = train_fastai_vocabulary(["\n".join(texts)], minimum_count=1)
    return FastaiTokenizer([token for token in tokens if token != "zzyzx"])


def make_presets(folder, tokenizer, zero=False):
    """A tiny ULMFiT of each direction and a tiny ELMo, as directories."""
    models = {}
    for seed, name in enumerate(("forward", "backward")):
        keras.utils.set_random_seed(seed)
        sizes = {"vocabulary_size": tokenizer.vocabulary_size, "pad_id": 1}
        fields = {**tiny.ULMFIT_CONFIG, **sizes, "reverse": bool(seed)}
        models[name] = zoo.CausalLM(ULMFiT(ULMFiTConfig(**fields)), tokenizer)
    elmo = ELMo(ELMoConfig(**tiny.ELMO_CONFIG))
    words = CharacterTokenizer(12, tiny.WORDS, punctuation=True)
    models["elmo"] = zoo.BidirectionalLM(elmo, words)
    for name, model in models.items():
        if zero:
            model.set_weights([0 * weight for weight in model.get_weights()])
        model.save_to_preset(folder / f"tiny_{name}")
    return {name: folder / f"tiny_{name}" for name in models}


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


@pytest.mark.slow
def test_models_that_know_nothing_are_equal_per_token(
    perplexities, word_losses, tokenizer, tmp_path
):
    presets = make_presets(tmp_path / "presets", tokenizer, zero=True)
    (tmp_path / "presets/tiny_forward/notes.md").write_text("Some notes.\n")
    command = ["--data", str(tmp_path)]
    for name, path in presets.items():
        command += [f"--{name}", str(path)]
    run = click.testing.CliRunner().invoke
    assert run(perplexities.main, command, catch_exceptions=False).exit_code == 0
    (path,) = (tmp_path / "perplexities/results").iterdir()
    assert path.name == "text-tiny_forward+tiny_backward.json"
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
    assert found["models"]["tiny_elmo, forward"]["known_to_all"] < len(tiny.WORDS) ** 3
    text = (tmp_path / "presets/tiny_forward/notes.md").read_text()
    assert text.startswith("Some notes.\n\n## Perplexity of words")
    assert f"| a text, {WORDS} words | `tiny_elmo, backward` |" in text
    assert (tmp_path / "presets/tiny_backward/notes.md").exists()
