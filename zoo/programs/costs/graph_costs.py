"""Memory and multiplications of a TensorFlow graph, from the shapes of its tensors."""

import collections
import dataclasses
import math

import tensorflow as tf

from zoo.keras_internals import inner_graph

# Operations whose outputs are the buffers of their inputs.
VIEWS = {
    *("Identity", "IdentityN", "Reshape", "ExpandDims", "Squeeze", "StopGradient"),
    *("PreventGradient", "EnsureShape", "TensorListSetItem", "TensorListPushBack"),
    *("TensorListPopBack", "TensorListResize"),
}
# Operations that need no more than the shapes of their inputs, which are known.
SHAPES = {"Shape", "ShapeN", "Size", "Rank", "ZerosLike", "OnesLike"}
# Operations that write into the buffer of an input that nothing else needs.
IN_PLACE = {
    *("Add", "AddV2", "AddN", "Sub", "Mul", "RealDiv", "BiasAdd", "Neg", "Maximum"),
    *("Minimum", "Tanh", "TanhGrad", "Sigmoid", "SigmoidGrad", "Relu", "ReluGrad"),
    *("Softmax", "Exp", "Log", "Log1p", "Sqrt", "Rsqrt", "Square", "Pow", "Erf"),
    *("Select", "SelectV2", "SquaredDifference", "LogSoftmax", "DivNoNan"),
}
CALLS = {"PartitionedCall": "f", "StatefulPartitionedCall": "f"}
LOOPS = {"While": "body", "StatelessWhile": "body"}


@dataclasses.dataclass(eq=False)
class Buffer:
    """Memory of a tensor and of its views, or of a list of tensors.

    Attributes:
        size: int, bytes.
        items: int, the number of tensors in a list.
        first, last: int, the numbers of the operation that makes it, and of the last
            one that needs it; `first` is None for what is there before.
    """

    size: int
    items: int = 0
    first: int | None = None
    last: int = -1


@dataclasses.dataclass(frozen=True)
class GraphCosts:
    """What a graph needs.

    Attributes:
        peak: int, the most bytes that tensors have at a time, without the inputs.
        flops: int, the operations of products of matrices and convolutions. A
            multiplication and an addition are two.
        outputs: list of `Buffer`.
        passed: list of int or None, the number of the input that an output is.
        growth: list of int, bytes that are added to an output, a list.
    """

    peak: int
    flops: int
    outputs: list
    passed: list
    growth: list


def graph_costs(graph, inputs=None):
    """The costs of a graph whose operations run in the order in which they were made.

    Args:
        graph: `tf.Graph` of a concrete function, all of whose shapes are known.
        inputs: list of `Buffer`, the inputs of an inner graph; None for tensors.

    Returns:
        GraphCosts.
    """
    given = [Buffer(b.size, b.items) for b in inputs or [Buffer(0)] * len(graph.inputs)]
    buffers = {id(t): b for t, b in zip(graph.inputs, given, strict=True)}
    growth, flops, inner_peaks = collections.Counter(), 0, {}
    operations = needed_operations(graph)
    for number, op in enumerate(operations):
        if op.type == "Placeholder":
            continue
        read = [buffers[id(tensor)] for tensor in op.inputs]
        if op.type in CALLS or op.type in LOOPS:
            found, inner_peaks[number], more = call_costs(op, read)
            flops += more
        else:
            found, flops = outputs_of(op, read), flops + product_flops(op)
        if op.type in ("TensorListPushBack", "TensorListSetItem"):
            growth[read[0]] += tensor_bytes(op.inputs[-1 if "Push" in op.type else 2])
        for tensor, buffer in zip(op.outputs, found, strict=True):
            buffers[id(tensor)] = buffer
            if buffer.first is None and buffer not in read and buffer not in given:
                buffer.first = buffer.last = number
        if op.type not in SHAPES:
            for buffer in read:
                buffer.last = number
    outputs = [buffers[id(tensor)] for tensor in graph.outputs]
    for buffer in outputs:
        buffer.last = len(operations)
    peak = peak_bytes(operations, {*buffers.values()}, inner_peaks)
    passed = [given.index(b) if b in given else None for b in outputs]
    return GraphCosts(peak, flops, outputs, passed, [growth[b] for b in outputs])


