"""From a text to a text: translation and summaries."""

import functools

import keras
import numpy as np
import tensorflow as tf

from zoo.data import Packer
from zoo.generation import GenerationOptions, generate
from zoo.tasks.answering import as_numpy
from zoo.tasks.base import Task
from zoo.tasks.label_smoothing import SmoothedCrossentropy
from zoo.tasks.targets import as_array
from zoo.tasks.token_metrics import TokenAccuracy, TokenCrossentropy

ROWS = 32


class SourcePacker(Packer):
    """Packs the source of a model that reads a source and writes a target."""

    def inputs(self, features):
        """Returns encoder_token_ids and encoder_padding_mask (B, L)."""
        inputs = self.tokenizer.inputs(features)
        return {
            f"encoder_{name}": inputs[name] for name in ("token_ids", "padding_mask")
        }


@keras.saving.register_keras_serializable(package="zoo")
class Translator(Task):
    """Writes a text for every text.

    In training the decoder reads the target, moved by one position, and predicts its
    tokens and the end. The loss is the mean over all of them.

    Source: Vaswani et al. 2017.

    Args:
        backbone: `zoo.backbone.Backbone` with an encoder and a decoder.
        tokenizer: from `zoo.text`, with `targets` and `detokenize`.
        label_smoothing: float in [0, 1).
        smoothing_kind: str, see `zoo.tasks.label_smoothing.SmoothedCrossentropy`.
        generation: dict, the defaults of `translate`, see
            `zoo.generation.GenerationOptions`.
        **kwargs: sequence_length and name, see `zoo.tasks.Task`.

    Inputs:
        texts (B,), and as `y` the texts that belong to them. Those of the graph are the
        backbone's.

    Returns:
        float32 (B, T, V), logits of the token after each position of the target.

    Raises:
        ValueError: if the backbone has no decoder.
    """

    task_name = "translator"
    columns = ("source",)
    packer = SourcePacker
    answers_tokens = False
    text_methods = ("translate", "answer")
    read = None

    def __init__(
        self,
        backbone,
        tokenizer=None,
        label_smoothing=0.1,
        smoothing_kind="paper",
        generation=None,
        **kwargs,
    ):
        if backbone.predicts != "target":
            raise ValueError(
                f"{type(self).__name__} needs a backbone with an encoder and a decoder."
                f" Received: one of family {backbone.family!r}."
            )
        GenerationOptions(**(generation or {}))
        inputs = backbone.make_inputs(backbone.config)
        head = backbone.make_token_head()
        logits = head(backbone(inputs)["decoder_sequence_output"])
        options = {
            "label_smoothing": label_smoothing,
            "smoothing_kind": smoothing_kind,
            "generation": dict(generation or {}),
        }
        super().__init__(inputs, logits, backbone, tokenizer, options, **kwargs)
        self.head = head

    @classmethod
    def recognise(cls, found):
        """The arguments with which a checkpoint that has a tokenizer translates."""
        if found.tokenizer and "token_logits" in found.heads:
            return dict(found.options)
        return None

    def default_loss(self):
        """Cross-entropy with smoothed labels, averaged over the tokens."""
        names = "label_smoothing", "smoothing_kind"
        return SmoothedCrossentropy(*(self.options[name] for name in names))

    def default_metrics(self):
        """Cross-entropy without smoothing, and accuracy."""
        return [TokenCrossentropy("crossentropy"), TokenAccuracy("accuracy")]

    def layers_used(self):
        """Names of all layers of the backbone."""
        return {*self.backbone.named_layers}

    def encode_labels(self, y):
        """Targets as an array of strings, checked."""
        y = as_array(y)
        wrong = [value for value in y.ravel() if not isinstance(value, (str, bytes))]
        if y.ndim != 1 or wrong:
            raise ValueError(
                "`y` must be a list with one text for each text of `x`. Received: "
                f"{wrong[0]!r:.60}."
                if wrong
                else f"an array of shape {y.shape}."
            )
        return np.array(
            [v.encode("utf-8", "ignore") if isinstance(v, str) else v for v in y],
            dtype=object,
        )

    def encode_label_tensor(self, y):
        """`encode_labels` in a tf.data pipeline."""
        return y

    def finish(self, x, y=None, weight=None):
        """An example: what the decoder reads is the target, moved by one position."""
        if y is None:
            return x
        tokens = self.tokenizer.targets(y)[:, : self.sequence_length - 1]
        rows = tf.fill([tokens.nrows(), 1], 1)
        start, end = self.tokenizer.start_id, self.tokenizer.end_id
        following = tf.concat([tokens, tf.cast(rows * end, tokens.dtype)], axis=1)
        read = tf.concat([tf.cast(rows * start, tokens.dtype), tokens], axis=1)
        lengths = following.row_lengths()
        pad = self.tokenizer.pad_id
        inside = tf.sequence_mask(lengths, dtype=tf.float32)
        if weight is not None:
            inside *= weight[:, None]
        x = {**x, "decoder_token_ids": read.to_tensor(pad)}
        return x, following.to_tensor(pad), inside

    # Writing -------------------------------------------------------------------

    def generation_options(self, **options):
        """The options of a generation: those of the task, and the given ones."""
        options = {**self.options["generation"], **options}
        options.setdefault("max_new_tokens", self.sequence_length)
        return GenerationOptions(**options)

    def generate_tokens(self, inputs, options):
        """Tokens int32 (B, num_return, T) and scores (B, num_return), in a graph.

        Args:
            inputs: dict of encoder_token_ids and encoder_padding_mask, int32 (B, L).
            options: `GenerationOptions`.
        """
        several = options.num_beams
        if options.num_beams == 1:
            several = options.num_return
            inputs = {k: tf.repeat(v, several, axis=0) for k, v in inputs.items()}
        rows = tf.shape(inputs["encoder_token_ids"])[0] * options.num_beams
        states = self.backbone.make_states(rows, options.max_new_tokens, inputs)
        matrix = self.head.matrix()

        def step(tokens, states):
            outputs, states = self.backbone.step(tokens, states)
            last = outputs["decoder_sequence_output"][:, -1]
            return self.head(last, matrix), states

        start = tf.fill([rows], self.tokenizer.start_id)
        end = self.tokenizer.end_id
        return generate(step, states, start, options, end)

    def answer_batch(self, texts):
        """The translation of each text, in a graph; dict of string (B,)."""
        options = self.generation_options()
        tokens, scores = self.generate_tokens(self.preprocessor((texts,)), options)
        best = self.tokenizer.detokenize(tokens[:, 0])
        return {"translation": best, "score": scores[:, 0]}

    def translate(self, texts, batch_size=None, return_scores=False, **options):
        """Writes a text for every text.

        Args:
            texts: list of str, or what `predict` takes.
            batch_size: int, 32 by default.
            return_scores: bool, whether to return the scores too.
            **options: of `zoo.generation.GenerationOptions`, such as num_beams.

        Returns:
            list of str; with `num_return`, list of lists of str, the best one first.
            With `return_scores`, a tuple of it and of the scores in the same form.

        Raises:
            TypeError: if `texts` is one string, or not text.
            ValueError: if an option is unknown or out of its range.
        """
        several = "num_return" in options
        options = self.generation_options(**options)
        columns = self.text_columns(texts)
        lengths = self.token_lengths(texts) if len(columns[0]) else np.zeros(0)
        order = np.argsort(-lengths, kind="stable")
        function = self._writer(options)
        found = [None] * len(order)
        for start in range(0, len(order), batch_size or ROWS):
            rows = order[start : start + (batch_size or ROWS)]
            written, scores = map(as_numpy, function(tf.gather(columns[0], rows)))
            for row, *pair in zip(rows, written.tolist(), scores.tolist(), strict=True):
                found[row] = pair if several else [part[0] for part in pair]
        texts, scores = (
            (list(part) for part in zip(*found, strict=True)) if found else ([], [])
        )
        return (texts, scores) if return_scores else texts

    def _writer(self, options):
        """The compiled function of texts to written texts and scores."""

        @functools.partial(
            tf.function, input_signature=[tf.TensorSpec((None,), tf.string)]
        )
        def write(texts):
            tokens, scores = self.generate_tokens(self.preprocessor((texts,)), options)
            count = options.num_return
            flat = tf.reshape(tokens, (-1, tf.shape(tokens)[-1]))
            written = self.tokenizer.detokenize(flat)
            return tf.reshape(written, (-1, count)), scores

        return write
