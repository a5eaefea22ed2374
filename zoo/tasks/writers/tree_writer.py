"""How a parser writes trees."""

import tensorflow as tf

from zoo.tasks.writers.text_writer import TextWriter


class TreeWriter(TextWriter):
    """Writes a linear tree over all words of a sentence; see `zoo.Parser`."""

    generation = {"extra_tokens": 300}
    # They could forbid the only tokens that lead to a tree, which is of one sentence.
    unused_options = (
        "min_new_tokens",
        "no_repeat_ngram_size",
        "first_token",
        "last_token",
        "suppressed",
        "stop",
        "split_sentences",
    )

    def encode_prompt(self, texts, options):
        """What the encoder reads, and the number of words, int32 (B,)."""
        words = self.tokenizer.split(texts)[0].row_lengths()
        inputs = super().encode_prompt(texts, options)
        return {**inputs, "num_words": tf.cast(words, tf.int32)}

    def init_search(self, inputs, options, grows=True):
        """See `TextWriter`; also the number of words of each hypothesis."""
        inputs = {**inputs}
        words = inputs.pop("num_words")
        several = tf.where(options.samples, options.num_return, options.num_beams)
        begun = super().init_search(inputs, options, grows)
        return {**begun, "words": tf.repeat(words, several)}

    def constrain(self, step, begun):
        """A step that leads to a tree over all words."""
        words, limits = begun["words"], begun["limits"]
        beams = tf.shape(words)[0] // tf.maximum(tf.shape(limits)[0], 1)
        limits = tf.repeat(limits, beams)
        return self.tokenizer.grammar.constrain(step, begun["states"], words, limits)

    def stop_finder(self, options):
        """None, since a tree ends where it is complete."""
        return None

    def text_maker(self, inputs, texts, options):
        """A function of tokens to trees; see `TextWriter`."""
        return lambda tokens, done=None: self.tokenizer.write_trees(tokens, texts)
