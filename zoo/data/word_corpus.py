"""Corpora of words on disk, for language models over words."""

import collections
import dataclasses
import pathlib

import numpy as np
import tensorflow as tf

from zoo.data.corpus import UNKNOWN_MARK
from zoo.files import replacing

MARKERS = ("<S>", "</S>", "<UNK>")
# The number of sentences that are tokenized at once.
LINES = 8192
# The number of ids that are renumbered at once.
BLOCK = 2**24
# Replaces unknown words, so that splitting on punctuation does not change them.
_HIDDEN = "\ue000"


@dataclasses.dataclass(frozen=True)
class WordCorpus:
    """Sentences as word ids.

    Args:
        words: tuple of str, all distinct words: `<S>`, `</S>` and `<UNK>`, then the
            most frequent word first. Equally frequent words are in the order of their
            bytes.
        counts: int64 (W,), how often each word occurs.
        ids: int32 (T,), an array on disk.
        offsets: int64 (S + 1,). Sentence i has the ids from position offset [i] to
            offset [i + 1].
    """

    words: tuple
    counts: np.ndarray
    ids: np.ndarray
    offsets: np.ndarray


def write_word_corpus(sentences, tokenizer, directory):
    """Tokenizes sentences and writes them to a directory.

    The directory appears complete or not at all. The distinct words and the offsets of
    sentences are in memory, but not the corpus.

    Args:
        sentences: iterable of str, in which `[UNK]` is an unknown word.
        tokenizer: callable, strings (B,) to ragged strings (B, None).
        directory: path of the directory to write.

    Raises:
        ValueError: if there are no words.
    """
    with replacing(directory) as temporary:
        temporary.mkdir()
        counts, lengths = collections.Counter(), [np.zeros(1, np.int64)]
        known = {marker: number for number, marker in enumerate(MARKERS)}
        with open(temporary / "first", "wb") as file:
            for words, sizes in _tokenised(sentences, tokenizer):
                counts.update(words)
                numbers = [known.setdefault(word, len(known)) for word in words]
                file.write(np.array(numbers, np.int32).tobytes())
                lengths.append(sizes)
        if not counts:
            raise ValueError("A corpus must have words. Received: none.")
        offsets = np.cumsum(np.concatenate(lengths))
        ranked = sorted(counts.keys() - {*MARKERS}, key=lambda w: (-counts[w], w))
        ranked = [*MARKERS, *ranked]
        np.save(temporary / "offsets.npy", offsets)
        np.save(temporary / "counts.npy", np.array([counts[w] for w in ranked]))
        (temporary / "words.txt").write_text(
            "".join(f"{word}\n" for word in ranked), "utf-8"
        )
        number = np.empty(len(known), np.int32)
        number[[known[word] for word in ranked]] = np.arange(len(ranked))
        _renumber(temporary, number, int(offsets[-1]))


def _tokenised(sentences, tokenizer):
    """Yields the words of many sentences, list of str, and their lengths (S,)."""
    batch = []

    def flush():
        rows = tokenizer(tf.constant(batch))
        rows = tf.ragged.boolean_mask(rows, tf.strings.length(rows) > 0)
        words = [word.decode("utf-8", "replace") for word in rows.values.numpy()]
        lengths = rows.row_lengths().numpy()
        words = ["<UNK>" if word == _HIDDEN else word for word in words]
        return words, lengths[lengths > 0]

    for sentence in sentences:
        batch.append(sentence.replace(UNKNOWN_MARK, _HIDDEN))
        if len(batch) == LINES:
            yield flush()
            batch.clear()
    if batch:
        yield flush()


def _renumber(directory, number, size):
    """Writes `ids.npy` from the numbers in the order of appearance."""
    first = np.memmap(directory / "first", np.int32, "r", shape=(size,))
    ids = np.lib.format.open_memmap(
        directory / "ids.npy", "w+", dtype=np.int32, shape=(size,)
    )
    for start in range(0, size, BLOCK):
        ids[start : start + BLOCK] = number[first[start : start + BLOCK]]
    ids.flush()
    del first
    (directory / "first").unlink()


def read_word_corpus(directory):
    """Opens a corpus that `write_word_corpus` wrote.

    Args:
        directory: str or path.

    Returns:
        `WordCorpus`.

    Raises:
        FileNotFoundError: if a file is missing.
    """
    directory = pathlib.Path(directory)
    words = (directory / "words.txt").read_bytes().decode("utf-8").split("\n")[:-1]
    return WordCorpus(
        tuple(words),
        np.load(directory / "counts.npy"),
        np.load(directory / "ids.npy", mmap_mode="r"),
        np.load(directory / "offsets.npy"),
    )


def stream_batches(streams, words, tokenizer, start=0):
    """Returns the batches of a language model that carries states, without end.

    Args:
        streams: `TokenStreams` over the ids of a corpus.
        words: sequence of str, the words of the corpus.
        tokenizer: has `spell` and `word_ids`. The model reads the characters of a word
            outside of the vocabulary, and predicts `<UNK>` for it.
        start: int, the first step; every step depends on its number only.

    Returns:
        tf.data.Dataset of dict of int32, the inputs of `zoo.tasks.LanguageModel`. Map
        its `finish` over the dataset to add targets and weights.
    """
    names = ("forward", "backward", "forward_targets", "backward_targets")
    words = tf.constant(words)
    targets = tokenizer.word_ids(words)

    def batch(step):
        found = tf.numpy_function(
            lambda step: list(map(streams.batch(step).get, names)),
            [step],
            [tf.int32] * len(names),
        )
        shape = (streams.batch_size, streams.steps)
        found = [tf.ensure_shape(ids, shape) for ids in found]
        read = tokenizer.spell(tf.gather(words, tf.stack(found[:2])))
        fresh = tf.cast(step % streams.steps_per_epoch == 0, tf.int32)
        return {
            "forward_ids": read[0],
            "backward_ids": read[1],
            "forward_targets": tf.gather(targets, found[2]),
            "backward_targets": tf.gather(targets, found[3]),
            "fresh": tf.fill([streams.batch_size], fresh),
        }

    return tf.data.Dataset.range(start, np.iinfo(np.int64).max).map(batch)
