"""Texts that a GPT continues, as transformers continues them."""

import itertools
import json

import gpt_case as case
import keras
import numpy as np
import pytest
import tensorflow as tf
from places import GOLDENS
from scipy.stats import chisquare

import zoo
from zoo.checkpoint import assign, convert
from zoo.models.gpt import GPT, GPTConfig
from zoo.models.gpt.tables import table
from zoo.tasks import CausalLM
from zoo.tasks.writers.sample_numbers import sample_numbers
from zoo.text import GPT2Tokenizer
from zoo.text.byte_pairs.gpt2_tokenizer import END, byte_symbols

GOLDEN = json.loads((GOLDENS / "gpt_generation.json").read_text())
LONG = (" ".join(case.PROMPTS) * 6).encode()[:300].decode(errors="ignore")


def make(**options):
    """The GPT of `gpt_case`, whose tokens are bytes."""
    config = GPTConfig(
        vocabulary_size=case.TOKENS,
        hidden_dim=case.WIDTH,
        num_layers=case.LAYERS,
        num_heads=case.HEADS,
        intermediate_dim=case.INNER,
        max_sequence_length=case.POSITIONS,
    )
    backbone, rows = GPT(config), table("hugging_face", config)
    assign(
        backbone.variables,
        convert(case.draw_weights(), rows, GPT.weight_shapes(config)),
    )
    # Token 33 is the byte 33, not the symbol that OpenAI's order gives it.
    return CausalLM(backbone, GPT2Tokenizer([*byte_symbols(), END], []), **options)


@pytest.fixture(scope="module")
def model():
    return make()


COMPILED = {}  # functions of texts, by model and options


def tokens_of(model, prompts, **options):
    """The new tokens of prompts without what follows the end, list of list."""
    writer = model.writer
    options = writer.generation_options(**options)

    def write(texts):
        return writer.generate_tokens(writer.encode_prompt(texts, options), options)[0]

    key = id(model), options
    if key not in COMPILED:
        COMPILED[key] = tf.function(write, [tf.TensorSpec([None], tf.string)])
    rows = COMPILED[key](tf.constant(list(prompts)))[:, 0].numpy().tolist()
    return [*map(until_end, rows)]


def until_end(row):
    """The tokens of a row up to the first end."""
    return row[: row.index(case.END) + 1] if case.END in row else row


@pytest.mark.shown("greedy")
@pytest.mark.parametrize("name", case.SEARCHES)
def test_tokens_are_those_of_transformers(model, name, request):
    if name != "greedy":
        request.getfixturevalue("eagerly")
    options, _ = case.SEARCHES[name]
    expected = [*map(until_end, GOLDEN[name])]
    assert tokens_of(model, case.PROMPTS, **options) == expected
    # A prompt of another length beside it changes nothing.
    alone = [tokens_of(model, [prompt], **options)[0] for prompt in case.PROMPTS]
    assert alone == expected


@pytest.mark.shown("all")
@pytest.mark.parametrize("name", case.SAMPLES)
def test_samples_follow_the_law_of_transformers(model, name):
    times, several = 6, 1000
    count = times * several
    writer = model.writer
    options = writer.generation_options(
        max_new_tokens=1, seed=3, num_return=several, **case.SAMPLES[name]
    )
    texts = tf.constant([case.PROMPTS[0]] * times)
    inputs = writer.encode_prompt(texts, options)
    numbers = sample_numbers(texts, options, tf.range(times))
    found = writer.generate_tokens(inputs, options, numbers)[0].numpy().reshape(-1)
    law = np.array(GOLDEN["laws"][name])
    counts = np.bincount(found, minlength=len(law))
    assert counts[law == 0].sum() == 0
    # Classes with few expected draws are one class.
    expected = law / law.sum() * count
    rare = expected < 5
    observed, wanted = counts[~rare], expected[~rare]
    if wanted.sum() < count - 1e-6:
        observed = np.append(observed, counts[rare].sum())
        wanted = np.append(wanted, expected[rare].sum())
    assert chisquare(observed, wanted).pvalue > 1e-3


@pytest.mark.usefixtures("eagerly")
def test_the_probability_of_a_long_text_is_that_of_its_windows(model):
    half = model.answer([LONG, "a", ""])
    np.testing.assert_allclose(half["log_probability"][0], GOLDEN["long"][1], rtol=1e-5)
    assert half["tokens"].tolist() == [len(LONG.encode()) - 1, 0, 0]
    np.testing.assert_allclose(
        half["perplexity"][0], np.exp(-GOLDEN["long"][1] / half["tokens"][0]), rtol=1e-5
    )
    assert half["perplexity"][1:].tolist() == [1.0, 1.0]
    found = make(stride=40).answer([LONG])["log_probability"]
    np.testing.assert_allclose(found, GOLDEN["long"][0], rtol=1e-5)


@pytest.mark.usefixtures("eagerly")
def test_a_text_ends_before_a_stop_text(model):
    prompts = list(case.PROMPTS[:2])
    whole = model.generate(prompts, max_new_tokens=10)
    new = [text[len(p) :] for p, text in zip(prompts, whole, strict=True)]
    stop = new[0][4:6]
    found = model.generate(prompts, max_new_tokens=10, stop=[stop, "never"])
    expected = [p + text.split(stop)[0] for p, text in zip(prompts, new, strict=True)]
    assert found == expected


