"""Text corpora: from files to documents, sentences and token ids."""

import pathlib
import re

import numpy as np
import tensorflow as tf

from zoo.data.files.document_formats import Span, read_spans
from zoo.files.buckets import local_path

SENTENCE_END = re.compile(
    r"""[.!?]+["'”’)\]]*(?=\s+["'“‘(\[_]*[A-Z0-9ÀÁÂÆÇÈÉÊÎÔŒÙÛ])"""
)
# A full stop after one of these does not end a sentence.
ABBREVIATION = re.compile(
    r"""["'“‘(\[_]*([A-Z]|Mrs?|Ms|Mme|Mlle|Messrs|Dr|St|Prof|Rev|Hon|Capt|Col|Gen|Lt|
    Sergt|Sgt|Maj|Esq|Jr|Sr|vs|viz|No|Nos|Vol|Chap|pp?|cf|e\.g|i\.e)""",
    re.VERBOSE,
)


def read_documents(paths, fault=None):
    """Reads the documents of files. The suffix of a file is that of its format.

    | suffix | documents |
    |---|---|
    | .jsonl, .ndjson | `text` of each line, a JSON object |
    | .parquet | the column `text`; needs pyarrow |
    | .tfrecord | the feature `text` of each `tf.train.Example` |
    | .wet | the records of kind `conversion` of Common Crawl |
    | .tokens | the articles of WikiText |
    | any other | plain text with blank lines between documents |

    In WikiText, headings are ignored, ` @-@ ` becomes `-` (also for `,` and `.`), and
    `<unk>` becomes `[UNK]`.

    Args:
        paths: path or iterable of paths of UTF-8 files. Files that are not Parquet may
            be compressed, `.gz` or `.xz`, TFRecords with `.gz` only.
        fault: function of a `Span`, a place in it and an error, which is called for a
            document that cannot be read. By default the error is raised.

    Yields:
        list of str, the lines of a document.

    Raises:
        FileNotFoundError: if a file does not exist.
        ValueError: if a file is damaged or not UTF-8, or a document has no text.
    """
    paths = [paths] if isinstance(paths, (str, pathlib.Path)) else paths
    return read_spans((Span(local_path(path)) for path in paths), fault=fault)


def split_sentences(line):
    """Splits an English paragraph into sentences by a rule.

    A sentence ends after `.`, `!` or `?` and closing quotes, if white space and a
    capital letter or a digit follow. A full stop after a known abbreviation or an
    initial does not end a sentence.

    Args:
        line: str.

    Returns:
        list of str, the sentences.

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
    """Tokenises documents, with many lines in each call of the tokenizer.

    Args:
        documents: iterable of list of str, the lines of each document.
        tokenizer: callable, string tensor (B,) to ragged int32 (B, None).
        lines_per_call: int, lines of a call, at least.

    Yields:
        Token ids, uint16 or int32 (T,), and offsets, int64 (S + 1,), of a document.
        Line i has the ids from offsets[i] to offsets[i + 1]. Lines without ids are
        ignored.
    """
    dtype = np.uint16 if tokenizer.vocabulary_size <= 2**16 else np.int32

    def flush(lines, ends):
        ids = tokenizer(tf.constant(lines))
        offsets, values = ids.row_splits.numpy(), ids.values.numpy().astype(dtype)
        for begin, end in zip([0, *ends[:-1]], ends, strict=True):
            bounds = offsets[begin : end + 1]
            yield values[bounds[0] : bounds[-1]], np.unique(bounds - bounds[0])

    lines, ends = [], []
    for document in documents:
        lines.extend(document)
        ends.append(len(lines))
        if len(lines) >= lines_per_call:
            yield from flush(lines, ends)
            lines, ends = [], []
    if lines:
        yield from flush(lines, ends)
