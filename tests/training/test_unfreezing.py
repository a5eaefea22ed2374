"""Gradual unfreezing within one `fit`."""

import keras
import numpy as np
import pytest
import tensorflow as tf
import tiny

import zoo
from zoo.layers import enable_lora
from zoo.registry import build_backbone
from zoo.tasks import TextClassifier
from zoo.text import CharacterTokenizer, WordPieceTokenizer
from zoo.training import AdamW, GradualUnfreezing, train_steps

TEXTS, LABELS = tiny.make_texts(8)
EAGER = {"run_eagerly": True}
HALF = (pytest.mark.half_precision, pytest.mark.slow)
CONFIGS = {"bert": tiny.CONFIG, "elmo": tiny.ELMO_CONFIG, "ulmfit": tiny.ULMFIT_CONFIG}


class Weights(keras.callbacks.Callback):
    """Notes the weights before the first epoch and after every epoch, by group."""

    def on_train_begin(self, logs=None):
        self.states = [by_group(self.model)]

    def on_epoch_end(self, epoch, logs=None):
        self.states.append(by_group(self.model))

    def moved(self):
        """For each epoch, the names of the groups whose weights changed."""
        pairs = zip(self.states[:-1], self.states[1:], strict=True)
        return [{k for k in a if not same(a[k], b[k])} for a, b in pairs]


def same(values, others):
    return all(map(np.array_equal, values, others))


def by_group(model):
    """Dict of "0", "1", ... and "head" to the weights."""
    backbone = model.backbone
    parts = {
        str(number): [v for name in names for v in backbone.named_layers[name].weights]
        for number, names in enumerate(backbone.groups())
    }
    known = {id(v) for part in parts.values() for v in part}
    parts["head"] = [v for v in model.weights if id(v) not in known]
    return {name: [v.numpy() for v in part] for name, part in parts.items()}


def make(family="bert", strategy=None, compile=EAGER, dtype=None, **fields):
    strategy = strategy or tf.distribute.get_strategy()
    with strategy.scope():
        keras.utils.set_random_seed(3)
        config = CONFIGS[family]
        backbone = build_backbone(family, {**config, **fields}, dtype)
        pieces = WordPieceTokenizer(tiny.VOCABULARY)
        known = CharacterTokenizer() if family == "elmo" else pieces
        model = TextClassifier(backbone, known, tiny.LABELS)
        model.compile(AdamW(0.05), **compile)
    return model


def fit(model, epochs, *callbacks, **options):
    weights = Weights()
    callbacks = [*callbacks, weights]
    model.fit(TEXTS, LABELS, 4, epochs, verbose=0, callbacks=callbacks, **options)
    return weights.moved()


GRADUAL = [{"head"}, {"2", "head"}, {"1", "2", "head"}, {"0", "1", "2", "head"}]


@pytest.mark.shown("bert")
@pytest.mark.parametrize(
    "family", ["bert", "ulmfit", pytest.param("elmo", marks=pytest.mark.slow)]
)
def test_one_group_more_is_trained_in_each_epoch(family):
    model = make(family)
    count = len(model.backbone.groups())
    names = [{*map(str, range(begin, count))} for begin in range(count, -1, -1)]
    expected = [{"head"} | part for part in names]
    assert fit(model, count + 2, GradualUnfreezing()) == [*expected, expected[-1]]
    assert all(layer.trainable for layer in model._flatten_layers())
    assert fit(model, 1) == [expected[-1]]


@pytest.mark.shown("options3-expected3")
@pytest.mark.parametrize(
    "options, expected",
    [
        ({"last": 1}, [GRADUAL[0], GRADUAL[1], GRADUAL[3]]),
        ({"last": 0}, [GRADUAL[0], GRADUAL[3]]),
        ({"epochs_per_group": 2}, [GRADUAL[0], GRADUAL[0], GRADUAL[1]]),
        ({"order": "last_layer"}, [GRADUAL[0]] * 3),
        ({"order": "chain_thaw"}, [{"head"}, {"0"}, {"1"}, {"2"}, GRADUAL[3]]),
    ],
)
def test_the_order_of_the_layers(options, expected):
    assert fit(make(), len(expected), GradualUnfreezing(**options)) == expected


