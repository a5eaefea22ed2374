"""Corpora of word numbers on disk, for language models over words."""

import collections
import dataclasses
import io
import itertools

import numpy as np
import tensorflow as tf

from zoo.data.files.document_formats import UNKNOWN_MARK
from zoo.data.streams.document_streams import read_batch
from zoo.files.buckets import local_path
from zoo.files.whole_files import replacing
from zoo.ragged_rows import keep

MARKERS = ("<S>", "</S>", "<UNK>")
# Sentences in one call of the tokenizer.
SENTENCES_PER_CALL = 8192
# Ids that are renumbered at once.
IDS_AT_ONCE = 2**24
# Replaces `[UNK]` before the tokenizer, which would split off the brackets.
_HIDDEN = "\ue000"


@dataclasses.dataclass(frozen=True)
class WordCorpus:
    """Sentences as numbers of words.

    Args:
        words: tuple of str, all distinct words: `<S>`, `</S>`, `<UNK>`, then the others
            in the order of decreasing frequency. Words of equal frequency are in the
            order of their code points.
        counts: int64 (W,), number of occurrences of each word.
        ids: int32 (T,), the corpus, an array on disk.
        offsets: int64 (S + 1,). Sentence i has the ids from offsets[i] to
            offsets[i + 1].
    """

    words: tuple
    counts: np.ndarray
    ids: np.ndarray
    offsets: np.ndarray


def write_word_corpus(sentences, tokenizer, directory):
    """Tokenises sentences and writes them to a directory.

    The distinct words and the offsets of the sentences are held in memory, the corpus
    is not. The directory is written completely or not at all.

    Args:
        sentences: iterable of str, in which `[UNK]` is an unknown word.
        tokenizer: callable, strings (B,) to ragged strings (B, None).
        directory: str or path, directory to write.

    Raises:
        ValueError: if there is no word.
    """
    _write_blocks(_tokenised(sentences, tokenizer), directory)


def join_word_corpora(directories, output):
    """Writes a directory with the sentences of several, see `write_word_corpus`."""
    corpora = map(read_word_corpus, directories)
    _write_blocks(itertools.chain.from_iterable(map(_blocks, corpora)), output)


def _blocks(corpus):
    """Yields the words of many sentences of a corpus, as `_tokenised`."""
    for start in range(0, len(corpus.offsets) - 1, SENTENCES_PER_CALL):
        edges = corpus.offsets[start : start + SENTENCES_PER_CALL + 1]
        numbers = corpus.ids[edges[0] : edges[-1]].tolist()
        yield [corpus.words[number] for number in numbers], np.diff(edges)


def _write_blocks(blocks, directory):
    """Writes the words of blocks of sentences, see `_tokenised`, to a directory."""
    with replacing(directory) as temporary:
        temporary.mkdir()
        counts, lengths = collections.Counter(), [np.zeros(1, np.int64)]
        known = {marker: number for number, marker in enumerate(MARKERS)}
        with open(temporary / "first", "wb") as file:
            for words, sizes in blocks:
                counts.update(words)
                numbers = [known.setdefault(word, len(known)) for word in words]
                file.write(np.array(numbers, np.int32).tobytes())
                lengths.append(sizes)
        if not counts:
            raise ValueError("A corpus must have words. Received: none.")
        offsets = np.cumsum(np.concatenate(lengths))
        # Ctrl-C cannot end a sort, and two plain ones are faster than one by pairs.
        ranked = sorted(
            sorted(counts.keys() - {*MARKERS}), key=counts.get, reverse=True
        )
        ranked = [*MARKERS, *ranked]
        _save_array(temporary / "offsets.npy", offsets)
        _save_array(temporary / "counts.npy", np.array([counts[w] for w in ranked]))
        (temporary / "words.txt").write_text(
            "".join(f"{word}\n" for word in ranked), "utf-8"
        )
        number = np.empty(len(known), np.int32)
        number[[known[word] for word in ranked]] = np.arange(len(ranked))
        _renumber(temporary, number, int(offsets[-1]))


def _tokenised(sentences, tokenizer):
    """Yields words of many sentences, list of str, and their numbers, int64 (S,)."""
    sentences = (sentence.replace(UNKNOWN_MARK, _HIDDEN) for sentence in sentences)
    while batch := list(itertools.islice(sentences, SENTENCES_PER_CALL)):
        rows = tokenizer(tf.constant(batch))
        rows = keep(rows, tf.strings.length(rows.values) > 0)
        words = [word.decode("utf-8", "replace") for word in rows.values.numpy()]
        lengths = rows.row_lengths().numpy()
        words = ["<UNK>" if word == _HIDDEN else word for word in words]
        yield words, lengths[lengths > 0]


def _save_array(path, array):
    """Writes a `.npy` file; `np.save` to a path does not notice every full disk."""
    content = io.BytesIO()
    np.save(content, array)
    path.write_bytes(content.getbuffer())


def _renumber(directory, number, size):
    """Writes `ids.npy`: the ids in the order of appearance, renumbered."""
    first = np.memmap(directory / "first", np.int32, "r", shape=(size,))
    descr = np.lib.format.dtype_to_descr(number.dtype)
    header = {"descr": descr, "fortran_order": False, "shape": (size,)}
    # If the disk is full, a write to a memory map kills the process.
    with open(directory / "ids.npy", "wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        for start in range(0, size, IDS_AT_ONCE):
            file.write(number[first[start : start + IDS_AT_ONCE]].tobytes())
    del first
    (directory / "first").unlink()


def read_word_corpus(directory):
    """Opens a directory that `write_word_corpus` wrote.

    Args:
        directory: str or path.

    Returns:
        WordCorpus.

    Raises:
        FileNotFoundError: if a file is missing.
    """
    directory = local_path(directory)
    words = (directory / "words.txt").read_bytes().decode("utf-8").split("\n")[:-1]
    return WordCorpus(
        tuple(words),
        np.load(directory / "counts.npy"),
        np.load(directory / "ids.npy", mmap_mode="r"),
        np.load(directory / "offsets.npy"),
    )


def stream_batches(streams, words, tokenizer, start=0):
    """Makes the batches of a language model that carries states over.

    Args:
        streams: `TokenStreams` over the ids of a corpus.
        words: sequence of str, the words of the corpus.
        tokenizer: object with `spell` and `word_ids`. A word that is not in its
            vocabulary is read by its characters, and predicted as `<UNK>`.
        start: int, the first step.

    Returns:
        Infinite tf.data.Dataset of dict of int32, the inputs of
        `zoo.BidirectionalLM`. Map its method `finish` over the dataset to add
        targets and weights.
    """
    words = tf.constant(words)
    targets = tokenizer.word_ids(words)

    def batch(step):
        found = read_batch(streams, step)
        ids = tf.stack([found["forward"], found["backward"]])
        read = tokenizer.spell(tf.gather(words, ids))
        fresh = tf.cast(step % streams.steps_per_epoch == 0, tf.int32)
        return {
            "forward_ids": read[0],
            "backward_ids": read[1],
            "forward_targets": tf.gather(targets, found["forward_targets"]),
            "backward_targets": tf.gather(targets, found["backward_targets"]),
            "fresh": tf.fill([streams.batch_size], fresh),
        }

    return tf.data.Dataset.range(start, np.iinfo(np.int64).max).map(batch)
