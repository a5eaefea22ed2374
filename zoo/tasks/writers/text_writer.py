"""How a task that has a decoder writes texts."""

import dataclasses

import numpy as np
import tensorflow as tf

from zoo.checks.ranges import check_values
from zoo.checks.user_warnings import warn_user
from zoo.generation import GenerationOptions, generate
from zoo.tasks.inputs.text_batches import report_truncation, token_lengths
from zoo.tasks.inputs.text_input import rows_at_once
from zoo.tasks.writers.generation_functions import stream_rows, write_texts
from zoo.tasks.writers.sample_numbers import sample_numbers
from zoo.tasks.writers.sentence_rows import SentenceRows, write_in_parts
from zoo.tasks.writers.stop_texts import stop_finder, trim_texts
from zoo.text.white_space import is_blank

ROWS_IN_BATCH = 64  # hypotheses
SAMPLING_OPTIONS = ("temperature", "top_k", "top_p")
LATER_ENTRIES = 32  # of a cache, see `zoo.generation.search`


class TextWriter:
    """Writes a text for every text: greedily, by beams or by samples, or as a stream.

    Of a text without words, it writes an empty text. A subclass may write otherwise,
    with `encode_prompt`, `init_states` and `text_maker`.

    Attributes:
        generation: dict, defaults of `zoo.generation.GenerationOptions`.
        unused_options: tuple of str, options that the writer does not have.
        vectors: str, the output of the decoder that the head reads.

    Args:
        task: `zoo.tasks.Task` with `head`, a `zoo.layers.TokenLogits`, and a tokenizer
            with `end_id`, `detokenize` and here `start_id`. Its `files` say what an
            answer calls the text.
        decoder: see `make_decoder` of `zoo.backbone.Backbone`.
        generation: dict of options of `GenerationOptions`, the user's defaults, or
            None. The options of the task keep them.

    Raises:
        ValueError: if `generation` is not a dict of valid options.
    """

    generation = {"extra_tokens": 50}  # Vaswani et al. 2017, section 6.1
    unused_options = ()
    vectors = "decoder_sequence_output"

    def __init__(self, task, decoder, generation=None):
        self.task, self.decoder = task, decoder
        generation = {} if generation is None else generation
        if not isinstance(generation, dict):
            raise ValueError(
                "`generation` must be a dict of options, such as `{'num_beams': 4}`. "
                f"Received: {generation!r:.80}."
            )
        self.check_options(generation)
        options = GenerationOptions(**generation)
        # Plain numbers, which a file can hold.
        plain = {name: getattr(options, name) for name in generation}
        task.options["generation"] = plain

    @property
    def tokenizer(self):
        """That of the task."""
        return self.task.tokenizer

    def generation_options(self, **options):
        """The options of a generation: the defaults, and the given ones, checked."""
        given = options
        options = {**self.generation, **self.task.options["generation"], **given}
        if any(given.get(name) is not None for name in SAMPLING_OPTIONS):
            options["num_beams"] = given.get("num_beams", 1)
        least, most = options.get("min_new_tokens"), options.get("max_new_tokens")
        if least and isinstance(most, int) and "min_new_tokens" not in given:
            options["min_new_tokens"] = min(least, most)
        longest = self.task.backbone.config.max_sequence_length
        if longest is not None:
            options.setdefault("max_new_tokens", longest)
        options = self.check_options(options)
        if longest is not None and options.max_new_tokens > longest:
            raise ValueError(
                f"`max_new_tokens` must be at most {longest}, the positions of the "
                f"model. Received: {options.max_new_tokens}."
            )
        return options

    def check_options(self, options):
        """A dict of options as `GenerationOptions`, checked against the model."""
        known = [field.name for field in dataclasses.fields(GenerationOptions)]
        known = [name for name in known if name not in self.unused_options]
        unknown = {*options} - {*known}
        if unknown:
            raise ValueError(
                f"An option must be one of {', '.join(known)}. Received: "
                f"{', '.join(sorted(map(str, unknown)))}."
            )
        options = GenerationOptions(**options)
        suppressed = (*options.suppressed, *self.never_written())
        options = dataclasses.replace(options, suppressed=suppressed)
        end = self.tokenizer and self.tokenizer.end_id
        options.check_tokens(self.task.output.shape[-1], end)
        return options

    def never_written(self):
        """Tokens that are suppressed in every generation, iterable of int."""
        return ()

    def encode_prompt(self, texts, options):
        """What the model reads before it writes, dict of int32 (B, L)."""
        return self.task.preprocessor((texts,))

    def longest_text(self, options):
        """The most tokens of a text that is read, int; None for any number."""
        return self.task.sequence_length

    def init_search(self, inputs, options, grows=True):
        """States, start and limits of `zoo.generation.generate`, in a graph, a dict.

        `inputs` come from `encode_prompt`. If caches may not grow, they have room for
        all tokens.
        """
        several = tf.where(options.samples, options.num_return, 1)
        inputs = {k: tf.repeat(v, several, axis=0) for k, v in inputs.items()}
        states, start, limits = self.init_states(inputs, options, grows)
        return {"states": states, "start": start, "limits": limits}

    def init_states(self, inputs, options, grows):
        """The states before the first new token, that token, and the most tokens.

        The token that is read first is int32 (R,), of `num_beams` rows for each row of
        `inputs`; the most tokens of each row are int32 (B,).
        """
        options = options.resolve()
        sources = tf.reduce_sum(inputs["encoder_padding_mask"], axis=1)
        limits = tf.minimum(sources + options.extra_tokens, options.max_new_tokens)
        longest = tf.reduce_max(tf.concat([limits, [1]], axis=0))
        rows = tf.shape(inputs["encoder_padding_mask"])[0] * options.num_beams
        room = self.room(rows, longest, options.num_beams, grows)
        states = self.decoder.make_states(rows, room, inputs, options.num_beams)
        return states, tf.fill([rows], self.tokenizer.start_id), limits

    @staticmethod
    def room(rows, longest, beams, grows):
        """For how many tokens of a row a cache has room at first."""
        # The length of a cache that grows in a loop must not be a constant.
        room = tf.maximum(LATER_ENTRIES // beams, 1) + 0 * rows
        return tf.where(grows, tf.minimum(longest, room), longest)

    def next_logits(self, tokens, states, beams=1, matrix=None, fused=None):
        """The logits float32 (R, V) after tokens int32 (R, 1), and the next states."""
        outputs, states = self.decoder.step(tokens, states, beams=beams, fused=fused)
        return self.task.head(outputs[self.vectors][:, -1], matrix), states

    def text_maker(self, inputs, texts, options):
        """A function of new tokens int32 (B, T) to the texts, string (B,).

        It may also be given which texts are at their end, bool (B,). What is not
        certain of the other ones is then left out.
        """
        empty = self.writes_nothing(texts)

        def make(tokens, done=None):
            written = trim_texts(self.join(tokens, done), options, done)
            return tf.where(empty, "", written)

        return make

    def join(self, tokens, done=None):
        """The texts of tokens, string (B,); see `text_maker`."""
        texts = self.tokenizer.detokenize(tokens)
        if done is None:
            return texts
        return tf.where(done, texts, self.tokenizer.detokenize_unfinished(tokens))

    def stop_finder(self, options):
        """A function that says which sequences end, see `zoo.generation.generate`."""
        return stop_finder(self.tokenizer, options)

    def constrain(self, step, begun):
        """A step and its states that restrict which tokens may come next."""
        return step, begun["states"]

    def search(self, begun, options, numbers=None):
        """Tokens and scores, in a graph; see `zoo.generation.generate`."""
        beams, matrix, fused = (
            options.num_beams,
            self.task.head.matrix(),
            self.decoder.fuse(),
        )

        def step(tokens, states):
            return self.next_logits(tokens, states, beams, matrix, fused)

        step, states = self.constrain(step, begun)
        return generate(
            step,
            states,
            begun["start"],
            options,
            self.tokenizer.end_id,
            limits=begun["limits"],
            numbers=numbers,
            ended=self.stop_finder(options),
        )

    def generate_tokens(self, inputs, options, numbers=None):
        """Tokens and scores, in a graph; see `init_search` and `search`."""
        return self.search(self.init_search(inputs, options), options, numbers)

    def decode(self, tokens, scores, inputs, texts, options):
        """Texts and scores (B, N), in a graph, of tokens (B, N, T)."""
        flat = tf.reshape(tokens, (-1, tf.shape(tokens)[-1]))
        several = options.num_return
        inputs = {k: tf.repeat(v, several, axis=0) for k, v in inputs.items()}
        written = self.text_maker(inputs, tf.repeat(texts, several), options)(flat)
        empty = self.writes_nothing(texts)
        if empty is not None:
            scores = tf.where(empty[:, None], 0.0, scores)
        return tf.reshape(written, (-1, several)), scores

    def writes_nothing(self, texts):
        """Which texts are white space, or have no tokens, bool (B,).

        None if something is written for each text.
        """
        return is_blank(texts) | (self.tokenizer(texts).row_lengths() == 0)

    def write_batch(self, texts):
        """The best text for each text, in a graph; dict of (B,).

        A sample is that of `write_texts` for a text alone.
        """
        options = self.generation_options()

        def write(texts):
            inputs, numbers = self.encode_prompt(texts, options), None
            if options.samples:
                numbers = sample_numbers(texts, options)
            tokens, scores = self.generate_tokens(inputs, options, numbers)
            written, scores = self.decode(tokens, scores, inputs, texts, options)
            return written[:, 0], scores[:, 0]

        if options.split_sentences:
            rows = SentenceRows.of_texts(texts, True)
            size = rows_in_batch(options)
            written, scores = write_in_parts(write, rows.sentences, size)
            written, scores = rows.join(written[:, None], scores[:, None])
            written, scores = written[:, 0], scores[:, 0]
        else:
            written, scores = write(texts)
        return {self.task.files.answer_name: written, "score": scores}

    def write_texts(
        self, texts, batch_size=None, return_scores=False, stream=False, **options
    ):
        """Writes a text for every text.

        Args:
            texts: list of str, or what `predict` takes, but no dataset.
            batch_size: int, texts, or sentences if they are split, that are written
                together; by default 64, or fewer with beams. Two batches are written at
                once.
            return_scores: bool, whether to return the scores too.
            stream: bool, whether to return a generator. It has the texts so far, list
                of str, after every token. All texts are one batch.
            **options: of `zoo.generation.GenerationOptions`, such as num_beams. A
                default of several beams does not hold for samples and streams.

        Returns:
            list of str; with `num_return`, list of lists of str, the best one first.
            With `return_scores`, a tuple of it and of the scores in the same form.

        Raises:
            TypeError: if `texts` is one string, or not text.
            ValueError: if an option is unknown or out of its range, or a stream has
                beams, scores or several texts for each text.
        """
        if self.tokenizer is None or self.tokenizer.end_id is None:
            method, kind = self.task.text_methods[0], type(self.tokenizer).__name__
            raise ValueError(
                f"`{method}` needs a tokenizer with a token that ends a text. "
                f"Received: {kind}. Give the model one when you make it."
            )
        check_values(bool, return_scores=return_scores, stream=stream)
        several = "num_return" in options
        if stream:
            options = {"num_beams": 1, **options}
        options = self.generation_options(**options)
        (texts,) = self.task.text_columns(texts)
        rows = SentenceRows.of_texts(texts, options.split_sentences)
        if stream and (
            options.num_beams > 1 or options.num_return > 1 or return_scores
        ):
            raise ValueError(
                "With `stream=True`, there is one output for each text, without beams "
                f"and scores. Received: num_beams={options.num_beams}, num_return="
                f"{options.num_return}, return_scores={return_scores}. Leave them out."
            )
        lengths = self.read_lengths(rows.sentences, options)
        if stream:
            return stream_rows(self, texts, rows, options)
        size = rows_at_once(batch_size, rows_in_batch(options))
        repeats = rows.repeats(texts)
        found = write_texts(self, rows.sentences, repeats, lengths, size, options)
        found = rows.join_lists(found) if options.split_sentences else found
        if not several:
            found = [(texts[0], scores[0]) for texts, scores in found]
        texts, scores = map(list, zip(*found, strict=True)) if found else ([], [])
        return (texts, scores) if return_scores else texts

    def read_lengths(self, texts, options):
        """The numbers of tokens of texts, int (N,).

        It warns once of truncated ones, and in each call of texts that are longer than
        those of the training.
        """
        known = len(texts)
        lengths = token_lengths(self.task, (texts,)) if known else np.zeros(0)
        longest = self.longest_text(options)
        cut = np.sum(lengths > (longest or np.inf))
        report_truncation(self.task, int(cut), known, longest)
        learned = self.task.options.get("longest_source")
        longer = int(np.sum(lengths > (learned or np.inf)))
        if longer:
            warn_user(
                f"{longer} of {known} sentences are longer than {learned} tokens, the "
                "longest one of the training. What is written for them may be wrong or "
                "incomplete. Shorten them."
            )
        return lengths


def rows_in_batch(options):
    """The texts that are written together, int."""
    return max(ROWS_IN_BATCH // max(options.num_beams, options.num_return), 1)
