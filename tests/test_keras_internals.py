"""The private names of Keras and TensorFlow exist, and stand in one module."""

import ast
import functools
import importlib
import inspect
import pathlib
import re
import sys

import keras
import pytest
import tensorflow as tf
import tensorflow_text
from private_names import ENGINES, foreign_private_names, internals, is_private

import zoo.pretraining
import zoo.registry  # noqa: F401
from zoo import keras_internals
from zoo.text import train_sentencepiece

VERSIONS = {
    "keras": keras.__version__,
    "tensorflow": tf.__version__,
    "tensorflow_text": tensorflow_text.__version__,
}
TITLES = {
    "keras": "Keras",
    "tensorflow": "TensorFlow",
    "tensorflow_text": "TensorFlow Text",
}
SENTENCEPIECE = "tensorflow_text.python.ops.sentencepiece_tokenizer"


@functools.cache
def owners():
    """Dict of what the table calls an owner to the object."""
    inputs = keras.Input((2,))
    model = keras.Model(inputs, keras.layers.Dense(1)(inputs))
    model.compile("adam", "mse")
    quantized = keras.layers.Dense(1)
    quantized.build((None, 2))
    quantized.quantize("int8")
    adam = keras.optimizers.Adam(use_ema=True)
    adagrad = keras.optimizers.Adagrad()
    for optimizer in (adam, adagrad):
        optimizer.build(model.trainable_variables)
    resource = tf.saved_model.experimental.TrackableResource
    trainer = pathlib.Path(keras.__file__).parent / "src/backend/jax/trainer.py"
    adapters = importlib.import_module("keras.src.trainers.data_adapters")
    pieces = train_sentencepiece(["the cat sits", "a dog runs home"] * 4, 300)
    return {
        "Layer": keras.layers.Dense(1),
        "quantized layer": quantized,
        "masked tensor": keras.layers.Masking()(tf.ones((1, 2, 2))),
        "masking": importlib.import_module("keras.src.backend.common.masking"),
        "variables": importlib.import_module("keras.src.backend.common.variables"),
        "Model": model,
        "Model.fit": inspect.unwrap(model.fit),
        "JAX trainer": trainer.read_text("utf-8"),  # it cannot be imported without JAX
        "data adapters": adapters,
        "data adapter": adapters.get_data_adapter(tf.ones((2, 2))),
        "clone_model": inspect.getmodule(keras.models.clone_model),
        "Optimizer": adam,
        "Adam": adam,
        "Adagrad": adagrad,
        "MirroredStrategy.extended": tf.distribute.MirroredStrategy(["CPU:0"]).extended,
        "Graph": tf.Graph(),
        "TrackableResource": resource,
        "sentencepiece_tokenizer": importlib.import_module(SENTENCEPIECE),
        "SentencepieceTokenizer": tensorflow_text.SentencepieceTokenizer(pieces),
    }


