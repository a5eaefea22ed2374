"""Plain text corpora: files to documents, documents to sentences and token ids."""

import pathlib
import re

import numpy as np
import tensorflow as tf

from zoo.files import open_any

SENTENCE_END = re.compile(
    r"""[.!?]+["'”’)\]]*(?=\s+["'“‘(\[_]*[A-Z0-9ÀÁÂÆÇÈÉÊÎÔŒÙÛ])"""
)
# What a full stop follows without ending a sentence.
UNKNOWN_MARK = "[UNK]"  # what `read_documents` gives for WikiText's `<unk>`
ABBREVIATION = re.compile(
    r"""["'“‘(\[_]*([A-Z]|Mrs?|Ms|Mme|Mlle|Messrs|Dr|St|Prof|Rev|Hon|Capt|Col|Gen|Lt|
    Sergt|Sgt|Maj|Esq|Jr|Sr|vs|viz|No|Nos|Vol|Chap|pp?|cf|e\.g|i\.e)""",
    re.VERBOSE,
)


def read_documents(paths):
    """Reads text files, a paragraph per line and a blank line between documents.

    Files called `.tokens` are WikiText's: documents are its articles, headings are
    left out, its marks within numbers and words are undone, and `<unk>` is `[UNK]`.

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
            with open_any(path, "rt", encoding="utf-8") as lines:
                for line in _wikitext(lines) if ".tokens" in path.suffixes else lines:
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


def _wikitext(lines):
    """WikiText's lines as plain text with a blank line before each article."""
    for line in lines:
        if line.startswith(" = ") and not line.startswith(" = ="):
            yield ""
        elif line.strip() and not line.startswith(" = "):
            line = re.sub(" @([-,.])@ ", r"\1", line)
            yield line.replace("<unk>", UNKNOWN_MARK)


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
