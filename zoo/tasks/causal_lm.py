"""The causal language model, which predicts the next token."""

import keras
import tensorflow as tf

from zoo.tasks.base import Task
from zoo.tasks.label_smoothing import SmoothedCrossentropy
from zoo.tasks.token_metrics import TokenAccuracy


@keras.saving.register_keras_serializable(package="zoo")
class CausalLM(Task):
    """Predicts every token of a row from the tokens before it.

    The loss is the mean over all tokens but the first of each row. A backbone that
    reads from the last token to the first predicts every token from those after it.

    Source: Devlin et al. 2019, section 5.1, for a causal BERT; Merity et al. 2018 for
    an AWD-LSTM.

    Args:
        backbone: `zoo.backbone.Backbone` that predicts the next token.
        tokenizer: from `zoo.text`, or None for token ids only.
        head_activation: str, of a head that has one. None for the backbone's.
        head_layer_norm_epsilon: float, of a head that has one. None for the backbone's.
        **kwargs: sequence_length and name, see `zoo.tasks.Task`.

    Inputs:
        texts (B,), without labels; those of the graph are the backbone's.

    Returns:
        float32 (B, L, V), logits of the token after each position. `answer` returns the
        log-probability of a text, the number of predicted tokens and the perplexity.

    Raises:
        ValueError: if the backbone does not predict the next token.
    """

    task_name = "causal_lm"
    answers_tokens = False
    pretrains = True
    learning_rate = 1e-4
    read = None

    def __init__(
        self,
        backbone,
        tokenizer=None,
        head_activation=None,
        head_layer_norm_epsilon=None,
        **kwargs,
    ):
        if backbone.predicts != "next":
            raise ValueError(
                "A causal language model needs a backbone that predicts the next token."
                f" Received: one of family {backbone.family!r}, which does not. Build "
                "a BERT with `causal=True`."
            )
        inputs = backbone.make_inputs(backbone.config)
        head = backbone.make_token_head(head_activation, head_layer_norm_epsilon)
        logits = head(backbone(inputs)["sequence_output"])
        options = {
            "head_activation": head_activation,
            "head_layer_norm_epsilon": head_layer_norm_epsilon,
        }
        super().__init__(inputs, logits, backbone, tokenizer, options, **kwargs)

    @classmethod
    def recognise(cls, found):
        """No arguments, for a checkpoint with a head that predicts the next token."""
        return {} if "lm_head" in found.heads else None

    def default_loss(self):
        """Cross-entropy, averaged over the predicted tokens."""
        return SmoothedCrossentropy(0.0)

    def default_metrics(self):
        """Accuracy."""
        return [TokenAccuracy("accuracy")]

    def finish(self, x, *targets):
        """An example: x, the next tokens int32 (B, L) and weights float32 (B, L).

        A weight is 1 where the next token exists, else 0. For a model that reads from
        the last token to the first, the next token is the one on the left.
        """
        ids, mask = x[self.backbone.tokens], x["padding_mask"]
        if self.backbone.reverse:
            following, weights = (
                tf.pad(v[:, :-1], [[0, 0], [1, 0]]) for v in (ids, mask)
            )
            weights *= mask
        else:
            following, weights = (
                tf.pad(v[:, 1:], [[0, 0], [0, 1]]) for v in (ids, mask)
            )
        return x, following, tf.cast(weights, tf.float32)

    def answer_batch(self, texts):
        """The probability of each text, in a graph.

        Args:
            texts: string (B,).

        Returns:
            dict of (B,): log_probability float32, of all tokens but the first; tokens
            int32, the number of predicted tokens; perplexity float32, of a token.
        """
        x, following, weight = self.finish(self.preprocessor((texts,)))
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
            following, self(x, training=False)
        )
        total, count = (tf.reduce_sum(v, 1) for v in (losses * weight, weight))
        return {
            "log_probability": -total,
            "tokens": tf.cast(count, tf.int32),
            "perplexity": tf.exp(tf.math.divide_no_nan(total, count)),
        }
