"""Pretraining of recurrent causal language models, on contiguous streams."""

import dataclasses
import functools
import itertools

import numpy as np
import tensorflow as tf

from zoo import registry
from zoo.checks.ranges import CheckedFields, Size
from zoo.data import (
    DocumentStreams,
    document_batches,
    tokenize_texts,
    untuned,
)
from zoo.data.files.document_formats import UNKNOWN_MARK
from zoo.pretraining.objective import Objective, only_stage, rows_of_replica
from zoo.pretraining.preparation import corpus_of, words_of
from zoo.pretraining.start import finished_language_model, learn_once
from zoo.pretraining.token_documents import TokenDocuments
from zoo.text.english.fastai_splitting import UNKNOWN


@dataclasses.dataclass(frozen=True)
class CausalStreamsOptions(CheckedFields):
    """The options of this objective in a recipe.

    Args:
        characters: int, a document is cut into texts of at least so many characters,
            each of which begins with the special tokens of a row.
        jitter: bool, whether the windows have random lengths.
    """

    characters: Size = 2000
    jitter: bool = False


class CausalStreams(TokenDocuments, Objective):
    """A pretraining run of a recurrent causal language model with fastai's tokens.

    The run carries the states from batch to batch through its only stage. The
    vocabulary is made from the training text; its size is `vocabulary_size` of the
    recipe's config. A file that is too short for a batch raises ValueError.
    """

    name = "causal_streams"
    in_parts = False
    Options = CausalStreamsOptions

    def __init__(self, recipe, *places):
        ((self.steps, self.rows, _),) = recipe.stages
        super().__init__(recipe, *places)
        for corpus in (self.corpus, *self.held_out.values()):  # before the training
            DocumentStreams(*corpus, self.rows, self.steps, seed=None)

    @staticmethod
    def check(recipe):
        """Raises ValueError if there are several stages, or an option is wrong."""
        only_stage(recipe, "a model that carries states")
        Objective.check(recipe)

    @staticmethod
    def task_options(recipe):
        """See `Objective`."""
        ((steps, rows, _),) = recipe.stages
        return {"rows": rows_of_replica(rows), "window": steps}

    def learn_tokenizer(self, paths, output):
        """Makes the tokenizer; see the base class."""
        path, corpus = output / "vocabulary.json", corpus_of(self.recipe, paths)
        texts = functools.partial(_texts, self.recipe.options.characters)
        arguments = self.preparation, corpus, "fastai", texts
        learn_once(self.recipe, lambda: words_of(*arguments), "fastai", path)
        family = registry.FAMILIES[self.recipe.family]
        return registry.tokenizer_classes(family)[0](path)

    @staticmethod
    def token_ids(recipe, tokenizer, documents):
        """Yields the token ids of documents; see the base class."""
        split = functools.partial(_texts, recipe.options.characters)
        texts = itertools.chain.from_iterable(map(split, documents))
        return tokenize_texts(texts, tokenizer)

    def build(self):
        """Makes the compiled model at the start of the run."""
        return self.start(**self.task_options(self.recipe))

    def _batches(self, model, corpus, steps, **options):
        reverse = model.backbone.reverse
        streams = DocumentStreams(*corpus, self.rows, self.steps, reverse, **options)
        if steps is None:
            steps = tf.data.Dataset.range(streams.steps_per_epoch)
        return document_batches(streams, steps).map(model.finish)

    def batches(self, model, start):
        """The training batches from update `start` on; see the base class."""
        steps = tf.data.Dataset.range(start, np.iinfo(np.int64).max)
        options = {"jitter": self.recipe.options.jitter, "seed": self.recipe.seed}
        batches = self._batches(model, self.corpus, steps, **options)
        return batches.prefetch(2).with_options(untuned())

    def held_out_batches(self, model, corpus):
        """The batches of a held-out file; see the base class."""
        return self._batches(model, corpus, None, seed=None)

    def finished(self, model):
        """Makes the model for texts, with the config for fine-tuning."""
        return finished_language_model(self.recipe, model)


def _texts(characters, document):
    """Yields the texts of a document, with `xxunk` for unknown words."""
    lines, size = [], 0
    for line in document:
        lines.append(line.replace(UNKNOWN_MARK, UNKNOWN))
        size += len(line)
        if size >= characters:
            yield "\n".join(lines)
            lines, size = [], 0
    if lines:
        yield "\n".join(lines)
