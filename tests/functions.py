"""The functions of a graph, for tests that read or change them."""

import operator

_definitions = operator.attrgetter("library")


def functions_of(graph_def):
    """A GraphDef's FunctionDefs, a list that can be added to."""
    return _definitions(graph_def).function


def used_operations(graph):
    """Names of the operations of a graph and of its functions."""
    graph_def = graph.as_graph_def()
    parts = [graph_def.node, *(f.node_def for f in functions_of(graph_def))]
    return {node.op for nodes in parts for node in nodes}
