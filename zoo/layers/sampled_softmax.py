"""The loss of a language model with a large vocabulary."""

import math

import keras
from keras import ops

from zoo.checks.ranges import Count, Size, check_value
from zoo.layers.checked_arguments import keep_checked

TARGETS_IN_BLOCK = 4096  # targets whose logits are computed at once


@keras.saving.register_keras_serializable(package="zoo")
class SampledSoftmax(keras.layers.Layer):
    """Negative log-likelihood of words, by a softmax over all words or over a sample.

    Over all words, the loss of a target t is `-log softmax(h E^T + c)[t]`. In training
    with a sample s of `num_samples` words, it is
    `-log softmax([h E_t + c_t, h E_s^T + c_s - log Q_s])[0]`, where Q is the expected
    count of a word in the sample, so that the sums over samples have the sum over all
    words as their mean.

    Word ids must be in the order of decreasing frequency. Words are drawn by Zipf's
    law, `P(k) = log((k + 2) / (k + 1)) / log(V + 1)`: one from each of `num_samples`
    equal intervals of cumulative probability, so `Q = num_samples P`. A drawn word that
    equals the target is ignored.

    Source: Bengio and Senecal 2003 for the estimate. Jozefowicz et al. 2016 and bilm-tf
    draw without replacement by TensorFlow's `log_uniform_candidate_sampler`, which
    fails under XLA and exists on no other backend, and subtract log Q from the logit of
    the target, too.

    Args:
        vocabulary_size: int, V, number of words.
        num_samples: int, words drawn for each batch; None for all words.
        seed: int, seed of the samples.

    Inputs:
        hidden (..., D); targets int (...).

    Returns:
        float32 (...) under every policy. The softmax over all words needs V floats of
        memory for each target.

    Raises:
        ValueError: if a size is not positive.

    Example:
        >>> layer = SampledSoftmax(vocabulary_size=9, num_samples=4)
        >>> tuple(layer(ops.ones((2, 3, 4)), ops.ones((2, 3), "int32")).shape)
        (2, 3)
    """

    def __init__(self, vocabulary_size, num_samples=None, seed=None, **kwargs):
        super().__init__(**kwargs)
        keep_checked(self, Size, vocabulary_size=vocabulary_size)
        keep_checked(self, Size | None, num_samples=num_samples)
        seed = check_value("seed", seed, Count | None)
        self.seed_generator = keras.random.SeedGenerator(seed)

    def build(self, hidden_shape, *args, **kwargs):
        """Creates the kernel E (V, D) and the bias c (V,)."""
        width = hidden_shape[-1]
        self.kernel = self.add_weight(
            name="kernel",
            shape=(self.vocabulary_size, width),
            initializer=keras.initializers.RandomNormal(stddev=1 / math.sqrt(width)),
        )
        self.bias = self.add_weight(
            name="bias", shape=(self.vocabulary_size,), initializer="zeros"
        )

    def call(self, hidden, targets, training=None):
        """Computes the loss of each target; see the class."""
        shape = ops.shape(targets)
        hidden = ops.reshape(hidden, (-1, hidden.shape[-1]))
        targets = ops.cast(ops.reshape(targets, (-1,)), "int32")
        if training and self.num_samples:
            samples = self.draw()
            logits, target_logits = self.sampled_logits(hidden, targets, samples)
            logits = ops.concatenate([target_logits[:, None], logits], axis=1)
            losses = ops.logsumexp(logits, axis=1) - target_logits
        elif training:
            losses = self.full_losses(hidden, targets)
        else:
            losses = self.blocked_losses(hidden, targets)
        return ops.reshape(losses, shape)

    def full_losses(self, hidden, targets):
        """Computes the losses (N,) of targets by the softmax over all words."""
        logits = ops.matmul(hidden, ops.transpose(self._cast(self.kernel)))
        logits = ops.cast(logits, "float32") + ops.cast(self.bias, "float32")
        target_logits = ops.take_along_axis(logits, targets[:, None], axis=1)[:, 0]
        return ops.logsumexp(logits, axis=1) - target_logits

    def blocked_losses(self, hidden, targets):
        """Computes `full_losses` of at most `TARGETS_IN_BLOCK` targets at once."""
        count = ops.shape(targets)[0]
        least, most = ops.minimum, ops.maximum
        if isinstance(count, int):  # JAX reshapes to known numbers only
            least, most = min, max
        size = least(most(count, 1), TARGETS_IN_BLOCK)
        blocks = most(-(-count // size), 1)  # also of a replica without rows
        more = blocks * size - count
        hidden = ops.pad(hidden, ((0, more), (0, 0)))
        targets = ops.pad(targets, ((0, more),))
        losses = ops.map(
            lambda block: self.full_losses(*block),
            (
                ops.reshape(hidden, (blocks, size, hidden.shape[-1])),
                ops.reshape(targets, (blocks, size)),
            ),
        )
        return ops.reshape(losses, (-1,))[:count]

    def draw(self):
        """Draws the words of a sample, int32 (num_samples,)."""
        jitter = keras.random.uniform((self.num_samples,), seed=self.seed_generator)
        uniform = (ops.arange(self.num_samples, dtype="float32") + jitter) / float(
            self.num_samples
        )
        words = ops.exp(uniform * math.log(self.vocabulary_size + 1)) - 1
        return ops.clip(ops.cast(words, "int32"), 0, self.vocabulary_size - 1)

    def expected(self, words):
        """Computes log Q, the logarithm of the expected count of words, float32."""
        rank = ops.cast(words, "float32")
        share = ops.log1p(1 / (rank + 1)) / math.log(self.vocabulary_size + 1)
        return ops.log(share * self.num_samples)

    def sampled_logits(self, hidden, targets, samples):
        """Computes corrected logits of the sample (N, S), and of the targets (N,)."""
        words = ops.concatenate([targets, samples], axis=0)
        rows = self._cast(ops.take(self.kernel, words, axis=0))
        offsets = ops.cast(ops.take(self.bias, words, axis=0), "float32")
        count = ops.shape(targets)[0]
        target_logits = ops.sum(ops.cast(hidden * rows[:count], "float32"), axis=1)
        logits = ops.cast(ops.matmul(hidden, ops.transpose(rows[count:])), "float32")
        logits = logits + offsets[count:] - self.expected(samples)
        hit = targets[:, None] == samples
        return ops.where(hit, -1e9, logits), target_logits + offsets[:count]

    def _cast(self, x):
        return ops.cast(x, self.compute_dtype)

    def compute_output_spec(self, hidden, targets, training=None):
        """float32, of the shape of the targets."""
        return keras.KerasTensor(targets.shape, dtype="float32")