# Owner, private name, what in `zoo.keras_internals` needs it, and the parameters of a
# method; None for what is no method.
NAMES = {
    "Layer": {
        "_flatten_layers": ("all_layers", "include_self, recursive"),
        "_trainable_variables": ("trainable_by_default", None),
        "_remat_mode": ("set_recomputed", None),
    },
    "quantized layer": {"_is_quantized": ("mark_quantized", None)},
    "masked tensor": {"_keras_mask": ("mask_of", None)},
    "masking": {"set_keras_mask": ("set_mask", "x, mask")},
    "variables": {"AutocastScope": ("autocast_to", "dtype")},
    "Model": {
        "_distribute_strategy": ("model_strategy", None),
        "_loss_tracker": ("loss_metrics", None),
        "_compile_loss": ("loss_metrics", None),
        "_maybe_symbolic_build": ("ModelHooks", "iterator, data_batch"),
        "_run_through_graph": ("ModelHooks", "inputs, operation_fn, call_fn"),
    },
    "JAX trainer": {"_update_metrics_variables": ("StateHooks", None)},
    "data adapters": {
        "get_data_adapter": (
            "read_batches",
            "x, y, sample_weight, batch_size, steps_per_epoch, shuffle, class_weight",
        )
    },
    "data adapter": {"get_jax_iterator": ("read_batches", "")},
    "Model.fit": {"_use_cached_eval_dataset": ("called_by_fit", None)},
    "clone_model": {"_clone_layer": ("ModelHooks", None)},
    "Optimizer": {
        "_learning_rate": ("learning_rate_of", None),
        "_iterations": ("batches_of", None),
        "_model_variables_moving_average": ("averages_of", None),
        "_distribution_strategy": ("optimizer_strategy", None),
        "_trainable_variables": ("trained_by", None),
        "_get_variable_index": ("index_of", "variable"),
        "_variables": ("attributes_of", None),
        "_trainable_variables_indices": ("forget_build", None),
        "_untrack_variable": ("untrack", "variable"),
        "_backend_apply_gradients": ("OptimizerHooks", "grads, trainable_variables"),
        "_clip_gradients": ("OptimizerHooks", "grads"),
        "_all_reduce_sum_gradients": ("OptimizerHooks", "grads_and_vars"),
        "_update_model_variables_moving_average": (
            "OptimizerHooks",
            "trainable_variables",
        ),
        "_overwrite_model_variables_with_average_value": (
            "OptimizerHooks",
            "trainable_variables",
        ),
        "_apply_weight_decay": ("OptimizerHooks", "variables"),
    },
    "Adam": {
        "_momentums": ("moments_of", None),
        "_velocities": ("moments_of", None),
    },
    "Adagrad": {"_accumulators": ("accumulator_of", None)},
    "MirroredStrategy.extended": {
        "_collective_ops": ("set_collective_keys", None),
        "_collective_key_base": ("set_collective_keys", None),
        "_cross_device_ops": ("set_collective_keys", None),
        "_make_collective_ops_with_fallbacks": ("set_collective_keys", ""),
    },
    "Graph": {"_get_function": ("inner_graph", "name")},
    "TrackableResource": {"_create_resource": ("ResourceHooks", "self")},
    "SentencepieceTokenizer": {"_model_resource": ("set_resource", None)},
    "sentencepiece_tokenizer": {
        "gen_sentencepiece_tokenizer": ("sentencepiece_resource", None)
    },
}
PACKAGES = {  # of the owners that are not of Keras
    "MirroredStrategy.extended": "tensorflow",
    "Graph": "tensorflow",
    "TrackableResource": "tensorflow",
    "SentencepieceTokenizer": "tensorflow_text",
    "sentencepiece_tokenizer": "tensorflow_text",
}
ROWS = [(owner, name) for owner, names in NAMES.items() for name in names]


def check_name(owner, name, found):
    """Fails with the version that lacks a name of `found`, or has other parameters."""
    user, parameters = NAMES[owner][name]
    package = PACKAGES.get(owner, "keras")
    installed = f"{TITLES[package]} {VERSIONS[package]}"
    checked = " and ".join(keras_internals.CHECKED[package])
    end = f"which zoo.keras_internals.{user} needs; it was checked with {checked}."
    if owner in ("Model.fit", "clone_model", "JAX trainer"):  # within the source
        source = found if isinstance(found, str) else inspect.getsource(found)
        known = re.search(rf"\b{name}\b", source)
    else:
        known = hasattr(found, name)
    assert known, f"{installed} has no {owner}.{name}, {end}"
    if parameters is not None:
        present = ", ".join(inspect.signature(getattr(found, name)).parameters)
        assert present == parameters, (
            f"{installed} has {owner}.{name}({present}), not ({parameters}), {end}"
        )


@pytest.mark.parametrize("owner, name", ROWS)
def test_the_name_exists(owner, name):
    assert hasattr(keras_internals, NAMES[owner][name][0])
    check_name(owner, name, owners()[owner])


def test_the_version_that_lacks_a_name_is_named(monkeypatch):
    monkeypatch.setitem(VERSIONS, "keras", "3.16.0")
    row = "Optimizer", "_get_variable_index"

    class Optimizer:
        def _get_variable_index(self, key):
            return key

    wanted = (
        r"Keras 3.16.0 has no Optimizer._get_variable_index, which "
        r"zoo.keras_internals.index_of needs; it was checked with 3.15\."
    )
    with pytest.raises(AssertionError, match=wanted):
        check_name(*row, object())
    with pytest.raises(AssertionError, match=r"index\(key\), not \(variable\), which"):
        check_name(*row, Optimizer())


