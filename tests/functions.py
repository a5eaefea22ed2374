"""The functions of a graph, for tests that read or change them."""

import operator

_definitions = operator.attrgetter("library")


def functions_of(graph_def):
    """A GraphDef's FunctionDefs, a list that can be added to."""
    return _definitions(graph_def).function
