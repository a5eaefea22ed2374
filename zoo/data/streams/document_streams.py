"""Documents as streams of token ids, for causal language models that carry states."""

import dataclasses
import functools
import itertools

import numpy as np
import tensorflow as tf

from zoo.checks.ranges import Size, check_values
from zoo.data.streams.token_streams import ShuffledCorpus
from zoo.files.buckets import local_path
from zoo.files.whole_files import replacing

TEXTS_PER_CALL = 256  # in one call of the tokenizer
MIN_WINDOW = 5  # tokens of a window with jitter


@dataclasses.dataclass
class DocumentStreams(ShuffledCorpus):
    """Windows of consecutive tokens. They depend on seed and step only.

    1. The documents are permuted in each epoch and concatenated.
    2. The result is split into `batch_size` streams of equal length. Fewer than
       `batch_size` tokens at its end are ignored.
    3. Each step reads the next window of every stream, and predicts its tokens moved by
       one. Row r of a step therefore continues row r of the previous step. The last
       window of an epoch has the tokens that are left.

    Source: Merity et al. 2018, section 5; Howard and Ruder 2018; fastai `LMDataLoader`.
    With jitter, Merity et al. draw lengths until the corpus ends, and scale the
    learning rate by the length. Here an epoch has as many windows as without jitter,
    and the rate does not change.

    Args:
        ids: int (T,), token ids of the documents, with their special tokens; also an
            array on disk.
        offsets: int (D + 1,). Document i has the ids from offsets[i] to offsets[i + 1].
        batch_size: int, B.
        steps: int, L, tokens of a window.
        reverse: bool, whether the documents are read from the end.
        jitter: bool, whether the lengths of windows are random: normally distributed
            around L with a deviation of 5 tokens, or around L / 2 for one window in 20.
        seed: int, of the permutations and lengths; None to keep the order of the
            documents.

    Raises:
        ValueError: if there are not more tokens than streams.
    """

    batch_size: int
    steps: int = 70
    reverse: bool = False
    jitter: bool = False
    seed: int | None = 0

    def __post_init__(self):
        """Counts the steps of an epoch."""
        super().__post_init__()
        check_values(Size, batch_size=self.batch_size, steps=self.steps)
        self.length = (self.places - 1) // self.batch_size
        if self.length < 1:
            raise ValueError(
                f"{self.batch_size} streams need at least {self.batch_size + 1} tokens."
                f" Received: {self.places}. Give more text, or decrease the rows of a "
                "batch."
            )
        self.steps_per_epoch = -(-self.length // self.steps)
        self._bounds = None, None

    @property
    def shapes(self):
        """The shapes of the features of a batch, dict."""
        rows = self.batch_size
        return {
            "token_ids": (rows, None),
            "next_ids": (rows, None),
            "fresh": (rows,),
        }

    def bounds(self, epoch):
        """The first place of each window of an epoch, and the end, int (N + 1,)."""
        if not self.jitter:
            edges = np.arange(self.steps_per_epoch + 1) * self.steps
            return np.minimum(edges, self.length)
        if self._bounds[0] != epoch:
            random = np.random.default_rng([self.seed or 0, epoch, 1])
            whole = random.random(self.steps_per_epoch) < 0.95
            sizes = random.normal(np.where(whole, self.steps, self.steps / 2), 5)
            edges = np.cumsum(np.maximum(sizes, MIN_WINDOW))
            edges = np.rint(edges / edges[-1] * self.length).astype(int)
            self._bounds = epoch, np.concatenate([[0], edges])
        return self._bounds[1]

    def batch(self, step):
        """Returns the tokens of one step.

        Args:
            step: int, from 0, counted over all epochs.

        Returns:
            dict of int32: token_ids (B, L), the tokens to read; next_ids (B, L), the
            token to predict at each of them; fresh (B,), 1 at the first step of an
            epoch. In reverse, the tokens are in the order of the text, so position L -
            1 is read first.
        """
        epoch, number = divmod(int(step), self.steps_per_epoch)
        begin, end = self.bounds(epoch)[number : number + 2]
        rows = np.arange(self.batch_size)[:, None] * self.length
        places = rows + np.arange(begin, end + 1)
        if self.reverse:
            places = self.places - 1 - places
        tokens = self._read(epoch, places)[1].astype("int32")
        read, following = tokens[:, :-1], tokens[:, 1:]
        if self.reverse:
            read, following = read[:, ::-1], following[:, ::-1]
        fresh = np.full(self.batch_size, number == 0, "int32")
        return {
            "token_ids": np.ascontiguousarray(read),
            "next_ids": np.ascontiguousarray(following),
            "fresh": fresh,
        }


def document_batches(streams, steps):
    """A `tf.data.Dataset` of batches, see `batch` of the streams.

    Args:
        streams: `DocumentStreams` or `zoo.data.PackedRows`.
        steps: tf.data.Dataset of int64, the steps.
    """
    return steps.map(lambda step: read_batch(streams, step))


def read_batch(streams, step):
    """The batch of a step, see `document_batches`; `step` is a scalar tensor."""
    shapes = streams.shapes
    found = tf.numpy_function(
        lambda step: list(map(streams.batch(step).get, shapes)),
        [step],
        [tf.int32] * len(shapes),
    )
    return {
        name: tf.ensure_shape(part, shape)
        for (name, shape), part in zip(shapes.items(), found, strict=True)
    }


@functools.lru_cache(1)
def _split_by(tokenizer):
    """The graph of a tokenizer, which may take seconds to make."""
    return tf.function(
        tokenizer, input_signature=[tf.TensorSpec([None], tf.string)], autograph=False
    )


def tokenize_texts(texts, tokenizer):
    """Tokenises texts, each with the special tokens of a row.

    Args:
        texts: iterable of str.
        tokenizer: `zoo.text.Tokenizer`.

    Yields:
        int32 (T,), the ids of many texts, and int64 (N,), the number of ids of each.
    """
    begin, _, end = tokenizer.framing
    split, texts = _split_by(tokenizer), iter(texts)
    while batch := list(itertools.islice(texts, TEXTS_PER_CALL)):
        rows = tf.cast(split(tf.constant(batch)), tf.int32)
        first, last = (tf.constant([list(m)] * len(batch)) for m in (begin, end))
        parts = [tf.cast(first, tf.int32), rows, tf.cast(last, tf.int32)]
        rows = tf.concat(parts, axis=1)
        yield rows.values.numpy(), rows.row_lengths().numpy()


def write_documents(texts, tokenizer, directory):
    """Tokenises texts and writes their ids to a directory, see `write_token_ids`.

    Args:
        texts: iterable of str.
        tokenizer: `zoo.text.Tokenizer`.
        directory: str or path, directory to write.

    Raises:
        ValueError: if there is no text.
    """
    write_token_ids(tokenize_texts(texts, tokenizer), directory)


def write_token_ids(parts, directory):
    """Writes the ids of documents to a directory, completely or not at all.

    The lengths of the documents are held in memory, the ids are not.

    Args:
        parts: iterable of (int (T,), int64 (N,)): the ids of some documents, and the
            number of ids of each.
        directory: str or path, directory to write.

    Raises:
        ValueError: if there is no document.
    """
    with replacing(directory) as temporary:
        temporary.mkdir()
        lengths = [np.zeros(1, np.int64)]
        with open(temporary / "ids", "wb") as file:
            for ids, sizes in parts:
                file.write(ids.astype("<i4").tobytes())
                lengths.append(sizes)
        if len(lengths) < 2:
            raise ValueError("A corpus must have texts. Received: none.")
        offsets = np.cumsum(np.concatenate(lengths)).astype("<i8")
        (temporary / "offsets").write_bytes(offsets.tobytes())


def join_token_ids(directories, output):
    """Writes a directory with the documents of several, see `write_token_ids`."""
    found = map(read_token_ids, directories)
    write_token_ids(((ids, np.diff(offsets)) for ids, offsets in found), output)


def read_token_ids(directory):
    """Opens a directory that `write_documents` wrote.

    Args:
        directory: str or path.

    Returns:
        ids int32 (T,), an array on disk; and offsets int64 (D + 1,).

    Raises:
        FileNotFoundError: if a file is missing.
        ValueError: if a file is damaged.
    """
    directory = local_path(directory)
    offsets = np.frombuffer((directory / "offsets").read_bytes(), "<i8")
    ids = np.memmap(directory / "ids", "<i4", "r")
    if offsets[-1] != len(ids):
        raise ValueError(
            f"{directory} must have {offsets[-1]} token ids. Received: {len(ids)}. "
            "Delete the directory, and it will be written again."
        )
    return ids, offsets
