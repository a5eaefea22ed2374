"""Rules of TensorFlow Serving that the protocol buffer alone can show to be broken."""

import dataclasses
import re

from zoo.serving.graph import SERVE_TAG, TEXT_OPS

DEFAULT_SIGNATURE = "serving_default"

# Source: tensorflow_serving/util/json_tensor.cc, the types it reads from JSON.
REST_DTYPES = frozenset(
    "float32 float64 int8 int16 int32 int64 uint8 uint32 uint64 bool string".split()
)

_METHODS = frozenset(
    f"tensorflow/serving/{method}" for method in ("predict", "classify", "regress")
)

# Operations that no request may reach: check, pattern, advice, and the good case.
_FORBIDDEN = (
    (
        "python",
        "(Eager)?PyFunc",
        "the Python function stays behind in the exporting process",
        "no Python function is called",
    ),
    (
        "xla",
        "_?Xla",
        "the server does not compile; use operations with kernels of their own",
        "nothing demands XLA compilation",
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
        "requests would see each other's state; make it an input and an output",
        "no request changes a variable, a table or a random seed",
    ),
)


@dataclasses.dataclass(frozen=True)
class Finding:
    """Result of one check; the reason says what was seen, and what to do if it failed.

    A reason that begins with "warning:" passed, but deserves a look.
    """

    check: str
    passed: bool
    reason: str


def judge(check, problems, fine):
    """Make a Finding that passes with the reason `fine` if there are no problems."""
    return Finding(check, not problems, "; ".join(problems) or fine)


def lint(graph, core_operations):
    """Check what the saved graph declares.

    Args:
        graph: SavedGraph.
        core_operations: names of the operations of the installed TensorFlow.

    Returns:
        list of Finding, always of the same checks.
    """
    return [
        judge("tag", _tag_problems(graph), f"a graph has the tag {SERVE_TAG!r} alone"),
        judge(
            "signatures",
            _signature_problems(graph),
            f"signatures: {', '.join(graph.signatures)}",
        ),
        judge("dense", _dense_problems(graph), "every input and output is dense"),
        judge("dtypes", _dtype_problems(graph), "JSON can carry every data type"),
        judge(
            "batch_dimension",
            _batch_problems(graph),
            "dimension 0 of every input and output is the batch",
        ),
        _rest_finding(graph),
        judge(
            "operations",
            _operation_problems(graph, core_operations),
            "the server knows every operation",
        ),
        *_reachable_findings(graph),
    ]


def _tag_problems(graph):
    if [SERVE_TAG] in graph.tags:
        return []
    return [
        f"the server loads the graph with the tag {SERVE_TAG!r}; tags here: "
        f"{graph.tags}. Export with keras.export.ExportArchive"
    ]


def _signature_problems(graph):
    problems = []
    if DEFAULT_SIGNATURE not in graph.signatures:
        problems.append(
            f"there is no {DEFAULT_SIGNATURE!r}, which clients get when they name "
            f"none; signatures here: {list(graph.signatures)}"
        )
    for name, signature in graph.signatures.items():
        # The server checks the name of the method even where it does not use it.
        if signature.method_name not in _METHODS:
            problems.append(
                f"signature {name!r} has the method name {signature.method_name!r}, "
                "which the server refuses; it must be tensorflow/serving/predict"
            )
    return problems


def _endpoints(graph):
    """Yield every input and output with a phrase that says where it is."""
    for name, signature in graph.signatures.items():
        for side in ("inputs", "outputs"):
            for key, endpoint in getattr(signature, side).items():
                yield f"{side[:-1]} {key!r} of {name!r}", endpoint


def _dense_problems(graph):
    return [
        f"{where} is ragged or sparse and cannot be fed or fetched; pad it with "
        "`to_tensor`"
        for where, endpoint in _endpoints(graph)
        if endpoint.tensor is None
    ]


def _dtype_problems(graph):
    return [
        f"{where} is {endpoint.dtype}, which has no JSON form in the server; cast it "
        "to float32 or an integer"
        for where, endpoint in _endpoints(graph)
        if endpoint.tensor and endpoint.dtype not in REST_DTYPES
    ]


def _batch_problems(graph):
    problems = []
    for where, endpoint in _endpoints(graph):
        # An unknown rank says nothing; the doctor sends real batches anyway.
        if endpoint.tensor is None or endpoint.shape is None:
            continue
        if not endpoint.shape:
            problems.append(f"{where} is a scalar; give it the shape [batch]")
        elif endpoint.shape[0] != -1:
            problems.append(
                f"{where} has a fixed dimension 0 of {endpoint.shape[0]}; it must be "
                "the batch, of any size"
            )
    return problems


def _rest_finding(graph):
    """Warn of what surprises REST clients but works.

    Source: json_tensor.cc. Every named input must be in every row, defaults or not; the
    name of an only output is dropped.
    """
    warnings = []
    for name, signature in graph.signatures.items():
        if len(signature.inputs) > 1:
            warnings.append(
                f"signature {name!r} has several inputs, so every REST row must be an "
                f"object with all of {list(signature.inputs)}"
            )
        if len(signature.outputs) == 1:
            warnings.append(
                f"signature {name!r} has one output, so REST rows come without its "
                f"name {list(signature.outputs)[0]!r}"
            )
    if warnings:
        return Finding("rest", True, f"warning: {'; '.join(warnings)}")
    return Finding("rest", True, "REST rows can be bare values and keep output names")


def _operation_problems(graph, core_operations):
    if not core_operations:
        return ["TensorFlow's list of operations could not be read, see `load`"]
    unknown = sorted(graph.operations() - core_operations - TEXT_OPS)
    if not unknown:
        return []
    return [
        f"the server has no operation {', '.join(unknown)}: neither TensorFlow nor the "
        "tensorflow-text that it links registers it. Use core operations"
    ]


def _reachable_findings(graph):
    """Check only what requests run: saving a model stores much that none does."""
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
            if check == "xla" and any(map(_must_compile, [*nodes, *functions])):
                problems.append(
                    f"signature {name!r} demands XLA compilation, which the server "
                    "refuses; export without jit_compile=True"
                )
        findings.append(judge(check, problems, fine))
    return findings


# TensorFlow sets the attribute on functions, and on the nodes that call them.
def _must_compile(node_or_function):
    attributes = node_or_function.attr
    return "_XlaMustCompile" in attributes and attributes["_XlaMustCompile"].b
