"""Texts to `[CLS] a [SEP]` or `[CLS] a [SEP] b [SEP]`."""

import tensorflow as tf

from zoo.data.batching import bucket_length


class Packer:
    """Tokenises texts or pairs of texts and lays them out as BERT reads them.

    Segments are 0 up to the first separator and 1 after it. What does not fit is cut
    from the end of the longer text, ties from the second.

    Source: Devlin et al. 2019, released code `run_classifier.py`.
    `keras_nlp.layers.MultiSegmentPacker` pads every batch to the maximum.

    Args:
        tokenizer: callable, string tensor (B,) to ragged int32 (B, None), with
            `cls_id`, `sep_id` and `pad_id`.
        sequence_length: int, the longest row, special tokens included; at least 5.

    Raises:
        ValueError: if the length is too small.
    """

    def __init__(self, tokenizer, sequence_length):
        if sequence_length < 5:
            raise ValueError(
                "`sequence_length` must be at least 5, to hold two texts and their "
                f"special tokens. Received: {sequence_length}."
            )
        self.tokenizer = tokenizer
        self.sequence_length = sequence_length

    def pack(self, texts):
        """Tokenises, truncates and joins.

        Args:
            texts: tuple of one or two string tensors (B,).

        Returns:
            token_ids, segment_ids: ragged int32 (B, None), and the number of rows
            that were cut, a scalar int32.
        """
        parts = [self.tokenizer(text) for text in texts]
        lengths = [tf.cast(part.row_lengths(), tf.int32) for part in parts]
        room = self.sequence_length - len(parts) - 1
        if len(parts) == 1:
            keep = [tf.minimum(lengths[0], room)]
        else:
            first, second = lengths
            keep = [
                tf.minimum(first, tf.maximum(room - second, room - room // 2)),
                tf.minimum(second, tf.maximum(room - first, room // 2)),
            ]
        cut = tf.reduce_any([k < n for k, n in zip(keep, lengths, strict=True)], 0)
        batch_size = parts[0].nrows(out_type=tf.int32)
        separator = tf.fill([batch_size, 1], self.tokenizer.sep_id)
        pieces = [tf.fill([batch_size, 1], self.tokenizer.cls_id)]
        segments = [tf.zeros_like(pieces[0])]
        for index, (part, length) in enumerate(zip(parts, keep, strict=True)):
            part = _head(part, length)
            pieces += [part, separator]
            inside = part.with_values(tf.fill(tf.shape(part.values), index))
            segments += [inside, tf.fill([batch_size, 1], index)]
        return (
            tf.concat(pieces, axis=1),
            tf.concat(segments, axis=1),
            tf.reduce_sum(tf.cast(cut, tf.int32)),
        )

    def dense(self, token_ids, segment_ids, length=None):
        """Pads ragged rows.

        Args:
            token_ids, segment_ids: ragged int32 (B, None), from `pack`.
            length: int, L of the result; by default the bucket of the longest row.

        Returns:
            dict of int32 (B, L): token_ids, segment_ids, padding_mask.
        """
        if length is None:
            longest = tf.cast(token_ids.bounding_shape(axis=1), tf.int32)
            length = bucket_length(longest, self.sequence_length)
        shape = tf.stack([-1, length])
        mask = token_ids.with_values(tf.ones_like(token_ids.values))
        return {
            "token_ids": token_ids.to_tensor(self.tokenizer.pad_id, shape=shape),
            "segment_ids": segment_ids.to_tensor(0, shape=shape),
            "padding_mask": mask.to_tensor(0, shape=shape),
        }

    def selector(self, token_ids, segment_ids, bucketed=False):
        """Makes a function that pads some of the rows.

        Its operations are few: each costs time whenever a dataset begins.

        Args:
            token_ids, segment_ids: ragged int32 (N, None), from `pack`.
            bucketed: bool, pad to the bucket of the longest row, not just to it.

        Returns:
            A function of row numbers, int (B,), to what `dense` gives.
        """
        lengths = tf.cast(token_ids.row_lengths(), tf.int32)
        starts = tf.cast(token_ids.row_starts(), tf.int32)
        token_ids, segment_ids = token_ids.values, segment_ids.values

        def select(index):
            own = tf.gather(lengths, index)
            length = tf.reduce_max(own)
            if bucketed:
                length = bucket_length(length, self.sequence_length)
            column = tf.range(length)
            mask = column < own[:, None]
            place = tf.where(mask, tf.gather(starts, index)[:, None] + column, 0)
            ids = tf.gather(token_ids, place)
            return {
                "token_ids": tf.where(mask, ids, self.tokenizer.pad_id),
                "segment_ids": tf.where(mask, tf.gather(segment_ids, place), 0),
                "padding_mask": tf.cast(mask, tf.int32),
            }

        return select

    def __call__(self, texts):
        """Packs and pads; see `pack` and `dense`."""
        token_ids, segment_ids, _ = self.pack(texts)
        return self.dense(token_ids, segment_ids)


def _head(ragged, lengths):
    """The first `lengths[i]` values of row i."""
    index = tf.ragged.range(lengths)
    starts = tf.cast(ragged.row_starts(), tf.int32)
    return index.with_values(
        tf.gather(ragged.values, index.values + tf.repeat(starts, lengths))
    )
