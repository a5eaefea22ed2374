"""Training steps whose gradients and logs do not depend on the number of replicas."""

import itertools
import types
import weakref

import keras
import tensorflow as tf

from zoo.checks.user_warnings import warn_user
from zoo.keras_internals import (
    ModelHooks,
    model_strategy,
    set_collective_keys,
)
from zoo.tasks.fitting.accumulation import check_parts, sums_in_parts
from zoo.tasks.fitting.other_backends import StepsOfOtherBackends
from zoo.tasks.fitting.output_means import (
    loss_mean,
    means_of,
    shown_metrics,
    sums_of_outputs,
)
from zoo.tasks.fitting.traced_state import follow_trainable, traced_anew
from zoo.tasks.losses.logit_losses import fit_losses, fit_metrics
from zoo.tasks.losses.weighted_means import with_weighted_mean

COLLECTIVE_KEYS = itertools.count(1000, 1000)
SEPARATED_STRATEGIES = weakref.WeakSet()  # strategies with collective keys of their own


class TensorFlowSteps(ModelHooks):
    """Overrides the steps of `keras.Model` with global means, and several workers.

    With n replicas, Keras computes the gradient of sum(w l) / sum(w) / n on each of
    them and adds these up. That is the gradient of the mean over all rows only if every
    replica has the same sum of weights. Here a replica's sum(w l) is divided by the sum
    of the weights of all replicas. The loss in the logs is
    the sum over outputs of the mean over all weights since the start of the epoch. The
    losses that layers add, such as those of `zoo.layers.RegularizedLogits`, count by
    the rows of a replica in the gradient, and by its weights in the logs.
    """

    def compile(self, optimizer="rmsprop", *, metrics=None, accumulate=1, **kwargs):
        """Keras' `compile`, within the scope of the model's strategy.

        Args:
            accumulate: int, parts in which the gradients of a batch are computed, one
                after the other. The update is that of the whole batch. It needs the
                memory of a part.

        Raises:
            TypeError: if the class has a `compute_loss` of its own.
            ValueError: if the model, the optimizer or a metric was made in another
                scope, or if replicas are to accumulate gradients.
        """
        if type(self).compute_loss is not keras.Model.compute_loss:
            raise TypeError(
                "The steps of a task do not call `compute_loss`. Received: "
                f"{type(self).__name__}, which has its own. Override `train_step` and "
                "`test_step`, give `compile` a loss, or call `add_loss` in a layer."
            )
        given = keras.tree.flatten([metrics, kwargs.get("weighted_metrics")])
        given = [metric for metric in given if isinstance(metric, keras.metrics.Metric)]
        check_parts(accumulate)
        strategy = self.distribute_strategy
        check_scope(strategy, "The model", self.variables)
        with strategy.scope():
            optimizer = keras.optimizers.get(optimizer)
            check_scope(strategy, "The optimizer", optimizer.variables)
            for metric in given:
                check_scope(strategy, f"The metric {metric.name!r}", metric.variables)
            check_accumulation(strategy, optimizer, kwargs.get("run_eagerly"))
            super().compile(optimizer=optimizer, metrics=metrics, **kwargs)
            loss = loss_mean(self)
        # Keras would take a list of variables for weights of the model, and the means
        # for a metric of its own.
        self.traced = types.SimpleNamespace(state=[], loss=loss, parts=accumulate)

    @property
    def metrics(self):
        """Keras' metrics, whose loss is the sum of each output's mean."""
        return shown_metrics(self, super().metrics)

    def train_step(self, data):
        """One update; returns the logs."""
        data = x, y, sample_weight = keras.utils.unpack_x_y_sample_weight(data)
        if self.traced.parts > 1 and self.trainable_variables:
            update(self, gradients_in_parts(self, data))
            return replica_logs(self, self.get_metrics_result())
        with tf.GradientTape() as tape:
            y_pred = self(x, training=True)
            objective, means, counts = objectives(self, y, y_pred, sample_weight)
            objective = self.optimizer.scale_loss(objective)
        if self.trainable_variables:
            update(self, tape.gradient(objective, self.trainable_variables))
        else:
            warn_user("No variable is trainable. None is updated.")
        return log_step(self, data, y_pred, means, counts)

    def make_train_function(self, force=False):
        """Keras' function of a step, traced anew if other variables are trainable."""
        original, present = model_strategy(self), tf.distribute.get_strategy()
        if tf.distribute.has_strategy() and present is not original:
            raise ValueError(scope_error("The model", original, present))
        separate_collectives(self.distribute_strategy)
        super().make_train_function(traced_anew(self) or force)

    def make_test_function(self, force=False):
        """Keras' function of an evaluation step."""
        separate_collectives(self.distribute_strategy)
        super().make_test_function(force)

    def get_compile_config(self):
        """Keras' record of `compile`; the optimizer's state fits what is trainable."""
        if self.compiled and self.optimizer.built:
            follow_trainable(self)
        return super().get_compile_config()

    def test_step(self, data):
        """One evaluation; returns the logs."""
        x, y, sample_weight = keras.utils.unpack_x_y_sample_weight(data)
        y_pred = self(x, training=False)
        _, means, counts = objectives(self, y, y_pred, sample_weight)
        return log_step(self, (x, y, sample_weight), y_pred, means, counts)

    def first_batch(self, iterator):
        """The batch of one replica, to build metrics from; see `ModelHooks`."""
        # Keras 3.15 takes the mean of the replicas' batches. That fails if they differ
        # in shape or are on several workers.
        batch = next(next(iter(iterator))[2])
        results = self.distribute_strategy.experimental_local_results
        return keras.tree.map_structure(
            lambda value: results(value)[0], batch, none_is_leaf=False
        )


