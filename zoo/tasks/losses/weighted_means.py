"""Losses and metrics of one output or of several, as means over weights."""

import copy

import keras
from keras import ops

from zoo.keras_internals import mask_of


@keras.saving.register_keras_serializable(package="zoo")
class FunctionLoss(keras.losses.Loss):
    """A loss function as a loss object.

    Args:
        function: of targets and outputs to a loss for each row or token, or to one
            number.
        name: str, by default that of the function.
        reduction: str, as in `keras.losses.Loss`.
        **kwargs: of `keras.losses.Loss`.

    Example:
        >>> loss = FunctionLoss(keras.losses.mean_absolute_error)
        >>> y_true, y_pred = ops.array([[1.0], [2.0]]), ops.array([[2.0], [4.0]])
        >>> float(loss(y_true, y_pred, sample_weight=ops.array([3.0, 1.0])))
        1.25
    """

    def __init__(
        self, function, name=None, reduction="mean_with_sample_weight", **kwargs
    ):
        name = name or getattr(function, "__name__", type(function).__name__)
        super().__init__(name=name, reduction=reduction, **kwargs)
        self.function = function

    def call(self, y_true, y_pred):
        """The function's value; one number is the loss of every row."""
        rows = ops.shape(y_pred)[:1]
        values = ops.convert_to_tensor(self.function(*_of_one_rank(y_true, y_pred)))
        return ops.broadcast_to(values, rows) if len(values.shape) == 0 else values

    def get_config(self):
        """Constructor arguments."""
        function = keras.saving.serialize_keras_object(self.function)
        return {**super().get_config(), "function": function}

    @classmethod
    def from_config(cls, config):
        """Rebuilds the loss; see `get_config`."""
        function = keras.saving.deserialize_keras_object(config["function"])
        return cls(**{**config, "function": function})


class MeanOfParts(keras.metrics.Metric):
    """The sum of several means, each over weights of its own.

    The total loss of a model is such a sum: the loss of each output is a mean over the
    weights of that output, since the start of the epoch and on all replicas.

    Args:
        parts: int, the largest number of means.
        name: str.
    """

    def __init__(self, parts, name="loss"):
        super().__init__(name=name)
        self.parts = parts
        self.total, self.count = (
            self.add_variable((parts,), "zeros", name=name)
            for name in ("total", "count")
        )

    def update_state(self, values, weights=None):
        """Adds values and their weights, a list of scalars each, one for each mean.

        Without weights, `values` is one number, as in a `train_step` of one's own.
        """
        if weights is None:
            values, weights = [values], [1.0]
        missing = [0.0] * (self.parts - len(values))
        weights = ops.stack([*weights, *missing])
        self.total.assign_add(ops.stack([*values, *missing]) * weights)
        self.count.assign_add(weights)

    def result(self):
        """The sum of the means; a mean without weights is 0."""
        return ops.sum(ops.divide_no_nan(self.total, self.count))


def _of_one_rank(y_true, y_pred):
    """Targets and outputs, (B,) and (B, 1), with as many dimensions; as Keras does."""
    more = len(y_pred.shape) - len(y_true.shape)
    if more == 1 and y_pred.shape[-1] == 1:
        if len(y_true.shape) == 1:
            return ops.expand_dims(y_true, -1), y_pred
        return y_true, ops.squeeze(y_pred, -1)
    if more == -1 and y_true.shape[-1] == 1:
        if len(y_pred.shape) == 1:
            return y_true, ops.expand_dims(y_pred, -1)
        return ops.squeeze(y_true, -1), y_pred
    return y_true, y_pred


def named_metrics(metrics, task_metrics):
    """The metrics of `compile`, with a task's own ones instead of their names.

    Keras' accuracy is a mean over rows, so it depends on the padding of a batch.
    """
    known = {}
    if isinstance(task_metrics, list):
        known = {metric.name: metric for metric in task_metrics}
    names = {"acc": "accuracy"}

    def chosen(metric):
        given = isinstance(metric, str)
        return known.get(names.get(metric, metric), metric) if given else metric

    return map_leaves(chosen, metrics)


def map_leaves(function, nest):
    """Maps the entries of a nest; a dict with "class_name" is an entry."""
    if isinstance(nest, dict) and "class_name" not in nest:
        return {key: map_leaves(function, value) for key, value in nest.items()}
    if isinstance(nest, (list, tuple)):
        return type(nest)(map_leaves(function, value) for value in nest)
    return function(nest)


