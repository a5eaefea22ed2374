"""Checks of a saved graph against rules of TensorFlow Serving, without running it."""

import dataclasses
import re

from zoo.serving.graph import SERVE_TAG, TEXT_OPS

DEFAULT_SIGNATURE = "serving_default"

# The types that the server reads from JSON.
# Source: tensorflow_serving/util/json_tensor.cc.
REST_DTYPES = frozenset(
    "float32 float64 int8 int16 int32 int64 uint8 uint32 uint64 bool string".split()
)

_METHODS = frozenset(
    f"tensorflow/serving/{method}" for method in ("predict", "classify", "regress")
)

# Operations that no request may run: name of the check, pattern, advice, and the reason
# of a finding that passed.
_FORBIDDEN = (
    (
        "python",
        "(Eager)?PyFunc",
        "an export does not contain Python functions; use TensorFlow operations",
        "no Python function is called",
    ),
    (
        "xla",
        "_?Xla",
        "the server does not compile; use operations that have a kernel",
        "no signature requires XLA compilation",
    ),
    (
        "cudnn",
        ".*Cudnn",
        "they fail on a server without a GPU; build the layer with use_cudnn=False",
        "no operation needs a GPU",
    ),
    (
        "state",
        "Assign|Resource(Scatter|Apply|SparseApply|StridedSliceAssign)"
        "|LookupTable(Insert|Remove|Import)|RngReadAndSkip|RngSkip"
        "|Stateful(Uniform|StandardNormal|TruncatedNormal|RandomBinomial)",
        "one request would change the answers to others; make the state an input and "
        "an output",
        "no request changes a variable, a table or a random seed",
    ),
)


@dataclasses.dataclass(frozen=True)
class Finding:
    """The result of one check.

    Args:
        check: str, the name of the check.
        passed: bool.
        reason: str, what the check found, with advice if it failed. If a check passed
            with a warning, its reason begins with "warning:".
    """

    check: str
    passed: bool
    reason: str


def judge(check, problems, fine):
    """Makes a Finding that passes, with the reason `fine`, if there are no problems."""
    return Finding(check, not problems, "; ".join(problems) or fine)


def lint(graph, core_operations):
    """Findings about what the graph declares, with the operations of TensorFlow."""
    tagged = f"a graph has {SERVE_TAG!r} as its only tag"
    named = f"signatures: {', '.join(graph.signatures)}"
    unknown = _operation_problems(graph, core_operations)
    other_tags = (
        f"the server loads the graph whose only tag is {SERVE_TAG!r}; tags here: "
        f"{graph.tags}. Export with keras.export.ExportArchive"
    )
    return [
        judge("tag", [] if [SERVE_TAG] in graph.tags else [other_tags], tagged),
        judge("signatures", _signature_problems(graph), named),
        *_endpoint_findings(graph),
        _rest_finding(graph),
        judge("operations", unknown, "the server has every operation"),
        *_reachable_findings(graph),
    ]


def _signature_problems(graph):
    problems = []
    if DEFAULT_SIGNATURE not in graph.signatures:
        problems.append(
            f"there is no {DEFAULT_SIGNATURE!r}, which answers requests that name no "
            f"signature; signatures here: {list(graph.signatures)}"
        )
    # The server checks the name of the method even if it does not use it.
    return problems + [
        f"signature {name!r} has the method name {signature.method_name!r}, "
        "which the server rejects; it must be tensorflow/serving/predict"
        for name, signature in graph.signatures.items()
        if signature.method_name not in _METHODS
    ]


def _endpoint_findings(graph):
    """Checks the type and the shape of every input and output."""
    dense, dtypes, batch = [], [], []
    for where, endpoint in _endpoints(graph):
        if endpoint.tensor is None:
            dense.append(
                f"{where} is ragged or sparse, which a client can neither send nor "
                "get; pad it with `to_tensor`"
            )
            continue
        if endpoint.dtype not in REST_DTYPES:
            dtypes.append(
                f"{where} is {endpoint.dtype}, which the server's JSON does not "
                "support; cast it to float32 or an integer"
            )
        # If the rank is unknown, `check_answers` checks the dimension.
        if endpoint.shape == ():
            batch.append(f"{where} is a scalar; give it the shape [batch]")
        elif endpoint.shape and endpoint.shape[0] != -1:
            batch.append(
                f"{where} has a fixed dimension 0 of {endpoint.shape[0]}; it must be "
                "the batch, whose size is None"
            )
    fine = "dimension 0 of every input and output is the batch"
    return [
        judge("dense", dense, "every input and output is dense"),
        judge("dtypes", dtypes, "JSON can represent every data type"),
        judge("batch_dimension", batch, fine),
    ]


def _endpoints(graph):
    """Yields every input and output with a description of its place."""
    for name, signature in graph.signatures.items():
        for side in ("inputs", "outputs"):
            for key, endpoint in getattr(signature, side).items():
                yield f"{side[:-1]} {key!r} of {name!r}", endpoint


def _rest_finding(graph):
    """Warns of rows of REST that clients may not expect."""
    # If there are several inputs, every row must have all of them, even those with a
    # default value. If there is one output, the server omits its name.
    # Source: tensorflow_serving/util/json_tensor.cc.
    warnings = []
    for name, signature in graph.signatures.items():
        if len(signature.inputs) > 1:
            warnings.append(
                f"signature {name!r} has several inputs, so every REST row must be an "
                f"object with all of {list(signature.inputs)}"
            )
        if len(signature.outputs) == 1:
            warnings.append(
                f"signature {name!r} has one output, so REST rows do not have its "
                f"name {list(signature.outputs)[0]!r}"
            )
    reason = "REST rows can be values without input names, and have output names"
    if warnings:
        reason = f"warning: {'; '.join(warnings)}"
    return Finding("rest", True, reason)


def _operation_problems(graph, core_operations):
    if not core_operations:
        return ["TensorFlow's list of operations could not be read; see `load`"]
    unknown = sorted(graph.operations() - core_operations - TEXT_OPS)
    if not unknown:
        return []
    return [
        f"the server has no operation {', '.join(unknown)}: neither TensorFlow nor the "
        "server's tensorflow-text registers it. Use core operations"
    ]


def _reachable_findings(graph):
    """Checks the nodes that requests run; a SavedModel has many others."""
    reachable = {
        name: graph.reachable(signature) for name, signature in graph.signatures.items()
    }
    findings = []
    for check, pattern, advice, fine in _FORBIDDEN:
        problems = []
        for name, (nodes, functions) in reachable.items():
            found = {node.op for node in nodes if re.match(pattern, node.op)}
            if found:
                problems.append(
                    f"signature {name!r} runs {', '.join(sorted(found))}; {advice}"
                )
            # TensorFlow sets the attribute of functions and of nodes that call them.
            attributes = [item.attr for item in [*nodes, *functions]]
            if check == "xla" and any(
                "_XlaMustCompile" in attr and attr["_XlaMustCompile"].b
                for attr in attributes
            ):
                problems.append(
                    f"signature {name!r} requires XLA compilation, which the server "
                    "rejects; export without jit_compile=True"
                )
        findings.append(judge(check, problems, fine))
    return findings
