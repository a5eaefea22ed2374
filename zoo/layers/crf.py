"""A linear-chain conditional random field."""

import math

import keras
from keras import ops

from zoo.layers.checked_arguments import keep_checked
from zoo.layers.recurrent.scan import custom_gradient, scan

# The score of an impossible transition. Sums of such scores are still finite.
IMPOSSIBLE_SCORE = -1e9


@keras.saving.register_keras_serializable(package="zoo")
class CRF(keras.layers.Layer):
    """The potentials of a linear-chain CRF: scores of pairs of neighbouring tags.

    `potentials[t, i, j] = emissions[t, j] + transitions[i, j]` is the score of tag j at
    token t after tag i. At the first token it is `emissions[0, j] + start[j]` in row 0,
    and all other rows are impossible. At the last token `end[j]` is added. At padding
    the tag does not change and the score is 0, so `log_partition`, `path_score`,
    `best_path` and `marginals`, which take the potentials, need no mask.

    Source: Lafferty et al. 2001; Lample et al. 2016, section 2.2.

    Args:
        boundaries: bool, whether the first and the last tag have scores.

    Inputs:
        emissions (B, L, T); optional mask (B, L), 1 = token, tokens before padding.

    Returns:
        (B, L, T, T), float32 under every policy.

    Example:
        >>> emissions = ops.convert_to_tensor([[[0.0, 2.0], [3.0, 1.0]]])
        >>> tags, score = best_path(CRF()(emissions))
        >>> tuple(tags.shape), tuple(score.shape)
        ((1, 2), (1,))
    """

    def __init__(self, boundaries=True, **kwargs):
        super().__init__(**{**kwargs, "dtype": "float32"})
        keep_checked(self, bool, boundaries=boundaries)
        self.supports_masking = True

    def build(self, input_shape, *args, **kwargs):
        """Creates the scores: transitions (T, T), start (T,) and end (T,)."""
        tags = input_shape[-1]
        self.transitions = self.add_weight(
            name="transitions", shape=(tags, tags), initializer="glorot_normal"
        )
        self.start = self.end = None
        if self.boundaries:
            self.start, self.end = (
                self.add_weight(name=name, shape=(tags,), initializer="zeros")
                for name in ("start", "end")
            )

    def call(self, emissions, mask=None):
        """Computes the potentials; see the class."""
        emissions = ops.cast(emissions, "float32")
        if mask is None:
            mask = ops.ones_like(emissions[:, :, 0])
        mask = ops.cast(mask, "bool")
        if self.boundaries:
            last = ops.cast(_is_last(mask), "float32")
            emissions = emissions + last[:, :, None] * self.end
        tags = emissions.shape[-1]
        potentials = emissions[:, :, None, :] + self.transitions
        first = emissions[:, :1] + (self.start if self.boundaries else 0.0)
        later_tags = ops.reshape(ops.arange(tags) > 0, (1, 1, tags, 1))
        first = ops.where(later_tags, IMPOSSIBLE_SCORE, first[:, :, None, :])
        potentials = ops.concatenate([first, potentials[:, 1:]], axis=1)
        same_tag = ops.where(ops.eye(tags, dtype="bool"), 0.0, IMPOSSIBLE_SCORE)
        return ops.where(mask[:, :, None, None], potentials, same_tag)

    def compute_mask(self, inputs, mask=None):
        """Returns None: the potentials contain the mask."""
        return None

    def compute_output_shape(self, input_shape, *args, **kwargs):
        """(B, L, T, T)."""
        return (*input_shape, input_shape[-1])


def _is_last(mask):
    """Marks the last token of each row, bool (B, L)."""
    return mask & ~ops.pad(mask[:, 1:], ((0, 0), (0, 1)))


def log_partition(potentials):
    """The logarithm (B,) of the sum over all paths of exp(score); L is at least 1."""

    # The gradient is computed by one loop forward and one loop backward, instead of
    # automatic differentiation of the loop.
    @custom_gradient
    def run(potentials):
        total, expected = forward_backward(potentials)

        def gradient(upstream):
            return upstream[:, None, None, None] * expected()

        return total, gradient

    return run(potentials)


