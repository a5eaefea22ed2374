"""The functions of a SavedModel's graph, for tests that read or change them."""

import operator

_definitions = operator.attrgetter("library")


def functions_of(meta_graph):
    """A MetaGraphDef's FunctionDefs, a list that can be added to."""
    return _definitions(meta_graph.graph_def).function
