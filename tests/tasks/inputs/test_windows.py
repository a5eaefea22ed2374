"""Documents of any length, which a recurrent classifier reads window by window."""

import keras
import numpy as np
import pytest
import tensorflow as tf
import tiny
from tiny_tasks import make_tiny_task

from zoo.tasks import CausalLM, TextClassifier
from zoo.tasks.classifiers import sequence_task
from zoo.tasks.inputs import windows

LONG = "the end of a film was not so good , but two or three in it ! " * 12
TEXTS = [LONG, "", "a good film", LONG[:400], "bad"]
MODELS = [("lstm", False), ("lstm", True), ("qrnn", False), ("qrnn", True)]


def make(cell="lstm", reverse=False, head="concat_pooling", dtype=None, **options):
    fields = {k: options.pop(k) for k in {*tiny.ULMFIT_CONFIG} & {*options}}
    fields |= {"cell": cell, "reverse": reverse, "initializer_range": 0.5}
    options["head"] = head
    model = make_tiny_task(TextClassifier, "ulmfit", fields, dtype, **options)
    kernel = model.get_layer("classifier").kernel
    kernel.assign(keras.random.normal(kernel.shape, seed=1))
    return model


def lengths_read(model, monkeypatch):
    """List of the lengths that the backbone reads at once, which grows."""
    found, step = [], type(model.backbone).step

    def noted(self, inputs, *args, **kwargs):
        found.append(inputs["token_ids"].shape)
        return step(self, inputs, *args, **kwargs)

    monkeypatch.setattr(type(model.backbone), "step", noted)
    return found


@pytest.mark.shown("qrnn-True-concat_pooling")
@pytest.mark.parametrize("head", ["concat_pooling", "linear"])
@pytest.mark.parametrize("cell, reverse", MODELS)
def test_windows_give_the_logits_of_the_whole_text(cell, reverse, head, monkeypatch):
    model = make(cell, reverse, head)
    x = model.preprocessor((tf.constant(TEXTS),))
    assert x["token_ids"].shape[1] > 2 * windows.TOKENS_IN_WINDOW
    read = lengths_read(model, monkeypatch)
    found = model(x, training=False)
    assert len(read) > 2
    assert max(length for _, length in read) <= windows.TOKENS_IN_WINDOW
    assert sum(length for _, length in read) < x["token_ids"].shape[1] + len(read)
    model.reads_windows = False
    expected = model(x, training=False)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert np.std(expected, axis=0).min() > 1e-2


@pytest.mark.slow
def test_a_compiled_graph_reads_in_windows():
    model = make()
    expected = model.predict(TEXTS, verbose=0)
    model.reads_windows = False
    model.make_predict_function(force=True)
    whole = model.predict(TEXTS, verbose=0)
    np.testing.assert_allclose(expected, whole, atol=1e-6)
    model.reads_windows = True
    for layer in model.backbone.named_layers.values():
        layer.packed = False  # XLA cannot skip masked steps
    model.compile(jit_compile=True)
    model.make_predict_function(force=True)
    np.testing.assert_allclose(model.predict(TEXTS, verbose=0), whole, atol=1e-5)


@pytest.mark.slow
@pytest.mark.half_precision
def test_states_under_a_16_bit_policy():
    model, exact = make(dtype="mixed_bfloat16"), make()
    found = model.predict(TEXTS, verbose=0)
    expected = exact.predict(TEXTS, verbose=0)  # of spread 0.02; 0.0004 apart
    np.testing.assert_allclose(found, expected, atol=0.002)
    head = CausalLM(model.backbone, model.tokenizer)
    assert np.isfinite(head.answer(TEXTS)["log_probability"]).all()


IDS = np.zeros((2, 40), "int32")
IDS[0], IDS[1, :12] = np.arange(5, 45), np.arange(45, 57)


def logits_and_gradients(model):
    """The logits in training, and the gradient of the vector of each token."""
    with tf.GradientTape() as tape:
        logits = model({"token_ids": IDS}, training=True)
        loss = tf.reduce_sum(logits * [[1.0, -2.0], [0.5, 0.25]])
    table = model.backbone.named_layers["token_embedding"].embeddings
    return logits, tf.convert_to_tensor(tape.gradient(loss, table.value)).numpy()


@pytest.mark.slow
@pytest.mark.parametrize("cell, reverse", MODELS)
def test_the_gradient_reaches_the_tail_of_each_row(cell, reverse, monkeypatch):
    monkeypatch.setattr(windows, "TOKENS_IN_WINDOW", 7)
    for module in (windows, sequence_task):
        monkeypatch.setattr(module, "TOKENS_IN_TAIL", 16)
    model = make(cell, reverse, head_dropout=0.0)
    model.get_layer("hidden_dropout").rate = 0.0
    for layer in model.layers:
        if isinstance(layer, keras.layers.BatchNormalization):
            layer.epsilon = 1.0  # else it multiplies the rounding of close rows
    read = lengths_read(model, monkeypatch)
    found = logits_and_gradients(model)
    assert [length for _, length in read] == [6, 6, 6, 6, 16]
    model.reads_windows = False
    expected = logits_and_gradients(model)
    np.testing.assert_allclose(found[0], expected[0], atol=5e-8)
    assert np.abs(expected[0]).max() > 1e-3
    early = IDS[0, 16:] if reverse else IDS[0, :-16]
    reached = np.setdiff1d(IDS, [0, *early])
    assert len(reached) == 16 + 12
    np.testing.assert_allclose(found[1][reached], expected[1][reached], atol=5e-8)
    assert not np.any(found[1][early]) and np.all(expected[1][early].any(-1))


@pytest.mark.shown("graph")
@pytest.mark.parametrize("kind", ["graph", "jit", "replicas"])
def test_long_documents_are_trained(kind, request, monkeypatch):
    for module in (windows, sequence_task):
        monkeypatch.setattr(module, "TOKENS_IN_TAIL", 16)
    strategy = tf.distribute.get_strategy()
    if kind == "replicas":
        strategy = request.getfixturevalue("two_replicas")
    with strategy.scope():
        model = make(input_dropout=0.1, weight_dropout=0.1)
        model.compile(keras.optimizers.Adam(1e-2), jit_compile=kind == "jit")
    texts = [f"{LONG[: 20 * i]} good" for i in range(8)]
    texts += [f"{LONG[: 20 * i]} bad" for i in range(8)]
    labels = ["good"] * 8 + ["bad"] * 8
    losses = model.fit(texts, labels, 16, 12, verbose=0).history["loss"]
    assert np.isfinite(losses).all() and losses[-1] < 0.7 * losses[0]


@pytest.mark.slow
def test_a_backbone_of_two_directions_reads_whole_documents():
    model = make_tiny_task(TextClassifier, "elmo", head="concat_pooling")
    assert not model.backbone.carries_states and not model.reads_windows
    texts = [LONG * 8, "", "a good film"]
    together = model.predict(texts, verbose=0)
    alone = [model.predict([text], verbose=0)[0] for text in texts]
    np.testing.assert_allclose(together, alone, atol=1e-5)