def forward_backward(potentials):
    """The log of the sum over all paths (B,), and a function to pairs' shares."""
    steps = ops.transpose(potentials, (1, 0, 2, 3))
    start = _only_first(steps)
    (last, total), (after, _) = scan(
        lambda state, p: _scaled(state, state[0][:, :, None] + p[0], axis=1),
        (start, ops.zeros_like(start[:, 0])),
        (steps,),
    )
    nothing = ops.zeros_like(last)

    def expected():
        _, (ahead, _) = scan(
            lambda state, p: _scaled(state, p[0] + state[0][:, None, :], axis=2),
            (nothing, nothing[:, 0]),
            (steps,),
            reverse=True,
        )
        before = ops.concatenate([start[None], after[:-1]], axis=0)
        ahead = ops.concatenate([ahead[1:], nothing[None]], axis=0)
        scores = before[:, :, :, None] + steps + ahead[:, :, None, :]
        pairs = ops.exp(
            scores - ops.max(scores, axis=(2, 3), keepdims=True, initial=-math.inf)
        )
        pairs = pairs / ops.sum(pairs, axis=(2, 3), keepdims=True)
        return ops.transpose(pairs, (1, 0, 2, 3))

    return total + ops.logsumexp(last, axis=-1), expected


def _scaled(state, scores, axis):
    """Sums over an axis in log space, and subtracts the largest sum of each row."""
    # The subtracted values are added up in the second state. Without this, the sums of
    # a long text would lose precision.
    sums = ops.logsumexp(scores, axis=axis)
    largest = ops.max(sums, axis=-1, initial=-math.inf)
    return sums - largest[:, None], state[1] + largest


def _only_first(steps):
    """The state before the first token: only tag 0, since only row 0 is possible."""
    tags = steps.shape[-1]
    start = ops.where(ops.arange(tags) == 0, 0.0, IMPOSSIBLE_SCORE)
    return ops.zeros_like(steps[0, :, 0, :]) + start


def path_score(potentials, tags):
    """The scores (B,) of paths of tags (B, L), which are -1 at padding."""
    tags = ops.cast(tags, "int32")
    real = ops.cast(tags >= 0, potentials.dtype)
    before = ops.pad(ops.maximum(tags[:, :-1], 0), ((0, 0), (1, 0)))
    count = potentials.shape[-1]
    place = before * count + ops.maximum(tags, 0)
    flat = ops.reshape(potentials, (*ops.shape(potentials)[:2], count * count))
    scores = ops.take_along_axis(flat, place[:, :, None], axis=2)[:, :, 0]
    return ops.sum(scores * real, axis=1)


def marginals(potentials):
    """The probability of every tag at every token, (B, L, T); L is at least 1."""
    return ops.sum(forward_backward(potentials)[1](), axis=2)


def best_path(potentials):
    """The path with the highest score, int32 (B, L), and its score (B,), by Viterbi.

    L is at least 1. At equal scores the tag with the lower number is chosen. At padding
    the tag is that of the last token.
    """
    steps = ops.transpose(potentials, (1, 0, 2, 3))
    start = _only_first(steps)
    nothing = ops.zeros_like(ops.cast(start, "int32"))

    def forward(state, inputs):
        scores = state[0][:, :, None] + inputs[0]
        came_from = ops.cast(ops.argmax(scores, axis=1), "int32")
        return ops.max(scores, axis=1, initial=-math.inf), came_from

    (last, _), (_, came_from) = scan(forward, (start, nothing), (steps,))
    best = ops.cast(ops.argmax(last, axis=-1), "int32")

    def backward(state, inputs):
        tag = state[1]
        before = ops.take_along_axis(inputs[0], tag[:, None], axis=1)[:, 0]
        return tag, before

    _, (tags, _) = scan(backward, (best, best), (came_from,), reverse=True)
    return ops.transpose(tags), ops.max(last, axis=-1, initial=-math.inf)


def forbid(potentials, allowed, mask=None):
    """Makes impossible what `allowed`, bool (T + 1, T + 1), does not admit."""
    # Row T is the start of the sentence, column T its end. `best_path` never takes the
    # others.
    tags = potentials.shape[-1]
    if mask is None:
        mask = ops.ones_like(potentials[:, :, 0, 0])
    mask = ops.cast(mask, "bool")
    allowed = ops.convert_to_tensor(allowed, "bool")
    inside = allowed[:tags, :tags]
    first = ops.broadcast_to(allowed[tags, :tags], (tags, tags))
    place = ops.arange(ops.shape(mask)[1])[None, :, None, None]
    kept = ops.where(place == 0, first, inside)
    kept = kept & (allowed[:tags, tags] | ~_is_last(mask)[:, :, None, None])
    return ops.where(kept | ~mask[:, :, None, None], potentials, IMPOSSIBLE_SCORE)
