"""How a language model continues texts."""

import tensorflow as tf

from zoo.data import Packer
from zoo.tasks.inputs.windows import read_windows
from zoo.tasks.writers.stop_texts import trim_texts
from zoo.tasks.writers.text_generation import TextGeneration
from zoo.text.white_space import SPACE, strip


class TextContinuation(TextGeneration):
    """Writes on where a text ends: greedily, by beams or by samples, or as a stream.

    A task has a backbone with `step`. Its states are of a fixed size, as in an LSTM, or
    they are a cache of all tokens.
    """

    generation = {"max_new_tokens": 50}
    unused_options = ("extra_tokens",)
    vectors = "sequence_output"
    decoder = property(lambda self: self.backbone)

    @property
    def continues(self):
        """Whether the backbone can continue a text."""
        steps = self.backbone.carries_states or self.backbone.caches
        return steps and not self.backbone.reverse

    def generate(
        self, texts, batch_size=None, return_scores=False, stream=False, **options
    ):
        """Continues every text.

        Args:
            texts: str, list of str, or what `predict` takes, but no dataset. An empty
                text has a beginning of its own. A text for which the model has not
                enough positions loses its first tokens.
            batch_size, return_scores, stream, **options: see
                `TextGeneration.write_texts`. The default of `max_new_tokens` is 50, or
                the half of fewer positions. A text ends where the model begins another
                document, or before a text in `stop`.

        Returns:
            The text with its continuation, in the form of `texts`: a str, or what
            `write_texts` returns.

        Raises:
            TypeError: if `texts` is not text.
            ValueError: see `write_texts`; also if the model reads from the last token
                to the first, has no states, or was built for streams.
        """
        self.check_writes()
        if not self.continues:
            reverse = self.backbone.reverse
            kind = "reads backwards" if reverse else "has no states to carry"
            raise ValueError(
                "`generate` needs a backbone that reads forwards and has states. "
                f"Received: one of family {self.backbone.family!r}, which {kind}."
            )
        single = isinstance(texts, (str, bytes))
        given = [texts] if single else texts
        found = self.write_texts(given, batch_size, return_scores, stream, **options)
        if not single:
            return found
        if stream:
            return (part[0] for part in found)
        return tuple(part[0] for part in found) if return_scores else found[0]

    def generation_options(self, **options):
        """The options of a generation; half of few positions are for the prompt."""
        own = self.options.get("generation") or {}
        longest, most = self.backbone.config.max_sequence_length, self.generation
        if longest is not None and longest < most["max_new_tokens"]:
            half = {"max_new_tokens": max(longest // 2, 1)}
            options = {**half, **own, **options}
        return super().generation_options(**options)

    def never_written(self):
        """Tokens that the tokenizer does not write, and rows without a token."""
        if self.tokenizer is None:
            return ()
        # A table may have more rows than there are tokens.
        sizes = self.tokenizer.vocabulary_size, self.backbone.config.vocabulary_size
        return (*self.tokenizer.unwritten_ids, *range(*sizes))

    def longest_text(self, options):
        """The most tokens that leave a position for each new token but the last."""
        positions = self.backbone.config.max_sequence_length
        return positions and positions - options.max_new_tokens + 1

    def encode_prompt(self, texts, options):
        """The last tokens of texts, at least one; see the base class."""
        packer = Packer(self.tokenizer, None)
        tokens = packer.pack((texts,))[0]["tokens"]
        if not self.tokenizer.framing.begin:
            first = tf.cast(tokens.row_lengths() == 0, tf.int64)
            begin = tf.fill([tf.reduce_sum(first)], self.tokenizer.start_id)
            begin = tf.RaggedTensor.from_row_lengths(begin, first)
            tokens = tf.concat([begin, tokens], axis=1)
        longest = self.longest_text(options)
        if longest is not None:
            tokens = tokens[:, -longest:]
        return packer.dense({"tokens": tokens})

    def init_states(self, inputs, options, grows):
        """The states after all tokens but the last, and the last one."""
        ids, mask = inputs[self.backbone.tokens], inputs["padding_mask"]
        lengths = tf.reduce_sum(mask, axis=1)
        last = tf.gather(ids, lengths - 1, axis=1, batch_dims=1)
        before = mask * tf.cast(
            tf.sequence_mask(lengths - 1, tf.shape(ids)[1]), "int32"
        )
        given, beams = {**inputs, "padding_mask": before}, options.num_beams
        if self.backbone.caches:
            rows = tf.shape(ids)[0] * beams
            room = self.room(rows, options.max_new_tokens, beams, grows)
            states = self.backbone.make_states(rows, room, given, beams)
        else:
            _, states = read_windows(self.backbone, given)
            states = {k: tf.repeat(v, beams, axis=0) for k, v in states.items()}
        limits = tf.fill(tf.shape(last), options.max_new_tokens)
        return states, tf.repeat(last, beams), limits

    def writer(self, inputs, texts, options):
        """A function of new tokens to the texts with their continuations."""
        ids, mask = inputs[self.backbone.tokens], inputs["padding_mask"]
        # `join` leaves out what follows an end token, which a prompt may have.
        places = tf.range(1, tf.shape(ids)[1] + 1)
        ends = tf.where(ids == self.tokenizer.end_id, places * mask, 0)
        after = places > tf.reduce_max(ends, axis=1, keepdims=True)
        prompts = tf.ragged.boolean_mask(ids, after & (mask > 0))
        own = tf.strings.length(self.tokenizer.detokenize(prompts))
        blank = tf.strings.regex_full_match(texts, f"(?s)(.*{SPACE})?")
        blank &= not self.tokenizer.lossless

        def write(tokens, done=None):
            whole = self.join(tf.concat([prompts, tokens], axis=1), done)
            more = tf.strings.substr(
                whole, tf.minimum(own, tf.strings.length(whole)), 2**30 + 0 * own
            )
            more = trim_texts(more, options, done)
            # A text that ends with white space has the space already.
            return texts + tf.where(blank, strip(more), more)

        return write
