"""Steps whose gradients and logs do not depend on how replicas share the rows."""

import keras
import tensorflow as tf


class TensorFlowSteps:
    """Overrides the steps of `keras.Model` with global means, and several workers.

    Keras divides a replica's loss, sum(w l) / sum(w), by the number of replicas n and
    adds the gradients up, which is the mean over all rows only if every replica has
    the same sum of weights. Here the objective of a replica is multiplied with n
    sum(w) / W, W being the sum over all replicas, and the loss in the logs is the mean
    over all weights since the start of the epoch.
    """

    def train_step(self, data):
        """One update; returns the logs."""
        x, y, sample_weight = keras.utils.unpack_x_y_sample_weight(data)
        with tf.GradientTape() as tape:
            y_pred = self(x, training=True)
            loss, objective = self._objectives(x, y, y_pred, sample_weight, True)
            objective = self.optimizer.scale_loss(objective)
        variables = self.trainable_variables
        gradients = tape.gradient(objective, variables)
        self.optimizer.apply_gradients(zip(gradients, variables, strict=True))
        return self._log(x, y, y_pred, sample_weight, loss)

    def make_train_function(self, force=False):
        """Keras' function of a step, traced once: twice if the optimizer were new."""
        if not self.optimizer.built:
            with self.distribute_strategy.scope():
                self.optimizer.build(self.trainable_variables)
        return super().make_train_function(force)

    def test_step(self, data):
        """One evaluation; returns the logs."""
        x, y, sample_weight = keras.utils.unpack_x_y_sample_weight(data)
        y_pred = self(x, training=False)
        loss, _ = self._objectives(x, y, y_pred, sample_weight, False)
        return self._log(x, y, y_pred, sample_weight, loss)

    def _objectives(self, x, y, y_pred, sample_weight, training):
        """This replica's own loss, and its share of the mean over all replicas."""
        replicas = tf.distribute.get_strategy().num_replicas_in_sync
        if not isinstance(self.loss, dict):
            loss = self.compute_loss(x, y, y_pred, sample_weight, training=training)
            if getattr(self.loss, "reduction", None) == "sum":
                return loss * replicas, loss
            share = replica_share(weight_sum(y, sample_weight))
            return loss * replicas, loss * share
        # Several outputs: each is averaged over weights of its own.
        own = shared = sum(self.losses) / replicas
        for name, loss in self.loss.items():
            values = tf.cast(loss.call(y[name], y_pred[name]), tf.float32)
            weight = (sample_weight or {}).get(name)
            weight = tf.ones_like(values) if weight is None else weight
            mean = tf.math.divide_no_nan(
                tf.reduce_sum(values * weight), tf.reduce_sum(weight)
            )
            own += mean
            shared += mean * replica_share(tf.reduce_sum(weight)) / replicas
        return own, shared

    def _log(self, x, y, y_pred, sample_weight, loss):
        weight = weight_sum(y, sample_weight)
        tracker = next(metric for metric in self.metrics if metric.name == "loss")
        tracker.update_state(loss, sample_weight=weight)
        logs = self.compute_metrics(x, y, y_pred, sample_weight)
        if isinstance(
            self.distribute_strategy, tf.distribute.MultiWorkerMirroredStrategy
        ):
            # Keras 3.15 averages them along axis 0, which a scalar lacks.
            return {key: tf.reshape(value, (1,)) for key, value in logs.items()}
        return logs

    def _maybe_symbolic_build(self, iterator=None, data_batch=None):
        # Keras 3.15 builds metrics from the mean of the replicas' batches, which fails
        # if these differ in shape or are on several workers. One replica's will do.
        if iterator is not None and self._distribute_strategy is not None:
            data_batch = next(next(iter(iterator))[2])
            data_batch = keras.tree.map_structure(
                lambda value: self.distribute_strategy.experimental_local_results(
                    value
                )[0],
                data_batch,
                none_is_leaf=False,
            )
        super()._maybe_symbolic_build(data_batch=data_batch)


# On other backends a step sees the rows of all devices.
STEPS = TensorFlowSteps if keras.backend.backend() == "tensorflow" else object


class DistributedTraining(STEPS):
    """Steps whose logs weigh every row or token alike, on any number of replicas."""

    @property
    def metrics(self):
        """Keras', without its means of several losses, which weigh batches by rows."""
        metrics = super().metrics
        if not isinstance(getattr(self, "loss", None), dict) or not self._compile_loss:
            return metrics
        unweighted = {id(metric) for metric in self._compile_loss.metrics}
        return [metric for metric in metrics if id(metric) not in unweighted]


def weight_sum(y, sample_weight):
    """The sum of a replica's weights, float32; without weights, of its targets."""
    if sample_weight is None:
        return tf.cast(tf.size(keras.tree.flatten(y)[0]), tf.float32)
    weights = keras.tree.flatten(sample_weight)
    return tf.add_n([tf.reduce_sum(tf.cast(w, tf.float32)) for w in weights])


def replica_share(weight):
    """What a replica's loss is multiplied with: n times its share of all weights.

    Args:
        weight: scalar float32, this replica's sum of weights.

    Returns:
        Scalar float32, or 1.0 where there is one replica only.
    """
    context = tf.distribute.get_replica_context()
    replicas = tf.distribute.get_strategy().num_replicas_in_sync
    if context is None or replicas == 1:
        return 1.0
    total = context.all_reduce("sum", weight)
    return tf.math.divide_no_nan(weight * replicas, total)
