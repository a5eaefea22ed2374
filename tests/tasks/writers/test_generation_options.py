"""Options of all tasks that write texts: checks, compiled functions, equal samples."""

import itertools

import numpy as np
import pytest
import tensorflow as tf
import test_causal_streams
import test_gpt_generation
from tiny_translator import make_translator

import zoo
from zoo.tasks import answering
from zoo.tasks.answering import compiled_function

TEXTS = ["the film was good", "a"]
# White space of all lengths in UTF-8.
SPACES = ["\n", "\t", "\r\n", "\x0b", "\x85", "\u00a0", "\u2028", "\u3000", " \n "]


def make_summarizer():
    translator = make_translator()
    return zoo.Summarizer(translator.backbone, translator.tokenizer)


# How each task is made, and the method that writes.
MAKERS = {
    "gpt": (test_gpt_generation.make, "generate"),
    "translator": (make_translator, "translate"),
    "lstm": (test_causal_streams.make, "generate"),
    "summarizer": (make_summarizer, "summarize"),
}
EVERY = pytest.mark.parametrize("kind", MAKERS)


@pytest.fixture(scope="module")
def writers():
    """Function of a kind: a task, and its method that writes texts."""
    made = {}

    def get(kind):
        maker, method = MAKERS[kind]
        if kind not in made:
            made[kind] = maker()
        return made[kind], getattr(made[kind], method)

    return get


@EVERY
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"first_token": 10**6}, "`first_token` must be tokens of the model"),
        ({"last_token": -1}, "`last_token` must be an integer from"),
        ({"suppressed": ["a"]}, "`suppressed` must be a list of tokens"),
        ({"suppressed": [10**6]}, "`suppressed` must be tokens of the model"),
        ({"suppressed": range(3000)}, "`suppressed` must"),
        ({"num_beams": 10000}, "`num_beams` must be an integer from 1 to 1,000"),
        ({"num_beams": 0}, "`num_beams` must be an integer from 1 to 1,000"),
        ({"max_new_tokens": 0}, "`max_new_tokens` must be"),
        ({"top_p": 0}, "`top_p` must be a number in"),
        ({"temperature": -1.0}, "`temperature` must be a positive number"),
        ({"seed": None}, "`seed` must be an integer"),
        ({"stop": 5}, "`stop` must be a text"),
        ({"stop": [""]}, "`stop` must be a text"),
        ({"repetition_penalty": None}, "`repetition_penalty` must be a positive num"),
        ({"beams": 2}, "An option must be one of"),
    ],
)
def test_wrong_options_raise_errors(writers, kind, options, message):
    model, write = writers(kind)
    with pytest.raises(ValueError, match=message):
        write(TEXTS, **options)
    with pytest.raises(ValueError, match=message):
        type(model)(model.backbone, model.tokenizer, generation=options)


def test_options_that_a_task_does_not_have(writers):
    with pytest.raises(ValueError, match="An option must be one of .*extra_tokens"):
        writers("gpt")[1](TEXTS, extra_tokens=3)
    with pytest.raises(ValueError, match="`max_new_tokens` must be at most 96"):
        writers("gpt")[1](TEXTS, max_new_tokens=97)
    with pytest.raises(ValueError, match="`generation` must be a dict"):
        make_translator(generation="beams")


def test_defaults_of_a_task_are_plain_numbers():
    own = {"temperature": np.float32(0.5), "top_k": np.int64(3), "stop": ["a"]}
    model = test_gpt_generation.make(generation=own)
    found = model.options["generation"]
    assert found == {"temperature": 0.5, "top_k": 3, "stop": ("a",)}
    assert type(found["top_k"]) is int


@EVERY
def test_without_a_tokenizer_the_error_names_the_method(writers, kind):
    model = writers(kind)[0]
    task = type(model)(model.backbone, None)
    method = MAKERS[kind][1]
    with pytest.raises(ValueError, match=f"`{method}` needs a tokenizer"):
        getattr(task, method)(TEXTS)


