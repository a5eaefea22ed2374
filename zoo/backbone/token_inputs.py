"""The inputs of a backbone: tokens, and inputs that are derived from them."""

import keras
import numpy as np
from keras import backend, ops

MIN_INT32, MAX_INT32 = -(2**31), 2**31 - 1  # of int32
WIDE_DTYPES = ("int64", "uint32", "uint64", "float32", "float64")  # may hold more


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

    def input_shapes(self, config):
        """The shapes of a row of each input: tokens, and what derives from them."""
        return dict.fromkeys((self.tokens, *self.derived_inputs), (None,))

    def make_inputs(self, config):
        """The symbolic inputs, int32, dict."""
        return {
            name: keras.Input(shape, dtype="int32", name=name)
            for name, shape in self.input_shapes(config).items()
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
        check_integers(x if isinstance(x, dict) else {self.tokens: x})
        return super().predict(x, *args, **kwargs)

    def complete(self, inputs):
        """Adds the inputs that can be derived from the tokens, and leaves others out.

        Args:
            inputs: dict with at least the tokens, int (B, L) in most families.

        Returns:
            dict with every input of the model, and no other.

        Raises:
            TypeError: if the token ids are strings.
            ValueError: if there are no tokens, more than the model has positions, or if
                an input is missing that cannot be derived.
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
        dtype = getattr(x, "dtype", None)
        dtype = str(getattr(dtype, "name", dtype))
        if dtype in ("string", "object") or dtype.startswith(("str", "bytes")):
            raise TypeError(
                f"{type(self).__name__} takes token ids, not text. Received: strings. "
                'Load the preset with a task, such as `task="text_embedder"`, and '
                "call its `predict`. Or make token ids with `zoo.data.Packer("
                "backbone.tokenizer, length)((texts,))`."
            )


def to_tensors(inputs, names):
    """A dict of the inputs with these names; arrays and lists are int32 tensors."""
    inputs = {name: inputs[name] for name in names if name in inputs}
    check_integers(inputs)
    return {
        key: ops.convert_to_tensor(value, "int32")
        if not hasattr(value, "dtype") or isinstance(value, np.ndarray)
        else _as_int32(value)
        for key, value in inputs.items()
    }


def check_inputs(x, names):
    """ValueError for token ids, in a dict or an array, that lack the named inputs."""
    if isinstance(x, dict):
        known = {name: x[name] for name in names if name in x}
        check_integers(known)
        received = None if known else f"a dict with {[*x]}"
    else:
        dtype = getattr(x, "dtype", None)
        dtype = str(getattr(dtype, "name", dtype))
        numbers = dtype.startswith(("int", "uint", "float", "bfloat", "bool"))
        numbers = numbers and 0 not in x.shape  # which may stand for no texts
        received = f"an array of {dtype}" if numbers and len(names) > 1 else None
    if received:
        raise ValueError(
            f"Token ids must be in a dict of {', '.join(names)}. Received: {received}. "
            "Give texts, or the output of the `preprocessor`."
        )


def check_integers(inputs):
    """Raises ValueError if an array or list in a dict has what int32 does not hold."""
    for name, values in inputs.items():
        array = np.asarray(values if isinstance(values, (list, np.ndarray)) else ())
        if array.dtype.kind not in "iuf":
            continue
        with np.errstate(invalid="ignore"):
            right = (array % 1 == 0) & (array >= MIN_INT32) & (array <= MAX_INT32)
        if not right.all():
            raise ValueError(
                f"`{name}` must hold integers in [{MIN_INT32}, {MAX_INT32}]. Received: "
                f"{array[~right][0]}. Use the ids of the tokenizer."
            )


def _as_int32(values):
    """A tensor as int32; the largest one stands for what int32 does not hold."""
    dtype = backend.standardize_dtype(values.dtype)
    if dtype not in WIDE_DTYPES:
        return values
    values = values if dtype.startswith("float") else ops.cast(values, "int64")
    right = (values % 1 == 0) & (values >= MIN_INT32) & (values < MAX_INT32 + 1)
    return ops.cast(ops.where(right, values, MAX_INT32), "int32")
