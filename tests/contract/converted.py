"""A program: converts a classifier of each family to LiteRT and ONNX, and compares.

Arguments: the file of the results, then names of families. The results are, as JSON,
for each family what LiteRT and ONNX say: "" if the logits are the same.
"""

import json
import pathlib
import sys
import tempfile

import keras
import numpy as np
import onnxruntime
import tiny
from ai_edge_litert.interpreter import Interpreter

from zoo.registry import build_backbone
from zoo.tasks import TASKS

import cases  # isort: skip

SHAPES = ((1, 5), (3, 10), (2, 24))  # of batches, whose last rows have padding


def litert(path):
    """Function of inputs: the logits."""
    runner = Interpreter(str(path)).get_signature_runner()
    return lambda inputs: runner(**inputs)["output_0"]


def onnx(path):
    """Function of inputs: the logits."""
    session = onnxruntime.InferenceSession(str(path))
    return lambda inputs: session.run(None, inputs)[0]


def difference(graph, family, form, load):
    """What is wrong with a converted graph, or ""."""
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory) / {"litert": "m.tflite"}.get(form, "m.onnx")
        try:
            graph.export(str(path), format=form, verbose=False)
            convert = load(path)
            for rows, length in SHAPES:
                inputs = {k: family.inputs(rows, length)[k] for k in graph.input}
                expected = graph(inputs, training=False).numpy()
                assert np.ptp(expected) > 1e-2, "The logits tell nothing."
                np.testing.assert_allclose(convert(inputs), expected, atol=1e-5)
        except Exception as error:  # each converter and runtime has its own
            return str(error)
    return ""


def classifier_graph(family):
    """Token ids to logits, of a tiny classifier whose weights are all drawn."""
    keras.utils.set_random_seed(1)
    backbone = build_backbone(family.family, family.config)
    task = TASKS["text_classifier"](backbone, None, labels=tiny.LABELS)
    draw = np.random.default_rng(2)
    for weight in task.trainable_weights:
        weight.assign(weight + draw.normal(0, 0.2, weight.shape).astype("float32"))
    graph = keras.Model(task.input, task.output)
    graph(family.inputs())  # which Keras asks for before it converts to ONNX
    return graph


if __name__ == "__main__":
    families = {family.name: family for family in cases.FAMILIES}
    results = {}
    for name in sys.argv[2:]:
        graph = classifier_graph(families[name])
        results[name] = [
            difference(graph, families[name], "litert", litert),
            difference(graph, families[name], "onnx", onnx),
        ]
        print(name, results[name], flush=True)
    pathlib.Path(sys.argv[1]).write_text(json.dumps(results))
