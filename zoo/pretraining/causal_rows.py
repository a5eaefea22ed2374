"""Pretraining of causal language models with positions, on packed rows."""

import dataclasses

import numpy as np
import tensorflow as tf

from zoo.checks.ranges import CheckedFields, Size
from zoo.data import (
    PackedRows,
    document_batches,
    tokenize_documents,
)
from zoo.data.files.document_formats import UNKNOWN_MARK
from zoo.files.state_files import damaged, read_state
from zoo.files.whole_files import write_json
from zoo.pretraining.objective import StagedObjective
from zoo.pretraining.preparation import corpus_of, words_of
from zoo.pretraining.start import finished_language_model
from zoo.pretraining.token_documents import TokenDocuments
from zoo.text import GPT2Tokenizer, train_byte_bpe

BATCH_SIZE = 32  # held-out rows
UNKNOWN = "<unk>"  # as in the files of WikiText, and text like any other


@dataclasses.dataclass(frozen=True)
class CausalRowsOptions(CheckedFields):
    """The options of this objective in a recipe.

    Args:
        separate: bool, whether documents in a row are separate, see
            `zoo.data.PackedRows`.
        vocabulary_files: int, the tokenizer is learned from so many of the training
            files, the first ones; None for all of them.
    """

    separate: bool = False
    vocabulary_files: Size | None = None


class CausalRows(TokenDocuments, StagedObjective):
    """A pretraining run of a GPT on rows of consecutive tokens.

    Every document begins with the end token. The vocabulary is learned from the
    training text; its size is `vocabulary_size` of the recipe's config.
    """

    name = "causal_rows"
    Options = CausalRowsOptions

    def learn_tokenizer(self, paths, output):
        """Makes the tokenizer; see the base class."""
        path = output / "vocabulary.json"
        if not path.exists():
            files = paths[: self.recipe.options.vocabulary_files]
            corpus = corpus_of(self.recipe, files)
            pieces = words_of(self.preparation, corpus, "byte_bpe", _ended_lines)
            size = self.recipe.config_value("vocabulary_size")
            write_json(path, train_byte_bpe(pieces, size), ensure_ascii=False)
        what, advice = "the vocabulary of a run", "Remove it, and it is made again."
        found = read_state(path, what, [[str]], advice)
        try:
            tokens, merges = found
            return GPT2Tokenizer(tokens, merges, start_token=True)
        except ValueError as error:
            raise damaged(path, what, error, advice) from error

    @staticmethod
    def token_ids(recipe, tokenizer, documents):
        """Yields the token ids of documents; see the base class."""
        first = np.array([tokenizer.end_id])
        found = tokenize_documents(map(_ended_lines, documents), tokenizer)
        parts = (np.concatenate([first, ids]) for ids, _ in found)
        return ((ids, np.array([len(ids)])) for ids in parts)

    def build(self):
        """Makes the compiled model at the start of the run."""
        return self.start(**self.task_options(self.recipe))

    def _rows(self, corpus, length, rows, seed):
        separate = self.recipe.options.separate
        end_id = self.tokenizer.end_id
        return PackedRows(*corpus, rows, length, separate, seed, end_id)

    def stage(self, model, length, rows, steps, done):
        """The batches of a stage that are left; see the base class."""
        packed = self._rows(self.corpus, length, rows, self.recipe.seed)
        numbers = tf.data.Dataset.range(done, steps)
        return document_batches(packed, numbers).map(model.finish).prefetch(2)

    def held_out_batches(self, model, corpus):
        """The batches of a held-out file; see the base class."""
        packed = self._rows(corpus, self.recipe.sequence_length, BATCH_SIZE, None)
        numbers = tf.data.Dataset.range(packed.steps_per_epoch)
        return document_batches(packed, numbers).map(model.finish)

    def finished(self, model):
        """Makes the model for texts, with the config for fine-tuning."""
        length = model.sequence_length
        return finished_language_model(self.recipe, model, sequence_length=length)


def _ended_lines(document):
    """The lines of a document, with their line breaks."""
    return [f"{line.replace(UNKNOWN_MARK, UNKNOWN)}\n" for line in document]
