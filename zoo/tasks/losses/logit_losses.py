"""Losses and metrics of Keras on outputs that are logits, and no probabilities."""

import functools
import inspect
import re
import types

import keras
from keras import ops

from zoo.tasks.losses.score_metrics import named_score
from zoo.tasks.losses.weighted_means import FunctionLoss, interpret, map_leaves

CROSSENTROPY = "sparse_categorical_crossentropy"
LABEL_LOGITS = "label logits"  # the outputs of a task with a sigmoid for each label
LOGIT_KINDS = ("logits", LABEL_LOGITS)
# Functions of Keras by their names: those of class numbers; those of scores on any
# scale; and what needs probabilities beside the crossentropies with `from_logits`.
CLASS_NUMBER_LOSSES = (CROSSENTROPY, "categorical_generalized_cross_entropy")
SCORE_LOSSES = (
    "hinge",
    "squared_hinge",
    "categorical_hinge",
    "categorical_accuracy",
    "top_k_categorical_accuracy",
)
PROBABILITY_LOSSES = "kl_divergence", "poisson", "dice", "tversky", "ctc", "circle"
# Metrics of Keras that take any numbers, and those of class numbers and logits.
PLAIN_METRICS = ("Mean", "Sum", "MeanMetricWrapper")
READY_METRICS = {
    LABEL_LOGITS: PLAIN_METRICS,
    "logits": (
        *PLAIN_METRICS,
        "sparse_categorical_accuracy",
        "sparse_top_k_categorical_accuracy",
    ),
}


class LossError(ValueError):
    """A loss or a metric does not fit the outputs of a task."""


@keras.saving.register_keras_serializable(package="zoo")
class LogitsFunction:
    """A function of targets and logits, made of a loss of Keras.

    Class numbers become rows of 0 and 1, unless the loss takes numbers. Logits become
    probabilities by a softmax or a sigmoid, unless the loss takes logits.

    Args:
        loss: a function or a loss object of Keras.
        options: dict, more arguments of a function.
        padding: int, the class number of padding, which has the weight 0; or None.
        sigmoid: bool, whether each output has a probability of its own.

    Example:
        >>> loss = LogitsFunction(keras.losses.mean_absolute_error)
        >>> loss(ops.array([1]), ops.array([[0.0, 0.0]])).numpy().tolist()
        [0.5]
    """

    def __init__(self, loss, options=None, padding=None, sigmoid=False):
        self.loss, self.options, self.padding = loss, options or {}, padding
        self.sigmoid = sigmoid
        self.__name__ = _name_of(loss)

    def __call__(self, y_true, y_pred):
        """The loss of each row or token."""
        ranks = len(y_true.shape), len(y_pred.shape)
        if ranks[0] == ranks[1] and y_true.shape[-1] == 1 != y_pred.shape[-1]:
            y_true = ops.squeeze(y_true, -1)
        if len(y_true.shape) < ranks[1]:
            y_true = ops.cast(y_true, "int32")
            if self.__name__ not in CLASS_NUMBER_LOSSES:
                y_true = ops.one_hot(y_true, y_pred.shape[-1] or ops.shape(y_pred)[-1])
            elif self.padding is not None:
                y_true = ops.where(y_true == self.padding, 0, y_true)
        if self.__name__ not in SCORE_LOSSES and not _from_logits(self.loss):
            y_pred = ops.sigmoid(y_pred) if self.sigmoid else ops.softmax(y_pred)
        if isinstance(self.loss, keras.losses.Loss):
            return self.loss.call(y_true, y_pred)
        return self.loss(y_true, y_pred, **self.options)

    def get_config(self):
        """Constructor arguments."""
        loss = keras.saving.serialize_keras_object(self.loss)
        named = {"options": self.options, "padding": self.padding}
        return {"loss": loss, **named, "sigmoid": self.sigmoid}

    @classmethod
    def from_config(cls, config):
        """Rebuilds the function; see `get_config`."""
        loss = keras.saving.deserialize_keras_object(config["loss"])
        return cls(**{**config, "loss": loss})


def fit_losses(losses, task):
    """The losses of `compile` for the outputs of a task.

    A crossentropy that is given by its name or as a function takes logits. Returns what
    `with_weighted_mean` takes, in the same nest. Raises LossError if a loss does not
    fit, such as an object with `from_logits=False`.
    """
    return map_leaves(functools.partial(_fit_loss, task), losses)


def fit_metrics(metrics, task):
    """The metrics of `compile` for the outputs of a task; see `fit_losses`."""
    if not isinstance(metrics, (list, tuple, dict, types.NoneType)):
        raise LossError(
            f"Metrics must be a list. Received: {metrics!r:.60}. Use `[metric]`."
        )
    return map_leaves(functools.partial(_fit_metric, task), metrics)


