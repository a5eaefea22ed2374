"""Texts whose sentences are written one by one, and joined again."""

import dataclasses

import numpy as np
import tensorflow as tf

from zoo.tasks.answering import as_numpy
from zoo.tasks.writers.sample_numbers import count_repeats
from zoo.text.english.sentence_splitting import split_into_sentences


@dataclasses.dataclass(frozen=True, eq=False)
class SentenceRows:
    """The sentences of B texts, as S rows.

    Attributes:
        sentences, separators: string (S,), the sentences and the white space after
            each of them.
        owners: int64 (S,), the number of the text of each sentence.
        count: int or int tensor, B.
    """

    sentences: tf.Tensor
    separators: tf.Tensor
    owners: tf.Tensor
    count: object

    @classmethod
    def of_texts(cls, texts, split):
        """The rows of texts (B,), whose sentences are whole texts unless `split`."""
        if not split:
            owners = tf.range(tf.size(texts, tf.int64))
            return cls(texts, tf.fill(tf.shape(texts), ""), owners, tf.size(texts))
        sentences, separators = split_into_sentences(texts)
        owners = sentences.value_rowids()
        return cls(sentences.values, separators.values, owners, tf.size(texts))

    def join(self, written, scores):
        """Texts and scores (B, N) of those of the sentences (S, N).

        The n-th text has the n-th one of each sentence. Its score is the sum.
        """
        parts = written + self.separators[:, None]
        texts = tf.strings.unsorted_segment_join(parts, self.owners, self.count)
        return texts, tf.math.unsorted_segment_sum(scores, self.owners, self.count)

    def join_lists(self, found):
        """Pairs of such texts and scores, list of (list of str, list of float)."""
        if not found:
            return []
        texts, scores = self.join(*map(tf.constant, zip(*found, strict=True)))
        return [*zip(as_numpy(texts).tolist(), scores.numpy().tolist(), strict=True)]

    def repeats(self, texts):
        """How many equal texts come before that of each sentence, int32 (S,)."""
        counts = np.array(count_repeats(texts.numpy()), "int32")
        return counts[self.owners.numpy()]

    def columns(self):
        """Yields the numbers of the first sentences of texts, the second ones, ..."""
        owners = self.owners.numpy()
        places = np.arange(len(owners)) - np.searchsorted(owners, owners)
        for place in range(places.max(initial=-1) + 1):
            yield np.flatnonzero(places == place)


def write_in_parts(write, sentences, size):
    """What `write` makes of sentences (S,), `size` at once, in a graph.

    `write` takes strings (P,), and returns strings and float32 of the same shape. The
    sentences of a part have similar lengths.
    """
    lengths = tf.strings.length(sentences)
    order = tf.argsort(lengths, direction="DESCENDING", stable=True)
    count = (tf.size(sentences) + size - 1) // size
    found = [
        tf.TensorArray(kind, count, element_shape=[None], infer_shape=False)
        for kind in (tf.string, tf.float32)
    ]

    def write_part(number, *found):
        part = tf.gather(sentences, order[number * size : (number + 1) * size])
        written = write(part)
        pairs = zip(found, written, strict=True)
        return number + 1, *(array.write(number, value) for array, value in pairs)

    def unfinished(number, *found):
        return number < count

    _, *found = tf.while_loop(unfinished, write_part, (tf.constant(0), *found))
    places = tf.math.invert_permutation(order)
    return [tf.gather(array.concat(), places) for array in found]