def interpret(argument, given):
    """A loss or a metric of `compile` as a function or an object of Keras.

    Raises ValueError if Keras has no such `argument`, which is "loss" or "metrics".
    """
    get = keras.losses.get if argument == "loss" else keras.metrics.get
    error = None
    if isinstance(given, (str, dict)) or callable(given):
        try:
            return get(given)
        except (ValueError, TypeError, KeyError) as cause:
            error = cause
    raise ValueError(
        f"`{argument}` must be names, functions or objects of Keras. Received: "
        f"{given!r:.80}. Leave it out for the default."
    ) from error


def with_weighted_mean(loss):
    """The losses of `compile`, a nest, whose means become means over weights.

    That is sum(weight x loss) / sum(weights), where Keras by default divides by the
    number of losses. The caller's objects do not change.
    """
    return map_leaves(_with_weighted_mean, loss)


def _with_weighted_mean(loss):
    if loss is None:
        return None
    if loss in ("crossentropy", "ce"):  # Keras guesses, and not that these are logits
        raise ValueError(
            f"`loss` must say which crossentropy. Received: {loss!r}. Leave it out, "
            "or use `keras.losses.SparseCategoricalCrossentropy(from_logits=True)`."
        )
    loss = interpret("loss", loss)
    if not isinstance(loss, keras.losses.Loss):
        return FunctionLoss(loss)
    if loss.reduction in ("sum_over_batch_size", "mean"):
        loss = copy.copy(loss)
        loss.reduction = "mean_with_sample_weight"
    return loss


def split_outputs(y_pred, loss, loss_weights, y, sample_weight, names=()):
    """Outputs with losses: list of (output, loss, factor or None, targets, weights).

    Arguments are a dict by the names of the outputs, or a list in the order of
    `keras.tree.flatten`; one loss, factor or weight holds for all. Raises ValueError if
    a name is unknown, a list has a wrong length, or a loss has no targets.
    """
    nests = (dict, list, tuple)
    if not isinstance(y_pred, nests):
        if isinstance(loss, nests) or isinstance(y, nests):
            return split_outputs([y_pred], loss, loss_weights, y, sample_weight, names)
        if loss is not None and y is None:
            raise ValueError(
                "Every output with a loss must have targets. Received: none for an "
                f"output of shape {tuple(y_pred.shape)}. Give it targets in `y`, or "
                "None in `loss`."
            )
        return [] if loss is None else [(y_pred, loss, loss_weights, y, sample_weight)]
    if isinstance(y_pred, dict):
        names = sorted(y_pred)
        y_pred = [y_pred[name] for name in names]
    elif len(names) != len(y_pred):
        names = list(range(len(y_pred)))
    arguments = {
        "loss": loss,
        "loss_weights": loss_weights,
        "y": y,
        "sample_weight": sample_weight,
    }
    columns = [_column(key, value, names) for key, value in arguments.items()]
    parts = zip(y_pred, *columns, strict=True)
    return [entry for part in parts for entry in split_outputs(*part)]


def _column(argument, value, names):
    """The argument's value for each output."""
    if isinstance(value, dict):
        for key in value:
            # Targets of an output without a loss may stay.
            if key not in names and argument != "y":
                raise ValueError(
                    f"`{argument}` must name outputs of the model. Received: {key!r}. "
                    f"The outputs are {names}."
                )
        return [value.get(name) for name in names]
    if isinstance(value, (list, tuple)):
        if len(value) != len(names):
            raise ValueError(
                f"`{argument}` must have one entry for each of the {len(names)} "
                f"outputs {names}. Received: {len(value)}."
            )
        return list(value)
    if argument == "y" and value is not None and len(names) > 1:
        raise ValueError(
            f"`{argument}` must be a dict or a list, with an entry for each of the "
            f"outputs {names}. Received: {type(value).__name__}."
        )
    return [value] * len(names)


def weighted_values(loss, y, y_pred, weight):
    """The losses of an output and their weights, float32; masked padding weighs 0."""
    mask = mask_of(y_pred)
    y_pred = ops.convert_to_tensor(y_pred, dtype=loss.dtype)
    values = loss.call(ops.convert_to_tensor(y, dtype=loss.dtype), y_pred)
    masks = [mask, mask_of(values), weight]
    values = ops.cast(values, "float32")
    weights = ops.ones_like(values)
    for factor in masks:
        if factor is not None:
            weights = weights * of_rank(ops.cast(factor, "float32"), values)
    return values, weights


def of_rank(weight, values):
    """A weight for each row or token, ready to be multiplied with the values."""
    extra = len(weight.shape) - len(values.shape)
    if extra > 0:
        return ops.squeeze(weight, axis=tuple(range(-extra, 0)))
    shape = ops.shape(weight)
    return ops.reshape(weight, (*shape, *[1] * -extra))
