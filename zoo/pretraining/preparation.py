"""The preparation of the text of a run, in this process or by others."""

import functools
import itertools

from zoo.data.files.corpus_parts import Corpus
from zoo.programs.vocabulary.vocabularies import COUNTERS


class Preparation:
    """Prepares in this process; `zoo.beam` has another one, with the same results."""

    def count(self, corpus, count):
        """Counts words of a corpus.

        Args:
            corpus: `zoo.data.files.corpus_parts.Corpus`.
            count: function of an iterable of documents to a `collections.Counter`. It
                can be pickled, and counts are sums over documents.

        Returns:
            collections.Counter. Its words are in the order of their first occurrence.
        """
        return count(corpus.documents())

    def write(self, corpus, write, join, directory):
        """Writes a directory of rows, completely or not at all.

        Args:
            corpus: `zoo.data.files.corpus_parts.Corpus`.
            write: function of an iterable of (number, documents) of parts, and a
                directory, to write the rows of these parts. It can be pickled.
            join: function of a list of directories, of consecutive parts, and of an
                output, to write what `write` would have written of all parts.
            directory: pathlib.Path.
        """
        write(corpus.numbered(), directory)


HERE = Preparation()


def words_of(preparation, corpus, kind, lines, **options):
    """The counts from which a vocabulary is learned.

    `kind` is one of `COUNTERS`; `lines` is a function of a document to its texts.
    """
    count = functools.partial(_count, COUNTERS[kind], lines, options)
    counts = preparation.count(corpus, count)
    if not counts:
        raise ValueError("Texts for a vocabulary must have words. Received: none.")
    return counts


def _count(count, lines, options, documents):
    return count(itertools.chain.from_iterable(map(lines, documents)), **options)


def all_documents(parts):
    """Yields the documents of all parts."""
    return itertools.chain.from_iterable(documents for _, documents in parts)


def corpus_of(recipe, paths, **formats):
    """The `Corpus` of files of a recipe."""
    return Corpus([*paths], recipe.unique, **formats)