def test_what_each_epoch_trains():
    callback = GradualUnfreezing(order="gradual", epochs_per_group=2, last=1)
    found = [callback.trained(epoch, 4) for epoch in range(6)]
    ranges = [range(4, 4)] * 2 + [range(3, 4)] * 2 + [range(0, 4)] * 2
    assert found == [(True, numbers) for numbers in ranges]


@pytest.mark.shown("graph")
@pytest.mark.parametrize(
    "name",
    [
        "graph",
        pytest.param("jit", marks=pytest.mark.slow),
        pytest.param("mixed_bfloat16", marks=HALF),
        pytest.param("mixed_float16", marks=HALF),
        "replicas",
    ],
)
def test_it_works_in_compiled_steps(name, request):
    options = {"compile": {"jit_compile": name == "jit"}, "num_layers": 1}
    if name == "replicas":
        options["strategy"] = request.getfixturevalue("two_replicas")
    if name.startswith("mixed"):
        options["dtype"] = name
    model = make(**options)
    expected = [{"head"}, {"1", "head"}, {"0", "1", "head"}]
    epochs = 2 if name == "graph" else 3  # each is traced anew
    assert fit(model, epochs, GradualUnfreezing()) == expected[:epochs]
    updates = int(keras.ops.convert_to_numpy(model.optimizer.iterations))
    assert updates == 2 * epochs


