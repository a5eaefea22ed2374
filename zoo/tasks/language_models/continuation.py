"""How a language model continues texts."""

import tensorflow as tf

from zoo.data import Packer
from zoo.tasks.inputs.windows import read_windows
from zoo.tasks.writers.stop_texts import trim_texts
from zoo.tasks.writers.text_writer import TextWriter
from zoo.text.white_space import SPACE, strip


class Continuation(TextWriter):
    """Writes on where a text ends; the decoder is the backbone, which has `step`."""

    generation = {"max_new_tokens": 50}
    unused_options = ("extra_tokens", "split_sentences")
    vectors = "sequence_output"

    @property
    def continues(self):
        """Whether the backbone can continue a text."""
        steps = self.decoder.carries_states or self.decoder.caches
        return steps and not self.decoder.reverse

    def generation_options(self, **options):
        """The options of a generation; half of few positions are for the prompt."""
        longest, most = self.decoder.config.max_sequence_length, "max_new_tokens"
        few = longest is not None and longest < self.generation[most]
        if few and most not in self.task.options["generation"]:
            options = {most: max(longest // 2, 1), **options}
        return super().generation_options(**options)

    def never_written(self):
        """Tokens that the tokenizer does not write, and rows without a token."""
        if self.tokenizer is None:
            return ()
        # A table may have more rows than there are tokens.
        sizes = self.tokenizer.vocabulary_size, self.decoder.config.vocabulary_size
        return (*self.tokenizer.unwritten_ids, *range(*sizes))

    def longest_text(self, options):
        """The most tokens that leave a position for each new token but the last."""
        positions = self.decoder.config.max_sequence_length
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
        ids, mask = inputs[self.decoder.tokens], inputs["padding_mask"]
        lengths = tf.reduce_sum(mask, axis=1)
        last = tf.gather(ids, lengths - 1, axis=1, batch_dims=1)
        before = mask * tf.cast(
            tf.sequence_mask(lengths - 1, tf.shape(ids)[1]), "int32"
        )
        given, beams = {**inputs, "padding_mask": before}, options.num_beams
        if self.decoder.caches:
            rows = tf.shape(ids)[0] * beams
            room = self.room(rows, options.max_new_tokens, beams, grows)
            states = self.decoder.make_states(rows, room, given, beams)
        else:
            _, states = read_windows(self.decoder, given)
            states = {k: tf.repeat(v, beams, axis=0) for k, v in states.items()}
        limits = tf.fill(tf.shape(last), options.max_new_tokens)
        return states, tf.repeat(last, beams), limits

    def writes_nothing(self, texts):
        """None, since every text is continued."""
        return None

    def text_maker(self, inputs, texts, options):
        """A function of new tokens to the texts with their continuations."""
        ids, mask = inputs[self.decoder.tokens], inputs["padding_mask"]
        # `join` leaves out what follows an end token, which a prompt may have.
        places = tf.range(1, tf.shape(ids)[1] + 1)
        ends = tf.where(ids == self.tokenizer.end_id, places * mask, 0)
        after = places > tf.reduce_max(ends, axis=1, keepdims=True)
        prompts = tf.ragged.boolean_mask(ids, after & (mask > 0))
        read = tf.strings.length(self.tokenizer.detokenize(prompts))
        blank = tf.strings.regex_full_match(texts, f"(?s)(.*{SPACE})?")
        blank &= not self.tokenizer.lossless

        def make(tokens, done=None):
            whole = self.join(tf.concat([prompts, tokens], axis=1), done)
            more = tf.strings.substr(
                whole, tf.minimum(read, tf.strings.length(whole)), 2**30 + 0 * read
            )
            more = trim_texts(more, options, done)
            # A text that ends with white space has the space already.
            return texts + tf.where(blank, strip(more), more)

        return make
