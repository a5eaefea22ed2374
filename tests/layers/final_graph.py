"""What TensorFlow makes of a graph before it runs it."""

from tensorflow.python.eager import context


def final_operations(function, *arguments):
    """The operations that TensorFlow runs, each with what was merged into it."""
    function.get_concrete_function()
    context.context().enable_graph_collection()
    try:
        function(*arguments)
        metadata = context.context().export_run_metadata()
    finally:
        context.context().disable_graph_collection()
    nodes = metadata.function_graphs[-1].post_optimization_graph.node
    return [
        n.op + str(list(n.attr["fused_ops"].list.s)) * (n.op[0] == "_") for n in nodes
    ]
