"""Plain text corpora: files to documents, documents to blocks of token ids."""

import gzip
import lzma
import pathlib
import re

import numpy as np
import tensorflow as tf

from zoo.data.batching import untuned

OPEN = {".gz": gzip.open, ".xz": lzma.open}
SENTENCE_END = re.compile(
    r"""[.!?]+["'”’)\]]*(?=\s+["'“‘(\[_]*[A-Z0-9ÀÁÂÆÇÈÉÊÎÔŒÙÛ])"""
)
# What a full stop follows without ending a sentence.
ABBREVIATION = re.compile(
    r"""["'“‘(\[_]*([A-Z]|Mrs?|Ms|Mme|Mlle|Messrs|Dr|St|Prof|Rev|Hon|Capt|Col|Gen|Lt|
    Sergt|Sgt|Maj|Esq|Jr|Sr|vs|viz|No|Nos|Vol|Chap|pp?|cf|e\.g|i\.e)""",
    re.VERBOSE,
)


def read_documents(paths):
    """Reads text files, a paragraph per line and a blank line between documents.

    Args:
        paths: iterable of paths, or one; UTF-8, plain, `.gz` or `.xz`.

    Yields:
        list of str, the lines of a document.

    Raises:
        FileNotFoundError: if a file does not exist.
        ValueError: if a file is not UTF-8.
    """
    paths = [paths] if isinstance(paths, (str, pathlib.Path)) else paths
    for path in map(pathlib.Path, paths):
        document = []
        try:
            with OPEN.get(path.suffix, open)(path, "rt", encoding="utf-8") as lines:
                for line in lines:
                    if line.strip():
                        document.append(line.strip())
                    elif document:
                        yield document
                        document = []
        except UnicodeDecodeError as error:
            raise ValueError(
                f"A corpus must be UTF-8 text. Received: {path}, which is not, at "
                f"byte {error.start}. Convert it first."
            ) from error
        if document:
            yield document


def split_sentences(line):
    """Cuts a paragraph after the marks that end an English sentence.

    A rule, not a model: `.`, `!` or `?` and closing quotes before white space and a
    capital letter or a digit, unless a known abbreviation or an initial stands there.

    Args:
        line: str.

    Returns:
        list of str, which with spaces between give the line.

    Example:
        >>> split_sentences("Mr. Bunce slept. He woke! (So did I.)")
        ['Mr. Bunce slept.', 'He woke!', '(So did I.)']
    """
    sentences, begin = [], 0
    for match in SENTENCE_END.finditer(line):
        word = line[begin : match.start()].rpartition(" ")[2]
        if match[0] == "." and ABBREVIATION.fullmatch(word):
            continue
        sentences.append(line[begin : match.end()].strip())
        begin = match.end()
    return [*sentences, line[begin:].strip()] if line[begin:].strip() else sentences


def tokenize_documents(documents, tokenizer, lines_per_call=2048):
    """Tokenises documents, many lines at once.

    Args:
        documents: iterable of list of str.
        tokenizer: callable, string tensor (B,) to ragged int32 (B, None).
        lines_per_call: int.

    Yields:
        token ids, uint16 or int32 (T,), and offsets, int64 (S + 1,), of a document:
        line i holds the ids from offset [i] to [i + 1]; lines without ids are left out.
    """
    dtype = np.uint16 if tokenizer.vocabulary_size <= 2**16 else np.int32

    def flush(lines, ends):
        ids = tokenizer(tf.constant(lines))
        offsets, values = ids.row_splits.numpy(), ids.values.numpy().astype(dtype)
        for begin, end in zip([0, *ends[:-1]], ends, strict=True):
            own = offsets[begin : end + 1]
            yield values[own[0] : own[-1]], np.unique(own - own[0])

    lines, ends = [], []
    for document in documents:
        lines.extend(document)
        ends.append(len(lines))
        if len(lines) >= lines_per_call:
            yield from flush(lines, ends)
            lines, ends = [], []
    if lines:
        yield from flush(lines, ends)


def tokenize_blocks(documents, tokenizer, block_length, lines_per_call=2048):
    """Tokenises documents and cuts each into blocks.

    Args:
        documents, tokenizer, lines_per_call: see `tokenize_documents`.
        block_length: int, tokens per block.

    Returns:
        uint16 or int32 (N, block_length); the shorter tail of a document is dropped
        when it is under half a block, else padded with `tokenizer.pad_id`.
    """

    def cut(ids):
        missing = -len(ids) % block_length
        if missing > block_length // 2:
            ids = ids[: len(ids) // block_length * block_length]
        else:
            ids = np.pad(ids, (0, missing), constant_values=tokenizer.pad_id)
        return ids.reshape(-1, block_length)

    tokenized = tokenize_documents(documents, tokenizer, lines_per_call)
    blocks = [cut(ids) for ids, _ in tokenized]
    empty = np.zeros((0, block_length), np.uint16)
    return np.concatenate(blocks) if blocks else empty


def block_dataset(blocks, tokenizer, batch_size, seed, make_example, start=0):
    """Batches of `[CLS] block [SEP]`, without end, as a function of (seed, step).

    Args:
        blocks: integer array (N, L - 2), from `tokenize_blocks`.
        tokenizer: has cls_id, sep_id and pad_id.
        batch_size: int, B; an epoch drops the rows left over.
        seed: int, of the order and of what `make_example` draws.
        make_example: function of a dict of int32 (B, L) and a seed int64 (2,).
        start: int, the first step; the data position when training resumes.

    Returns:
        tf.data.Dataset of what `make_example` returns.

    Raises:
        ValueError: if the corpus holds less than one batch.
    """
    steps = len(blocks) // batch_size
    if steps == 0:
        raise ValueError(
            f"The corpus holds {len(blocks)} blocks, less than one batch of "
            f"{batch_size}. Give more text or a smaller batch."
        )
    table = tf.constant(blocks)

    def epoch_steps(epoch):
        seeds = tf.stack([tf.cast(seed, tf.int64), epoch])
        order = tf.random.experimental.stateless_shuffle(tf.range(len(blocks)), seeds)
        batches = tf.reshape(order[: steps * batch_size], (steps, batch_size))
        return tf.data.Dataset.from_tensor_slices(batches)

    def example(step, rows):
        body = tf.cast(tf.gather(table, rows), tf.int32)
        count = tf.reduce_sum(tf.cast(body != tokenizer.pad_id, tf.int32), axis=1)
        body = tf.pad(body, [[0, 0], [1, 1]], constant_values=tokenizer.pad_id)
        columns = tf.range(tf.shape(body)[1])[None]
        ids = tf.where(columns == 0, tokenizer.cls_id, body)
        ids = tf.where(columns == count[:, None] + 1, tokenizer.sep_id, ids)
        x = {
            "token_ids": ids,
            "segment_ids": tf.zeros_like(ids),
            "padding_mask": tf.cast(ids != tokenizer.pad_id, tf.int32),
        }
        return make_example(x, tf.stack([tf.cast(seed, tf.int64), step]))

    epochs = tf.data.Dataset.range(start // steps, tf.int64.max)
    batches = epochs.flat_map(epoch_steps).skip(start % steps)
    endless = tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY)
    batches = batches.apply(endless)
    examples = batches.enumerate(start).map(example, 2).prefetch(2)
    return examples.with_options(untuned())
