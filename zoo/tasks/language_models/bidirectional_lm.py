"""The language model over words: pretraining, and how likely a text is."""

import functools

import keras
import tensorflow as tf
from keras import ops

from zoo.data import NextWordPacker
from zoo.layers import CarriedState, KeepState, SampledSoftmax
from zoo.tasks.answering import compiled_function
from zoo.tasks.base import Task
from zoo.tasks.inputs.text_batches import read_batch
from zoo.tasks.losses.token_metrics import Likelihood, Perplexity
from zoo.tasks.option_kinds import check_options


@keras.saving.register_keras_serializable(package="zoo")
class BidirectionalLM(Task):
    """Predicts every word from the words before it, and from the words after it.

    There is one model for each direction. The two share the vectors of words and the
    softmax. The loss is the mean over both models and all words. The forward model also
    predicts `</S>`, and the backward model `<S>`.

    Source: Peters et al. 2018, section 3.1; released code `bilm/training.py`, which
    multiplies the loss by the number of steps.

    Args:
        backbone: `zoo.backbone.Backbone` of two directions, such as ELMo.
        tokenizer: from `zoo.text`, with a vocabulary of words, sorted by falling
            frequency; or None for word ids only.
        num_words: int, V, words that the softmax predicts; by default the vocabulary's.
        num_samples: int, of the softmax while training, see
            `zoo.layers.SampledSoftmax`; None for all words.
        rows: int, rows of a batch on each replica, if the states are carried over from
            batch to batch. The model then trains on
            `zoo.data.stream_batches(...).map(finish)`. None if each row is one text.
        **kwargs: sequence_length and name, see `zoo.tasks.Task`.

    Inputs:
        dict of int32: forward_ids and backward_ids (B, L, C), forward_targets and
        backward_targets (B, L), and padding_mask (B, L). With `rows`, fresh (B,) in
        place of the mask: 1 if a row starts from zero states.

    Returns:
        float32 (B, 2, L), the negative log-likelihood of each target in nats.

    Raises:
        ValueError: if the backbone does not predict in both directions, or if neither
            `num_words` nor a vocabulary is given.

    Example:
        >>> from zoo.models.elmo import ELMo, ELMoConfig
        >>> backbone = ELMo(ELMoConfig(filters=[[1, 6]], lstm_dim=5, projection_dim=3))
        >>> BidirectionalLM(backbone, num_words=11).output_shape
        (None, 2, None)
    """

    task_name = "bidirectional_lm"
    output_kind = "likelihoods"
    pads_targets = True
    packer = NextWordPacker
    answers_tokens = False
    pretrains = True

    def __init__(
        self,
        backbone,
        tokenizer=None,
        num_words=None,
        num_samples=None,
        rows=None,
        **kwargs,
    ):
        if backbone.predicts != "both":
            raise ValueError(
                "A bidirectional language model needs a backbone of two directions. "
                f"Received: one of family {backbone.family!r}."
            )
        check_options(locals())
        vocabulary = tokenizer.vocabulary if tokenizer else None
        if num_words is None and vocabulary is None:
            raise ValueError(
                "`num_words` must be given if the tokenizer has no vocabulary. "
                "Received: None. Use a tokenizer with a vocabulary."
            )
        num_words = num_words or len(vocabulary)
        if vocabulary is not None and len(vocabulary) > num_words:
            raise ValueError(
                "`num_words` must be at least the tokenizer's vocabulary. Received: "
                f"{num_words} and {len(vocabulary)} words."
            )
        inputs, states, carried = make_inputs(backbone, rows)
        found = backbone.connect_language_model(
            backbone.config, backbone.named_layers, {**inputs, **states}
        )
        targets = [inputs["forward_targets"], inputs["backward_targets"]]
        softmax = SampledSoftmax(
            num_words, num_samples, dtype=backbone.dtype_policy.name, name="softmax"
        )
        outputs = softmax(found["predictions"], ops.stack(targets, axis=1))
        if rows:
            keep = KeepState(carried, name="keep_state")
            outputs = keep(outputs, [found[name] for name in states])
        options = {"num_words": num_words, "num_samples": num_samples, "rows": rows}
        super().__init__(inputs, outputs, backbone, tokenizer, options, **kwargs)

    def complete(self, inputs):
        """Adds the mask, without which no word is padding."""
        inputs = {key: ops.convert_to_tensor(value) for key, value in inputs.items()}
        if self.options["rows"] or "padding_mask" in inputs:
            return inputs
        mask = ops.ones_like(inputs["forward_targets"])
        return {**inputs, "padding_mask": mask}

    def default_loss(self):
        """The mean over both directions and all words."""
        return Likelihood(reduction="mean_with_sample_weight")

    def default_metrics(self):
        """The perplexity."""
        return [Perplexity()]

    def layers_used(self):
        """Those that both language models consist of."""
        return self.backbone.layers_for("predictions")

    def make_batches(self, data, plan):
        """See `Task`; a model that carries states needs streams."""
        check_rows(self)
        return super().make_batches(data, plan)

    def finish(self, x, *targets):
        """An example: x, y and weights, float32 (B, 2, L)."""
        stacked = [x["forward_targets"], x["backward_targets"]]
        weight = tf.ones_like(x["forward_targets"])
        weight = tf.cast(x.get("padding_mask", weight), tf.float32)
        return x, tf.stack(stacked, axis=1), tf.stack([weight, weight], axis=1)

    def answer_eagerly(self, texts):
        """`answer_batch`, compiled: a step of an LSTM takes 20 ms if it is not."""
        check_rows(self)
        x = read_batch(self, (texts,))
        signature = {
            name: tf.TensorSpec([None, None, *part.shape[2:]], part.dtype)
            for name, part in x.items()
        }
        answers = functools.partial(answers_of, self)
        return compiled_function(self, "answer", answers, [signature])(x)

    def answer_batch(self, texts):
        """How likely texts are, in a graph.

        Args:
            texts: string (B,).

        Returns:
            dict of (B,): forward and backward float32, the logarithm of the text's
            probability by each model; words int32, how many were predicted, an end of
            the sentence included; perplexity float32, of a word, by the mean of both.
        """
        check_rows(self)
        return answers_of(self, read_batch(self, (texts,)))


