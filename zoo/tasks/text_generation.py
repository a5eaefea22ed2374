"""How a task with a decoder writes texts."""

import concurrent.futures
import dataclasses

import numpy as np
import tensorflow as tf

from zoo.generation import GenerationOptions, first_row, generate, next_token
from zoo.tasks.answering import as_numpy
from zoo.tasks.sample_numbers import numbers_of_first_row, uniform_numbers
from zoo.tasks.stop_texts import before_stop, has_stop, without_part_of_stop
from zoo.tasks.text_input import rows_at_once

ROWS = 64  # hypotheses in a batch
AT_ONCE = 2  # batches; while one waits for memory, the other one computes
ROOM = 32  # later entries of a cache, see `zoo.generation.search`


class WritesTexts:
    """Writes a text for every text: greedily, by beams or by samples, or as a stream.

    A task has `head`, a `zoo.layers.TokenLogits`; `decoder`, see `make_decoder` of
    `zoo.backbone.Backbone`; and a tokenizer with `end_id` and `detokenize`; here, of a
    source and a target, also with `start_id`. A subclass may write otherwise, with
    `read_before`, `begin` and `writer`.

    Attributes:
        generation: dict, defaults of `zoo.generation.GenerationOptions`.
        answer_name: str, what an answer calls the text.
        vectors: str, the output of the backbone that the head reads.
    """

    generation = {}
    answer_name = "text"
    vectors = "decoder_sequence_output"

    def generation_options(self, **options):
        """The options of a generation: those of the task, and the given ones.

        Raises:
            ValueError: if an option is unknown or out of its range, or there are more
                new tokens than positions.
        """
        own = self.options.get("generation") or {}
        given, options = options, {**self.generation, **own, **options}
        least, most = options.get("min_new_tokens"), options.get("max_new_tokens")
        if least and isinstance(most, int) and "min_new_tokens" not in given:
            options["min_new_tokens"] = min(least, most)
        longest = self.backbone.config.max_sequence_length
        if longest is not None:
            options.setdefault("max_new_tokens", longest)
        known = [field.name for field in dataclasses.fields(GenerationOptions)]
        unknown = {*options} - {*known}
        if unknown:
            raise ValueError(
                f"An option must be one of {', '.join(known)}. Received: "
                f"{', '.join(sorted(unknown))}."
            )
        options = GenerationOptions(**options)
        if longest is not None and options.max_new_tokens > longest:
            raise ValueError(
                f"`max_new_tokens` must be at most {longest}, the positions of the "
                f"model. Received: {options.max_new_tokens}."
            )
        return options

    def read_before(self, texts, options):
        """What the model reads before it writes, dict of int32 (B, L).

        Args:
            texts: string (B,).
            options: `GenerationOptions`.
        """
        return self.preprocessor((texts,))

    def longest_text(self, options):
        """The most tokens of a text that is read, int; None for any number."""
        return self.sequence_length

    def start(self, inputs, options, grows=True):
        """The beginning of a generation, in a graph.

        Args:
            inputs: dict of int32 (B, L), from `read_before`.
            options: `GenerationOptions`.
            grows: bool, whether the caches may grow; else they have room for all.

        Returns:
            tuple of the first arguments of `zoo.generation.generate`, and the limits.
        """
        several = options.num_return if options.num_beams == 1 else 1
        inputs = {k: tf.repeat(v, several, axis=0) for k, v in inputs.items()}
        states, start, limits = self.begin(inputs, options, grows)
        matrix, fused = self.head.matrix(), self.decoder.fuse()

        def step(tokens, states):
            return self.next_logits(tokens, states, options.num_beams, matrix, fused)

        return (step, states, start, options, self.tokenizer.end_id), limits

    def begin(self, inputs, options, grows):
        """The states before the first new token.

        Args:
            inputs: dict of int32 (B, L), from `read_before`.
            options, grows: see `start`.

        Returns:
            The states and the token that is read first, int32 (R,), of `num_beams`
            rows for each row of `inputs`; and the most tokens of each, int32 (B,), or
            None.
        """
        limits, longest = None, options.max_new_tokens
        if options.extra_tokens is not None:
            sources = tf.reduce_sum(inputs["encoder_padding_mask"], axis=1)
            limits = tf.minimum(sources + options.extra_tokens, longest)
            longest = tf.reduce_max(tf.concat([limits, [1]], axis=0))
        rows = tf.shape(inputs["encoder_padding_mask"])[0] * options.num_beams
        room = self.room(rows, longest, options.num_beams, grows)
        states = self.decoder.make_states(rows, room, inputs, options.num_beams)
        return states, tf.fill([rows], self.tokenizer.start_id), limits

    @staticmethod
    def room(rows, longest, beams, grows):
        """For how many tokens of a row a cache has room at first.

        Args:
            rows: int32 scalar.
            longest: the most new tokens.
            beams: int.
            grows: see `start`.
        """
        # The length of a cache that grows in a loop must not be a constant.
        return (
            tf.minimum(longest, max(ROOM // beams, 1) + 0 * rows) if grows else longest
        )

    def next_logits(self, tokens, states, beams=1, matrix=None, fused=None):
        """The logits float32 (R, V) after tokens int32 (R, 1), and the next states."""
        outputs, states = self.decoder.step(tokens, states, beams=beams, fused=fused)
        return self.head(outputs[self.vectors][:, -1], matrix), states

    def writer(self, inputs, texts, options):
        """A function of new tokens int32 (B, T) to the texts, string (B,).

        It may also be given which of the texts are at their end, bool (B,). What is not
        certain of the other ones is then left out.

        Args:
            inputs: dict of int32 (B, L), from `read_before`.
            texts: string (B,).
            options: `GenerationOptions`.
        """

        def write(tokens, done=None):
            return self.before_end(self.join(tokens, done), options, done)

        return write

    def join(self, tokens, done=None):
        """The texts of tokens, string (B,); see `writer`."""
        texts = self.tokenizer.detokenize(tokens)
        if done is None:
            return texts
        return tf.where(done, texts, self.tokenizer.detokenize_unfinished(tokens))

    def before_end(self, texts, options, done=None):
        """What stands before a text at which a sequence ends; see `writer`."""
        if not options.stop:
            return texts
        texts = before_stop(texts, options.stop)
        if done is None:
            return texts
        return tf.where(done, texts, without_part_of_stop(texts, options.stop))

    def stop_finder(self, options):
        """A function that says which sequences end, see `zoo.generation.generate`."""
        if not options.stop:
            return None

        def ended(tokens, number):
            known = tf.range(tf.shape(tokens)[1])[None] <= number
            tokens = tf.where(known, tokens, self.tokenizer.end_id)
            return has_stop(self.tokenizer.detokenize(tokens), options.stop)

        return ended

    def generate_tokens(self, inputs, options, numbers=None):
        """Tokens and scores, in a graph; see `zoo.generation.generate` and `start`."""
        arguments, limits = self.start(inputs, options)
        ended = self.stop_finder(options)
        return generate(*arguments, limits=limits, numbers=numbers, ended=ended)

    def write(self, texts, options, numbers=None):
        """What is written for each text, in a graph.

        Args:
            texts: string tensor (B,).
            options, numbers: see `zoo.generation.generate`.

        Returns:
            string and float32 (B, num_return), texts and their scores.
        """
        inputs = self.read_before(texts, options)
        tokens, scores = self.generate_tokens(inputs, options, numbers)
        flat = tf.reshape(tokens, (-1, tf.shape(tokens)[-1]))
        several = options.num_return
        inputs = {k: tf.repeat(v, several, axis=0) for k, v in inputs.items()}
        written = self.writer(inputs, tf.repeat(texts, several), options)(flat)
        return tf.reshape(written, (-1, several)), scores

    def answer_batch(self, texts):
        """The best text for each text, in a graph; dict of (B,).

        A sample is that of `write_texts` for a text alone.
        """
        options = self.generation_options()
        numbers = numbers_of_first_row(texts, options)
        written, scores = self.write(texts, options, numbers)
        return {self.answer_name: written[:, 0], "score": scores[:, 0]}

    def write_texts(
        self, texts, batch_size=None, return_scores=False, stream=False, **options
    ):
        """Writes a text for every text.

        Args:
            texts: list of str, or what `predict` takes, but no dataset.
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
                    "With `stream=True`, there is one output for each text, without "
                    f"beams and scores. Received: num_beams={options.num_beams}, "
                    f"num_return={options.num_return}, return_scores={return_scores}. "
                    "Leave them out."
                )
            return self._stream(columns[0], options)
        lengths = self.read_lengths(texts, options)
        most = max(ROWS // max(options.num_beams, options.num_return), 1)
        size = rows_at_once(batch_size, most)
        found = self._write_all(columns[0], lengths, size, options)
        if not several:
            found = [(texts[0], scores[0]) for texts, scores in found]
        texts, scores = map(list, zip(*found, strict=True)) if found else ([], [])
        return (texts, scores) if return_scores else texts

    def read_lengths(self, texts, options):
        """The numbers of tokens of texts, int (N,); warns once of truncated ones."""
        known = len(self.text_columns(texts)[0])
        lengths = self.token_lengths(texts) if known else np.zeros(0)
        longest = self.longest_text(options)
        cut = np.sum(lengths > (longest or np.inf))
        self.report_truncation(int(cut), known, longest)
        return lengths

    def answer_eagerly(self, texts):
        """`answer_batch`, compiled: the steps of a loop are slow if it is not."""
        signature = [tf.TensorSpec([None], tf.string)]
        return self.compiled_function("answer", self.answer_batch, signature)(texts)

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
        """A compiled function of texts and numbers, one for all calls and seeds."""
        options = dataclasses.replace(options, seed=0)
        spec = tf.TensorSpec
        return self.compiled_function(
            (options, function.__name__),
            lambda texts, numbers: function(texts, options, numbers),
            [spec((None,), tf.string), spec((None, None), tf.float32)],
        )

    def _stream(self, texts, options):
        """Yields the texts after every token."""
        numbers = uniform_numbers(np.arange(len(texts)), options)
        write = self.writer(self.read_before(texts, options), texts, options)
        row = self._compiled(options, self._first_row)(texts, numbers)
        number, alive = tf.constant(0), tf.constant(len(texts))
        advance = self._advance(options)
        while int(alive):
            number, alive, row = advance(number, alive, row)
            yield as_numpy(write(row["tokens"], row["done"])).tolist()

    def _first_row(self, texts, options, numbers):
        """The state of a stream; what the step reads is within the states."""
        inputs = self.read_before(texts, options)
        (_, states, start, options, end), limits = self.start(
            inputs, options, grows=False
        )
        return first_row(states, start, options, end, limits, numbers)[0]

    def _advance(self, options):
        """The compiled step of a stream."""
        options = dataclasses.replace(options, seed=0)
        ended = self.stop_finder(options)
        body = next_token(self.next_logits, options, self.tokenizer.end_id, ended)
        return self.compiled_function((options, "advance"), body, reduce_retracing=True)
