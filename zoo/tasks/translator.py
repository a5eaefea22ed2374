"""From a text to a text: translation and summaries."""

import dataclasses

import keras
import numpy as np
import tensorflow as tf

from zoo.data import Packer, bucket_length
from zoo.generation import GenerationOptions, first_row, generate, next_token
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
            `zoo.generation.GenerationOptions`. Without `extra_tokens`, a text has at
            most 50 tokens more than its source, as in the paper.
        **kwargs: sequence_length and name, see `zoo.tasks.Task`.

    Inputs:
        texts (B,), and as `y` the texts that belong to them. Those of the graph are the
        backbone's.

    Returns:
        float32 (B, T, V), logits of the token after each position of the target.

    Attributes:
        answer_name: str, what an answer calls the text.

    Raises:
        ValueError: if the backbone has no decoder.
    """

    task_name = "translator"
    # Vaswani et al. 2017, section 6.1.
    generation = {"extra_tokens": 50}
    columns = ("source",)
    packer = SourcePacker
    answers_tokens = False
    text_methods = ("translate", "answer")
    answer_name = "translation"
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
        """The options of a checkpoint that writes texts."""
        if "token_logits" not in found.heads or not found.tokenizer:
            return None
        generation = found.options.get("generation") or {}
        return {**found.options, "generation": {"extra_tokens": None, **generation}}

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

    def row_lengths(self, rows, targets=()):
        """Tokens of the longer one of source and target, with its end."""
        lengths = super().row_lengths(rows, targets)
        if targets:
            written = self.tokenizer.targets(targets[0]).row_lengths() + 1
            written = tf.minimum(written, self.sequence_length)
            lengths = tf.maximum(lengths, tf.cast(written, lengths.dtype))
        return lengths

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
        longest = tf.cast(tf.reduce_max(lengths), tf.int32)
        if self.jit_compile:  # XLA compiles anew for every length
            longest = bucket_length(longest, self.sequence_length)
        shape = tf.stack([tf.shape(lengths)[0], longest])
        inside = tf.sequence_mask(lengths, longest, dtype=tf.float32)
        if weight is not None:
            inside *= weight[:, None]
        x = {**x, "decoder_token_ids": read.to_tensor(pad, shape=shape)}
        return x, following.to_tensor(pad, shape=shape), inside

    # Writing -------------------------------------------------------------------

    def generation_options(self, **options):
        """The options of a generation: those of the task, and the given ones.

        Raises:
            ValueError: if an option is unknown or out of its range, or there are more
                new tokens than positions.
        """
        options = {**self.generation, **self.options["generation"], **options}
        longest = self.backbone.config.max_sequence_length
        options.setdefault("max_new_tokens", longest)
        known = [field.name for field in dataclasses.fields(GenerationOptions)]
        unknown = {*options} - {*known}
        if unknown:
            raise ValueError(
                f"An option must be one of {', '.join(known)}. Received: "
                f"{', '.join(sorted(unknown))}."
            )
        options = GenerationOptions(**options)
        if options.max_new_tokens > longest:
            raise ValueError(
                f"`max_new_tokens` must be at most {longest}, the positions of the "
                f"model. Received: {options.max_new_tokens}."
            )
        return options

    def start(self, inputs, options):
        """The beginning of a generation, in a graph.

        Args:
            inputs: dict of encoder_token_ids and encoder_padding_mask, int32 (B, L).
            options: `GenerationOptions`.

        Returns:
            tuple of the first arguments of `zoo.generation.generate`, and the limits.
        """
        several = options.num_return if options.num_beams == 1 else 1
        inputs = {k: tf.repeat(v, several, axis=0) for k, v in inputs.items()}
        limits, longest = None, options.max_new_tokens
        if options.extra_tokens is not None:
            sources = tf.reduce_sum(inputs["encoder_padding_mask"], axis=1)
            limits = tf.minimum(sources + options.extra_tokens, longest)
            longest = tf.reduce_max(tf.concat([limits, [1]], axis=0))
        rows = tf.shape(inputs["encoder_token_ids"])[0] * options.num_beams
        states = self.backbone.make_states(rows, longest, inputs)
        matrix = self.head.matrix()

        def step(tokens, states):
            outputs, states = self.backbone.step(tokens, states)
            last = outputs["decoder_sequence_output"][:, -1]
            return self.head(last, matrix), states

        start = tf.fill([rows], self.tokenizer.start_id)
        return (step, states, start, options, self.tokenizer.end_id), limits

    def generate_tokens(self, inputs, options, numbers=None):
        """Tokens and scores, in a graph; see `zoo.generation.generate` and `start`."""
        arguments, limits = self.start(inputs, options)
        return generate(*arguments, limits=limits, numbers=numbers)

    def write(self, texts, options, numbers=None):
        """What is written for each text, in a graph.

        Args:
            texts: string tensor (B,).
            options, numbers: see `zoo.generation.generate`.

        Returns:
            string and float32 (B, num_return), texts and their scores.
        """
        inputs = self.preprocessor((texts,))
        tokens, scores = self.generate_tokens(inputs, options, numbers)
        flat = tf.reshape(tokens, (-1, tf.shape(tokens)[-1]))
        written = self.tokenizer.detokenize(flat)
        return tf.reshape(written, (-1, options.num_return)), scores

    def answer_batch(self, texts):
        """The best text for each text, in a graph; dict of (B,)."""
        written, scores = self.write(texts, self.generation_options())
        return {self.answer_name: written[:, 0], "score": scores[:, 0]}

    def translate(
        self, texts, batch_size=None, return_scores=False, stream=False, **options
    ):
        """Writes a text for every text.

        Args:
            texts: list of str, or what `predict` takes.
            batch_size: int, 32 by default.
            return_scores: bool, whether to return the scores too.
            stream: bool, whether to return a generator. It has the texts so far, list
                of str, after every token. All texts are one batch.
            **options: of `zoo.generation.GenerationOptions`, such as num_beams.

        Returns:
            list of str; with `num_return`, list of lists of str, the best one first.
            With `return_scores`, a tuple of it and of the scores in the same form.

        Raises:
            TypeError: if `texts` is one string, or not text.
            ValueError: if an option is unknown or out of its range, or a stream has
                beams, scores or several texts for each text.
        """
        several = "num_return" in options
        options = self.generation_options(**options)
        columns = self.text_columns(texts)
        if stream:
            if options.num_beams > 1 or options.num_return > 1 or return_scores:
                raise ValueError(
                    "A stream has one text for each text. Received: num_beams="
                    f"{options.num_beams}, num_return={options.num_return}, "
                    f"return_scores={return_scores}. Leave them out."
                )
            return self._stream(columns[0], options)
        lengths = self.token_lengths(texts) if len(columns[0]) else np.zeros(0)
        order = np.argsort(-lengths, kind="stable")
        function = self._compiled(options, self.write)
        found = [None] * len(order)
        for begin in range(0, len(order), batch_size or ROWS):
            rows = order[begin : begin + (batch_size or ROWS)]
            numbers = uniform_numbers(rows, options)
            written, scores = function(tf.gather(columns[0], rows), numbers)
            parts = as_numpy(written).tolist(), as_numpy(scores).tolist()
            for row, *pair in zip(rows, *parts, strict=True):
                found[row] = pair if several else [part[0] for part in pair]
        texts, scores = (
            (list(part) for part in zip(*found, strict=True)) if found else ([], [])
        )
        return (texts, scores) if return_scores else texts

    def _compiled(self, options, function):
        """A compiled function of texts and numbers, one for all calls."""
        if self.answer_function is None:
            self.answer_function = {}
        if (options, function.__name__) not in self.answer_function:
            signature = [
                tf.TensorSpec((None,), tf.string),
                tf.TensorSpec((None, None), tf.float32),
            ]
            compiled = tf.function(
                lambda texts, numbers: function(texts, options, numbers), signature
            )
            self.answer_function[options, function.__name__] = compiled
        return self.answer_function[options, function.__name__]

    def _stream(self, texts, options):
        """Yields the texts after every token."""
        numbers = uniform_numbers(np.arange(len(texts)), options)
        row = self._compiled(options, self._first_row)(texts, numbers)
        number, alive = tf.constant(0), tf.constant(len(texts))
        advance = self._advance(options)
        while int(alive):
            number, alive, row = advance(number, alive, row)
            yield as_numpy(self.tokenizer.detokenize(row["tokens"])).tolist()

    def _first_row(self, texts, options, numbers):
        """The state of a stream; what the step reads is within the states."""
        inputs = self.preprocessor((texts,))
        (_, states, start, options, end), limits = self.start(inputs, options)
        return first_row(states, start, options, end, limits, numbers)[0]

    def _advance(self, options):
        """The compiled step of a stream."""
        key = options, "advance"
        if key not in self.answer_function:

            def step(tokens, states):
                outputs, states = self.backbone.step(tokens, states)
                return self.head(outputs["decoder_sequence_output"][:, -1]), states

            body = next_token(step, options, self.tokenizer.end_id)
            self.answer_function[key] = tf.function(body, reduce_retracing=True)
        return self.answer_function[key]


def uniform_numbers(rows, options):
    """Numbers in [0, 1) by which samples of some rows are drawn, float32 (R, T).

    A row has the same numbers in every batch.

    Args:
        rows: int (B,), the numbers of the rows in the list of all.
        options: `GenerationOptions`.
    """
    if not options.samples:
        return np.zeros((len(rows), 0), "float32")
    shape = options.num_return, options.max_new_tokens
    parts = [np.random.default_rng([options.seed, row]).random(shape) for row in rows]
    return np.concatenate([np.zeros((0, shape[1])), *parts]).astype("float32")