def test_operation_of_sentencepiece_takes_its_arguments():
    module = owners()["sentencepiece_tokenizer"].gen_sentencepiece_tokenizer
    parameters = inspect.signature(module.sentencepiece_op).parameters
    assert {"model", "shared_name"} <= {*parameters}


def test_every_name_is_in_the_table():
    names = {name for _, name in ROWS if is_private(name)}
    assert names == internals()


def test_clone_model_reaches_the_hook():
    class Copied(keras_internals.ModelHooks, keras.Model):
        def clone_on(self, inputs):
            return inputs * 2

    inputs = keras.Input((2,))
    model = Copied(inputs, keras.layers.Dense(2)(inputs))
    assert keras.models.clone_model(model)(tf.ones((1, 2))).numpy().tolist() == [[2, 2]]
    unchanged = keras.models.clone_model(model, clone_function=lambda layer: layer)
    assert (
        unchanged(tf.ones((1, 2))).numpy().tolist()
        == model(tf.ones((1, 2))).numpy().tolist()
    )


@pytest.mark.parametrize(
    "code",
    [
        "from keras.src import backend",
        "import tensorflow.python.eager.context",
        "from tensorflow_text.python.ops import sentencepiece_tokenizer",
        "rate = optimizer._learning_rate",
        "names = model._compile_metrics",
        "def f(x):\n    return getattr(x, '_layers', None)",
        "known = '_use_cached_eval_dataset' in options",
        "class A:\n    def f(self):\n        return self._compile_metrics",
        "class A:\n    def _clip_gradients(self, grads):\n        return grads",
        "class A:\n    def f(self):\n        self._is_quantized = True",
    ],
)
def test_a_private_name_elsewhere_is_found(code):
    assert [*foreign_private_names(ast.parse(code))]


def test_private_names_of_a_file_are_its_own():
    code = """
import sys
class A:
    def __init__(self):
        self._x = sys._getframe(1)
    def _f(self):
        return super()._f() if hasattr(self, "_x") else _g(self)._x
def _g(a):
    return a
"""
    assert not [*foreign_private_names(ast.parse(code))]


@functools.cache
def source_names(module):
    """The private attributes that the classes of a module set."""
    return {*re.findall(r"self\.(_[a-z]\w*) = ", inspect.getsource(module))}


def names_of_bases(kind):
    """The private names that a class has from Keras and TensorFlow."""
    bases = [*kind.__mro__]
    if issubclass(kind, keras.Model):  # Keras adds it when a model is made
        bases += type(owners()["Model"]).__mro__
    names = set()
    for base in bases:
        if str(base.__module__).split(".")[0] in ENGINES:
            names |= {*vars(base)} | source_names(sys.modules[base.__module__])
    return {*filter(is_private, names)}


def test_no_class_has_a_private_name_of_its_bases():
    wrong = set()
    modules = [m for n, m in sys.modules.items() if n.startswith("zoo.")]
    kinds = {k for m in modules for k in vars(m).values() if inspect.isclass(k)}
    for kind in kinds:
        bases = [b for b in kind.__mro__ if str(b.__module__).startswith("zoo.")]
        for base in bases:
            if base.__module__ != "zoo.keras_internals":
                pattern = r"(?:self|cls|super\(\))\.(_[a-z]\w*)\b"
                used = {*vars(base), *re.findall(pattern, inspect.getsource(base))}
                wrong |= {(base, name) for name in names_of_bases(kind) & used}
    assert not wrong


def test_private_names_of_bases_are_known():
    """The rule above can fail: a method, an attribute, and one of the injected base."""
    assert {"_int8_call", "_losses"} <= names_of_bases(keras.layers.Dense)
    assert {"_compile_metrics", "_run_through_graph"} <= names_of_bases(keras.Model)
