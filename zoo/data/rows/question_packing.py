"""Questions and their contexts to rows of tokens, in windows that overlap."""

import tensorflow as tf

from zoo.checks.counts import whole_number
from zoo.data.rows.packing import UNLIMITED_LENGTH, Packer, first_values, spans
from zoo.ragged_rows import owners

ADDED_FEATURES = {"begins": -1, "ends": -1, "widest": 0}  # features and their padding


class QuestionPacker(Packer):
    """Packs each question with its context, in as many rows as the context needs.

    A row is a pair of the question and a window of the context. The next window begins
    `stride` tokens later. A question that is too long loses tokens from its end.

    The additional features tell which answers a row can give: `begins` and `ends` are
    the positions of the tokens of the context in bytes, and -1 elsewhere. `widest` is 1
    for a token whose context is wider than in any other row: the smaller number of its
    neighbours, to the left or to the right, plus 0.01 times the tokens of the context
    in the row. Of rows with equal numbers, it is the first one.

    Source: Devlin et al. 2019, released code `run_squad.py`.

    Args:
        tokenizer, sequence_length, framing: see `Packer`.
        stride: int, tokens between the beginnings of two windows.
        question_length: int, most tokens of a question. It has at most a half of a row.

    Raises:
        ValueError: if `stride` or `question_length` is not positive, or the rows are
            too short.
    """

    truncates = False

    def __init__(
        self, tokenizer, sequence_length, framing=None, stride=128, question_length=64
    ):
        super().__init__(tokenizer, sequence_length, framing)
        for name, value in (("stride", stride), ("question_length", question_length)):
            whole_number(value, name, 1)
        self.stride, self.question_length = stride, question_length

    @property
    def longest_question(self):
        """The most tokens of a question, int: a half of a row is for the context."""
        room = self.limit - self._markers(2)
        return min(self.question_length, max(room // 2, 1))

    @property
    def truncates_at(self):
        """The most tokens of a question; contexts are not truncated."""
        return self.longest_question

    @property
    def pads(self):
        """Dict of the name of a feature to the value that pads it."""
        return {**super().pads, **ADDED_FEATURES}

    def packed(self, texts):
        """Tokenizes questions and contexts, and makes windows; see `Packer.pack`.

        The features are those of M windows: tokens, segment_ids, begins, ends and
        widest. The windows of a question follow each other, and `windows`, int32 (B,),
        is how many there are. Also returns which questions were truncated, bool (B,).
        """
        questions, contexts = texts
        questions = self.tokenizer(questions)
        room = self.limit - self._markers(2)
        lengths = tf.cast(questions.row_lengths(), tf.int32)
        kept = tf.minimum(lengths, self.longest_question)
        questions = first_values(questions, kept)
        # Several questions have the same context, which is tokenized once.
        contexts, number = tf.unique(contexts)
        tokens, begins, ends = self.tokenizer.tokenize_with_offsets(contexts)
        lengths_and_starts = (
            tf.gather(tf.cast(part, tf.int32), number)
            for part in (tokens.row_lengths(), tokens.row_starts())
        )
        room, overlaps = room - kept, self._overlaps()
        windows = _Windows(*lengths_and_starts, room, self.stride, overlaps)
        pairs = [tf.gather(questions, windows.owner), windows.select(tokens)]
        rows = self._framed(pairs)
        found = (windows.select(begins), windows.select(ends), windows.widest())
        for (name, pad), part in zip(ADDED_FEATURES.items(), found, strict=True):
            rows[name] = self._beside(pairs[0], part, pad)
        rows["windows"] = windows.counts
        return rows, kept < lengths

    def _overlaps(self):
        """The most windows after one that have a token of it."""
        return 0 if self.limit == UNLIMITED_LENGTH else -(-self.limit // self.stride)

    def _beside(self, questions, part, pad):
        """A feature of windows, with padding for the other tokens of their rows."""
        begin, between, end = self.framing
        before = tf.cast(questions.row_lengths(), tf.int32) + len(begin) + len(between)

        def fill(lengths):
            padding = tf.fill([tf.reduce_sum(lengths)], pad)
            return tf.RaggedTensor.from_row_lengths(padding, tf.cast(lengths, tf.int64))

        after = tf.fill(tf.shape(before), len(end))
        return tf.concat([fill(before), part, fill(after)], axis=1)

    def inputs(self, features):
        """Returns the inputs of a model, and the additional features (B, L)."""
        extra_features = {
            name: features[name] for name in ADDED_FEATURES if name in features
        }
        return {**super().inputs(features), **extra_features}


class _Windows:
    """Windows of rows of tokens.

    Args:
        lengths, starts: int32 (B,), the number of tokens of each row, and the place of
            the first one among all tokens.
        room: int32 (B,), the tokens of a window of each row.
        stride: int, see `QuestionPacker`.
        overlaps: int, the most windows after one that overlap with it.

    Attributes:
        counts: int32 (B,), windows of each row.
        owner: int32 (M,), the row of each window.
    """

    def __init__(self, lengths, starts, room, stride, overlaps):
        steps = tf.minimum(room, stride)
        self.counts = 1 + tf.maximum(-((room - lengths) // steps), 0)
        self.owner = owners(self.counts)
        self._overlaps = overlaps
        self._number = tf.ragged.range(self.counts).values
        self._room, self._step = (tf.gather(x, self.owner) for x in (room, steps))
        self._length = tf.gather(lengths, self.owner)
        self._start = self._number * self._step
        self._sizes = tf.minimum(self._length - self._start, self._room)
        self._index = spans(tf.gather(starts, self.owner) + self._start, self._sizes)

    def select(self, values):
        """The values of all windows, ragged (M, None), of ragged values."""
        return self._index.with_values(tf.gather(values.values, self._index.values))

    def widest(self):
        """Whether a token has its widest context in a window, int32 (M, None)."""
        window = owners(self._sizes)
        place = tf.ragged.range(self._sizes).values + tf.gather(self._start, window)
        number, step, room, length = (
            tf.gather(values, window)
            for values in (self._number, self._step, self._room, self._length)
        )

        def width(number):
            """What is compared; -1 if the token is not in the window."""
            start = number * step
            size = tf.minimum(length - start, room)
            neighbours = tf.minimum(place - start, start + size - 1 - place)
            # As in the released code: min(left, right) + 0.01 * size.
            known = (neighbours >= 0) & (number >= 0)
            return tf.where(known, 100 * neighbours + size, -1)

        current, best = width(number), tf.ones_like(number, tf.bool)
        last = tf.gather(tf.gather(self.counts, self.owner), window) - 1
        for more in range(1, self._overlaps + 1):
            later = tf.where(number + more <= last, width(number + more), -1)
            best &= (current > width(number - more)) & (current >= later)
        return self._index.with_values(tf.cast(best, tf.int32))
