"""What a training step of a model needs on one device, from the shapes in its graph."""

import dataclasses
import math

import keras
import tensorflow as tf

from zoo.backbone.weight_shapes import call_without_values
from zoo.layers import recompute_layers
from zoo.programs.costs.graph_costs import graph_costs
from zoo.tasks.fitting.distribution import weighted_arguments
from zoo.tasks.losses.weighted_means import split_outputs, weighted_values
from zoo.tasks.task_layers import fix_shapes
from zoo.tasks.task_saving import uncompiled

MEMORY = ("weights", "optimizer", "gradients", "activations", "allocator")
# Measured, see `benchmarks/memory`: free parts between tensors, as a share of the
# activations, and the intermediate values of an update, as one of the gradients.
FREE_SHARE, UPDATE_SHARE = 0.16, 1.25
# With `remat`, a block is computed again while the block above still has activations.
REMAT_SHARE = 0.9
ALTERNATIVES = 4  # of a row of multiple choice


@dataclasses.dataclass(frozen=True)
class StepCosts:
    """What a training step needs on one device.

    Attributes:
        parameters: int, values of the model; `trained` of them are trained.
        weights, optimizer, gradients, activations: int, bytes. With `accumulate`, there
            are gradients of a part, their sum and their mean. `activations` are all
            that is kept between the two passes, and intermediate results.
        allocator: int, bytes that TensorFlow's allocator holds besides, a share of
            gradients and activations that was measured.
        flops: int, of the products of matrices and convolutions in all rows, forward
            and backward, recomputed ones included; a multiplication and an addition are
            two.
    """

    parameters: int
    trained: int
    weights: int
    optimizer: int
    gradients: int
    activations: int
    allocator: int
    flops: int

    @property
    def total(self):
        """All bytes."""
        return sum(getattr(self, kind) for kind in MEMORY)


def step_costs(make, rows, length, optimizer="adamw", accumulate=1, remat=False):
    """The costs of a training step, without memory for a model.

    Args:
        make: function that makes a task.
        rows, length: int, rows of a batch on the device, and tokens of each.
        optimizer: optimizer of Keras that is not built, or its name.
        accumulate, remat: see `zoo.tasks.Task.compile`.

    Returns:
        StepCosts.
    """
    slots = bytes_of_slots(optimizer)

    def find():
        with uncompiled():
            model = make()
        recompute_layers(model, remat)
        fix_shapes(model)
        part = -(-rows // accumulate)
        graph, score = trace_gradients(model, input_specs(model, part, length))
        # The metrics of a batch are computed while its gradients are.
        costs, metrics = graph_costs(graph), graph_costs(score)
        sizes = [variable_bytes([v]) for v in model.trainable_variables]
        gradients = sum(sizes) * (3 if accumulate > 1 else 1)
        activations = max(costs.peak + metrics.peak - sum(sizes), 0)
        more = (FREE_SHARE + (REMAT_SHARE if remat else 0)) * activations
        more += UPDATE_SHARE * sum(sizes) if slots else 0
        return StepCosts(
            parameters=count_values(model.weights),
            trained=count_values(model.trainable_variables),
            weights=variable_bytes(model.variables),
            optimizer=slots * count_values(model.trainable_variables),
            gradients=gradients,
            activations=activations,
            allocator=int(more),
            flops=costs.flops * rows // part,
        )

    return call_without_values(find)


def bytes_of_slots(optimizer):
    """The bytes that an optimizer keeps for a trained value."""
    optimizer, variable = keras.optimizers.get(optimizer), keras.Variable([0.0])
    optimizer.build([variable])
    return variable_bytes(v for v in optimizer.variables if v.shape == variable.shape)


def count_values(variables):
    """The number of values of variables."""
    return sum(math.prod(v.shape) for v in variables)


def variable_bytes(variables):
    """The bytes of the values of variables."""
    return sum(math.prod(v.shape) * tf.as_dtype(v.dtype).size for v in variables)


def input_specs(model, rows, length):
    """A `tf.TensorSpec` of each input of a task, for rows of so many tokens."""
    found, config = {}, dataclasses.asdict(model.backbone.config)
    for name, tensor in model.input.items():
        width = length
        if name == "mask_positions":
            width = min(-(-length * 15 // 100), model.options["max_predictions"])
        shape = [rows, *tensor.shape[1:]]
        if len(shape) > 2:
            characters = config.get("max_characters")
            # Characters follow the tokens; alternatives stand before them.
            known = [width, characters] if characters else [ALTERNATIVES, width]
            shape[1:3] = [a or b for a, b in zip(shape[1:3], known, strict=True)]
        shape = [width if size is None else size for size in shape]
        found[name] = tf.TensorSpec(shape, tensor.dtype)
    return found


def trace_gradients(model, inputs):
    """The graphs of the gradients of a task that is not compiled, and of its loss."""
    trained = model.trainable_variables
    variables = [*trained, *model.non_trainable_variables]
    loss = weighted_arguments(model, model.default_loss(), {})["loss"]

    @tf.function(autograph=False)
    def gradients(values, x):
        mapping = zip(variables, values, strict=True)
        with keras.StatelessScope(state_mapping=mapping), tf.GradientTape() as tape:
            tape.watch(values[: len(trained)])
            y_pred = model(x, training=True)
            objective = mean_loss(model, loss, y_pred)
        return tape.gradient(objective, values[: len(trained)]), y_pred

    specs = [tf.TensorSpec(v.shape, v.dtype) for v in variables]
    traced = gradients.get_concrete_function(specs, inputs)
    outputs = tf.nest.map_structure(
        lambda y: tf.TensorSpec(y.shape, y.dtype), traced.structured_outputs[1]
    )
    score = tf.function(lambda y: mean_loss(model, loss, y), autograph=False)
    return traced.graph, score.get_concrete_function(outputs).graph


def mean_loss(model, loss, y_pred):
    """The mean loss of outputs with any targets."""
    if model.output_kind != "logits":
        means = [tf.reduce_mean(tf.cast(y, "float32")) for y in tf.nest.flatten(y_pred)]
        return tf.add_n(means)
    y = tf.nest.map_structure(lambda t: tf.zeros(t.shape[:-1], "int32"), y_pred)
    parts = split_outputs(y_pred, loss, None, y, None, model.output_names)
    return tf.add_n(
        [
            tf.reduce_mean(weighted_values(loss, targets, output, weights)[0])
            for output, loss, _, targets, weights in parts
        ]
    )
