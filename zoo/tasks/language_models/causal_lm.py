"""The causal language model, which predicts the next token."""

import dataclasses

import keras
import tensorflow as tf
from keras import ops

from zoo.data import Packer
from zoo.tasks.answering import answer_compiled
from zoo.tasks.base import Task
from zoo.tasks.files.text_files import TextFiles
from zoo.tasks.language_models.causal_batches import (
    ROW_OPTIONS,
    RowOptions,
    check_answers,
    check_texts,
    connect_streams,
    row_batches,
    training_rows,
)
from zoo.tasks.language_models.continuation import Continuation
from zoo.tasks.losses.label_smoothing import SmoothedCrossentropy
from zoo.tasks.losses.text_losses import text_losses
from zoo.tasks.losses.token_metrics import TokenAccuracy, TokenPerplexity
from zoo.tasks.option_kinds import check_options


@keras.saving.register_keras_serializable(package="zoo")
class CausalLM(Task):
    """Predicts every token of a row from the tokens before it.

    The loss is the mean over all tokens but the first of each row. A backbone that
    reads from the last token to the first predicts every token from those after it.

    A recurrent model can carry its states from batch to batch. With `rows`, `fit` and
    `evaluate` concatenate the texts, split the result into `rows` streams, and read
    these in windows, see `zoo.data.DocumentStreams`. The states are carried over from
    window to window; the gradient is not. An epoch begins with states of zeros. No text
    is truncated, and there is no padding.

    A GPT can read packed rows. With `packing`, `fit` and `evaluate` concatenate the
    texts and split the result into rows of `sequence_length` tokens, see
    `zoo.data.PackedRows`. The documents in a row are separate, or they are one stream.

    Source: Radford et al. 2018 and 2019 for GPT; Devlin et al. 2019, section 5.1, for a
    causal BERT; Merity et al. 2018 for an AWD-LSTM and its streams.

    Args:
        backbone: `zoo.backbone.Backbone` that predicts the next token.
        tokenizer: from `zoo.text`, or None for token ids only.
        head_activation: str, of a head that has one. None for the backbone's.
        head_layer_norm_epsilon: float, of a head that has one. None for the backbone's.
        stride: int, tokens by which `answer` moves its windows in a text that is longer
            than the positions, see `zoo.tasks.losses.text_losses`. By default a half of
            them.
        generation: dict, the defaults of `generate` and of an export, see
            `zoo.generation.GenerationOptions`.
        rows: int, streams, which are the rows of a batch on each replica; None if each
            row is one text. A model for streams cannot `answer`.
        window: int, tokens of a stream that are read together.
        jitter: bool, whether windows have random lengths in `fit`.
        packing: "documents" or "streams", see above; None if each row is one text.
        **kwargs: sequence_length and name, see `zoo.tasks.Task`.

    Inputs:
        texts (B,), without labels. The inputs of the graph are those of the backbone;
        with `rows`, token_ids int32 (R, L) and fresh (R,), 1 if a row starts from zero
        states.

    Returns:
        float32 (B, L, V), logits of the token after each position. `answer` returns the
        log-probability of a text, the number of predicted tokens and the perplexity.

    Raises:
        ValueError: if the backbone does not predict the next token, `rows` is given
            and it has no states, `packing` is given and it has no cache of keys and
            values, or `rows`, `window` or `stride` is not positive.

    Example:
        >>> from zoo.models.gpt import GPT, GPTConfig
        >>> CausalLM(GPT(GPTConfig(11, 4, 1, 2, 8, 16))).output_shape
        (None, None, 11)
    """

    task_name = "causal_lm"
    files = TextFiles("text-generation")
    output_kind = "logits"
    pads_targets = True
    answers_tokens = False
    text_methods = ("generate", "answer")
    keyword_options = (*ROW_OPTIONS, *Task.keyword_options)
    pretrains = True

    def __init__(
        self,
        backbone,
        tokenizer=None,
        head_activation=None,
        head_layer_norm_epsilon=None,
        stride=None,
        generation=None,
        **kwargs,
    ):
        if backbone.predicts != "next":
            raise ValueError(
                "A causal language model needs a backbone that predicts the next token."
                f" Received: one of family {backbone.family!r}, which does not. Build "
                "a BERT with `causal=True`."
            )
        check_options(locals())
        given = {name: kwargs.pop(name) for name in ROW_OPTIONS if name in kwargs}
        training = RowOptions(**given)
        training.check_backbone(backbone)
        head = backbone.make_token_head(head_activation, head_layer_norm_epsilon)
        if training.rows:
            inputs, vectors = connect_streams(backbone, training.rows)
        else:
            inputs = backbone.make_inputs(backbone.config)
            vectors = backbone(inputs)["sequence_output"]
        options = {
            "head_activation": head_activation,
            "head_layer_norm_epsilon": head_layer_norm_epsilon,
            **dataclasses.asdict(training),
            "stride": stride,
        }
        super().__init__(inputs, head(vectors), backbone, tokenizer, options, **kwargs)
        self.head = head
        self.writer = Continuation(self, backbone, generation)

    @classmethod
    def recognise(cls, found):
        """The defaults of `generate`, if a head predicts the next token."""
        generation = found.options.get("generation")
        options = {"generation": generation} if generation else {}
        return options if "lm_head" in found.heads else None

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

    def finish(self, x, *targets):
        """An example: x, the next tokens int32 (B, L) and weights float32 (B, L).

        A weight is 1 where the next token exists, and belongs to the same document;
        else 0. For a model that reads from the last token to the first, the next token
        is the one on the left.
        """
        if "next_ids" in x:
            inputs = {k: v for k, v in x.items() if k not in ("next_ids", "next_mask")}
            weights = x.get("next_mask", tf.ones_like(x["next_ids"]))
            return inputs, x["next_ids"], tf.cast(weights, tf.float32)
        ids, mask = x[self.backbone.tokens], x["padding_mask"]
        side = [[0, 0], [1, 0] if self.backbone.reverse else [0, 1]]
        chosen = slice(None, -1) if self.backbone.reverse else slice(1, None)
        following, other = (tf.pad(v[:, chosen], side) for v in (ids, mask))
        return x, following, tf.cast((other == mask) & (mask != 0), tf.float32)

    @property
    def rows_are_texts(self):
        """False for streams and packed rows, which depend on the number of tokens."""
        return not self.options["rows"] and not self.options["packing"]

    def make_batches(self, data, plan):
        """See `Task`; also batches of the streams of texts, or of packed rows.

        Raises:
            ValueError: if a model for streams or packed rows gets a dataset, or a model
                for streams another number of rows than it was built for.
        """
        if self.rows_are_texts:
            return super().make_batches(data, plan)
        check_texts(self, data, plan)
        source = training_rows(
            self, data.columns[0].numpy(), plan.batch_size, plan.shuffle, plan.seed
        )
        return row_batches(source, plan.epochs, self.finish)

    def answer_eagerly(self, texts):
        """`answer_batch`, compiled: the steps of an LSTM are slow if it is not."""
        return answer_compiled(self, texts)

    def answer_batch(self, texts):
        """The probability of each text, in a graph.

        No text is truncated, see `zoo.tasks.losses.text_losses`.

        Args:
            texts: string (B,).

        Returns:
            dict of (B,): log_probability float32, of all tokens but the first; tokens
            int32, the number of predicted tokens; perplexity float32, of a token.

        Raises:
            ValueError: if the model was built for streams.
        """
        check_answers(self.options["rows"])
        x, following, weight = self.finish(Packer(self.tokenizer, None)((texts,)))
        inputs = {**x, "following": following, "weight": weight}
        longest, stride = self.sequence_length, self.options["stride"]
        total = text_losses(self.backbone, self.head, inputs, longest, stride)
        count = tf.reduce_sum(weight, 1)
        return {
            "log_probability": -total,
            "tokens": tf.cast(count, tf.int32),
            "perplexity": tf.exp(tf.math.divide_no_nan(total, count)),
        }

    def generate(
        self, texts, batch_size=None, return_scores=False, stream=False, **options
    ):
        """Continues every text.

        Args:
            texts: str, list of str, or what `predict` takes, but no dataset. An empty
                text has a beginning of its own. A text for which the model has not
                enough positions loses its first tokens.
            batch_size, return_scores, stream, **options: see
                `zoo.tasks.writers.text_writer.TextWriter.write_texts`. The default of
                `max_new_tokens` is 50, or the half of fewer positions. A text ends
                where the model begins another document, or before a text in `stop`.

        Returns:
            The text with its continuation, in the form of `texts`: a str, or what
            `write_texts` returns.

        Raises:
            TypeError: if `texts` is not text.
            ValueError: see `write_texts`; also if the model reads from the last token
                to the first, has no states, or was built for streams.
        """
        check_answers(self.options["rows"])
        if not self.writer.continues:
            reverse = self.backbone.reverse
            kind = "reads backwards" if reverse else "has no states to carry"
            raise ValueError(
                "`generate` needs a backbone that reads forwards and has states. "
                f"Received: one of family {self.backbone.family!r}, which {kind}."
            )
        single = isinstance(texts, (str, bytes))
        given = [texts] if single else texts
        found = self.writer.write_texts(
            given, batch_size, return_scores, stream, **options
        )
        if not single:
            return found
        if stream:
            return (part[0] for part in found)
        return tuple(part[0] for part in found) if return_scores else found[0]

    def serving_methods(self):
        """An export continues texts; its signature "score" is `answer`."""
        check_answers(self.options["rows"])
        if not self.writer.continues or self.tokenizer.end_id is None:
            return super().serving_methods()
        return {"serving_default": self.writer.write_batch, "score": self.answer_batch}
