"""Translators: training, writing, streams and files."""

import concurrent.futures
import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf
import tiny
from tiny_translator import make_translator, tiny_tokenizer

import zoo
from zoo.registry import build_backbone
from zoo.serving import ask
from zoo.tasks.fitting.epochs import Run
from zoo.tasks.inputs.reading import read_data
from zoo.tasks.inputs.text_batches import token_lengths

TEXTS = ["the film was good", "a", "", "superb and not boring at all , so fine !"]
GREEDY, BEAMS = {}, {"num_beams": 3, "num_return": 3}
SAMPLES = {"temperature": 1.0, "num_return": 2, "seed": 3}
WAYS = {"greedy": GREEDY, "beams": BEAMS, "samples": SAMPLES}


@pytest.fixture(scope="module")
def translator():
    return make_translator(generation={"extra_tokens": 8})


def uncached(model, text, count):
    """Greedy tokens by the whole decoder, again for every token."""
    tokenizer = model.tokenizer
    inputs, tokens = model.preprocessor(([text],)), [tokenizer.start_id]
    for _ in range(count):
        decoder = np.array([tokens], "int32")
        logits = model({**inputs, "decoder_token_ids": decoder}, training=False)
        tokens.append(int(np.argmax(logits[0, -1])))
        if tokens[-1] == tokenizer.end_id:
            break
    return tokens[1:]


SLOW = pytest.mark.slow


@pytest.mark.slow
@pytest.mark.parametrize(
    ("norm_first", "separate"),
    [
        (False, True),
        pytest.param(True, False, marks=SLOW),
        pytest.param(False, False, marks=SLOW),
        pytest.param(True, True, marks=SLOW),
    ],
)
def test_cached_steps_are_the_decoder(norm_first, separate):
    model = make_translator(
        scale=0.3,
        config={"norm_first": norm_first},
        separate=separate,
        generation={"extra_tokens": 6},
    )
    for text in TEXTS:
        found, score = model.translate([text], return_scores=True)
        tokens = uncached(model, text, limit(model, text))
        expected = tf.constant([[*tokens, model.tokenizer.end_id]])
        if not text.strip():
            assert (*found, *score) == ("", 0.0)
            continue
        assert found[0] == model.tokenizer.detokenize(expected)[0].numpy().decode()
        inputs = model.preprocessor(([text],))
        read = np.array([[model.tokenizer.start_id, *tokens[:-1]]], "int32")
        logits = model({**inputs, "decoder_token_ids": read}, training=False)[0]
        logs = tf.nn.log_softmax(logits, axis=-1).numpy()
        total = logs[np.arange(len(tokens)), tokens].sum()
        np.testing.assert_allclose(score[0], total, atol=1e-5 * len(tokens))


@pytest.mark.parametrize("beams", (1, 3))
def test_steps_of_several_tokens_are_the_decoder(beams):
    model = make_translator(scale=0.3).backbone
    draw = np.random.default_rng(4)
    source = {"encoder_token_ids": draw.integers(5, 300, (2, 7))}
    source["encoder_token_ids"][1, 4:] = 0
    read = draw.integers(5, 300, (2 * beams, 9))
    inputs = {k: np.repeat(v, beams, axis=0) for k, v in source.items()}
    expected = model(model.complete({**inputs, "decoder_token_ids": read}))
    states = model.make_states(2 * beams, 9, source, beams)
    found = []
    for begin, end in ((0, 4), (4, 5), (5, 9)):
        outputs, states = model.step(read[:, begin:end], states, beams=beams)
        found.append(outputs["decoder_sequence_output"])
    found = np.concatenate(found, axis=1)
    np.testing.assert_allclose(found, expected["decoder_sequence_output"], atol=1e-5)


def limit(model, text):
    options = model.writer.generation_options()
    return min(
        int(token_lengths(model, model.text_columns([text]))[0]) + options.extra_tokens,
        48,
    )


@pytest.mark.shown("beams")
@pytest.mark.parametrize("way", WAYS)
def test_neighbours_and_order_change_nothing(translator, way):
    options = WAYS[way]
    together = translator.translate(TEXTS, return_scores=True, **options)
    if way != "samples":  # these are drawn by the number of the row
        alone = [
            translator.translate([t], return_scores=True, **options) for t in TEXTS
        ]
        assert together[0] == [found[0][0] for found in alone]
        np.testing.assert_allclose(together[1], [found[1][0] for found in alone], 1e-5)
    small = translator.translate(TEXTS, batch_size=1, return_scores=True, **options)
    assert together[0] == small[0]
    np.testing.assert_allclose(together[1], small[1], rtol=1e-5)