@pytest.mark.slow
def test_streams_and_beams_end_before_a_stop_text(model):
    prompts = list(case.PROMPTS[:2])
    whole = model.generate(prompts, max_new_tokens=20)
    stop = whole[0][len(prompts[0]) :][4:6]
    expected = model.generate(prompts, max_new_tokens=20, stop=stop)
    assert model.generate(prompts, max_new_tokens=20, stop="never comes") == whole
    parts = list(model.generate(prompts, max_new_tokens=20, stop=stop, stream=True))
    assert parts[-1] == expected
    for part in parts:
        assert all(t.startswith(p) for p, t in zip(prompts, part, strict=True))
    assert all(stop[0] not in part[0][len(prompts[0]) :][-1:] for part in parts[:-1])
    beams = model.generate(prompts[0], max_new_tokens=12, num_beams=3, stop=stop)
    assert stop not in beams[len(prompts[0]) :]


@pytest.mark.slow
@pytest.mark.usefixtures("eagerly")
def test_a_stream_holds_back_part_of_a_character(model):
    """The bytes of a character are several tokens of this model."""
    text = "caf\u00e9 \u4e2d\U0001f642"
    ids = list(text.encode())
    for count in range(len(ids) + 1):
        found = model.tokenizer.detokenize_unfinished([ids[:count]]).numpy()[0].decode()
        assert text.startswith(found) and "\ufffd" not in found
    parts = list(model.generate("The", max_new_tokens=12, stream=True))
    assert all(b.startswith(a) for a, b in itertools.pairwise(parts))
    assert parts[-1] == model.generate("The", max_new_tokens=12)


@pytest.mark.slow
def test_a_long_prompt_keeps_its_end(model):
    with pytest.warns(UserWarning, match="longer than 92 tokens and were truncated"):
        found = model.generate(LONG, max_new_tokens=5)
    assert found.startswith(LONG)
    new = tokens_of(model, [LONG], max_new_tokens=5)[0]
    ids = [*LONG.encode()[-92:]]
    for _ in range(len(new)):
        logits = model({"token_ids": np.array([ids])}, training=False).numpy()[0, -1]
        ids.append(int(np.argmax(logits)))
    assert ids[92:] == new and len(ids) <= case.POSITIONS + 1
    assert len(tokens_of(model, ["a"], max_new_tokens=case.POSITIONS)[0])


@pytest.mark.slow
def test_an_export_continues_texts_and_scores_them(tmp_path):
    model = make(generation={"max_new_tokens": 6, "stop": ["zzz"]})
    version = model.export(tmp_path / "gpt")
    loaded = tf.saved_model.load(str(version))
    prompts = [*case.PROMPTS, LONG]
    served = loaded.signatures["serving_default"](text=tf.constant(prompts))
    found = [text.decode() for text in served["text"].numpy()]
    with pytest.warns(UserWarning, match="1 of 5 texts are longer than 91 tokens"):
        assert found == model.generate(prompts)
    scores = loaded.signatures["score"](text=tf.constant(prompts))
    np.testing.assert_allclose(
        scores["log_probability"], model.answer(prompts)["log_probability"], rtol=1e-5
    )
    findings = zoo.serving.diagnose(version)
    assert not [f for f in findings if not f.passed]


@pytest.mark.usefixtures("eagerly")
def test_bfloat16_writes_most_of_the_tokens(model):
    options = {"max_new_tokens": 8}
    backbone = GPT(model.backbone.config, dtype="bfloat16")
    backbone.set_weights(model.backbone.get_weights())
    half = CausalLM(backbone, model.tokenizer)
    found = tokens_of(half, case.PROMPTS[:1], **options)[0]
    assert found[:2] == GOLDEN["greedy"][0][:2]
    logits = half({"token_ids": np.array([[1]])})
    assert keras.backend.standardize_dtype(logits.dtype) == "float32"


@pytest.mark.slow
@pytest.mark.usefixtures("eagerly")
def test_a_prompt_may_have_an_end_inside(model):
    tokenizer = GPT2Tokenizer([*byte_symbols(), END], [], special_tokens=True)
    model = CausalLM(model.backbone, tokenizer)
    options = {"max_new_tokens": 3, "suppressed": (256,)}
    for prompt in (f"One{END}Two", f"a{END}"):
        rows = tokens_of(model, [prompt], **options)
        more = tokenizer.detokenize([rows[0]])[0].numpy().decode()
        found = model.generate(prompt, **options)
        assert more and found == prompt + more
        assert [*model.generate(prompt, stream=True, **options)][-1] == found


def test_defaults_of_a_task_suppress_tokens():
    plain, silent = make(), make(generation={"suppressed": [104]})
    assert 104 in silent.writer.generation_options().suppressed
    assert 104 not in plain.writer.generation_options().suppressed
    assert 104 not in silent.writer.generation_options(suppressed=()).suppressed


@pytest.mark.usefixtures("eagerly")
def test_a_model_with_few_positions_generates():
    config = GPTConfig(257, 8, 1, 2, 16, max_sequence_length=12)
    few = CausalLM(GPT(config), GPT2Tokenizer([*byte_symbols(), END], []))
    assert few.writer.generation_options().max_new_tokens == 6
    assert few.generate("ab").startswith("ab")
    with pytest.raises(ValueError, match="must be at most 12"):
        few.generate("ab", max_new_tokens=13)


@pytest.mark.slow
@pytest.mark.usefixtures("eagerly")
def test_a_sample_of_an_export_does_not_depend_on_other_texts():
    model = make(generation={"temperature": 1.5, "max_new_tokens": 8})
    found = model.writer.write_batch(tf.constant(["a", "The old house", "a"]))
    texts = [text.decode(errors="replace") for text in found["text"].numpy()]
    assert texts[0] == texts[2] == model.generate("a")
    assert texts[1] == model.generate("The old house") != "The old house"