def peak_bytes(operations, buffers, inner_peaks):
    """The most bytes that buffers have at a time, while operations run in order."""
    made, ending = collections.defaultdict(list), collections.defaultdict(list)
    for buffer in buffers:
        if buffer.first is not None:
            made[buffer.first].append(buffer)
            ending[buffer.last].append(buffer)
    live = peak = 0
    for number, op in enumerate(operations):
        new = sum(buffer.size for buffer in made[number])
        reused = op.type in IN_PLACE and any(
            buffer.size == new and buffer.first < number for buffer in ending[number]
        )
        most = live + (0 if reused else new) + inner_peaks.get(number, 0)
        peak = max(peak, most)
        live += new - sum(buffer.size for buffer in ending[number])
    return peak


def needed_operations(graph):
    """The operations on which the outputs of a graph depend, in their order."""
    needed = {tensor.op for tensor in graph.outputs}
    for op in reversed(graph.get_operations()):
        if op in needed:
            needed.update(tensor.op for tensor in op.inputs)
    return [op for op in graph.get_operations() if op in needed]


def call_costs(op, read):
    """The outputs of a call or a loop, the peak inside it, and its operations."""
    name = op.get_attr((CALLS | LOOPS)[op.type]).name
    costs = graph_costs(inner_graph(op.graph, name), read)
    loops = op.type in LOOPS
    # A loop over the steps of a sequence reads or writes a list of that length.
    trips = max([1, *(buffer.items for buffer in read)]) if loops else 1
    found = []
    for number, tensor in enumerate(op.outputs):
        inside, source = costs.outputs[number], costs.passed[number]
        if costs.growth[number]:
            size = read[number].size + trips * costs.growth[number]
            found.append(Buffer(size, trips))
        elif source is not None:
            found.append(read[source])
        else:
            found.append(Buffer(inside.size or tensor_bytes(tensor), inside.items))
    return found, costs.peak, trips * costs.flops


def outputs_of(op, read):
    """The buffers of the outputs of another operation; new ones have no first."""
    if op.type in ("Const", "VariableV2"):
        return [Buffer(0) for _ in op.outputs]
    if op.type == "TensorListFromTensor":
        shape = op.inputs[0].shape
        return [Buffer(tensor_bytes(op.inputs[0]), shape[0] if shape.rank else 0)]
    if op.type == "TensorListReserve":
        items = tf.get_static_value(op.inputs[1])
        return [Buffer(0, 0 if items is None else int(items))]
    if op.type == "TensorListStack":
        return [Buffer(read[0].size or tensor_bytes(op.outputs[0]))]
    if op.type in VIEWS:
        rest = op.outputs[1:] if op.type == "TensorListPopBack" else ()
        return [*read[: len(op.outputs) - len(rest)], *map(new_buffer, rest)]
    return [new_buffer(tensor) for tensor in op.outputs]


def new_buffer(tensor):
    """A buffer of the size of a tensor."""
    return Buffer(tensor_bytes(tensor))


def tensor_bytes(tensor):
    """The bytes of a tensor of numbers; 0 for others, and of an unknown shape."""
    if tensor.dtype in (tf.variant, tf.resource, tf.string):
        return 0
    return (tensor.shape.num_elements() or 0) * tensor.dtype.size


def product_flops(op):
    """The operations of a product of matrices or a convolution; 0 for others."""
    if op.type == "MatMul":
        left = op.inputs[0].shape
        depth = left[0] if op.get_attr("transpose_a") else left[1]
    elif op.type in ("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"):
        depth = op.inputs[0].shape[-2 if op.get_attr("adj_x") else -1]
    elif op.type == "Conv2D":
        depth = math.prod(op.inputs[1].shape[:-1])
    elif op.type in ("Conv2DBackpropInput", "Conv2DBackpropFilter"):
        weights = tf.get_static_value(op.inputs[1]) if "Filter" in op.type else None
        kernel = op.inputs[1].shape if weights is None else weights
        return 2 * math.prod(op.inputs[2].shape) * math.prod(map(int, kernel[:-1]))
    elif op.type == "Einsum":
        return einsum_flops(op)
    else:
        return 0
    return 2 * depth * op.outputs[0].shape.num_elements()


def einsum_flops(op):
    """The operations of an einsum: twice the product of the sizes of its letters."""
    letters = op.get_attr("equation").decode().split("->")[0].split(",")
    sizes = {
        letter: size
        for names, tensor in zip(letters, op.inputs, strict=True)
        for letter, size in zip(names, tensor.shape, strict=True)
    }
    return 2 * math.prod(sizes.values())