@pytest.mark.shown("gpt", "translator")
@EVERY
def test_few_compiled_functions_serve_all_options(writers, kind):
    model, write = writers(kind)
    draw = np.random.default_rng(3)
    model.answer_function = None
    found = set()
    for number in range(12):
        options = {
            "max_new_tokens": int(draw.integers(2, 9)),
            "min_new_tokens": int(draw.integers(0, 3)),
            "repetition_penalty": draw.uniform(0.7, 1.5),
            "no_repeat_ngram_size": int(draw.integers(0, 3)),
            "suppressed": draw.integers(5, 50, number % 3),
            "stop": ["e"] * (number % 2),
            "seed": number,
        }
        if number % 3:
            options["temperature"] = draw.uniform(0.5, 2)
            options["top_k"] = int(draw.integers(1, 40))
            options["num_return"] = number % 4 + 1
        elif number:
            options["num_beams"] = number
            options["length_penalty"] = draw.uniform(-1, 2)
        texts = (TEXTS, TEXTS[:1], TEXTS * 2)[number // 3 % 3]
        found.add(str(write(texts, **options)))
    assert len(found) > 6
    functions = list(model.answer_function.values())
    assert len(functions) == 4
    assert all(f.experimental_get_tracing_count() == 1 for f in functions)


@pytest.mark.slow
@EVERY
def test_few_compiled_functions_serve_all_streams(writers, kind):
    model, write = writers(kind)
    model.answer_function = None
    for count, texts in itertools.product((2, 5, 7), (TEXTS, TEXTS[:1], TEXTS * 2)):
        options = {"max_new_tokens": count, "temperature": count / 4, "seed": count}
        *_, last = write(texts, stream=True, **options)
        assert last == write(texts, **options)
    functions = list(model.answer_function.values())
    assert len(functions) == 4
    assert all(f.experimental_get_tracing_count() == 1 for f in functions)


def test_few_compiled_functions_are_kept(writers, monkeypatch):
    monkeypatch.setattr(answering, "MAX_FUNCTIONS", 2)
    model, _ = writers("gpt")
    model.answer_function = None
    functions = {n: compiled_function(model, n, lambda x: x) for n in range(3)}
    assert [*model.answer_function] == [1, 2]
    assert compiled_function(model, 1, None) is functions[1]
    assert [*model.answer_function] == [2, 1]


@pytest.mark.usefixtures("eagerly")
@pytest.mark.shown("gpt", "translator")
@EVERY
def test_a_sample_does_not_depend_on_other_texts(writers, kind):
    _, write = writers(kind)
    options = {"temperature": 1.0, "max_new_tokens": 6, "seed": 4}
    alone = [write([text], **options)[0] for text in TEXTS]
    assert write([*TEXTS[::-1], "good"], **options)[:2] == alone[::-1]
    # Equal texts have different samples.
    several = write([TEXTS[0]] * 6, **options)
    assert several[0] == alone[0] and len({*several}) > 2
    other = write(TEXTS, **{**options, "seed": 5})
    assert other != alone


@pytest.mark.usefixtures("eagerly")
@pytest.mark.shown("translator")
@pytest.mark.parametrize("kind", ["translator", "summarizer"])
def test_white_space_is_one_space(writers, kind):
    _, write = writers(kind)
    (expected,) = write(["the film was good"], max_new_tokens=6)
    texts = [f" the film{space}was good{space}" for space in SPACES]
    assert write(texts, max_new_tokens=6) == [expected] * len(texts)


@pytest.mark.usefixtures("eagerly")
@pytest.mark.shown("translator")
@pytest.mark.parametrize("kind", ["translator", "summarizer"])
@pytest.mark.parametrize("options", [{}, {"num_beams": 2}, {"temperature": 1.0}])
def test_blank_texts_become_empty_texts(writers, kind, options):
    _, write = writers(kind)
    blank = ["", *SPACES]
    options = {"max_new_tokens": 4, **options}
    texts, scores = write([*blank, "good"], return_scores=True, **options)
    assert texts[:-1] == [""] * len(blank) and texts[-1]
    assert scores[:-1] == [0.0] * len(blank)
    if "num_beams" not in options:
        *_, last = write([*blank, "good"], stream=True, **options)
        assert last == texts


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["translator", "summarizer"])
def test_an_export_writes_nothing_for_blank_texts(writers, kind, tmp_path):
    model, write = writers(kind)
    loaded = tf.saved_model.load(str(model.export(tmp_path / kind)))
    texts = tf.constant(["", *SPACES, "good"])
    answer = loaded.signatures["serving_default"](texts)
    found = [text.decode() for text in answer[model.files.answer_name].numpy()]
    assert found == write(texts)
    assert found[:-1] == [""] * (len(SPACES) + 1) and found[-1]
