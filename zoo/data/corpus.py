"""Plain text corpora: files to documents, documents to blocks of token ids."""

import gzip
import lzma
import pathlib

import numpy as np
import tensorflow as tf

from zoo.data.batching import untuned

OPEN = {".gz": gzip.open, ".xz": lzma.open}


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


def tokenize_blocks(documents, tokenizer, block_length, lines_per_call=2048):
    """Tokenises documents and cuts each into blocks.

    Args:
        documents: iterable of list of str.
        tokenizer: callable, string tensor (B,) to ragged int32 (B, None).
        block_length: int, tokens per block.
        lines_per_call: int, lines tokenised at once.

    Returns:
        uint16 or int32 (N, block_length); the shorter tail of a document is dropped
        when it is under half a block, else padded with `tokenizer.pad_id`.
    """
    dtype = np.uint16 if tokenizer.vocabulary_size <= 2**16 else np.int32
    blocks, lines, ends = [], [], []

    def flush():
        ids = tokenizer(tf.constant(lines))
        offsets = ids.row_splits.numpy()
        values = ids.values.numpy().astype(dtype)
        for begin, end in zip([0, *ends[:-1]], ends, strict=True):
            blocks.append(_cut(values[offsets[begin] : offsets[end]]))
        lines.clear()
        ends.clear()

    def _cut(ids):
        missing = -len(ids) % block_length
        if missing > block_length // 2:
            ids = ids[: len(ids) // block_length * block_length]
        else:
            ids = np.pad(ids, (0, missing), constant_values=tokenizer.pad_id)
        return ids.reshape(-1, block_length)

    for document in documents:
        lines.extend(document)
        ends.append(len(lines))
        if len(lines) >= lines_per_call:
            flush()
    if lines:
        flush()
    if not blocks:
        return np.zeros((0, block_length), dtype)
    return np.concatenate(blocks)


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