def make_inputs(backbone, rows):
    """Symbolic inputs, the states that they begin with, and what carries these."""
    inputs = {}
    for name in ("forward", "backward"):
        for kind, shape in (("ids", (None, None)), ("targets", (None,))):
            key = f"{name}_{kind}"
            inputs[key] = keras.Input(shape, rows, dtype="int32", name=key)
    if not rows:
        mask = keras.Input((None,), dtype="int32", name="padding_mask")
        return {**inputs, "padding_mask": mask}, {}, None
    fresh = keras.Input((), rows, dtype="int32", name="fresh")
    shapes = backbone.state_shapes(backbone.config)
    carried = CarriedState(rows, list(shapes.values()), name="carried_state")
    states = dict(zip(shapes, carried(fresh), strict=True))
    return {**inputs, "fresh": fresh}, states, carried


def check_rows(task):
    """Raises ValueError if a model carries states, and so takes no texts."""
    if task.options["rows"]:
        raise ValueError(
            "A model that carries states takes streams, "
            "`zoo.data.stream_batches(...).map(model.finish)`. Received: texts, "
            f"and rows={task.options['rows']}. Load it with `rows=None`."
        )


def answers_of(task, x):
    """`answer_batch` for inputs of the model, dict of int32 (B, L, ...)."""
    mask = tf.cast(x["padding_mask"], tf.float32)
    scores = -tf.reduce_sum(task(x, training=False) * mask[:, None], axis=2)
    words = tf.reduce_sum(mask, axis=1)
    return {
        "forward": scores[:, 0],
        "backward": scores[:, 1],
        "words": tf.cast(words, tf.int32),
        "perplexity": tf.exp(-tf.reduce_mean(scores, axis=1) / words),
    }
