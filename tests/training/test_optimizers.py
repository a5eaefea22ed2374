"""AdamW against plain numpy."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from zoo.training import AdamW, WarmupLinearDecay, finetuning_optimizer, layer_depths

RATE, DECAY, EPSILON = 0.1, 0.3, 1e-4
UPDATES = 5


def make_variables():
    """A decayed kernel, a bias, and the gain of a norm whose short name is gamma."""
    values = np.random.default_rng(0).normal(size=(3, 2, 2)).astype("float32")
    with keras.name_scope("block_0"):
        kernel = keras.Variable(values[0], name="kernel")
        bias = keras.Variable(values[1, 0], name="bias")
    with keras.name_scope("embeddings_layer_norm"):
        gamma = keras.Variable(values[2, 0], name="gamma")
    return [kernel, bias, gamma]


def make_gradients(count=UPDATES, scale=3.0):
    draw = np.random.default_rng(1)
    return [
        [draw.normal(0, scale, s).astype("float32") for s in ((2, 2), (2,), (2,))]
        for _ in range(count)
    ]


def make(learning_rate=RATE, **options):
    return AdamW(learning_rate, weight_decay=DECAY, epsilon=EPSILON, **options)


def reference(gradients, bias_correction=True, clip=1.0, rates=(1, 1, 1), plan=None):
    """AdamW in float64, with decay of the first variable only."""
    w = [v.numpy().astype("float64") for v in make_variables()]
    m, v = [0 * x for x in w], [0 * x for x in w]
    for t, step in enumerate(gradients, 1):
        norm = np.sqrt(sum(np.sum(g.astype("float64") ** 2) for g in step))
        for i, g in enumerate(step):
            g = g * min(1, clip / norm) if clip else g
            m[i] = 0.9 * m[i] + 0.1 * g
            v[i] = 0.999 * v[i] + 0.001 * g**2
            mean, square = m[i], v[i]
            if bias_correction:
                mean, square = mean / (1 - 0.9**t), square / (1 - 0.999**t)
            decay = DECAY * w[i] if i == 0 else 0.0
            rate = rates[i] * (plan[t - 1] if plan else RATE)
            w[i] = w[i] - rate * (mean / (np.sqrt(square) + EPSILON) + decay)
    return w


def train(optimizer, gradients):
    variables = make_variables()
    for step in gradients:
        optimizer.apply([tf.constant(g) for g in step], variables)
    return [v.numpy() for v in variables]


def assert_same(actual, expected):
    for a, b in zip(actual, expected, strict=True):
        # TensorFlow's operation takes 1 - beta_2 of a beta_2 in float32.
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("clip", [1.0, None])
@pytest.mark.parametrize("bias_correction", [True, False])
@pytest.mark.parametrize("backend", ["tensorflow", "jax"])
def test_adamw_follows_its_equation(backend, bias_correction, clip, monkeypatch):
    # What other backends run is plain `keras.ops`, which TensorFlow runs as well.
    monkeypatch.setattr(keras.backend, "backend", lambda: backend)
    optimizer = make(global_clipnorm=clip, bias_correction=bias_correction)
    expected = reference(make_gradients(), bias_correction, clip)
    assert_same(train(optimizer, make_gradients()), expected)


def test_layers_learn_at_their_own_rates():
    depths = {"embeddings_layer_norm": 0, "block_0": 1, "block_1": 2}
    optimizer = make(layer_decay=0.5, depths=depths)
    expected = reference(make_gradients(), rates=(0.25, 0.25, 0.125))
    assert_same(train(optimizer, make_gradients()), expected)
    assert optimizer.rate_scale("classifier/kernel") == 1.0
    assert optimizer.rate_scale("block_10/kernel") == 1.0  # block_1 is no prefix of it


class Backbone:
    """Names of layers, which is all that the optimizer asks a backbone for."""

    parts = {}
    named_layers = dict.fromkeys(("embedding", "norm", "lower", "upper", "pooler"))

    def groups(self):
        return ("embedding", "norm"), ("lower",), ("upper",)


def test_the_depth_of_a_layer_is_that_of_its_group():
    depths = {"embedding": 0, "norm": 0, "lower": 1, "upper": 2}
    assert layer_depths(Backbone()) == depths
    optimizer = finetuning_optimizer(Backbone(), 100, layer_decay=0.5)
    paths = ("norm/gamma", "lower/kernel", "upper/kernel", "pooler/kernel")
    scales = [optimizer.rate_scale(path) for path in paths]
    assert scales == [0.125, 0.25, 0.5, 1.0]
    assert finetuning_optimizer(None, 100).depths == {}  # no decay, no question
    # Token vectors that make the logits are at the top.
    depths = layer_depths(Backbone(), language_model=True)
    assert depths == {"lower": 1, "upper": 2}
    assert AdamW(1.0, layer_decay=0.5, depths=depths).rate_scale("embedding/x") == 1.0


def test_the_layers_of_a_part_have_its_depth():
    class Whole(Backbone):
        parts = {"lm": Backbone()}
        named_layers = {"words": None, "top": None}

        def groups(self):
            return ("lm", "words"), ("top",)

    inner = dict.fromkeys(Backbone.named_layers, 0)
    assert layer_depths(Whole()) == {**inner, "words": 0, "top": 1}
    Whole.named_layers = {"words": None}
    with pytest.raises(ValueError, match=r"names of its layers.*\['top'\] of Whole"):
        layer_depths(Whole())


def test_no_norm_is_decayed():
    for name in ("layer_norm", "pooled_norm", "norm_0", "LayerNorm"):
        gain = keras.Variable(np.ones(2, "float32"), name="gamma")
        gain._path = f"model/{name}/gamma"
        AdamW(1.0, weight_decay=0.5).apply([tf.zeros(2)], [gain])
        np.testing.assert_array_equal(gain, 1.0, err_msg=name)


def test_a_repeated_token_counts_once_in_the_norm():
    """The gradient of a table is sparse, a row for every token of the batch."""
    dense = np.zeros((4, 2), "float32")
    dense[1] = 6.0
    sparse = tf.IndexedSlices(np.full((2, 2), 3.0, "float32"), [1, 1], (4, 2))
    results = []
    for gradient in (sparse, tf.constant(dense)):
        table = keras.Variable(np.ones((4, 2), "float32"), name="table")
        AdamW(RATE, epsilon=1.0).apply([gradient], [table])
        results.append(table.numpy())
    np.testing.assert_allclose(results[0], results[1], rtol=1e-6)


def sums_of_two(parts):
    """The sums of the gradients of each two updates."""
    pairs = zip(parts[::2], parts[1::2], strict=True)
    return [[a + b for a, b in zip(*pair, strict=True)] for pair in pairs]


def test_accumulation_clips_the_mean_of_the_gradients():
    parts = make_gradients(2 * UPDATES)
    means = [[s / 2 for s in sums] for sums in sums_of_two(parts)]
    optimizer = make(gradient_accumulation_steps=2)
    assert_same(train(optimizer, parts), reference(means))
    rate = WarmupLinearDecay(RATE, 2, 10)
    optimizer = make(learning_rate=rate, gradient_accumulation_steps=2)
    plan = [0.0, RATE / 2, 0.8 * RATE, 0.7 * RATE, 0.6 * RATE]
    assert_same(train(optimizer, parts), reference(means, plan=plan))


def test_replicas_clip_the_sum_of_the_gradients(two_replicas):
    parts = make_gradients(2 * UPDATES)
    with two_replicas.scope():
        variables = make_variables()
        optimizer = make()
        optimizer.build(variables)

    @tf.function
    def step(pairs):
        index = tf.distribute.get_replica_context().replica_id_in_sync_group
        optimizer.apply([tf.gather(pair, index) for pair in pairs], variables)

    for i in range(0, len(parts), 2):
        pairs = [np.stack(pair) for pair in zip(*parts[i : i + 2], strict=True)]
        two_replicas.run(step, args=([tf.constant(pair) for pair in pairs],))
    assert_same([v.numpy() for v in variables], reference(sums_of_two(parts)))


def test_errors():
    with pytest.raises(ValueError, match="`amsgrad` must be False. Received: True."):
        AdamW(amsgrad=True)
    with pytest.raises(ValueError, match="in one way. Received: `clipvalue` and glob"):
        AdamW(clipvalue=0.5)
    assert AdamW(clipvalue=0.5, global_clipnorm=None).clipvalue == 0.5
    with pytest.raises(ValueError, match="at least `warmup_steps`.*decay_steps=3"):
        WarmupLinearDecay(1.0, 4, 3)
