"""What training over several replicas needs beyond Keras' own."""

import keras
import tensorflow as tf


def replica_share(y, sample_weight):
    """The factor that turns a replica's mean loss into its part of the global one.

    Keras divides a replica's loss, sum(w l) / sum(w), by the number of replicas n and
    adds the gradients up. With weights that differ between replicas the mean must be
    over the sum W of all weights, so the factor is n sum(w) / W.

    Args:
        y: targets, tensor or nest of tensors.
        sample_weight: weights or None, which counts targets.

    Returns:
        Scalar float32 tensor, or 1.0 outside of a replica.
    """
    replicas = tf.distribute.get_strategy().num_replicas_in_sync
    context = tf.distribute.get_replica_context()
    if replicas == 1 or context is None:
        return 1.0
    if sample_weight is None:
        weight = tf.cast(tf.size(keras.tree.flatten(y)[0]), tf.float32)
    else:
        weight = tf.reduce_sum(tf.cast(sample_weight, tf.float32))
    total = context.all_reduce("sum", weight)
    return tf.math.divide_no_nan(weight * replicas, total)


def local_batch(iterator):
    """The first batch of an epoch as this worker's first replica sees it.

    Keras 3.15 builds the optimizer from a batch that it averages over replicas, which
    stops when there are several workers.
    """
    strategy = tf.distribute.get_strategy()
    for _, _, batches in iterator:
        return keras.tree.map_structure(
            lambda value: strategy.experimental_local_results(value)[0], next(batches)
        )


def reducible_logs(logs):
    """Gives scalar logs an axis where there are several workers.

    Keras 3.15 averages the logs of several workers along axis 0, which a scalar lacks.
    """
    strategy = tf.distribute.get_strategy()
    if isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy):
        return {key: tf.reshape(value, (1,)) for key, value in logs.items()}
    return logs
