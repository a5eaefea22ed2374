"""How a task with a decoder writes texts."""

import concurrent.futures
import dataclasses

import numpy as np
import tensorflow as tf

from zoo.generation import GenerationOptions, first_row, generate, next_token
from zoo.tasks.answering import as_numpy

ROWS = 64  # hypotheses in a batch
AT_ONCE = 2  # batches; while one waits for memory, the other one computes
ROOM = 32  # later entries of a cache, see `zoo.generation.search`


class WritesTexts:
    """Writes a text for every text: greedily, by beams or by samples, or as a stream.

    A task has `head`, a `zoo.layers.TokenLogits`, and a tokenizer with `start_id`,
    `end_id` and `detokenize`.

    Attributes:
        generation: dict, defaults of `zoo.generation.GenerationOptions`.
        answer_name: str, what an answer calls the text.
    """

    generation = {}
    answer_name = "text"

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

    def start(self, inputs, options, grows=True):
        """The beginning of a generation, in a graph.

        Args:
            inputs: dict of encoder_token_ids and encoder_padding_mask, int32 (B, L).
            options: `GenerationOptions`.
            grows: bool, whether the caches may grow; else they have room for all.

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
        beams = options.num_beams
        if grows:
            # The length of the cache changes in a loop, so it must not be a constant.
            longest = tf.minimum(longest, max(ROOM // beams, 1) + 0 * rows)
        states = self.backbone.make_states(rows, longest, inputs, beams)
        matrix = self.head.matrix()

        def step(tokens, states):
            outputs, states = self.backbone.step(tokens, states, beams=beams)
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
            batch_size: int, texts that are written together; by default 64, or fewer
                with beams. Two batches are written at once.
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
        cut = np.sum(lengths > self.sequence_length)
        self.report_truncation(int(cut), len(lengths), stacklevel=3)
        size = batch_size or max(ROWS // max(options.num_beams, options.num_return), 1)
        found = self._write_all(columns[0], lengths, size, options)
        if not several:
            found = [(texts[0], scores[0]) for texts, scores in found]
        texts, scores = map(list, zip(*found, strict=True)) if found else ([], [])
        return (texts, scores) if return_scores else texts

    def _write_all(self, texts, lengths, size, options):
        """What is written for each text, list of (list of str, list of float).

        Args:
            texts: string tensor (N,).
            lengths: int (N,), their tokens, by which batches are made.
            size: int, texts of a batch.
            options: `GenerationOptions`.
        """
        order = np.argsort(-lengths, kind="stable")
        function = self._compiled(options, self.write)

        def write(rows):
            numbers = uniform_numbers(rows, options)
            written, scores = function(tf.gather(texts, rows), numbers)
            return as_numpy(written).tolist(), as_numpy(scores).tolist()

        parts = [order[start : start + size] for start in range(0, len(order), size)]
        found = [None] * len(order)
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            for rows, written in zip(parts, pool.map(write, parts), strict=True):
                for row, *pair in zip(rows, *written, strict=True):
                    found[row] = pair
        return found

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
        (_, states, start, options, end), limits = self.start(
            inputs, options, grows=False
        )
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
