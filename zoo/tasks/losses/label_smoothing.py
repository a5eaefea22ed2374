"""Cross-entropy with smoothed labels, as different programs define it."""

import math

import keras
from keras import ops

from zoo.checks.ranges import Probability, check_choice, check_value

KINDS = ("paper", "fairseq", "uniform", "annotated")


@keras.saving.register_keras_serializable(package="zoo")
class SmoothedCrossentropy(keras.losses.Loss):
    """Cross-entropy against a distribution that is not 1 at the label.

    With smoothing e and V classes, the label has the probability p and each other class
    has q:

    - "paper": `p = 1 - e`, `q = e / (V - 1)`; the entropy of the distribution is
      subtracted, so that the least loss is 0. It is what tensor2tensor does.
    - "fairseq": the same without the subtraction.
    - "uniform": `p = 1 - e + e / V`, `q = e / V`, as in Keras and OpenNMT-tf.
    - "annotated": `p = 1 - e`, `q = e / (V - 2)`, where padding (class 0) has 0, and
      the entropy is subtracted, as in "The Annotated Transformer".

    Source: Szegedy et al. 2016, section 7; Vaswani et al. 2017, section 5.4; the
    released code of each program. Keras' `CategoricalCrossentropy` needs a distribution
    of V numbers for every token, and has "uniform" only.

    Args:
        smoothing: float in [0, 1), e.
        kind: str, see above.
        reduction, name, dtype: as of `keras.losses.Loss`.

    Inputs:
        y_true int (...); y_pred float (..., V), logits.

    Raises:
        ValueError: if the kind is unknown, or e is not in [0, 1).

    Example:
        >>> logits = ops.log(ops.array([[0.9, 0.05, 0.05]]))
        >>> loss = SmoothedCrossentropy(0.1)(ops.array([0]), logits)
        >>> round(abs(float(loss)), 5)
        0.0
    """

    def __init__(
        self,
        smoothing=0.1,
        kind="paper",
        reduction="mean_with_sample_weight",
        name="smoothed_crossentropy",
        **kwargs,
    ):
        super().__init__(name=name, reduction=reduction, **kwargs)
        self.smoothing = check_value("smoothing", smoothing, Probability)
        self.kind = check_choice("kind", kind, KINDS)

    def call(self, y_true, y_pred):
        """The loss of each token, (...)."""
        logits = ops.cast(y_pred, "float32")
        count = logits.shape[-1]
        right, wrong, fewer = probabilities(self.smoothing, count, self.kind)
        y_true = ops.cast(y_true, "int32")
        # sum of q * -log p over all classes, without V numbers for each token
        norm = ops.logsumexp(logits, axis=-1)
        loss = (right - wrong) * (norm - label_logits(logits, y_true))
        if wrong:
            total = count * norm - ops.sum(logits, axis=-1)
            if fewer:
                total = total - (norm - logits[..., 0])
            loss = loss + wrong * total
        if self.kind in ("paper", "annotated"):
            loss = loss + right * math.log(right)
            if wrong:
                loss = loss + (count - 1 - fewer) * wrong * math.log(wrong)
        return loss

    def get_config(self):
        """Adds the arguments."""
        return {
            **super().get_config(),
            "smoothing": self.smoothing,
            "kind": self.kind,
        }


def label_logits(logits, labels):
    """The logit of each label, (...), from logits float32 (..., V).

    It has a gradient of its own: that of TensorFlow's gather takes a quarter of a
    training step. TensorFlow's sparse cross-entropy takes four times as long as
    `logsumexp`.
    """
    labels = ops.reshape(labels, (-1,))
    index = ops.stack([ops.arange(ops.shape(labels)[0], dtype="int32"), labels], -1)

    @ops.custom_gradient
    def pick(logits):
        shape = ops.shape(logits)
        chosen = ops.take_along_axis(logits, labels[:, None], axis=-1)[:, 0]

        def gradient(*args, upstream=None):
            return ops.scatter(index, args[0] if args else upstream, shape)

        return chosen, gradient

    chosen = pick(ops.reshape(logits, (-1, logits.shape[-1])))
    return ops.reshape(chosen, ops.shape(logits)[:-1])


def token_losses(logits, labels):
    """The cross-entropy of each label in nats, float32 (...), from logits (..., V)."""
    logits = ops.cast(logits, "float32")
    label = label_logits(logits, ops.cast(labels, "int32"))
    return ops.logsumexp(logits, axis=-1) - label


def probabilities(smoothing, count, kind):
    """The probability of the label, that of each other class, and how many have 0."""
    if kind == "uniform":
        share = smoothing / count
        return 1 - smoothing + share, share, 0
    fewer = int(kind == "annotated")
    wrong_classes = count - 1 - fewer
    return 1 - smoothing, smoothing / wrong_classes if wrong_classes else 0.0, fewer
