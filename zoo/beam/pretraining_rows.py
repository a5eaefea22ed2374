"""Rows for pretraining, made of a collection of documents with Apache Beam."""

import functools
import itertools

import apache_beam as beam

from zoo import presets, registry
from zoo.data.files.corpus_parts import digest
from zoo.pretraining import find_recipe
from zoo.pretraining.start import start_tokenizer


class PretrainingRows(beam.PTransform):
    """Makes the rows of a recipe of a collection of documents, in a pipeline of yours.

    The rows depend on the documents, the recipe and `pools` only, not on the order of
    the documents, the runner or the number of workers. For files of text, use
    `zoo.beam.prepare`, which learns a vocabulary and needs less memory.

    Args:
        recipe: `zoo.pretraining.Recipe` of a masked or causal language model, or the
            name or path of one.
        tokenizer: `zoo.text.Tokenizer`; by default that of the preset that the recipe
            has the name of, or starts from.
        pools: int, parts into which the documents are divided by their content. The
            documents of a part are in the memory of a worker. The second text of a
            random pair is from the same part.

    Inputs:
        collection of str, the documents. Their lines are paragraphs.

    Returns:
        collection of dicts of arrays: for a masked language model an example of
        `zoo.data.write_records`, for each length of the stages; else token_ids int32
        (T,), the special tokens included.

    Raises:
        ValueError: if the rows of the recipe are not made of documents, or there is no
            tokenizer.

    Example:
        documents | zoo.beam.PretrainingRows("bert_mini_en_uncased_books")
    """

    def __init__(self, recipe, tokenizer=None, pools=64):
        super().__init__()
        name = None if hasattr(recipe, "kind") else str(recipe)
        recipe = find_recipe(name) if name else recipe
        if recipe.kind.rows is None:
            raise ValueError(
                "The recipe must be that of a masked or causal language model. "
                f"Received: {recipe.kind.name}. Use `zoo.beam.prepare`."
            )
        if tokenizer is None and name in presets.list_presets():
            tokenizer = registry.from_preset(name, None, load_weights=False).tokenizer
        tokenizer = tokenizer or start_tokenizer(recipe)
        if tokenizer is None:
            raise ValueError(
                "Rows need a tokenizer. Received: tokenizer=None, and a recipe without "
                "`from`. Give a tokenizer."
            )
        self._rows = functools.partial(_make_rows, recipe, tokenizer)
        self._key = functools.partial(_divide, pools)

    def expand(self, documents):
        """The collection of rows; see the class."""
        keyed = documents | beam.Map(self._key) | beam.GroupByKey()
        return keyed | beam.FlatMap(self._rows)


def _divide(pools, text):
    """The number of the part of a document, and its lines."""
    document = [line.strip() for line in text.splitlines() if line.strip()]
    return int.from_bytes(digest(document)[:8], "big") % pools, document


def _make_rows(recipe, tokenizer, part):
    number, documents = part
    documents = sorted(filter(None, documents))
    if recipe.unique:
        documents = [document for document, _ in itertools.groupby(documents)]
    return recipe.kind.rows(recipe, tokenizer, number, documents)
