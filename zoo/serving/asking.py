"""Asks an export without a server, as the server would."""

import numpy as np

from zoo.serving.graph import SavedGraph
from zoo.serving.session import Request, run_in_c_loader
from zoo.serving.versions import find_version


def ask(directory, inputs, signature="serving_default", timeout=300):
    """Answers of a SavedModel, in a fresh process without Python's TensorFlow.

    Args:
        directory: a version directory, or one of integer versions, of which the
            newest is taken.
        inputs: dict from input name to numpy array; strings as objects.
        signature: str.
        timeout: seconds.

    Returns:
        dict from output name to numpy array; strings as str objects.

    Raises:
        FileNotFoundError: there is no SavedModel.
        ValueError: the signature or an input is unknown, or there was no answer.
    """
    version = find_version(directory)
    graph = SavedGraph(version)
    if signature not in graph.signatures:
        raise ValueError(
            f"{version} has the signatures {sorted(graph.signatures)}. Received: "
            f"{signature!r}."
        )
    found = graph.signatures[signature]
    if set(inputs) != set(found.inputs):
        raise ValueError(
            f"Signature {signature!r} takes {sorted(found.inputs)}. Received: "
            f"{sorted(inputs)}."
        )
    report = run_in_c_loader(version, graph, [Request(found, inputs)], timeout)
    if not report.answers or report.answers[0].error:
        reason = report.answers[0].error if report.answers else report.error
        raise ValueError(f"{version} gave no answer: {reason}.")
    return {name: _as_text(a) for name, a in report.answers[0].outputs.items()}


def _as_text(array):
    if array.dtype != object:
        return array
    decoded = [value.decode("utf-8", "replace") for value in array.ravel()]
    return np.array(decoded, dtype=object).reshape(array.shape)
