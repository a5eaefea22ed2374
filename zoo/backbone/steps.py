"""How a backbone reads texts step by step, with states or a cache."""

from keras import ops

from zoo.layers import StatefulModel


class Steps:
    """The steps of a backbone, which other models than recurrent ones override.

    Attributes:
        caches: bool, whether the states are the keys and values of all tokens, and so
            grow.
    """

    caches = False

    @staticmethod
    def state_shapes(config):
        """The shapes of the states of a row, dict of name to shape; none by default."""
        return {}

    @property
    def carries_states(self):
        """Whether windows with carried states give the vectors of whole texts."""
        return self.predicts == "next" and bool(self.state_shapes(self.config))

    def make_states(self, rows, length=None):
        """The states before the first token, dict; in a recurrent model float32 zeros.

        Args:
            rows: int, R = B * beams.
            length: int, how many tokens the states must hold. States of a fixed size
                ignore it.
            source: dict of int32 (B, L), the inputs of an encoder or tokens before the
                first one, with their padding mask; None without.
            beams: int, rows for each source, which follow each other.
        """
        shapes = self.state_shapes(self.config)
        return {name: ops.zeros((rows, *shape)) for name, shape in shapes.items()}

    def stateful(self, *names):
        """A model that carries its states over; see `zoo.layers.StatefulModel`."""
        return StatefulModel(self, names or ("sequence_output",))

    def fuse(self):
        """Weights in a form that makes steps faster, the argument `fused` of `step`."""
        return None

    def step(self, inputs, states, outputs=("sequence_output",), beams=1, fused=None):
        """Reads the next tokens of rows, one or several for each row.

        Args:
            inputs: tokens, or a dict of the inputs of the model.
            states: dict, from `make_states` or from the previous step.
            outputs: tuple of str, see `with_outputs`.
            beams: int, rows for each source. Recurrent states do not depend on it.
            fused: what `fuse` returned before, or None.

        Returns:
            dict of the outputs, and dict of the states after the tokens.
        """
        if not isinstance(inputs, dict):
            inputs = {self.tokens: inputs}
        model = self._step_model(*outputs, *self.state_shapes(self.config))
        found = model({**self.complete(inputs), **states})
        return {k: found[k] for k in outputs}, {k: found[k] for k in states}