STEPS = (
    TensorFlowSteps if keras.backend.backend() == "tensorflow" else StepsOfOtherBackends
)


def update(model, gradients):
    """Updates the trainable variables by this replica's part of their gradients."""
    gradients = finite_on_all_replicas(model.optimizer, gradients)
    pairs = zip(gradients, model.trainable_variables, strict=True)
    model.optimizer.apply_gradients(pairs)


def finite_on_all_replicas(optimizer, gradients):
    """The gradients, of which one is NaN if those of any replica are not finite.

    Keras looks at the first replica only before it skips an update in float16.
    """
    context = tf.distribute.get_replica_context()
    scaled = hasattr(optimizer, "inner_optimizer")
    if not scaled or context.num_replicas_in_sync == 1:
        return gradients
    wrong = 1.0 - tf.cast(optimizer.check_finite(gradients), tf.float32)
    wrong = context.all_reduce(tf.distribute.ReduceOp.SUM, wrong)
    added = tf.where(wrong > 0, float("nan"), 0.0)
    place = next(i for i, part in enumerate(gradients) if part is not None)
    found = tf.convert_to_tensor(gradients[place])
    gradients[place] = found + tf.cast(added, found.dtype)
    return gradients


def objectives(model, y, y_pred, sample_weight):
    """This replica's part of the objective, its mean losses and their weights."""
    sums = sums_of_outputs(model, y, y_pred, sample_weight)
    added = sum(tf.reduce_sum(loss) for loss in model.losses)
    objective = sum(factor * share_of_mean(total, w) for factor, total, w in sums)
    if model.losses:
        # Not before the losses are read, which the replicas share: it waits.
        rows = tf.cast(tf.shape(keras.tree.flatten(y_pred)[0])[0], tf.float32)
        objective += share_of_mean(added * rows, rows)
    means, weights = means_of(sums)
    return objective, [*means, added], [*weights, sum(weights) if weights else 1.0]


def share_of_mean(total, weight):
    """This replica's part of the mean over all replicas, of a sum and its weight."""
    context = tf.distribute.get_replica_context()
    if context is not None and context.num_replicas_in_sync > 1:
        weight = context.all_reduce("sum", tf.convert_to_tensor(weight))
    return tf.math.divide_no_nan(total, weight)


def gradients_in_parts(model, data):
    """The gradients of a batch that is computed in parts, and updates the metrics."""

    def log(part, y_pred, sums):
        log_step(model, part, y_pred, *(f + [0.0] for f in means_of(sums)))

    arguments = data, model.traced.parts, sums_of_outputs, log
    outputs, trained = sums_in_parts(model, *arguments)
    found = [None] * len(model.trainable_variables)
    for factor, gradients, weight in outputs:
        for place in trained if factor is not None else ():
            share = factor * share_of_mean(gradients[place], weight)
            found[place] = share if found[place] is None else found[place] + share
    return found


def log_step(model, data, y_pred, means, counts):
    """The logs of a step whose data are a tuple x, y, sample_weight."""
    x, y, sample_weight = data
    model.traced.loss.update_state(means, counts)
    return replica_logs(model, model.compute_metrics(x, y, y_pred, sample_weight))


def replica_logs(model, logs):
    """The logs of a step as Keras takes them from a replica."""
    if isinstance(model.distribute_strategy, tf.distribute.MultiWorkerMirroredStrategy):
        # Keras 3.15 averages them along axis 0, which a scalar lacks.
        return {key: tf.reshape(value, (1,)) for key, value in logs.items()}
    return logs


def weighted_arguments(model, loss, arguments):
    """Arguments of `compile` for means over weights, see `logit_losses.fit_losses`."""
    found = {**arguments, "loss": with_weighted_mean(fit_losses(loss, model))}
    for name in {"metrics", "weighted_metrics"} & found.keys():
        found[name] = fit_metrics(found[name], model)
    return found


def check_scope(strategy, what, variables):
    """Raises ValueError unless all variables were made in a strategy's scope."""
    for variable in variables:
        if not strategy.extended.variable_created_in_scope(variable.value):
            original = getattr(variable.value, "distribute_strategy", None)
            raise ValueError(scope_error(what, original, strategy))


def scope_error(what, original, present):
    """The message about something that was made in another scope."""
    names = [type(s).__name__ if s else "no strategy" for s in (original, present)]
    if names[0] == names[1]:
        names[0] = f"another {names[0]}"
    return (
        "Model, optimizer and metrics must be made within the scope of the strategy "
        f"that trains them. Received: {what} made in the scope of {names[0]}, and "
        f"{names[1]}. Make all of them within one `with strategy.scope():`."
    )


def check_accumulation(strategy, optimizer, run_eagerly):
    """Raises ValueError if replicas are to accumulate gradients in a graph."""
    optimizer = getattr(optimizer, "inner_optimizer", optimizer)
    steps = optimizer.gradient_accumulation_steps
    replicas = strategy.num_replicas_in_sync
    if steps and replicas > 1 and not run_eagerly:
        raise ValueError(
            "`gradient_accumulation_steps` must be None with several replicas, since "
            "TensorFlow cannot add gradients up within a condition. Received: "
            f"{steps}, and {replicas} replicas. Give `compile` larger batches and "
            "`accumulate`."
        )


def separate_collectives(strategy):
    """Gives a MirroredStrategy keys of its own for collective operations.

    TensorFlow 2.20 numbers the operations of every such strategy from the same key.
    The second strategy of a process would fail on tensors of other shapes than the
    first, or on other devices.
    """
    mirrored = isinstance(strategy, tf.distribute.MirroredStrategy)
    if not mirrored or strategy in SEPARATED_STRATEGIES:
        return
    SEPARATED_STRATEGIES.add(strategy)
    set_collective_keys(strategy, next(COLLECTIVE_KEYS))