@pytest.mark.slow
def test_the_optimizer_has_no_state_of_frozen_layers():
    class Slots(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            counts.append(len(self.model.optimizer._momentums))
            joined.append({*self.model.optimizer.joined})

    model, counts, joined = make(), [], []
    fit(model, 4, Slots(), GradualUnfreezing())
    assert counts[0] < counts[1] < counts[2] < counts[3]
    assert counts[3] == len(model.trainable_variables)
    assert joined == [set(), {0, 2}, {0, 2, 4}, {0, 2, 4, 6}]  # two updates an epoch


def test_what_the_user_froze_stays_frozen():
    model = make()
    block = model.backbone.named_layers["block_1"]
    (inner,) = (x for x in block._flatten_layers() if x.name == "attention")
    inner.trainable = False
    model.backbone.named_layers["pooler"].trainable = False
    flags = [layer.trainable for layer in model._flatten_layers()]
    before = [w.numpy() for w in inner.weights]
    moved = fit(model, 4, GradualUnfreezing())
    assert moved == GRADUAL
    assert same(before, [w.numpy() for w in inner.weights])
    assert [layer.trainable for layer in model._flatten_layers()] == flags
    assert model.frozen_before is None


@pytest.mark.slow
def test_a_group_that_the_user_froze_has_no_epoch():
    model = make()
    model.backbone.named_layers["block_1"].trainable = False
    moved = fit(model, 4, GradualUnfreezing(order="chain_thaw"))
    assert moved == [{"head"}, {"0"}, {"1"}, {"0", "1", "head"}]


@pytest.mark.slow
def test_adapters_are_thawed_without_their_kernels():
    model = make()
    enable_lora(model, 2)
    model.compile(AdamW(0.05), **EAGER)
    trained = {id(v) for v in model.trainable_variables}
    kernels = [v for v in model.weights if id(v) not in trained]
    before = [v.numpy() for v in kernels]
    assert fit(model, 4, GradualUnfreezing())
    assert {id(v) for v in model.trainable_variables} == trained
    assert same(before, [v.numpy() for v in kernels])


@pytest.mark.slow
def test_a_batch_normalization_that_is_frozen_keeps_its_statistics():
    keras.utils.set_random_seed(1)
    backbone = build_backbone("bert", {**tiny.CONFIG, "num_layers": 1})
    inputs = backbone.make_inputs(backbone.config)
    x = backbone(inputs)["sequence_output"]
    norm, head = keras.layers.BatchNormalization(), keras.layers.Dense(2)
    model = keras.Model(inputs, head(norm(x)[:, 0]))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(0.05), loss)
    x = backbone.complete({"token_ids": np.arange(5, 29).reshape(4, 6)})
    states = []

    class Statistics(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            states.append(norm.moving_mean.numpy())

    callbacks = [GradualUnfreezing(backbone, order="chain_thaw"), Statistics()]
    model.fit(x, np.array([0, 1, 0, 1]), 2, 5, verbose=0, callbacks=callbacks)
    assert np.array_equal(states[:2], [states[2]] * 2)
    assert not np.array_equal(states[2], states[3])
    assert model.fit(x, np.array([0, 1, 0, 1]), 2, 1, verbose=0)


class Stop(keras.callbacks.Callback):
    """Ends the run at the beginning of an epoch, as a power cut does."""

    def __init__(self, epoch):
        super().__init__()
        self.epoch = epoch

    def on_epoch_begin(self, epoch, logs=None):
        if epoch == self.epoch:
            raise KeyboardInterrupt


@pytest.mark.slow
@pytest.mark.parametrize("epoch", [1, 2])
def test_a_run_that_is_stopped_goes_on_with_the_right_layers(epoch, tmp_path):
    def run(name, *callbacks):
        model = make(dropout=0.1, num_layers=1)
        model.backbone.named_layers["pooler"].trainable = False

        def batches(start):
            return model.batches(TEXTS, LABELS, batch_size=4).repeat().skip(start)

        callbacks = [*callbacks, GradualUnfreezing()]
        return train_steps(model, batches, 6, tmp_path / name, 2, callbacks)

    whole = run("whole")
    with pytest.raises(KeyboardInterrupt):
        run("stopped", Stop(epoch))
    saved = zoo.load_model(tmp_path / "stopped" / "checkpoint.keras")
    assert saved.frozen_before == ("backbone/pooler",)
    resumed = run("stopped")
    assert resumed.frozen_before is None
    for mine, yours in ((resumed, whole), (resumed.optimizer, whole.optimizer)):
        for ours, theirs in zip(mine.variables, yours.variables, strict=True):
            np.testing.assert_array_equal(ours, theirs, err_msg=ours.path)
    flags = [[a.trainable for a in m._flatten_layers()] for m in (resumed, whole)]
    assert flags[0] == flags[1]


@pytest.mark.slow
def test_an_interrupted_fit_can_begin_again():
    model = make()
    with pytest.raises(KeyboardInterrupt):
        fit(model, 4, GradualUnfreezing(), Stop(1))
    assert not model.backbone.named_layers["block_0"].trainable
    assert fit(model, 4, GradualUnfreezing()) == GRADUAL
    assert all(layer.trainable for layer in model._flatten_layers())


def test_groups_that_do_not_exist_are_errors(monkeypatch):
    with pytest.raises(ValueError, match='`last` needs the order "gradual". Received'):
        GradualUnfreezing(last=1, order="chain_thaw")
    model = make()
    with pytest.raises(ValueError, match="at least 4 groups .* Received: 3"):
        fit(model, 1, GradualUnfreezing(last=4))
    monkeypatch.setattr(type(model.backbone), "groups", lambda self: (("block_9",),))
    with pytest.raises(ValueError, match=r"Received: \['block_9'\] of BERT"):
        fit(model, 1, GradualUnfreezing())


def test_models_that_have_nothing_to_thaw_are_errors():
    model = make()
    model.backbone.trainable = False
    with pytest.raises(ValueError, match="at least 1 groups .* Received: 0"):
        fit(model, 1, GradualUnfreezing())
    model.backbone.trainable = True
    model.get_layer("classifier").trainable = False
    model.backbone.named_layers["pooler"].trainable = False
    with pytest.raises(ValueError, match="needs a model with a head"):
        fit(model, 1, GradualUnfreezing())
    plain = keras.Sequential([keras.layers.Dense(1)])
    plain.compile("sgd", "mse")
    with pytest.raises(ValueError, match="a model without a `backbone`"):
        plain.fit(np.ones((2, 3)), np.ones((2, 1)), callbacks=[GradualUnfreezing()])
