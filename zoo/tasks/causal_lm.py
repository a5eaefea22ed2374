"""The causal language model, which predicts the next token."""

import keras
import numpy as np
import tensorflow as tf
from keras import ops

from zoo.data import (
    DocumentStreams,
    document_batches,
    epoch_numbers,
    tokenize_texts,
    untuned,
)
from zoo.layers import CarriedState, KeepState
from zoo.tasks.base import Task
from zoo.tasks.label_smoothing import SmoothedCrossentropy, token_losses
from zoo.tasks.text_continuation import ContinuesTexts
from zoo.tasks.token_metrics import TokenAccuracy, TokenPerplexity
from zoo.tasks.windows import WINDOW, read_windows


@keras.saving.register_keras_serializable(package="zoo")
class CausalLM(ContinuesTexts, Task):
    """Predicts every token of a row from the tokens before it.

    The loss is the mean over all tokens but the first of each row. A backbone that
    reads from the last token to the first predicts every token from those after it.

    A recurrent model can carry its states from batch to batch. With `rows`, `fit` and
    `evaluate` concatenate the texts, split the result into so many streams, and read
    these in windows, see `zoo.data.DocumentStreams`. The gradient ends where a window
    begins, the states go on. An epoch begins with states of zeros. No text is
    truncated, and there is no padding.

    Source: Devlin et al. 2019, section 5.1, for a causal BERT; Merity et al. 2018 for
    an AWD-LSTM and its streams.

    Args:
        backbone: `zoo.backbone.Backbone` that predicts the next token.
        tokenizer: from `zoo.text`, or None for token ids only.
        head_activation: str, of a head that has one. None for the backbone's.
        head_layer_norm_epsilon: float, of a head that has one. None for the backbone's.
        rows: int, streams, which are the rows of a batch on each replica; None if each
            row is one text. A model for streams cannot `answer`.
        window: int, tokens of a stream that are read together.
        jitter: bool, whether windows have random lengths in `fit`.
        **kwargs: sequence_length and name, see `zoo.tasks.Task`.

    Inputs:
        texts (B,), without labels; those of the graph are the backbone's. With `rows`,
        those of the graph are token_ids int32 (R, L) and fresh (R,), 1 if a row starts
        from zero states.

    Returns:
        float32 (B, L, V), logits of the token after each position. `answer` returns the
        log-probability of a text, the number of predicted tokens and the perplexity.

    Raises:
        ValueError: if the backbone does not predict the next token, `rows` is given
            and it has no states, or `rows` or `window` is not positive.
    """

    task_name = "causal_lm"
    answers_tokens = False
    text_methods = ("generate", "answer")
    pretrains = True
    read = None

    def __init__(
        self,
        backbone,
        tokenizer=None,
        head_activation=None,
        head_layer_norm_epsilon=None,
        rows=None,
        window=WINDOW,
        jitter=False,
        **kwargs,
    ):
        if backbone.predicts != "next":
            raise ValueError(
                "A causal language model needs a backbone that predicts the next token."
                f" Received: one of family {backbone.family!r}, which does not. Build "
                "a BERT with `causal=True`."
            )
        if (rows is not None and rows < 1) or window < 1:
            raise ValueError(
                "`rows` and `window` must be at least 1. Received: rows="
                f"{rows}, window={window}. Leave `rows` out if each row is one text."
            )
        head = backbone.make_token_head(head_activation, head_layer_norm_epsilon)
        inputs = backbone.make_inputs(backbone.config)
        if rows:
            inputs, vectors = self._connect_streams(backbone, inputs, rows)
        else:
            vectors = backbone(inputs)["sequence_output"]
        options = {
            "head_activation": head_activation,
            "head_layer_norm_epsilon": head_layer_norm_epsilon,
            "rows": rows,
            "window": window,
            "jitter": jitter,
        }
        super().__init__(inputs, head(vectors), backbone, tokenizer, options, **kwargs)
        self.head = head

    @staticmethod
    def _connect_streams(backbone, inputs, rows):
        """The inputs of a model for streams, and the vectors of their tokens."""
        if not backbone.carries_states:
            raise ValueError(
                "`rows` needs a recurrent backbone, which has states to carry. "
                f"Received: rows={rows} and one of family {backbone.family!r}. Leave "
                "`rows` out."
            )
        shapes = backbone.state_shapes(backbone.config)
        name = backbone.tokens
        tokens = keras.Input((None,), rows, dtype="int32", name=name)
        fresh = keras.Input((), rows, dtype="int32", name="fresh")
        carried = CarriedState(rows, list(shapes.values()), name="carried_state")
        states = dict(zip(shapes, carried(fresh), strict=True))
        given = {name: tokens, **states}
        found = backbone.connect(backbone.config, backbone.named_layers, given)
        keep = KeepState(carried, name="keep_state")
        vectors = keep(found["sequence_output"], [found[state] for state in states])
        return {name: tokens, "fresh": fresh}, vectors

    @classmethod
    def recognise(cls, found):
        """No arguments, for a checkpoint with a head that predicts the next token."""
        return {} if "lm_head" in found.heads else None

    def default_loss(self):
        """Cross-entropy, averaged over the predicted tokens."""
        return SmoothedCrossentropy(0.0)

    def default_metrics(self):
        """Perplexity and accuracy."""
        return [TokenPerplexity(), TokenAccuracy("accuracy")]

    def complete(self, inputs):
        """Adds the inputs that can be derived from the others."""
        if self.options["rows"]:
            return {k: ops.convert_to_tensor(v) for k, v in inputs.items()}
        return super().complete(inputs)

    def streams(self, texts, seed=None, jitter=False):
        """The streams of texts, as `fit` and `evaluate` read them.

        Args:
            texts: list of str, or a tensor (N,).
            seed: int, of the order of the texts; None to keep it.
            jitter: bool, whether windows have random lengths.

        Returns:
            `zoo.data.DocumentStreams`, for all replicas.

        Raises:
            ValueError: if there are fewer tokens than streams.
        """
        parts = list(tokenize_texts(texts, self.tokenizer))
        ids, lengths = map(np.concatenate, zip(*parts, strict=True))
        rows = self.options["rows"] * self.distribute_strategy.num_replicas_in_sync
        return DocumentStreams(
            ids,
            np.concatenate([[0], np.cumsum(lengths)]),
            rows,
            self.options["window"],
            self.backbone.reverse,
            jitter,
            seed,
        )

    def batches(
        self,
        x,
        y=None,
        sample_weight=None,
        batch_size=None,
        shuffle=False,
        seed=0,
        epochs=(0,),
        token_budget=None,
    ):
        """Batches of texts, or of their streams; see the base class.

        Raises:
            ValueError: if a model for streams gets a dataset, or another number of
                rows than it was built for.
        """
        rows = self.options["rows"]
        if not rows:
            return super().batches(
                x, y, sample_weight, batch_size, shuffle, seed, epochs, token_budget
            )
        size = rows * self.distribute_strategy.num_replicas_in_sync
        wrong = isinstance(x, tf.data.Dataset) or token_budget
        if wrong or batch_size not in (None, size):
            raise ValueError(
                f"A model with `rows={rows}` takes a list of texts, and each of its "
                f"batches has these rows. Received: {type(x).__name__}, batch_size="
                f"{batch_size}, token_budget={token_budget}. Build it with other rows."
            )
        columns = self.text_columns(x)
        self._refuse_targets(y is not None or sample_weight is not None)
        jitter = shuffle and self.options["jitter"]
        streams = self.streams(columns[0].numpy(), seed if shuffle else None, jitter)
        count = streams.steps_per_epoch
        numbers = epoch_numbers(epochs)
        steps = numbers.flat_map(
            lambda epoch: tf.data.Dataset.range(epoch * count, (epoch + 1) * count)
        )
        total = tf.data.experimental.assert_cardinality(
            count * int(numbers.cardinality())
        )
        batches = document_batches(streams, steps).map(self.finish).apply(total)
        return batches.prefetch(2).with_options(untuned())

    def finish(self, x, *targets):
        """An example: x, the next tokens int32 (B, L) and weights float32 (B, L).

        A weight is 1 where the next token exists, else 0. For a model that reads from
        the last token to the first, the next token is the one on the left.
        """
        if "next_ids" in x:
            inputs = {name: v for name, v in x.items() if name != "next_ids"}
            return inputs, x["next_ids"], tf.ones_like(x["next_ids"], tf.float32)
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

    def answer_eagerly(self, texts):
        """`answer_batch`, compiled: a step of an LSTM takes 20 ms if it is not."""
        self._check_rows()
        functions = self.compiled_functions()
        if "answer" not in functions:
            signature = [tf.TensorSpec([None], tf.string)]
            functions["answer"] = tf.function(self.answer_batch, signature)
        return functions["answer"](texts)

    def _check_rows(self):
        if self.options["rows"]:
            raise ValueError(
                "A model for streams trains, and does not answer. Received: rows="
                f"{self.options['rows']}. Save it as a preset, and load this with "
                "`rows=None`."
            )

    def answer_batch(self, texts):
        """The probability of each text, in a graph.

        A recurrent model reads a text in windows, so that the memory does not depend on
        its length.

        Args:
            texts: string (B,).

        Returns:
            dict of (B,): log_probability float32, of all tokens but the first; tokens
            int32, the number of predicted tokens; perplexity float32, of a token.

        Raises:
            ValueError: if the model was built for streams.
        """
        self._check_rows()
        x, following, weight = self.finish(self.preprocessor((texts,)))
        if self.backbone.carries_states:
            total = self._window_losses(x, following, weight)
        else:
            losses = token_losses(self(x, training=False), following)
            total = tf.reduce_sum(losses * weight, 1)
        count = tf.reduce_sum(weight, 1)
        return {
            "log_probability": -total,
            "tokens": tf.cast(count, tf.int32),
            "perplexity": tf.exp(tf.math.divide_no_nan(total, count)),
        }

    def _window_losses(self, x, following, weight):
        """The sum of the losses of each row, float32 (B,), window by window."""

        def add(total, vectors, part):
            losses = token_losses(self.head(vectors), part["following"])
            return total + tf.reduce_sum(losses * part["weight"], 1)

        inputs = {**x, "following": following, "weight": weight}
        total = tf.zeros(tf.shape(following)[:1])
        return read_windows(self.backbone, inputs, add, total)[0]