@pytest.mark.slow
@pytest.mark.usefixtures("eagerly")
def test_one_beam_is_greedy_and_more_are_better(translator):
    texts, greedy = translator.translate(TEXTS, return_scores=True)
    assert texts == translator.translate(TEXTS, num_beams=1)
    options = {"num_beams": 4, "length_penalty": 0.0}
    _, beams = translator.translate(TEXTS, return_scores=True, **options)
    assert np.sum(beams) > np.sum(greedy) + 1
    assert len({*texts}) == len(texts)  # so the tests compare different texts


@pytest.mark.slow
def test_samples_depend_on_the_seed_only(translator):
    first = translator.translate(TEXTS, **SAMPLES)
    assert first == translator.translate(TEXTS, **SAMPLES)
    assert first != translator.translate(TEXTS, **{**SAMPLES, "seed": 4})
    assert [len(row) for row in first] == [2] * len(TEXTS)


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
def test_a_stream_grows_to_the_translation(translator):
    for way in (GREEDY, {"temperature": 1.0, "seed": 2}):
        parts = list(translator.translate(TEXTS, stream=True, **way))
        assert parts[-1] == translator.translate(TEXTS, **way)
        assert len(parts) > 3 and parts[0] != parts[-1]
        for before, after in itertools.pairwise(parts):
            for old, new in zip(before, after, strict=True):
                assert new.startswith(old.rstrip("\ufffd \u2047")) or "\ufffd" in old
    assert list(translator.translate([], stream=True)) == []


@pytest.mark.slow
def test_calls_are_not_traced_again(translator):
    translator.answer_function = None
    for texts in (TEXTS, TEXTS[:1], TEXTS * 3):
        translator.translate(texts)
        translator.translate(texts, num_beams=2)
        list(translator.translate(texts, stream=True))
    functions = translator.answer_function.values()
    for seed in (1, 2):  # the drawn numbers are an input
        translator.translate(TEXTS, top_p=0.9, seed=seed)
        list(translator.translate(TEXTS, top_p=0.9, seed=seed, stream=True))
    assert len(functions) == 5
    assert all(f.experimental_get_tracing_count() == 1 for f in functions)


@pytest.mark.slow
@pytest.mark.parametrize("way", ("greedy", "beams"))
def test_an_export_answers_the_same(tmp_path, way):
    given = {**WAYS[way], "num_return": 1}
    model = make_translator(separate=True, generation={"extra_tokens": 5, **given})
    version = model.export(tmp_path / "model")
    answers = ask(version, {"source": np.array(TEXTS, dtype=object)})
    texts, scores = model.translate(TEXTS, return_scores=True, **{"num_return": 1})
    assert answers["translation"].tolist() == [t[0] for t in texts]
    np.testing.assert_allclose(answers["score"], np.ravel(scores), atol=1e-5)


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


@pytest.mark.slow
def test_files_keep_the_translator(translator, tmp_path):
    expected = translator.translate(TEXTS)
    translator.save(tmp_path / "m.keras")
    assert zoo.load_model(tmp_path / "m.keras").translate(TEXTS) == expected
    translator.save_to_preset(tmp_path / "preset")
    loaded = zoo.from_preset(tmp_path / "preset")
    assert isinstance(loaded, zoo.Translator)
    assert loaded.translate(TEXTS) == expected


@pytest.mark.slow
def test_it_learns_to_translate():
    sources, targets = tiny.make_pairs(400, longest=4)
    model = make_translator(
        scale=None, config={"hidden_dim": 32, "num_heads": 4}, label_smoothing=0.0
    )
    model.compile(learning_rate=1e-2)
    history = model.fit(
        sources, targets, validation_data=(sources[:50], targets[:50]), epochs=6,
        token_budget=400, verbose=0,
    ).history  # fmt: skip
    assert history["val_crossentropy"][-1] < history["val_crossentropy"][0] / 2
    assert history["val_accuracy"][-1] > 0.5


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
        assert weight[row].numpy().tolist() == [1.0] * (count + 1) + [0.0] * (
            weight.shape[1] - count - 1
        )


@pytest.mark.parametrize(
    ("call", "error", "message"),
    (
        (lambda m: m.translate("one"), TypeError, "list of"),
        (
            lambda m: m.translate(["a"], num_beams=0),
            ValueError,
            "num_beams.*integer from",
        ),
        (lambda m: m.translate(["a"], max_new_tokens=0), ValueError, "max_new_tokens"),
        (lambda m: m.translate(["a"], max_new_tokens=49), ValueError, "at most 48"),
        (lambda m: m.translate(["a"], beams=2), ValueError, "must be one of.*beams"),
        (
            lambda m: m.translate(["a"], num_beams=2, stream=True),
            ValueError,
            "there is one output for each text",
        ),
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


@SLOW
def test_jit_compiled_steps_lower_the_loss():
    sources, targets = tiny.make_pairs(64)
    model = make_translator(scale=None)
    model.compile(keras.optimizers.Adam(1e-2), model.default_loss(), jit_compile=True)
    losses = model.fit(sources, targets, epochs=3, verbose=0).history["loss"]
    assert losses[-1] < losses[0]