def _fit_loss(task, given):
    if given is None:
        return None
    guessed = isinstance(given, str) and given in ("crossentropy", "ce")
    loss = interpret("loss", CROSSENTROPY if guessed else given)
    if task.output_kind is None:
        return given
    loss = loss.function if isinstance(loss, FunctionLoss) else loss
    function, options = _parts(given, loss)
    if not _of_keras(function):
        return given
    _check("loss", task, given, function, options)
    if task.output_kind not in LOGIT_KINDS:
        return given
    known = {"padding": task.padding_label, "sigmoid": task.output_kind == LABEL_LOGITS}
    if not isinstance(loss, keras.losses.Loss) or isinstance(given, (str, type)):
        fitted = LogitsFunction(function, _with_logits(function, options), **known)
        return FunctionLoss(fitted, given if isinstance(given, str) else None)
    if _name_of(loss) == CROSSENTROPY and options["ignore_class"] == task.padding_label:
        return loss
    fitted = LogitsFunction(loss, **known)
    return FunctionLoss(fitted, loss.name, loss.reduction, dtype=loss.dtype)


def _fit_metric(task, given):
    if isinstance(given, str) and task.labels:
        score = named_score(given, task.labels, task.output_kind == LABEL_LOGITS)
        if score is not None:
            return score
    smart = isinstance(given, str) and given.lower() in ("accuracy", "acc")
    if smart and task.output_kind == LABEL_LOGITS:
        given = keras.metrics.BinaryAccuracy("accuracy")
    elif given is None or smart:  # Keras chooses the accuracy
        return given
    guessed = isinstance(given, str) and given in ("crossentropy", "ce")
    metric = interpret("metrics", CROSSENTROPY if guessed else given)
    if task.output_kind is None:
        return given
    function, options = _parts(given, metric)
    ready = _name_of(function) in READY_METRICS.get(task.output_kind, ())
    if not _of_keras(function) or ready:
        return given
    _check("metrics", task, given, function, options)
    if task.output_kind not in LOGIT_KINDS or not inspect.isfunction(function):
        return given
    known = {"padding": task.padding_label, "sigmoid": task.output_kind == LABEL_LOGITS}
    fitted = LogitsFunction(function, _with_logits(function, options), **known)
    name = given if isinstance(given, str) else getattr(metric, "name", None)
    return keras.metrics.MeanMetricWrapper(fitted, name or fitted.__name__)


def _parts(given, found):
    """The function behind a loss or a metric, and the options that the user gave."""
    if isinstance(found, functools.partial):
        return found.func, dict(found.keywords)
    function, options = getattr(found, "fn", found), {}
    if isinstance(found, keras.metrics.Metric) and _of_keras(found):
        name = re.sub("(.)([A-Z][a-z]+)", r"\1_\2", type(found).__name__)
        name = re.sub("([a-z])([A-Z])", r"\1_\2", name).lower()
        rows = getattr(keras.metrics, name, None) or getattr(keras.losses, name, None)
        function = rows if inspect.isfunction(rows) else found
    objects = keras.losses.Loss, keras.metrics.Metric
    if isinstance(found, objects) and not isinstance(given, (str, type)):
        options = found.get_config()
    if inspect.isfunction(function):
        known = inspect.signature(function).parameters
        options = {name: value for name, value in options.items() if name in known}
    return function, options


def _of_keras(function):
    return (getattr(function, "__module__", None) or "").startswith("keras.")


def _name_of(function):
    """The name of a function, or of the function or the class of an object."""
    function = getattr(function, "fn", function)
    return getattr(function, "__name__", type(function).__name__)


def _from_logits(loss):
    """Whether a loss of Keras may take logits."""
    function = getattr(loss, "fn", loss)
    return "from_logits" in inspect.signature(function).parameters


def _with_logits(function, options):
    """The options of a function, which takes logits if it can."""
    return {**options, "from_logits": True} if _from_logits(function) else options


def _check(argument, task, given, function, options):
    """Raises LossError if a function of Keras does not fit the outputs of a task."""
    name, kind, said = _name_of(function), task.output_kind, options.get("from_logits")
    if not inspect.isfunction(function):  # such as AUC
        wrong = kind in LOGIT_KINDS and not said and options.get("sparse_y_pred", True)
    elif kind == LABEL_LOGITS:
        classes = name.startswith(("categorical", "sparse", "top_k"))
        wrong = classes or name in ("ctc", "circle") or said is False
    elif kind == "logits":
        wrong = name in ("ctc", "circle") or said is False
    elif kind == "numbers":
        classes = name.startswith(("categorical", "sparse", "top_k"))
        binary = name.startswith("binary") and said
        single = name == "cosine_similarity" and task.output_shape[-1] == 1
        wrong = classes or single or name in PROBABILITY_LOSSES
        wrong |= _from_logits(function) and not binary
    else:
        wrong = True
    if wrong:
        received = repr(given) if isinstance(given, str) else _name_of(given)
        received += " with from_logits=False" if said is False else ""
        way = "Leave it out for the default."
        if kind == "numbers":
            way = "Use 'mse' or 'mae', or a task with labels."
        elif said is False:
            way = "Use `from_logits=True`, or leave it out for the default."
        elif argument == "metrics":
            way = "Use 'accuracy', or compute it from the scores of `answer`."
        raise LossError(
            f"`{argument}` must fit the outputs of {type(task).__name__}, which are "
            f"{kind} and no probabilities. Received: {received}. {way}"
        )
