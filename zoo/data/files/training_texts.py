"""Plain texts from files of several formats, for pretraining on texts."""

import itertools
import json

from zoo.data.files.conll import read_conll
from zoo.data.files.corpus import read_documents, split_sentences
from zoo.data.files.document_formats import UNKNOWN_MARK
from zoo.data.files.separated_values import read_columns
from zoo.files.whole_files import open_text


def read_texts(path, fields=None):
    """Yields the texts in a file.

    A document gives its sentences, and each of its paragraphs that has several
    sentences. Words that WikiText replaced by `<unk>` are left out.

    Args:
        path: path of a UTF-8 file, plain, `.gz` or `.xz`.
        fields: what holds the texts. None for documents, see `read_documents`. A list
            of int for the numbers of columns, from 0, of a file with tabs. A list of
            str for names in the objects of a JSON file, at any depth. "words" for
            sentences in CoNLL columns, whose words are joined with spaces.

    Yields:
        str, not empty.

    Raises:
        FileNotFoundError: if the file does not exist.
        ValueError: if a line of a file with tabs has too few columns, the file is not
            JSON, or `fields` is none of these.
    """
    if fields is None:
        texts = _documents(path)
    elif fields == "words":
        sentences, _ = read_conll(path, skip_empty_words=True)
        texts = map(" ".join, sentences)
    elif all(isinstance(field, int) for field in fields):
        texts = itertools.chain.from_iterable(read_columns(path, fields))
    elif all(isinstance(field, str) for field in fields) and isinstance(fields, list):
        texts = _values(_load_json(path), set(fields))
    else:
        raise ValueError(
            "`fields` must be None, a list of column numbers, a list of names in a "
            f'JSON file, or "words". Received: {fields!r} for {path}.'
        )
    for text in texts:
        text = " ".join(text.replace(UNKNOWN_MARK, " ").split())
        if text:
            yield text


def _documents(path):
    for document in read_documents(path):
        for paragraph in document:
            sentences = split_sentences(paragraph)
            yield from sentences
            if len(sentences) > 1:
                yield paragraph


def _load_json(path):
    with open_text(path) as file:
        try:
            return json.load(file)
        except (ValueError, RecursionError) as error:
            raise ValueError(
                f"{path} must be a JSON file in UTF-8. Received: {error}."
            ) from error


def _values(node, names):
    """The strings under some names in a JSON value, in their order."""
    if isinstance(node, list):
        for item in node:
            yield from _values(item, names)
    elif isinstance(node, dict):
        for name, item in node.items():
            if name in names and isinstance(item, str):
                yield item
            else:
                yield from _values(item, names)
