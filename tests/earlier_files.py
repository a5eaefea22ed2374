"""Models from files, and what they hold and compute, whatever their classes are called.

The maker of `goldens/earlier_files` and the test of it share this.
"""

import json
import lzma
import pathlib
import tempfile

import keras
import numpy as np
import tensorflow as tf
from eager import without_graphs

import zoo
import zoo.data

ATOL = 2e-6
LENGTH = 16  # of the rows that a backbone is given
SIZE = 32  # of a batch


def read_inputs(directory):
    """Texts, labels and batches: dict of name to what a model is given."""
    inputs = json.loads((directory / "cases.json").read_text("utf-8"))["inputs"]
    with np.load(directory / "expected.npz") as arrays:
        for name in arrays:
            if name.startswith("inputs/"):
                _, batch, key = name.split("/")
                inputs.setdefault(batch, {})[key] = arrays[name]
    return inputs


def load(directory, case):
    """The model of a case, by the public functions."""
    path = directory / case["path"]
    with tempfile.TemporaryDirectory() as temporary:
        unpacked = pathlib.Path(temporary) / path.stem
        if path.suffix == ".xz":
            unpacked.write_bytes(lzma.decompress(path.read_bytes()))
            return zoo.load_model(unpacked)
        if case.get("saved_again"):
            zoo.from_preset(path).save_to_preset(unpacked)
            path = unpacked
        return zoo.from_preset(path, **case.get("options", {}))


def compare(found, expected, name, atol=ATOL):
    """Compares two arrays: strings and integers exactly, other numbers nearly."""
    if expected.dtype.kind != "f":
        np.testing.assert_array_equal(found, expected, err_msg=name)
        return
    rtol = 2e-6
    if name in EXACT:
        atol, rtol = 0, 1e-10
    elif "loss" in name:
        atol = max(atol, 1e-5)
    np.testing.assert_allclose(found, expected, rtol, atol, err_msg=name)


def measure(model, asks, inputs):
    """Arrays of a model; an ask that trains it comes last.

    Args:
        model: a task or a backbone.
        asks: list of lists, a key of `ASKS` and names of inputs.
        inputs: dict of name to texts, labels or arrays.

    Returns:
        dict of str to array: numbers, or strings.
    """
    found = properties(model)
    for ask, *names in asks:
        with without_graphs():
            answers = ASKS[ask](model, *(inputs[name] for name in names))
        for key, value in answers.items():
            found["/".join([ask, *names, key])] = plain(value)
    return {key: np.asarray(value) for key, value in found.items()}


def plain(value):
    """An array without objects."""
    value = np.asarray(value)
    return value.astype(str) if value.dtype == object else value


def properties(model):
    """What a model is before it computes anything."""
    layers = list(model._flatten_layers())
    held = [layer for layer in layers if layer.weights and is_named(layer)]
    frozen = {layer.name for layer in held if not layer.trainable}
    dropout = [layer for layer in layers if isinstance(layer, keras.layers.Dropout)]
    found = {
        "policy": model.dtype_policy.name,
        "weights": moments(model.weights),
        "trainable": sum(int(np.prod(v.shape)) for v in model.trainable_weights),
        "frozen": np.array(sorted(frozen), str),
        "dropout": sorted({layer.rate for layer in dropout}),
    }
    if hasattr(model, "sequence_length"):
        found["length"] = model.sequence_length or 0
        found["pair"] = model.pair
    optimizer = getattr(model, "optimizer", None)
    if optimizer:
        found["optimizer_class"] = type(optimizer).__name__
        found["optimizer_iterations"] = int(optimizer.iterations)
        found["optimizer_rate"] = float(optimizer.learning_rate)
        found["optimizer_state"] = moments(optimizer.variables)
    return found


def is_named(layer):
    """Whether a layer is no model, which Keras may name by counting."""
    return not isinstance(layer, keras.Model)


def moments(variables):
    """Four sums over all numbers; their order, shapes and names do not matter."""
    arrays = [np.asarray(keras.ops.convert_to_numpy(v)) for v in variables]
    arrays = [a.ravel().astype("float64") for a in arrays if a.dtype.kind == "f"]
    numbers = np.sort(np.concatenate([np.zeros(0), *arrays]))
    sums = (np.abs(numbers), numbers**2, np.exp(numbers))
    return [len(numbers), *(part.sum() for part in sums)]


def columns(model, texts):
    """The answers for as many columns as the task needs, which hold the same texts."""
    number = len(model.required_columns)
    turned = [[*texts[i:], *texts[:i]] for i in range(number)]
    return model.answer(turned[0] if number == 1 else tuple(turned))


def sequence_output(model, texts):
    """A backbone's output for texts."""
    packed = zoo.data.Packer(model.tokenizer, LENGTH)((texts,))
    return {"": model(packed)["sequence_output"]}


def predict(model, batch):
    """The outputs of a graph for a batch of ids."""
    outputs = model.predict(batch, verbose=0)
    return outputs if isinstance(outputs, dict) else {"": outputs}


def states(model):
    """What is carried from batch to batch, in no particular order."""
    found = [np.asarray(v) for v in model.non_trainable_variables]
    found = [a for a in found if a.dtype.kind == "f"]
    found.sort(key=lambda array: (array.shape, array.sum()))
    return {str(number): array for number, array in enumerate(found)}


def train(model, x, y, *weight):
    """The loss of a batch in training, and in evaluation after the update."""
    before = model.train_on_batch(x, y, *weight, return_dict=True)["loss"]
    after = evaluate(model, x, y, *weight)["loss"]
    return {"loss": [before, after], "rate": float(model.optimizer.learning_rate)}


def evaluate(model, x, y, weight=None):
    """The loss of a batch in evaluation."""
    options = {"verbose": 0, "return_dict": True, "batch_size": SIZE}
    if weight is not None:
        options["sample_weight"] = weight
    return {"loss": model.evaluate(x, y, **options)["loss"]}


def train_texts(model, texts):
    """Losses of a language model that makes its own targets."""
    (batch,) = model.batches(texts).as_numpy_iterator()
    return train(model, *batch)


def train_examples(model, batch):
    """Losses of examples that come with their targets."""
    tensors = {key: tf.constant(value) for key, value in batch.items()}
    example = model.fixed_example(tensors)
    return train(model, *keras.tree.map_structure(np.asarray, example))


def of_streams(function):
    """A function of a model and x, y and weights, as one of a model and a batch."""

    def call(model, batch):
        x = dict(batch)
        return function(model, x, x.pop("y"), x.pop("weight"))

    return call


ASKS = {
    "answer": lambda model, texts: model.answer(texts),
    "columns": columns,
    "answer_pairs": lambda model, pairs: model.answer(tuple(pairs)),
    "sequence_output": sequence_output,
    "predict": predict,
    "states": states,
    "train": train,
    "train_texts": train_texts,
    "train_examples": train_examples,
    "evaluate_streams": of_streams(evaluate),
    "train_streams": of_streams(train),
}
EXACT = ("weights", "optimizer_state")
