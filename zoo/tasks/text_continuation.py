"""How a language model continues texts."""

import tensorflow as tf

from zoo.tasks.text_generation import WritesTexts
from zoo.tasks.windows import read_windows


class ContinuesTexts(WritesTexts):
    """Writes on where a text ends: greedily, by beams or by samples, or as a stream.

    A task has a backbone with `step`, whose states do not grow.
    """

    generation = {"max_new_tokens": 50}
    vectors = "sequence_output"
    decoder = property(lambda self: self.backbone)

    def generate(
        self, texts, batch_size=None, return_scores=False, stream=False, **options
    ):
        """Continues every text.

        Args:
            texts: str, list of str, or what `predict` takes. An empty text has a
                beginning of its own.
            batch_size, return_scores, stream, **options: see `WritesTexts.write_texts`.
                The default of `max_new_tokens` is 50. A text ends where the model
                begins another document.

        Returns:
            The text with its continuation, in the form of `texts`: a str, or what
            `write_texts` returns.

        Raises:
            TypeError: if `texts` is not text.
            ValueError: see `write_texts`; also if the model reads from the last token
                to the first, has no states, or was built for streams.
        """
        self._check_rows()
        backbone = self.backbone
        if backbone.reverse or not backbone.carries_states:
            kind = "reads backwards" if backbone.reverse else "has no states to carry"
            raise ValueError(
                "`generate` needs a backbone that reads forwards and has states. "
                f"Received: one of family {backbone.family!r}, which {kind}."
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
        """The options of a generation; tokens that are never written are suppressed."""
        given = options.get("suppressed", ())
        options["suppressed"] = (*given, *self.tokenizer.unwritten_ids)
        return super().generation_options(**options)

    def begin(self, inputs, options, grows):
        """The states after all tokens but the last, and the last one."""
        ids, mask = inputs[self.backbone.tokens], inputs["padding_mask"]
        lengths = tf.reduce_sum(mask, axis=1)
        last = tf.gather(ids, lengths - 1, axis=1, batch_dims=1)
        before = mask * tf.cast(
            tf.sequence_mask(lengths - 1, tf.shape(ids)[1]), "int32"
        )
        given = {**inputs, "padding_mask": before}
        _, states = read_windows(self.backbone, given)
        beams = options.num_beams
        states = {k: tf.repeat(v, beams, axis=0) for k, v in states.items()}
        return states, tf.repeat(last, beams), None

    def writer(self, inputs, texts):
        """A function of new tokens to the texts with their continuations."""
        ids, lengths = inputs[self.backbone.tokens], inputs["padding_mask"]
        prompts = tf.RaggedTensor.from_tensor(ids, tf.reduce_sum(lengths, axis=1))
        own = tf.strings.length(self.tokenizer.detokenize(prompts))
        blank = tf.strings.regex_full_match(texts, r"(?s)(.*\s)?")

        def write(tokens):
            joined = tf.concat([prompts, tokens], axis=1)
            whole = self.tokenizer.detokenize(joined)
            more = tf.strings.substr(
                whole, tf.minimum(own, tf.strings.length(whole)), 2**30 + 0 * own
            )
            # A text that ends with white space has the space already.
            return texts + tf.where(blank, tf.strings.strip(more), more)

        return write
