"""Recurrent states that a model carries over from one batch to the next."""

import keras
from keras import ops

from zoo.checks.ranges import Size, check_values
from zoo.layers.checked_arguments import keep_checked


@keras.saving.register_keras_serializable(package="zoo")
class CarriedState(keras.layers.Layer):
    """The final states of the previous batch, as the initial states of this batch.

    Training and evaluation have separate states, which are saved with the model. Each
    replica keeps the states of its own rows. A file holds those of all rows, also of
    other workers, so another number of replicas can load it if the total number of rows
    is the same.

    Args:
        rows: int, R, rows of a batch on one replica.
        shapes: list of tuple, the shape of each state of one row.

    Inputs:
        fresh int (R,), 1 where a row starts from zeros.

    Returns:
        list of float32 (R, ...), the states.

    Raises:
        ValueError: if a file holds the states of another number of rows.

    Example:
        >>> layer = CarriedState(rows=2, shapes=[(3,)])
        >>> [tuple(state.shape) for state in layer(ops.ones((2,), "int32"))]
        [(2, 3)]
    """

    def __init__(self, rows, shapes, **kwargs):
        super().__init__(**kwargs)
        keep_checked(self, Size, rows=rows)
        check_values(list[list[Size]], shapes=shapes)
        self.shapes = [tuple(shape) for shape in shapes]

    def build(self, fresh_shape):
        """Creates the states, which are zero."""
        # `add_weight` has no argument `synchronization`.
        self.states = {
            kind: [
                keras.Variable(
                    "zeros",
                    (self.rows, *shape),
                    "float32",
                    trainable=False,
                    autocast=False,
                    aggregation="only_first_replica",
                    synchronization="on_read",
                    name=f"{kind}_{index}",
                )
                for index, shape in enumerate(self.shapes)
            ]
            for kind in ("training", "evaluation")
        }

    def kept(self, training):
        """The variables for training or for evaluation."""
        return self.states["training" if training else "evaluation"]

    def call(self, fresh, training=None):
        """Returns the states, zeros for rows that start."""
        keep = 1 - ops.cast(fresh, "float32")
        states = [ops.convert_to_tensor(v) for v in self.kept(training)]
        return [s * ops.reshape(keep, (-1, *[1] * (s.ndim - 1))) for s in states]

    def save_own_variables(self, store):
        """Saves the states of the rows of all replicas."""
        for index, variable in enumerate(self.non_trainable_variables):
            store[str(index)] = _all_rows(variable)

    def load_own_variables(self, store):
        """Assigns to every replica the states of its rows."""
        for index, variable in enumerate(self.non_trainable_variables):
            states, count = store[str(index)], _replica_count(variable)
            if len(states) != count * self.rows:
                raise ValueError(
                    "The file must hold a state for each row of a batch. Received: "
                    f"states of {len(states)} rows, for {count} replicas of "
                    f"{self.rows} rows. To continue without states, save the model as "
                    "a preset."
                )
            for number, replica in _replicas(variable):
                replica.assign(states[number * self.rows :][: self.rows])

    def compute_output_spec(self, fresh, training=None):
        """float32 tensors of the shapes of the states."""
        shapes = [(self.rows, *shape) for shape in self.shapes]
        return [keras.KerasTensor(shape, dtype="float32") for shape in shapes]


def _replicas(variable):
    """The variable of each replica of this process, and its number among all."""
    if not hasattr(variable.value, "values"):  # without a strategy
        return [(0, variable)]
    import tensorflow as tf

    strategy, values = variable.value.distribute_strategy, variable.value.values

    def number():
        return tf.distribute.get_replica_context().replica_id_in_sync_group

    numbers = strategy.experimental_local_results(strategy.run(number))
    return [*zip(map(int, numbers), values, strict=True)]


def _replica_count(variable):
    """The number of replicas of a variable, on all workers."""
    strategy = getattr(variable.value, "distribute_strategy", None)
    return strategy.num_replicas_in_sync if strategy else 1


def _all_rows(variable):
    """The rows of all replicas of a variable, on all workers."""
    if not hasattr(variable.value, "values"):
        return ops.convert_to_numpy(variable)
    import tensorflow as tf

    strategy = variable.value.distribute_strategy
    read = tf.function(lambda: tf.identity(variable.value), autograph=False)
    return strategy.gather(strategy.run(read), axis=0)


@keras.saving.register_keras_serializable(package="zoo")
class KeepState(keras.layers.Layer):
    """Stores the initial states of the next batch, and returns its first input.

    Args:
        carried: built `CarriedState`, which holds the states.

    Inputs:
        x (...); states, a list as `CarriedState` returns.

    Returns:
        x.

    Example:
        >>> carried = CarriedState(rows=1, shapes=[(2,)])
        >>> carried.build((1,))
        >>> output = KeepState(carried)(ops.ones((1, 3)), [ops.ones((1, 2))])
        >>> carried(ops.zeros((1,), "int32"))[0].numpy().tolist()
        [[1.0, 1.0]]
    """

    def __init__(self, carried, **kwargs):
        super().__init__(**kwargs)
        self.carried = carried

    def call(self, x, states, training=None):
        """Assigns the states."""
        for variable, state in zip(self.carried.kept(training), states, strict=True):
            variable.assign(ops.cast(ops.stop_gradient(state), "float32"))
        return x

    def compute_output_spec(self, x, states, training=None):
        """The shape and dtype of x."""
        return keras.KerasTensor(x.shape, dtype=x.dtype)


class StatefulModel:
    """A recurrent backbone that carries its states over from call to call.

    Row r of a batch starts with the final state of row r of the previous batch. The
    published vectors of ELMo were computed this way; the authors advise to run a few
    sentences first, and to ignore their vectors.

    Args:
        backbone: `zoo.backbone.Backbone` with states.
        names: list of str, outputs of the backbone.

    Inputs:
        As the backbone's. The states of rows that a batch lacks do not change.

    Returns:
        dict of the outputs.
    """

    def __init__(self, backbone, names):
        self.backbone = backbone
        self.names = tuple(names)
        self.reset()

    def reset(self):
        """Resets the states: the next call starts from zeros."""
        self.states = self.backbone.make_states(0)

    def __call__(self, inputs):
        """Runs the model and keeps its states."""
        inputs = self.backbone.complete(inputs)
        rows = inputs["padding_mask"].shape[0]
        more = max(rows - next(iter(self.states.values())).shape[0], 0)
        new = self.backbone.make_states(more)
        states = {k: ops.concatenate([v, new[k]]) for k, v in self.states.items()}
        known = {name: state[:rows] for name, state in states.items()}
        outputs, after = self.backbone.step(inputs, known, self.names)
        self.states = {
            name: ops.concatenate([after[name], state[rows:]])
            for name, state in states.items()
        }
        return outputs
