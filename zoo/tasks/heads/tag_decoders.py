"""Decoders of taggers, as records: from the logits of words to their tags."""

import dataclasses

import tensorflow as tf

from zoo.layers import CRF, crf
from zoo.tasks.blocks import in_blocks
from zoo.tasks.losses.chain import CRFLoss
from zoo.tasks.losses.class_loss import ClassLoss

MAX_PAIRS = 2**24  # of tags, whose scores are computed together


@dataclasses.dataclass(frozen=True)
class SoftmaxDecoder:
    """Each word has the tag with the largest logit, the option `decoder="softmax"`."""

    name = "softmax"
    output_kind = "logits"  # see `zoo.tasks.Task`

    def outputs(self, logits, mask):
        """The symbolic outputs of the task, of logits (B, W, T) and mask (B, W)."""
        return logits

    def loss(self, label_smoothing=0.0):
        """Cross-entropy averaged over words, see `ClassLoss`."""
        return ClassLoss(label_smoothing, padded=True)

    def weights(self, weight, words):
        """The weights of a batch.

        Args:
            weight: float32 (B,) of texts, or (B, W) of words.
            words: float32 (B, W), 1 for a word and 0 for padding.
        """
        return (weight if len(weight.shape) == 2 else weight[:, None]) * words

    def check_word_losses(self):
        """Raises ValueError if words have no losses of their own."""

    def fits(self, saved):
        """Whether the weights of the saved decoder, str, are those of this one."""
        return True

    def probabilities(self, task, logits, mask, temperature=1.0):
        """The probabilities of tags, float32 (B, W, T), of `logits / temperature`."""
        return tf.nn.softmax(logits / temperature)

    def decode(self, task, logits, mask):
        """Numbers int32 (B, W) and probabilities float32 (B, W) of the tags."""
        shares = self.probabilities(task, logits, mask)
        tags = tf.argmax(shares, axis=-1, output_type=tf.int32)
        return tags, tf.gather(shares, tags, batch_dims=2)


@dataclasses.dataclass(frozen=True)
class ChainDecoder(SoftmaxDecoder):
    """The tags are the best path of a linear chain, the option `decoder="crf"`.

    Source: Lample et al. 2016; see `zoo.layers.CRF`.
    """

    name = "crf"
    output_kind = "potentials"

    def outputs(self, logits, mask):
        """The potentials (B, W, T, T) of pairs of tags."""
        return CRF(name="crf")(logits, mask=mask)

    def loss(self, label_smoothing=0.0):
        """The negative log-likelihood of a path, averaged over rows."""
        if label_smoothing:
            self.check_word_losses()
        return CRFLoss(reduction="mean_with_sample_weight")

    def weights(self, weight, words):
        """See `SoftmaxDecoder`. A row without words has no path."""
        if len(weight.shape) == 2:
            self.check_word_losses()
        return weight * words[:, 0]

    def check_word_losses(self):
        """Raises ValueError: the loss of a chain is one number for a sentence."""
        raise ValueError(
            "Weights of words and of tags, probabilities of tags and label smoothing "
            'need `decoder="softmax"`. Received: `decoder="crf"`, whose loss is one '
            "number for the path of tags of a sentence. Give each word one tag, and "
            "weights to sentences."
        )

    def fits(self, saved):
        """See `SoftmaxDecoder`. A softmax has no weights of a chain."""
        return saved == self.name

    def probabilities(self, task, logits, mask, temperature=1.0):
        """See `SoftmaxDecoder`: the marginals of the chain of `potentials / t`."""
        empty = tf.zeros((0, tf.shape(mask)[1], len(task.labels)))
        rows = logits, mask
        return self._in_blocks(task, crf.marginals, rows, empty, temperature)

    def decode(self, task, logits, mask):
        """See `SoftmaxDecoder`."""

        def best_paths(potentials):
            shares, tags = crf.marginals(potentials), crf.best_path(potentials)[0]
            return tags, tf.gather(shares, tags, batch_dims=2)

        width = tf.shape(mask)[1]
        empty = tf.zeros((0, width), tf.int32), tf.zeros((0, width))
        return self._in_blocks(task, best_paths, (logits, mask), empty)

    def _in_blocks(self, task, function, rows, empty, temperature=1.0):
        """A function of potentials; the pairs of tags of one block fit in memory."""
        words = MAX_PAIRS // len(task.labels) ** 2
        size = tf.maximum(words // tf.maximum(tf.shape(rows[1])[1], 1), 1)

        def of_block(block):
            logits, mask = block
            potentials = task.get_layer("crf")(logits, mask=mask) / temperature
            if task.allowed is not None:
                potentials = crf.forbid(potentials, task.allowed, mask)
            return function(potentials)

        return in_blocks(of_block, rows, size, empty)


TAG_DECODERS = {kind.name: kind() for kind in (SoftmaxDecoder, ChainDecoder)}
