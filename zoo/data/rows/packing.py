"""Texts to rows of named features, and rows to padded batches."""

import tensorflow as tf

from zoo.data.batching import XLA_SHAPES, bucket_length
from zoo.ragged_rows import keep, row_ids

# The number of tokens in a row without a limit.
UNLIMITED_LENGTH = 2**30


class Packer:
    """Tokenizes texts or pairs of texts, and packs them into rows of tokens.

    The tokenizer's `framing` defines the special tokens before, between and after the
    texts. The rows of BERT are `[CLS] a [SEP]` and `[CLS] a [SEP] b [SEP]`. In a row of
    two texts, the segment of a token is the number of its text. A row that is too long
    loses tokens from the end of its longer text, one by one. If both texts are equally
    long, the second one loses a token.

    A row is a dict of ragged features. The features in `pads` have one value for each
    token. The features in `own_width` have any number of values. A subclass may add
    features to both.

    Source: Devlin et al. 2019, released code `run_classifier.py`.
    `keras_nlp.layers.MultiSegmentPacker` differs: it pads every batch to the maximum.

    Args:
        tokenizer: `zoo.text.Tokenizer`, string tensor (B,) to ragged tokens (B, None).
        sequence_length: int, maximum number of tokens in a row, special ones included.
            None for no limit. A row must have room for two texts of one token each.
        framing: `zoo.text.Framing`, by default that of the tokenizer.

    Attributes:
        own_width: dict of the name of a feature with a length of its own to the value
            that pads it. The feature is an input of the model without any change.
        truncates: bool. If False, a long text has several rows, which are windows.

    Raises:
        ValueError: if `sequence_length` is too small.
    """

    own_width = {}
    truncates = True

    def __init__(self, tokenizer, sequence_length, framing=None):
        self.tokenizer = tokenizer
        self.framing = tokenizer.framing if framing is None else framing
        self.sequence_length = sequence_length
        self.limit = UNLIMITED_LENGTH if sequence_length is None else sequence_length
        shortest = 2 + self._markers(2)
        if self.limit < shortest:
            raise ValueError(
                f"`sequence_length` must be at least {shortest}, to hold two texts and "
                f"their special tokens. Received: {sequence_length}. Increase it."
            )

    @property
    def truncates_at(self):
        """The most tokens of a text or row that is not truncated, int or None."""
        return self.sequence_length

    def _markers(self, texts):
        """Returns the number of special tokens in a row of so many texts."""
        begin, between, end = self.framing
        return len(begin) + (texts - 1) * len(between) + len(end)

    def pack(self, texts):
        """Tokenizes texts, truncates them and joins them to rows.

        Args:
            texts: tuple of one or two string tensors (B,).

        Returns:
            dict of ragged features (B, None), and the number of truncated rows, a
            scalar int32. The features are tokens and, for two texts, segment_ids int32.

        Raises:
            ValueError: if there are more than two texts.
        """
        rows, cut = self.packed(texts)
        return rows, tf.reduce_sum(tf.cast(cut, tf.int32))

    def packed(self, texts):
        """Returns the rows of `pack`, and which of them were truncated, bool (B,)."""
        if len(texts) > 2:
            raise ValueError(
                f"A row must hold one text or two. Received: {len(texts)} columns."
            )
        parts = [self.tokenizer(text) for text in texts]
        lengths = [tf.cast(part.row_lengths(), tf.int32) for part in parts]
        room = self.limit - self._markers(len(parts))
        if len(parts) == 1:
            keep = [tf.minimum(lengths[0], room)]
        else:
            first, second = lengths
            keep = [
                tf.minimum(first, tf.maximum(room - second, room - room // 2)),
                tf.minimum(second, tf.maximum(room - first, room // 2)),
            ]
        cut = tf.reduce_any([k < n for k, n in zip(keep, lengths, strict=True)], 0)
        parts = [first_values(part, n) for part, n in zip(parts, keep, strict=True)]
        return self._framed(parts), cut

    def _framed(self, parts):
        """Returns the features of truncated parts, with special tokens around them."""
        rows = parts[0].nrows(out_type=tf.int32)
        begin, between, end = self.framing

        def marker(token):
            return tf.fill([rows, 1], token)

        def number(piece, text):
            """Returns the number of the text for every token of a piece."""
            if isinstance(piece, tf.RaggedTensor):
                return piece.with_values(tf.fill(tf.shape(piece.values), text))
            return tf.fill([rows, 1], text)

        pieces, last = [(marker(token), 0) for token in begin], len(parts) - 1
        for text, part in enumerate(parts):
            after = between if text < last else end
            pieces += [(part, text), *((marker(token), text) for token in after)]
        features = {"tokens": _joined([piece for piece, _ in pieces])}
        if len(parts) > 1:
            features["segment_ids"] = _joined([number(*piece) for piece in pieces])
        return features

    def lengths(self, rows):
        """Returns the lengths of rows, int64 (N,), by which batches are formed."""
        return rows["tokens"].row_lengths()

    @property
    def pads(self):
        """Dict of the name of a feature to the value that pads it."""
        return {"tokens": self.tokenizer.pad_id, "segment_ids": 0}

    def inputs(self, features):
        """Returns the inputs of a model for padded features and padding_mask (B, L)."""
        extra_features = {name: features[name] for name in self.own_width}
        return {**self.tokenizer.inputs(features), **extra_features}

    def dense(self, rows, length=None):
        """Pads rows to a common length.

        Args:
            rows: dict of ragged features, from `pack`.
            length: int, L of the result; by default the bucket of the longest row.

        Returns:
            dict of int32 (B, L, ...), the inputs of the model, e.g. token_ids,
            segment_ids and padding_mask.
        """
        tokens = rows["tokens"]
        if length is None:
            longest = tf.cast(tokens.bounding_shape(axis=1), tf.int32)
            length = bucket_length(longest, self.limit)
        shape = tf.stack([-1, length])
        padded = {
            name: rows[name].to_tensor(pad, shape=shape)
            for name, pad in self.pads.items()
            if name in rows
        }
        ones = tokens.with_values(tf.ones(tf.shape(tokens.values), tf.int32))
        padded["padding_mask"] = ones.to_tensor(0, shape=shape)
        return self.inputs({**padded, **self._own_widths(rows, 4)})

    def _own_widths(self, rows, shapes):
        """Pads the features that have a length of their own; see `bucket_length`."""
        padded = {}
        for name, pad in self.own_width.items():
            width = tf.cast(rows[name].bounding_shape(axis=1), tf.int32)
            width = tf.maximum(width, 1)
            if shapes:
                width = bucket_length(width, self.limit, shapes)
            padded[name] = rows[name].to_tensor(pad, shape=tf.stack([-1, width]))
        return padded

    def selector(self, rows, bucketed=False):
        """Makes a function that selects some of the rows and pads them.

        The function has few operations, because each of them takes time at every start
        of a dataset.

        Args:
            rows: dict of ragged features (N, None), from `pack`.
            bucketed: bool, whether to pad to one of few lengths, for XLA. If False,
                rows are padded to the longest row itself.

        Returns:
            A function of row numbers, int (B,), to the same result as `dense`.
        """
        lengths = tf.cast(rows["tokens"].row_lengths(), tf.int32)
        starts = tf.cast(rows["tokens"].row_starts(), tf.int32)
        values = {k: (rows[k].values, pad) for k, pad in self.pads.items() if k in rows}
        extras = {name: rows[name] for name in self.own_width}

        def select(index):
            row_lengths = tf.gather(lengths, index)
            length = tf.maximum(tf.reduce_max(row_lengths), 1)
            if bucketed:
                length = bucket_length(length, self.limit, XLA_SHAPES)
            column = tf.range(length)
            mask = column < row_lengths[:, None]
            place = tf.where(mask, tf.gather(starts, index)[:, None] + column, 0)
            padded = {
                name: tf.where(mask, tf.gather(flat, place), pad)
                for name, (flat, pad) in values.items()
            }
            padded["padding_mask"] = tf.cast(mask, tf.int32)
            chosen = {name: tf.gather(ragged, index) for name, ragged in extras.items()}
            shapes = XLA_SHAPES if bucketed else None
            return self.inputs({**padded, **self._own_widths(chosen, shapes)})

        return select

    def __call__(self, texts):
        """Packs and pads texts; see `pack` and `dense`."""
        return self.dense(self.pack(texts)[0])


class NextWordPacker(Packer):
    """Packs texts for two models that predict words, forward and backward.

    The forward model reads all words except the last one, and predicts the next word.
    The backward model reads all words except the first one, and predicts the previous
    word.

    Args:
        tokenizer: see `Packer`; a tokenizer of words with `spell` and `word_ids`.
        sequence_length: int or None, see `Packer`.
    """

    def inputs(self, features):
        """Returns the inputs of `zoo.BidirectionalLM`, (B, L - 1, ...)."""
        tokens, mask = features["tokens"], features["padding_mask"]
        spelled = self.tokenizer.spell(tokens, mask > 0)
        ids = self.tokenizer.word_ids(tokens)
        mask = mask[:, 1:]
        # Each model reads n - 1 of the n words of a row. In a padded row, the forward
        # ids and the backward targets still hold the last word, so they are masked.
        return {
            "forward_ids": spelled[:, :-1] * mask[:, :, None],
            "backward_ids": spelled[:, 1:],
            "forward_targets": ids[:, 1:] * mask,
            "backward_targets": ids[:, :-1] * mask,
            "padding_mask": mask,
        }


class WordPacker(Packer):
    """Packs texts into rows of tokens, with the position of each word.

    Words are separated by white space. The position of a word is the position of its
    first token, as in BERT's tagging (Devlin et al. 2019, section 5.3). If a text is
    truncated, a word whose first token is removed has no position.

    Args:
        tokenizer: see `Packer`; also has `split` (texts to words) and `row_pieces`
            (words to tokens, at least one token for each word).
        sequence_length: int or None, see `Packer`.
    """

    own_width = {"word_positions": -1}

    def pack(self, texts):
        """See `Packer.pack`; adds word_positions int32, one for each word of a text."""
        tokens, places = self._pieces(texts)
        room = self.limit - self._markers(1)
        lengths = tf.cast(tokens.row_lengths(), tf.int32)
        rows = self._framed([first_values(tokens, tf.minimum(lengths, room))])
        places = keep(places, places.values < room) + self._first
        rows["word_positions"] = places
        return rows, tf.reduce_sum(tf.cast(lengths > room, tf.int32))

    @property
    def _first(self):
        """The position of the first token that is not a special token."""
        return len(self.framing.begin)

    def _pieces(self, texts):
        """Returns the tokens of texts, ragged (B, None), and where each word begins."""
        if len(texts) != 1:
            raise ValueError(
                "Words are tagged in single texts only. Received: pairs of texts."
            )
        words = self.tokenizer.split(texts[0])[0]
        pieces = self.tokenizer.row_pieces(words)
        tokens = words.with_values(pieces).merge_dims(1, 2)
        before = tf.gather(tokens.row_starts(), row_ids(words))
        first = tf.minimum(pieces.row_lengths() - 1, self.tokenizer.word_prefix)
        places = tf.cast(pieces.row_starts() + first - before, tf.int32)
        return tokens, words.with_values(places)


def _joined(pieces):
    """Joins pieces of rows to ragged rows; a single piece is returned unchanged."""
    return pieces[0] if len(pieces) == 1 else tf.concat(pieces, axis=1)


def first_values(ragged, lengths):
    """Returns the first `lengths[i]` values of each row i."""
    index = spans(ragged.row_starts(), lengths)
    return index.with_values(tf.gather(ragged.values, index.values))


def spans(starts, lengths):
    """The places `starts[i]` to `starts[i] + lengths[i] - 1` of each row i, ragged."""
    starts = tf.cast(starts, tf.int32)
    return tf.ragged.range(starts, starts + lengths)
