"""Sends a request to an exported model without a server."""

import numpy as np

from zoo.serving.graph import SavedGraph
from zoo.serving.session import Request, run_in_c_loader
from zoo.serving.versions import find_version


def ask(directory, inputs, signature="serving_default", timeout=300):
    """Loads a SavedModel in a new process, as the server does, and sends one request.

    The new process does not import TensorFlow for Python.

    Args:
        directory: path of a version directory, or of a directory of versions. In the
            second case the newest version answers.
        inputs: dict from input name to numpy array. Strings have dtype object.
        signature: str, the name of the signature.
        timeout: int or float, seconds.

    Returns:
        dict from output name to numpy array. Strings are str objects.

    Raises:
        FileNotFoundError: if there is no SavedModel.
        ValueError: if the signature or an input is unknown, or the model does not
            answer.
    """
    version = find_version(directory)
    graph = SavedGraph(version)
    if signature not in graph.signatures:
        raise ValueError(
            f"{version} has the signatures {sorted(graph.signatures)}. Received: "
            f"{signature!r}. Use one of these names."
        )
    found = graph.signatures[signature]
    if set(inputs) != set(found.inputs):
        raise ValueError(
            f"Signature {signature!r} takes {sorted(found.inputs)}. Received: "
            f"{sorted(inputs)}. Give exactly these inputs."
        )
    report = run_in_c_loader(version, graph, [Request(found, inputs)], timeout)
    if not report.answers or report.answers[0].error:
        reason = report.answers[0].error if report.answers else report.error
        raise ValueError(
            f"The model must answer the request. Received: no answer from {version}: "
            f"{reason}. `zoo.serving.diagnose` may say more."
        )
    outputs = report.answers[0].outputs
    for name, array in outputs.items():
        if array.dtype == object:
            decoded = [value.decode("utf-8", "replace") for value in array.ravel()]
            outputs[name] = np.array(decoded, dtype=object).reshape(array.shape)
    return outputs
