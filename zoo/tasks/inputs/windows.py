"""How a recurrent backbone reads texts of any length, window by window."""

from keras import ops

TOKENS_IN_WINDOW = 70  # tokens that are read together
TOKENS_IN_TAIL = 1400  # tokens of a text that a classifier's gradient reaches


def read_windows(backbone, inputs, update=None, value=()):
    """Reads rows in windows, so that the memory does not depend on their length.

    The states are carried over from window to window, so the vectors are those of the
    whole rows. All windows have the same length, at most `TOKENS_IN_WINDOW`.

    Args:
        backbone: `zoo.backbone.Backbone` with `carries_states`.
        inputs: dict of (B, L, ...): the inputs of the backbone with its padding_mask,
            and what else `update` reads.
        update: function of the value, the vectors (B, W, D) of a window and its part of
            `inputs` to the next value. None if only the states are needed.
        value: nest of tensors, the value before the first window.

    Returns:
        The value after the last window, and the states, dict.
    """
    rows, length = ops.shape(inputs["padding_mask"])
    count = -(-length // TOKENS_IN_WINDOW)
    size = -(-length // (max(count, 1) if _known(count) else ops.maximum(count, 1)))
    more = count * size - length
    inputs = {
        name: ops.pad(part, [[0, 0], [0, more], *[[0, 0]] * (len(part.shape) - 2)])
        for name, part in inputs.items()
    }
    first = backbone.make_states(rows)

    def read(number, value, states):
        place = (count - 1 - number if backbone.reverse else number) * size
        part = {name: part_of(part, place, size) for name, part in inputs.items()}
        outputs, after = backbone.step(part, states)
        # Under a 16-bit policy, a state may be narrower than it began.
        after = {name: ops.cast(after[name], first[name].dtype) for name in first}
        if update is not None:
            value = update(value, outputs["sequence_output"], part)
        return number + 1, value, after

    start = (ops.zeros((), "int32"), value, first)
    _, value, states = ops.while_loop(lambda number, *_: number < count, read, start)
    return value, states


def pool_windows(backbone, pooling, inputs, tail=None):
    """One vector for each row, of any length.

    Without `tail` it is for use outside training. With it, the gradient reaches the
    last `tail` tokens that the backbone reads of each row. The tokens before them are
    read in windows, without a gradient, and have their part in the vector. Each window
    has dropout masks of its own.

    Source: "BPT3C" of Howard and Ruder 2018, section 3.3. fastai has a gradient for the
    last 1400 tokens, too, but not from one window to the one before. Its vector leaves
    the tokens before them out, also outside training.

    Args:
        backbone: `zoo.backbone.Backbone` with `carries_states`.
        pooling: layer with `start`, `read` and `finish`, such as
            `zoo.layers.ConcatPooling`.
        inputs: dict of (B, L), the inputs of the backbone.
        tail: int, or None.

    Returns:
        (B, P), the output of the layer.
    """
    rows, length = ops.shape(inputs["padding_mask"])
    width = backbone.output["sequence_output"].shape[-1]
    value = pooling.start(rows, width)

    def update(value, sequence, part):
        return pooling.read(value, sequence, part["padding_mask"])

    if tail is None:
        return pooling.finish(read_windows(backbone, inputs, update, value)[0])
    before = max(length - tail, 0) if _known(length) else ops.maximum(length - tail, 0)
    if not backbone.reverse:
        inputs = _align_ends(inputs)
    sizes = (before, length - before)
    places = (length - before, 0) if backbone.reverse else (0, before)
    early, late = (
        {name: part_of(part, place, size) for name, part in inputs.items()}
        for place, size in zip(places, sizes, strict=True)
    )
    value, states = read_windows(backbone, early, update, value)
    value = {name: ops.stop_gradient(part) for name, part in value.items()}
    states = {name: ops.stop_gradient(part) for name, part in states.items()}
    outputs, _ = backbone.step(late, states)
    return pooling.finish(update(value, outputs["sequence_output"], late))


def _known(size):
    """Whether a size is a number, and not a tensor."""
    return isinstance(size, int)


def part_of(x, place, size):
    """So many positions of x (B, L, ...), from a place on."""
    shape = ops.shape(x)
    inner = shape[2:]
    start = ops.stack([ops.cast(n, "int32") for n in (0, place, *[0] * len(inner))])
    return ops.slice(x, start, (shape[0], size, *inner))


def _align_ends(inputs):
    """Moves the last tokens of all rows to the last position."""
    mask = ops.cast(inputs["padding_mask"], "int32")
    length = ops.shape(mask)[1]
    places = ops.arange(length, dtype="int32")[None]
    ends = ops.max(mask * (places + 1), axis=1, keepdims=True, initial=0)
    source = (places + ends) % ops.maximum(length, 1)
    return {name: ops.take_along_axis(x, source, axis=1) for name, x in inputs.items()}
