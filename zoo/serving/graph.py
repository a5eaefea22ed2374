"""Reads the graph and the signatures of a SavedModel from its protocol buffer."""

import dataclasses
import itertools
import pathlib

from google.protobuf.message import DecodeError

from zoo.serving import wire

SERVE_TAG = "serve"

# The operations of tensorflow-text in every TensorFlow Serving since version 2.12.
# Source: REGISTER_OP in tensorflow/text 2.12.1; workspace.bzl of the server pins it.
TEXT_OPS = frozenset(
    """
    CaseFoldUTF8 ConstrainedSequence FastBertNormalize FastWordpieceTokenizeWithOffsets
    FindSourceOffsets MaxSpanningTree NormalizeUTF8 NormalizeUTF8WithOffsetsMap
    PhraseTokenize RegexSplitWithOffsets RougeL SentenceFragments SentenceFragmentsV2
    SentencepieceDetokenizeOp SentencepieceIdToStringOp SentencepieceOp
    SentencepieceStringToIdOp SentencepieceTokenizeOp
    SentencepieceTokenizeWithOffsetsOp SentencepieceVocabSizeOp
    SplitMergeTokenizeWithOffsets TFText>BoiseTagsToOffsets TFText>ByteSplitByOffsets
    TFText>ByteSplitWithOffsets TFText>FastSentencepieceDetokenize
    TFText>FastSentencepieceTokenize TFText>FastWordpieceDetokenize
    TFText>NgramsStringJoin TFText>OffsetsToBoiseTags TFText>PhraseDetokenize
    TFText>RoundRobinGenerateMasks TFText>RoundRobinTrim
    TFText>WhitespaceTokenizeWithOffsetsV2 TokenizerFromLogits
    UnicodeScriptTokenizeWithOffsets WhitespaceTokenizeWithOffsets
    WordpieceTokenizeWithOffsets
    """.split()
)


@dataclasses.dataclass(frozen=True)
class Endpoint:
    """One input or output of a signature."""

    tensor: str | None  # its name in the graph; None if it is ragged or sparse
    dtype: str  # NumPy's name
    shape: tuple[int, ...] | None  # -1 is an unknown size, None an unknown rank


@dataclasses.dataclass(frozen=True)
class GraphSignature:
    """Inputs and outputs by name, each an `Endpoint`, as clients see them."""

    inputs: dict[str, Endpoint]
    outputs: dict[str, Endpoint]
    method_name: str


class SavedGraph:
    """The graph with the tag `serve` of a SavedModel directory.

    `tags` has the tags of each graph in the file. `signatures` is a dict from name to
    GraphSignature, empty if no graph has the tag `serve`. FileNotFoundError if there is
    no saved_model.pb; ValueError if it is damaged.
    """

    def __init__(self, directory):
        path = pathlib.Path(directory, "saved_model.pb")
        if not path.is_file():
            raise FileNotFoundError(
                "A SavedModel directory must hold a saved_model.pb. Received: "
                f"{directory}. Give the directory that `write_version` returned."
            )
        try:
            saved_model = wire.SavedModel.FromString(path.read_bytes())
        except DecodeError as error:
            raise ValueError(
                "saved_model.pb must be a SavedModel protocol buffer. Received: "
                f"{path}, which cannot be parsed. Export the model again."
            ) from error
        graphs = saved_model.meta_graphs
        self.tags = [list(graph.meta_info_def.tags) for graph in graphs]
        served = [graph for graph in graphs if graph.meta_info_def.tags == [SERVE_TAG]]
        meta = served[0] if served else wire.MetaGraphDef()
        self._nodes = {node.name: node for node in meta.graph_def.node}
        self._functions = {
            function.signature.name: function
            for function in meta.graph_def.functions.function
        }
        self.signatures = {
            name: GraphSignature(
                inputs=_read_endpoints(signature.inputs),
                outputs=_read_endpoints(signature.outputs),
                method_name=signature.method_name,
            )
            for name, signature in sorted(meta.signature_def.items())
            # TensorFlow stores the initialisers of the model under such a name.
            if not name.startswith("__saved_model_")
        }

    def operations(self):
        """The names of all operations, in the graph and in its functions, a set."""
        bodies = (function.node_def for function in self._functions.values())
        nodes = itertools.chain(self._nodes.values(), *bodies)
        return {node.op for node in nodes} - self._functions.keys()

    def reachable(self, signature):
        """NodeDefs and FunctionDefs that a request of a signature may run, lists."""
        tensors = [output.tensor for output in signature.outputs.values()]
        found = {}
        pending = [tensor for tensor in tensors if tensor]
        while pending:
            name = pending.pop().removeprefix("^").partition(":")[0]
            if name in self._nodes and name not in found:
                found[name] = self._nodes[name]
                pending += found[name].input
        nodes, functions = list(found.values()), {}
        pending = _called_functions(nodes)
        while pending:
            name = pending.pop()
            if name in self._functions and name not in functions:
                functions[name] = self._functions[name]
                nodes += functions[name].node_def
                pending |= _called_functions(functions[name].node_def)
        return nodes, list(functions.values())


def _called_functions(nodes):
    called = set()
    for node in nodes:
        called.add(node.op)
        for value in node.attr.values():
            called.add(value.func.name)
            called.update(function.name for function in value.list.func)
    return called


def _read_endpoints(infos):
    endpoints = {}
    for name, info in sorted(infos.items()):
        shape = None
        if not info.tensor_shape.unknown_rank:
            shape = tuple(dim.size for dim in info.tensor_shape.dim)
        dtype = wire.DTYPES.get(info.dtype, f"DataType {info.dtype}")
        endpoints[name] = Endpoint(info.name or None, dtype, shape)
    return endpoints
