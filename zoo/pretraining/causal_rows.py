"""Pretraining of causal language models with positions, on packed rows."""

import dataclasses
import json

import numpy as np
import tensorflow as tf

from zoo.data import (
    PackedRows,
    document_batches,
    read_documents,
    read_token_ids,
    tokenize_documents,
    write_token_ids,
)
from zoo.data.corpus import UNKNOWN_MARK
from zoo.files import replacing
from zoo.pretraining.objective import StagedObjective
from zoo.pretraining.optimizer import make_optimizer
from zoo.pretraining.recipes import find_files, find_held_out
from zoo.pretraining.start import finished_model, start_model, start_tokenizer
from zoo.tasks import CausalLM
from zoo.text import GPT2Tokenizer, train_byte_bpe

UNKNOWN = "<unk>"  # as in the files of WikiText, and text like any other


@dataclasses.dataclass(frozen=True)
class CausalRowsOptions:
    """The options of this objective in a recipe.

    Args:
        separate: bool, whether documents in a row are separate, see
            `zoo.data.PackedRows`.
        vocabulary_files: int, the tokenizer is learned from so many of the training
            files, the first ones; None for all of them.
    """

    separate: bool = False
    vocabulary_files: int | None = None


class CausalRows(StagedObjective):
    """A pretraining run of a GPT on rows of consecutive tokens.

    Every document begins with the end token. The vocabulary is learned from the
    training text; its size is `vocabulary_size` of the recipe's config.

    Args:
        recipe: `zoo.pretraining.Recipe`.
        data: directory with the text.
        output: pathlib.Path of the run.

    Attributes:
        tokenizer: a tokenizer of the family.
        sizes: list of int, tokens of each update.
    """

    name = "causal_rows"
    Options = CausalRowsOptions

    def __init__(self, recipe, data, output):
        self.recipe, self.directory = recipe, output / "examples"
        self.sizes = recipe.sizes()
        train = find_files(data, recipe.train)
        self.tokenizer = start_tokenizer(recipe) or self._vocabulary(train, output)
        self.corpus = self._prepared("train", train)
        paths = find_held_out(data, recipe.valid)
        self.held_out = {n: self._prepared(n, [path]) for n, path in paths.items()}

    def _vocabulary(self, paths, output):
        """Makes the tokenizer. The first call learns it from the text."""
        path = output / "vocabulary.json"
        if not path.exists():
            files = paths[: self.recipe.options.vocabulary_files]
            lines = (line for document in self._documents(files) for line in document)
            size = self.recipe.config["vocabulary_size"]
            learned = train_byte_bpe(lines, size)
            with replacing(path) as temporary:
                temporary.write_text(json.dumps(learned, ensure_ascii=False), "utf-8")
        tokens, merges = json.loads(path.read_text("utf-8"))
        return GPT2Tokenizer(tokens, merges, start_token=True)

    @staticmethod
    def _documents(paths):
        """Yields the lines of each document, with their line breaks."""
        for document in read_documents(paths):
            yield [f"{line.replace(UNKNOWN_MARK, UNKNOWN)}\n" for line in document]

    def _prepared(self, name, paths):
        """Reads the token ids of some files. The first call writes them."""
        if not (self.directory / name).exists():
            first = np.array([self.tokenizer.end_id])
            found = tokenize_documents(self._documents(paths), self.tokenizer)
            parts = (np.concatenate([first, ids]) for ids, _ in found)
            sized = ((ids, np.array([len(ids)])) for ids in parts)
            write_token_ids(sized, self.directory / name)
        return read_token_ids(self.directory / name)

    def build(self):
        """Makes the compiled model at the start of the run."""
        config = dict(self.recipe.config)
        if self.recipe.start is None:
            config["vocabulary_size"] = self.tokenizer.vocabulary_size
        length = self.recipe.sequence_length
        model = start_model(
            self.recipe, CausalLM, self.tokenizer, config, sequence_length=length
        )
        # The accuracy, which is another metric, takes a tenth of an update.
        model.compile(make_optimizer(self.recipe), weighted_metrics=[])
        return model

    def _rows(self, corpus, length, rows, seed):
        separate = self.recipe.options.separate
        end_id = self.tokenizer.end_id
        return PackedRows(*corpus, rows, length, separate, seed, end_id)

    def stage(self, model, length, rows, steps, done):
        """The batches of a stage that are left; see the base class."""
        packed = self._rows(self.corpus, length, rows, self.recipe.seed)
        numbers = tf.data.Dataset.range(done, steps)
        return document_batches(packed, numbers).map(model.finish).prefetch(2)

    def evaluate(self, model, batch_size=32):
        """The cross-entropy and the perplexity of a token of every held-out file.

        Args:
            model: `CausalLM`.
            batch_size: int.

        Returns:
            dict of file name to dict of float.
        """
        found = {}
        for name, corpus in self.held_out.items():
            packed = self._rows(corpus, self.recipe.sequence_length, batch_size, None)
            numbers = tf.data.Dataset.range(packed.steps_per_epoch)
            batches = document_batches(packed, numbers).map(model.finish)
            loss = model.evaluate(batches, return_dict=True, verbose=0)["loss"]
            found[name] = {"loss": loss, "perplexity": float(np.exp(loss))}
        return found

    def finished(self, model):
        """Makes the model for texts, with the config for fine-tuning."""
        length = model.sequence_length
        return finished_model(self.recipe, model, CausalLM, sequence_length=length)
