"""The gradients of a batch, computed in parts of it to save memory."""

import keras
import tensorflow as tf

from zoo.checks.number_rules import check_number


def check_parts(parts):
    """A number of parts; ValueError if there are several with another backend."""
    backend = keras.backend.backend()
    if check_number("accumulate", parts) > 1 and backend != "tensorflow":
        raise ValueError(
            "`accumulate` needs the TensorFlow backend of Keras. Received: "
            f"accumulate={parts} with {backend}. Leave it out."
        )
    return parts


def compute_in_parts(model, parts):
    """As `accumulate` of `compile`, for a compiled task."""
    model.traced.parts = check_parts(parts)


def sums_in_parts(model, data, parts, sums_of_outputs, log):
    """Sums over the rows of a batch, from which the gradients of its mean loss follow.

    The parts are computed one after the other. A layer that computes with all rows of a
    batch, such as `keras.layers.BatchNormalization`, sees those of a part.

    Args:
        model: compiled task.
        data: tuple x, y, sample_weight, nests of tensors (B, ...).
        parts: int.
        sums_of_outputs: function of model, y, y_pred and sample_weight to tuples of
            factor, sum of weighted losses, and weight, of each output with a loss.
        log: function of the data of a part, its y_pred and those tuples.

    Returns:
        for each output of the graph, a tuple of its factor, None without a loss; the
        gradients of the sum of its losses, scaled by the optimizer, a list of tensors;
        and the sum of its weights. And the set of the numbers of the variables that
        have gradients.

    Raises:
        ValueError: if layers of the model add losses, which are means over a batch.
    """
    variables, count = model.trainable_variables, len(model.outputs)
    rows = tf.shape(keras.tree.flatten(data[0])[0])[0]
    size = -(-rows // parts)
    factors, trained = [None] * count, set()

    def add_part(start, sums, weights):
        """Adds the sums of the next rows."""
        end, sums, weights = start + size, list(map(list, sums)), list(weights)
        part = keras.tree.map_structure(
            lambda tensor: tensor[start:end], data, none_is_leaf=False
        )
        with tf.GradientTape(persistent=count > 1) as tape:
            y_pred = model(part[0], training=True)
            terms = sums_of_outputs(model, part[1], y_pred, part[2])
            scaled = [model.optimizer.scale_loss(total) for _, total, _ in terms]
        if model.losses:
            raise ValueError(
                "`accumulate` must be 1 if layers add losses. Received: "
                f"{parts} for a {type(model).__name__}. Use smaller batches."
            )
        for number, (factor, _, weight) in enumerate(terms):
            factors[number], weights[number] = factor, weights[number] + weight
            gradients = tape.gradient(scaled[number], variables)
            for place, gradient in enumerate(gradients):
                if gradient is not None:
                    trained.add(place)
                    sums[number][place] += tf.convert_to_tensor(gradient)
        log(part, y_pred, terms)
        return end, sums, weights

    zeros = [tf.zeros(v.shape, v.dtype) for v in variables]
    state = 0, [zeros] * count, [tf.constant(0.0)] * count
    _, sums, weights = tf.while_loop(
        lambda start, *_: start < rows, add_part, state, parallel_iterations=1
    )
    return zip(factors, sums, weights, strict=True), trained
