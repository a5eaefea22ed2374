"""The inputs of a backbone: tokens, and inputs that are derived from them."""

import numpy as np
from keras import ops


class TokenInputs:
    """Overrides the calls of `keras.Model`, so that tokens are the only needed input.

    Attributes:
        tokens: str, the input that the others are derived from.
        derived_inputs: dict of the name of an input to a function of tokens and config.
            By default, padding is where the token is 0.
    """

    tokens = "token_ids"
    derived_inputs = {
        "padding_mask": lambda ids, config: ops.cast(ops.not_equal(ids, 0), "int32")
    }

    def __call__(self, inputs, *args, **kwargs):
        """Calls the model on a dict, or on tokens; missing masks are added first."""
        if not isinstance(inputs, dict):
            inputs = {self.tokens: inputs}
        return super().__call__(self.complete(inputs), *args, **kwargs)

    def predict(self, x, *args, **kwargs):
        """Keras' `predict`, on token ids."""
        x = np.asarray(x) if isinstance(x, list) else x
        self._refuse_text(x)
        return super().predict(x, *args, **kwargs)

    def complete(self, inputs):
        """Adds the inputs that can be derived from the tokens.

        Args:
            inputs: dict with at least token_ids, int (B, L), or the tokens of the
                family. Features that are not inputs of the model are ignored.

        Returns:
            dict with every input of the model, and no other.

        Raises:
            TypeError: if the token ids are strings.
            ValueError: if there are no tokens, if there are more than the model has
                positions, or if an input is missing that cannot be derived.
        """
        if self.tokens not in inputs:
            raise ValueError(
                f"{type(self).__name__} needs `{self.tokens}`. Received: "
                f"{sorted(inputs)}."
            )
        tokens = inputs[self.tokens]
        if not hasattr(tokens, "dtype"):
            tokens = np.asarray(tokens)
        self._refuse_text(tokens)
        length, longest = tokens.shape[1:2], self.config.max_sequence_length
        if longest and length and length[0] and length[0] > longest:
            raise ValueError(
                f"The sequence must have at most {longest} tokens, since the model has "
                f"{longest} positions. Received: {length[0]} tokens. Truncate it."
            )
        complete = to_tensors({**inputs, self.tokens: tokens}, self.input)
        for key, derive in self.derived_inputs.items():
            if complete.get(key) is None:
                complete[key] = derive(tokens, self.config)
        missing = self.input.keys() - complete.keys()
        if missing:
            raise ValueError(
                f"{type(self).__name__} also needs `{'`, `'.join(sorted(missing))}`. "
                f"Received: {sorted(inputs)}. `inputs` of its tokenizer makes them."
            )
        # Keras would take other features for inputs, in the order of their names.
        return {key: complete[key] for key in self.input}

    def _refuse_text(self, x):
        if hasattr(x, "dtype") and is_text(x):
            raise TypeError(
                f"{type(self).__name__} takes token ids, not text. Received: strings. "
                'Load the preset with a task, such as `task="text_embedder"`, and '
                "call its `predict`. Or make token ids with `zoo.data.Packer("
                "backbone.tokenizer, length)((texts,))`."
            )


def to_tensors(inputs, names):
    """A dict of the inputs with these names. Arrays and lists are int32 tensors.

    A functional model does not accept a mixture of arrays and tensors.
    """
    inputs = {name: inputs[name] for name in names if name in inputs}
    return {
        key: ops.convert_to_tensor(value, "int32")
        if not hasattr(value, "dtype") or isinstance(value, np.ndarray)
        else value
        for key, value in inputs.items()
    }


def is_text(tensor):
    """Whether an array or tensor holds strings, by its dtype."""
    dtype = str(getattr(tensor.dtype, "name", tensor.dtype))
    return dtype in ("string", "object") or dtype.startswith(("str", "bytes"))
