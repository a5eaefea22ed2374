"""The outputs of recurrent layers of different widths as one tensor."""

from keras import ops


def stack_outputs(outputs):
    """Stacks outputs (B, L, D_i): (B, N, L, max D_i), with zeros on the last axis."""
    widest = max(x.shape[-1] for x in outputs)
    padded = [ops.pad(x, ((0, 0), (0, 0), (0, widest - x.shape[-1]))) for x in outputs]
    return ops.stack(padded, axis=1)
