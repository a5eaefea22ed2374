"""Files of other programs: written and changed by tests, and compared."""

import importlib.util
import json
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from zoo.checkpoint import open_checkpoint, save_checkpoint

ATOL = 5e-6  # of outputs in float32 of two programs that compute the same


def save_tensorflow(prefix, arrays):
    """Writes a name-based TensorFlow checkpoint."""
    tf.raw_ops.SaveV2(
        prefix=str(prefix),
        tensor_names=list(arrays),
        shape_and_slices=[""] * len(arrays),
        tensors=list(arrays.values()),
    )


def find_layout(family, name):
    """A `zoo.family.Layout` of a module of a family."""
    return next(layout for layout in family.FAMILY.layouts if layout.name == name)


def draw_weights(shapes, seed):
    """Arrays by name: N(0, 0.3), gains of norms N(1, 0.3)."""
    draw = np.random.default_rng(seed)
    gains = ("gamma", "ln_scale")
    return {
        name: draw.normal(float(any(g in name for g in gains)), 0.3, shape).astype("f")
        for name, shape in shapes.items()
    }


def write_json(path, **values):
    """Writes a JSON file; `...` leaves a value out."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({k: v for k, v in values.items() if v is not ...}))


def set_value(values, name, value):
    """Changes a dict; `a.b` is a value of a section, and `...` removes one."""
    *sections, key = name.split(".")
    for part in sections:
        values = values[part]
    values[key] = value
    if value is ...:
        del values[key]


def change_json(path, **changes):
    """Updates a JSON file; see `set_value`."""
    values = json.loads(path.read_text("utf-8"))
    for name, value in changes.items():
        set_value(values, name, value)
    path.write_text(json.dumps(values), "utf-8")


def change_arrays(directory, change):
    """Rewrites model.safetensors; `change` takes and returns a dict of arrays."""
    path = directory / "model.safetensors"
    save_checkpoint(path, change(dict(open_checkpoint(path))))


def assert_equal(arrays, expected):
    """Compares two dicts of arrays exactly."""
    assert {*arrays} == {*expected}
    for name, array in expected.items():
        np.testing.assert_array_equal(arrays[name], array, err_msg=name)


def run_transformers(program, *arguments):
    """Runs a maker of goldens in a process of its own; skips if torch is absent."""
    if not all(map(importlib.util.find_spec, ("torch", "transformers"))):
        pytest.skip("could not find transformers and torch: install extra `parity`")
    command = [sys.executable, program, *arguments]
    made = subprocess.run(command, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
