"""States that a model keeps from one batch to the next."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="zoo")
class CarriedState(keras.layers.Layer):
    """What the rows of the batch before ended with, for models that read on.

    Training and evaluation have states of their own, so that neither disturbs the
    other. They are saved with the model. On several replicas each keeps its own rows'
    states; a file holds those of all rows, so that it may be read on fewer or more
    replicas of as many rows together. Of several workers each saves its own rows.

    Args:
        rows: int, R, rows of a batch (of a replica's part of it).
        shapes: list of tuple, the shape of each state of a row.

    Inputs:
        fresh int (R,), 1 where a row begins anew, from zeros.

    Returns:
        list of float32 (R, ...), the states.
    """

    def __init__(self, rows, shapes, **kwargs):
        super().__init__(**kwargs)
        self.rows = rows
        self.shapes = [tuple(shape) for shape in shapes]

    def build(self, fresh_shape):
        """Creates the states, zeros."""
        self.states = {
            kind: [
                keras.Variable(  # `add_weight` has no synchronization
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
        self.built = True

    def kept(self, training):
        """The variables of training or of evaluation."""
        return self.states["training" if training else "evaluation"]

    def call(self, fresh, training=None):
        """Reads the states."""
        keep = 1 - ops.cast(fresh, "float32")
        states = [ops.convert_to_tensor(v) for v in self.kept(training)]
        return [s * ops.reshape(keep, (-1, *[1] * (s.ndim - 1))) for s in states]

    def save_own_variables(self, store):
        """Writes the states of all replicas' rows."""
        for index, variable in enumerate(self.non_trainable_variables):
            store[str(index)] = ops.concatenate([*_replicas(variable)])

    def load_own_variables(self, store):
        """Gives every replica its rows' states."""
        for index, variable in enumerate(self.non_trainable_variables):
            parts, states = _replicas(variable), store[str(index)]
            if len(states) != len(parts) * self.rows:
                raise ValueError(
                    "States must be of as many rows as the model reads. Received: "
                    f"{len(states)}, and {len(parts)} replicas of {self.rows} rows. "
                    "Save a preset to go on without them."
                )
            for number, part in enumerate(parts):
                part.assign(states[number * self.rows :][: self.rows])

    def compute_output_spec(self, fresh, training=None):
        """float32 of the states' shapes."""
        shapes = [(self.rows, *shape) for shape in self.shapes]
        return [keras.KerasTensor(shape, dtype="float32") for shape in shapes]


def _replicas(variable):
    """What holds the values of each replica, in order; without a strategy, itself."""
    return getattr(variable.value, "values", (variable,))


@keras.saving.register_keras_serializable(package="zoo")
class KeepState(keras.layers.Layer):
    """Stores what the next batch begins with, and hands its first input on.

    Args:
        carried: `CarriedState`, already built.

    Inputs:
        x (...); states, a list as `CarriedState` returns.

    Returns:
        x.
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
        """As x."""
        return keras.KerasTensor(x.shape, dtype=x.dtype)


class StatefulModel:
    """A recurrent backbone that begins where the call before ended, row by row.

    ELMo's published vectors were made so: row r of a batch goes on from row r of the
    batch before, whatever its sentence was. The authors advise a few sentences to warm
    up before the vectors count.

    Args:
        backbone: `zoo.backbone.Backbone` with `states`.
        names: outputs, see the backbone.

    Inputs:
        as the model's. Rows beyond a smaller batch keep their states.

    Returns:
        dict of the outputs.
    """

    def __init__(self, backbone, names):
        self.backbone = backbone
        self.model = backbone.with_outputs(*names, *backbone.states)
        self.reset()

    def reset(self):
        """Forgets everything: the next call begins at zero."""
        symbols = self.backbone.make_states(self.backbone.config)
        self.states = {k: ops.zeros((0, *v.shape[1:])) for k, v in symbols.items()}

    def __call__(self, inputs):
        """Runs the model and remembers its states."""
        inputs = self.backbone.complete(inputs)
        rows = inputs["padding_mask"].shape[0]
        states = {
            name: ops.pad(state, ((0, max(rows - state.shape[0], 0)), (0, 0), (0, 0)))
            for name, state in self.states.items()
        }
        outputs = self.model({**inputs, **{k: v[:rows] for k, v in states.items()}})
        self.states = {
            name: ops.concatenate([outputs.pop(name), state[rows:]])
            for name, state in states.items()
        }
        return outputs
