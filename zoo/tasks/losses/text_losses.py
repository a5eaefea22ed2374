"""The losses of a causal language model on texts of any length."""

from keras import ops

from zoo.tasks.inputs.windows import part_of, read_windows
from zoo.tasks.losses.label_smoothing import token_losses

POSITIONS_IN_BLOCK = 64  # whose logits are in memory together


def text_losses(backbone, head, inputs, longest=None, stride=None):
    """The sum of the losses of each row; the memory does not depend on its length.

    A backbone that carries states reads a row in windows. Another one reads windows of
    its longest sequence, which overlap. Each window begins `stride` tokens after the
    one before. A token counts in the first window that it is in, so it depends on at
    least `longest - stride` tokens before it, or on all of them.

    Source: Baevski and Auli 2019, section 5.1, for windows that overlap. A window of n
    tokens predicts n tokens, the last of which follows it. In the guide of
    transformers, it predicts n - 1, so its sums are slightly different.

    Args:
        backbone: `zoo.backbone.Backbone` that predicts the next token.
        head: layer, vectors (B, L, D) to logits (B, L, V).
        inputs: dict of (B, L): the inputs of the backbone; following, the token to
            predict at each position; and weight, float32, 1 where there is one.
        longest: int, the most tokens that the backbone reads together.
        stride: int, at most `longest`; by default a half of it.

    Returns:
        float32 (B,).
    """

    def add(total, vectors, part):
        following, weight = part["following"], part["weight"]
        return total + _losses(head, vectors, following, weight)

    first = ops.zeros_like(inputs["weight"][:, 0])
    if backbone.carries_states:
        return read_windows(backbone, inputs, add, first)[0]
    length = ops.shape(inputs["weight"])[1]
    stride = min(stride or max(longest // 2, 1), longest)
    size = ops.minimum(longest, length)
    count = 1 + -(-ops.maximum(length - longest, 0) // stride)
    more = (count - 1) * stride + size - length
    inputs = {k: ops.pad(v, [[0, 0], [0, more]]) for k, v in inputs.items()}
    places = ops.arange(size, dtype="int32")[None]

    def read(number, total):
        part = {k: part_of(v, number * stride, size) for k, v in inputs.items()}
        new = ops.equal(number, 0) | (places >= size - stride)
        part["weight"] = part["weight"] * ops.cast(new, "float32")
        vectors = backbone(part, training=False)["sequence_output"]
        return number + 1, add(total, vectors, part)

    start = ops.zeros((), "int32"), first
    return ops.while_loop(lambda number, _: number < count, read, start)[1]


def _losses(head, vectors, following, weight):
    """The sum of the losses of each row (B,), some positions at a time."""
    length = ops.shape(weight)[1]
    count = -(-length // POSITIONS_IN_BLOCK)
    more = [0, count * POSITIONS_IN_BLOCK - length]
    vectors = ops.pad(vectors, [[0, 0], more, [0, 0]])
    following, weight = (ops.pad(x, [[0, 0], more]) for x in (following, weight))

    def add(number, total):
        parts = (
            part_of(x, number * POSITIONS_IN_BLOCK, POSITIONS_IN_BLOCK) for x in given
        )
        hidden, next_ids, part_weight = parts
        losses = token_losses(head(hidden), next_ids) * part_weight
        return number + 1, total + ops.sum(losses, axis=1)

    given = vectors, following, weight
    start = ops.zeros((), "int32"), ops.zeros_like(weight[:, 0])
    return ops.while_loop(lambda number, _: number < count, add, start)[1]
