"""Translators of a Transformer: batches, lengths, graphs and errors."""

import concurrent.futures

import keras
import numpy as np
import pytest
import tensorflow as tf
import tiny
from tiny_translator import make_translator, tiny_tokenizer

import zoo
from zoo.registry import build_backbone
from zoo.tasks.fitting.epochs import Run
from zoo.tasks.inputs.reading import read_data
from zoo.tasks.inputs.text_batches import token_lengths

TEXTS = ["the film was good", "a", "", "superb and not boring at all , so fine !"]
BEAMS = {"num_beams": 2, "stream": True}
WAYS = {
    "greedy": {},
    "beams": {"num_beams": 3, "num_return": 3},
    "samples": {"temperature": 1.0, "num_return": 2, "seed": 3},
}


@pytest.fixture(scope="module")
def translator():
    return make_translator(generation={"extra_tokens": 8})


@pytest.mark.shown("beams")
@pytest.mark.parametrize("way", WAYS)
def test_neighbours_and_order_change_nothing(translator, way):
    options = WAYS[way]
    together = translator.translate(TEXTS, return_scores=True, **options)
    if way != "samples":  # these are drawn by the number of the row
        for text, expected, score in zip(TEXTS, *together, strict=True):
            alone = translator.translate([text], return_scores=True, **options)
            assert alone[0] == [expected]
            np.testing.assert_allclose(alone[1], [score], rtol=1e-5)
    small = translator.translate(TEXTS, batch_size=1, return_scores=True, **options)
    assert together[0] == small[0]
    np.testing.assert_allclose(together[1], small[1], rtol=1e-5)


def test_lengths(translator):
    inputs = translator.preprocessor((TEXTS,))
    tokenizer = translator.tokenizer
    for fewest, most in ((0, 1), (2, 5), (6, 6)):
        limits = {"min_new_tokens": fewest, "max_new_tokens": most, "last_token": 3}
        tokens, scores = translator.writer.generate_tokens(inputs, options(limits))
        assert tokens.shape == (4, 1, most) and np.isfinite(scores).all()
        found = [[*row[0]].index(tokenizer.end_id) + 1 for row in tokens.numpy()]
        assert fewest <= min(found) and max(found) <= most
    begun = translator.writer.init_search(inputs, options({"extra_tokens": 2}))
    lengths = token_lengths(translator, translator.text_columns(TEXTS))
    assert (begun["limits"].numpy() == np.minimum(lengths + 2, 48)).all()


def options(values):
    return make_translator(scale=0).writer.generation_options(**values)


@pytest.mark.slow
def test_an_export_answers_threads(translator, tmp_path):
    """Requests of several sizes at once; the doctor sends them one after another."""
    version = translator.export(tmp_path / "model")
    signature = tf.saved_model.load(str(version)).signatures["serving_default"]
    batches = [TEXTS[i % 3 :][: 1 + i % 4] for i in range(16)]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        found = [*pool.map(lambda rows: signature(tf.constant(rows)), batches)]
    expected, scores = translator.translate(TEXTS, return_scores=True)
    answers = {text: pair for text, *pair in zip(TEXTS, expected, scores, strict=True)}
    for batch, answer in zip(batches, found, strict=True):
        rows = [answers[text] for text in batch]
        texts = [text.decode() for text in answer["translation"].numpy()]
        assert texts == [text for text, _ in rows]
        np.testing.assert_allclose(answer["score"], [score for _, score in rows], 1e-5)


def test_batches_by_a_budget(translator):
    sources, targets = tiny.make_pairs(100)
    translator.truncation_reported = True
    targets[7] = " ".join(targets[7:12])
    dataset = translator.batches(sources, targets, token_budget=64, shuffle=True)
    rows = 0
    for x, y, weight in dataset:
        assert x["decoder_token_ids"].shape == y.shape == weight.shape
        size = max(x["encoder_token_ids"].shape[1], y.shape[1])
        assert size * len(y) <= 64 or len(y) == 1
        rows += len(y)
    assert rows == 100
    run = Run(1, 0, None, None, None, None, 1, 0.0, True, 0, token_budget=64)
    held_out = read_data(translator, (sources, targets, None)).validation(run)
    assert all(len(y) * y.shape[1] <= 64 or len(y) == 1 for _, y, _ in held_out)
    with pytest.raises(ValueError, match="Exactly one of `batch_size`"):
        translator.fit(sources, targets, batch_size=2, token_budget=64)


def test_the_decoder_reads_the_target_moved_by_one(translator):
    ((x, y, weight),) = translator.batches(["a", "the film"], ["A", "FILM THE"])
    tokens = translator.tokenizer.targets(["FILM THE", "A"]).to_list()
    order = [0, 1] if len(tokens[0]) > len(tokens[1]) else [1, 0]
    for row, number in enumerate(order):
        count = len(tokens[number])
        assert y[row, : count + 1].numpy().tolist() == [*tokens[number], 3]
        read = x["decoder_token_ids"][row, : count + 1].numpy().tolist()
        assert read == [2, *tokens[number]]
        ones = np.arange(weight.shape[1]) <= count
        assert weight[row].numpy().tolist() == ones.tolist()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    (
        (lambda m: m.translate("one"), TypeError, "list of"),
        (lambda m: m.translate(["a"], max_new_tokens=49), ValueError, "at most 48"),
        (lambda m: m.translate(["a"], **BEAMS), ValueError, "there is one output for"),
        (lambda m: m.fit(["a", "b"], ["c"]), ValueError, "same"),
        (lambda m: m.fit(["a"], [1]), ValueError, "one text for each"),
        (lambda m: m.fit(["a"] * 2, ["b", np.nan]), ValueError, "Received: nan"),
        (lambda m: m.fit(["a"]), ValueError, "needs labels"),
        (lambda m: m.predict(["a"]), TypeError, "translate"),
    ),
)
def test_wrong_calls(translator, call, error, message):
    with pytest.raises(error, match=message):
        call(translator)


@pytest.mark.usefixtures("eagerly")
def test_long_and_foreign_texts(translator):
    long = "good film " * 2500
    with pytest.warns(UserWarning, match="truncated"):
        translator.truncation_reported = False
        texts = translator.translate([long, "漢字 🎉 \u0000", "  "])
    assert len(texts) == 3 and all(isinstance(text, str) for text in texts)
    with pytest.warns(UserWarning, match="1 of 2 texts are longer than 32 tokens"):
        translator.truncation_reported = False
        translator.batches(["good", "film"], ["good", long])
    assert translator.translate([]) == []
    assert translator.translate([], return_scores=True) == ([], [])


def test_tasks_need_their_kind_of_backbone(translator):
    with pytest.raises(ValueError, match="an encoder and a decoder"):
        zoo.Translator(build_backbone("bert", tiny.CONFIG), tiny_tokenizer())
    for name, task in zoo.tasks.TASKS.items():
        if name not in ("translator", "parser", "summarizer", "pair_ranker"):
            with pytest.raises(ValueError, match="needs a backbone"):
                task(translator.backbone, translator.tokenizer)


@pytest.mark.slow
def test_jit_compiled_steps_lower_the_loss():
    sources, targets = tiny.make_pairs(64)
    model = make_translator(scale=None)
    model.compile(keras.optimizers.Adam(1e-2), model.default_loss(), jit_compile=True)
    losses = model.fit(sources, targets, epochs=3, verbose=0).history["loss"]
    assert losses[-1] < losses[0]
