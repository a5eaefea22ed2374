"""The losses of the outputs of a task, as means over weights, on every backend."""

import tensorflow as tf
from keras import ops

from zoo.keras_internals import loss_metrics
from zoo.tasks.losses.weighted_means import (
    MeanOfParts,
    split_outputs,
    weighted_values,
)


def loss_mean(model):
    """The metric of the loss: a mean for each output, and one for added losses."""
    return MeanOfParts(len(model.outputs) + 1)


def shown_metrics(model, metrics):
    """The metrics of a task, whose loss is the sum of each output's mean."""
    if not model.compiled:
        return metrics
    # Keras' means of each loss weigh rows, not tokens.
    hidden = {id(metric) for metric in loss_metrics(model)}
    return [model.traced.loss, *(x for x in metrics if id(x) not in hidden)]


def sums_of_outputs(model, y, y_pred, sample_weight):
    """For each output with a loss: its factor, sum of weighted losses, and weight.

    If the loss is a sum, and no mean, the weights of all replicas have the sum 1.
    """
    found = []
    for output, loss, factor, targets, weights in split_outputs(
        y_pred, model.loss, model.loss_weights, y, sample_weight, model.output_names
    ):
        values, weights = weighted_values(loss, targets, output, weights)
        weight = ops.sum(weights)
        if loss.reduction == "sum":
            weight = 1.0 / tf.distribute.get_strategy().num_replicas_in_sync
        factor = 1.0 if factor is None else factor
        found.append((factor, ops.sum(values * weights), weight))
    if not found and not model.losses:
        raise ValueError(
            "At least one output must have a loss. Received: None for all outputs. "
            "Give `compile` a loss."
        )
    return found


def means_of(sums):
    """The means of outputs, and their weights, two lists; see `sums_of_outputs`."""
    means = [factor * ops.divide_no_nan(total, w) for factor, total, w in sums]
    return means, [weight for *_, weight in sums]
