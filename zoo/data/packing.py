"""Texts to `[CLS] a [SEP]` or `[CLS] a [SEP] b [SEP]`, and places of words."""

import tensorflow as tf

from zoo.data.batching import bucket_length

LONGEST = 2**30  # tokens, where there is no limit


class Packer:
    """Tokenises texts or pairs of texts and lays them out as BERT reads them.

    Segments are 0 up to the first separator and 1 after it. What does not fit is cut
    from the end of the longer text, ties from the second.

    Source: Devlin et al. 2019, released code `run_classifier.py`.
    `keras_nlp.layers.MultiSegmentPacker` pads every batch to the maximum.

    Args:
        tokenizer: callable, string tensor (B,) to ragged tokens (B, None), with
            `cls_id`, `sep_id`, `pad_id`, and `inputs`, which makes a model's inputs of
            dense tokens.
        sequence_length: int, the longest row, special tokens included; at least 5.
            None for no limit.

    Raises:
        ValueError: if the length is too small.
    """

    def __init__(self, tokenizer, sequence_length):
        if sequence_length is not None and sequence_length < 5:
            raise ValueError(
                "`sequence_length` must be at least 5, to hold two texts and their "
                f"special tokens. Received: {sequence_length}."
            )
        self.tokenizer = tokenizer
        self.sequence_length = sequence_length
        self.limit = LONGEST if sequence_length is None else sequence_length

    def pack(self, texts):
        """Tokenises, truncates and joins.

        Args:
            texts: tuple of one or two string tensors (B,).

        Returns:
            tokens, ragged (B, None), their segments, ragged int32 (B, None), and the
            number of rows that were cut, a scalar int32.
        """
        parts = [self.tokenizer(text) for text in texts]
        lengths = [tf.cast(part.row_lengths(), tf.int32) for part in parts]
        room = self.limit - len(parts) - 1
        if len(parts) == 1:
            keep = [tf.minimum(lengths[0], room)]
        else:
            first, second = lengths
            keep = [
                tf.minimum(first, tf.maximum(room - second, room - room // 2)),
                tf.minimum(second, tf.maximum(room - first, room // 2)),
            ]
        cut = tf.reduce_any([k < n for k, n in zip(keep, lengths, strict=True)], 0)
        parts = [_head(part, n) for part, n in zip(parts, keep, strict=True)]
        return *self._framed(parts), tf.reduce_sum(tf.cast(cut, tf.int32))

    def _framed(self, parts):
        """Tokens and segments of parts that fit, special tokens around them."""
        batch_size = parts[0].nrows(out_type=tf.int32)
        separator = tf.fill([batch_size, 1], self.tokenizer.sep_id)
        pieces = [tf.fill([batch_size, 1], self.tokenizer.cls_id)]
        segments = [tf.zeros([batch_size, 1], tf.int32)]
        for index, part in enumerate(parts):
            pieces += [part, separator]
            inside = part.with_values(tf.fill(tf.shape(part.values), index))
            segments += [inside, tf.fill([batch_size, 1], index)]
        return tf.concat(pieces, axis=1), tf.concat(segments, axis=1)

    def inputs(self, tokens, segment_ids, padding_mask):
        """A model's inputs, from dense tokens, segments and mask (B, L)."""
        return self.tokenizer.inputs(tokens, segment_ids, padding_mask)

    def dense(self, tokens, segment_ids, length=None):
        """Pads ragged rows.

        Args:
            tokens, segment_ids: ragged (B, None), from `pack`.
            length: int, L of the result; by default the bucket of the longest row.

        Returns:
            dict of int32 (B, L, ...): the model's inputs, e.g. token_ids, segment_ids
            and padding_mask.
        """
        if length is None:
            longest = tf.cast(tokens.bounding_shape(axis=1), tf.int32)
            length = bucket_length(longest, self.limit)
        shape = tf.stack([-1, length])
        mask = segment_ids.with_values(tf.ones_like(segment_ids.values))
        return self.inputs(
            tokens.to_tensor(self.tokenizer.pad_id, shape=shape),
            segment_ids.to_tensor(0, shape=shape),
            mask.to_tensor(0, shape=shape),
        )

    def selector(self, tokens, segment_ids, bucketed=False):
        """Makes a function that pads some of the rows.

        Its operations are few: each costs time whenever a dataset begins.

        Args:
            tokens, segment_ids: ragged (N, None), from `pack`.
            bucketed: bool, pad to the bucket of the longest row, not just to it.

        Returns:
            A function of row numbers, int (B,), to what `dense` gives.
        """
        lengths = tf.cast(tokens.row_lengths(), tf.int32)
        starts = tf.cast(tokens.row_starts(), tf.int32)
        tokens, segment_ids = tokens.values, segment_ids.values

        def select(index):
            own = tf.gather(lengths, index)
            length = tf.reduce_max(own)
            if bucketed:
                length = bucket_length(length, self.limit)
            column = tf.range(length)
            mask = column < own[:, None]
            place = tf.where(mask, tf.gather(starts, index)[:, None] + column, 0)
            return self.inputs(
                tf.where(mask, tf.gather(tokens, place), self.tokenizer.pad_id),
                tf.where(mask, tf.gather(segment_ids, place), 0),
                tf.cast(mask, tf.int32),
            )

        return select

    def __call__(self, texts):
        """Packs and pads; see `pack` and `dense`."""
        *rows, _ = self.pack(texts)
        return self.dense(*rows)


class NextWordPacker(Packer):
    """Lays texts out as `[CLS] words [SEP]` for models that predict words.

    A forward model reads all words but the last and predicts the next one, a backward
    one reads all but the first and predicts the one before.

    Args:
        tokenizer: as `Packer`'s, of words, with `spell` and `word_ids`.
        sequence_length: int or None, as `Packer`'s.
    """

    def inputs(self, tokens, segment_ids, padding_mask):
        """A language model's inputs, see `zoo.tasks.LanguageModel`, (B, L - 1, ...)."""
        spelled = self.tokenizer.spell(tokens, padding_mask > 0)
        ids = self.tokenizer.word_ids(tokens)
        mask = padding_mask[:, 1:]
        # A row's end has one place less than the row, and its last one is padding.
        return {
            "forward_ids": spelled[:, :-1] * mask[:, :, None],
            "backward_ids": spelled[:, 1:],
            "forward_targets": ids[:, 1:] * mask,
            "backward_targets": ids[:, :-1] * mask,
            "padding_mask": mask,
        }


class WordPacker(Packer):
    """Lays texts out as `[CLS] words [SEP]`, and tells where each word begins.

    Words are what white space parts; a word's place is that of its first piece, as in
    BERT's tagging (Devlin et al. 2019, section 5.3). Of a text that is cut, words whose
    first piece does not fit have no place; `windows` cuts no text.

    Args:
        tokenizer: as `Packer`'s, with `split` (texts to words) and `pieces` (words to
            tokens, at least one each).
        sequence_length: int or None, as `Packer`'s.
    """

    def pack(self, texts):
        """Tokenises and truncates.

        Args:
            texts: tuple of one string tensor (B,).

        Returns:
            tokens and segments, ragged (B, None), places of words, ragged int32
            (B, None), and the number of rows that were cut, a scalar int32.

        Raises:
            ValueError: if the texts are pairs.
        """
        tokens, places = self._pieces(texts)
        room = self.limit - 2
        lengths = tf.cast(tokens.row_lengths(), tf.int32)
        framed = self._framed([_head(tokens, tf.minimum(lengths, room))])
        places = tf.ragged.boolean_mask(places, places < room) + 1
        return *framed, places, tf.reduce_sum(tf.cast(lengths > room, tf.int32))

    def windows(self, texts):
        """Pads; a text that does not fit becomes several rows, which overlap by half.

        A word has its place in the row where most is to both sides of it, at least a
        quarter of a row but at the ends of the text.

        Args:
            texts: tuple of one string tensor (B,).

        Returns:
            what `dense` gives, of N rows, N at least B, in which the words of a text
            follow each other, row by row; and int64 (B,), the number of words.

        Raises:
            ValueError: if the texts are pairs.
        """
        tokens, places = self._pieces(texts)
        room = self.limit - 2
        stride, lengths = room // 2, tf.cast(tokens.row_lengths(), tf.int32)
        counts = 1 + tf.maximum(-((room - lengths) // stride), 0)
        texts_of = tf.repeat(tf.range(tf.size(counts)), counts)
        numbers = tf.ragged.range(counts).values
        starts = tf.cast(tf.gather(tokens.row_starts(), texts_of), tf.int32)
        left = tf.gather(lengths, texts_of) - numbers * stride
        starts += numbers * stride
        index = tf.ragged.range(starts, starts + tf.minimum(left, room))
        rows = index.with_values(tf.gather(tokens.values, index.values))
        text_of = tf.cast(places.value_rowids(), tf.int32)
        window = (2 * places.values - stride) // (2 * stride)
        window = tf.clip_by_value(window, 0, tf.gather(counts, text_of) - 1)
        row_of = tf.gather(tf.cumsum(counts, exclusive=True), text_of) + window
        inside = tf.RaggedTensor.from_value_rowids(
            places.values - window * stride + 1, row_of, nrows=tf.size(texts_of)
        )
        return self.dense(*self._framed([rows]), inside), places.row_lengths()

    def _pieces(self, texts):
        """Tokens of texts, ragged (B, None), and where each word begins, from 0 on."""
        if len(texts) != 1:
            raise ValueError("Words are tagged in texts. Received: pairs of texts.")
        words = self.tokenizer.split(texts[0])[0]
        pieces = self.tokenizer.pieces(words.values)
        tokens = tf.RaggedTensor.from_row_splits(
            pieces.values, tf.gather(pieces.row_splits, words.row_splits)
        )
        before = tf.repeat(tokens.row_starts(), words.row_lengths())
        places = words.with_values(tf.cast(pieces.row_starts() - before, tf.int32))
        return tokens, places

    def dense(self, tokens, segment_ids, places, length=None):
        """Pads ragged rows; see `Packer`. Adds word_positions (B, W), 0 for padding."""
        inputs = super().dense(tokens, segment_ids, length)
        return {**inputs, "word_positions": self._padded(places, True)}

    def selector(self, tokens, segment_ids, places, bucketed=False):
        """Makes a function that pads some of the rows; see `Packer`."""
        select = super().selector(tokens, segment_ids, bucketed)

        def select_words(index):
            chosen = self._padded(tf.gather(places, index), bucketed)
            return {**select(index), "word_positions": chosen}

        return select_words

    def _padded(self, places, bucketed):
        width = tf.maximum(tf.cast(places.bounding_shape(axis=1), tf.int32), 1)
        if bucketed:
            width = bucket_length(width, self.limit)
        return places.to_tensor(0, shape=tf.stack([-1, width]))


def _head(ragged, lengths):
    """The first `lengths[i]` values of row i."""
    index = tf.ragged.range(lengths)
    starts = tf.cast(ragged.row_starts(), tf.int32)
    return index.with_values(
        tf.gather(ragged.values, index.values + tf.repeat(starts, lengths))
    )
