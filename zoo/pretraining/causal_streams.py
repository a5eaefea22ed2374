"""Pretraining of recurrent causal language models, on contiguous streams."""

import dataclasses

import numpy as np
import tensorflow as tf

from zoo import registry
from zoo.data import (
    DocumentStreams,
    document_batches,
    read_documents,
    read_token_ids,
    untuned,
    write_documents,
)
from zoo.data.corpus import UNKNOWN_MARK
from zoo.pretraining.objective import Objective, only_stage
from zoo.pretraining.optimizer import make_optimizer
from zoo.pretraining.recipes import find_files, find_held_out
from zoo.pretraining.start import finished_model, start_model, start_tokenizer
from zoo.programs.vocabularies import learn_vocabulary
from zoo.tasks import CausalLM
from zoo.text.fastai_splitting import UNKNOWN


@dataclasses.dataclass(frozen=True)
class CausalStreamsOptions:
    """The options of this objective in a recipe.

    Args:
        characters: int, a document is cut into texts of at least so many characters,
            each of which begins with the special tokens of a row.
        jitter: bool, whether the windows have random lengths.
    """

    characters: int = 2000
    jitter: bool = False


class CausalStreams(Objective):
    """A pretraining run of a recurrent causal language model with fastai's tokens.

    The run carries the states from batch to batch. The vocabulary is made from the
    training text; its size is `vocabulary_size` of the recipe's config.

    Args:
        recipe: `zoo.pretraining.Recipe`.
        data: directory with the text.
        output: pathlib.Path of the run.

    Attributes:
        tokenizer: a tokenizer of the family.
        sizes: list of int, tokens of each update.

    Raises:
        ValueError: if the recipe has several stages. The states are carried through
            the whole run.
    """

    name = "causal_streams"
    Options = CausalStreamsOptions

    def __init__(self, recipe, data, output):
        self.steps, self.rows, _ = only_stage(recipe, "a model that carries states")
        self.recipe, self.directory = recipe, output / "examples"
        self.sizes = recipe.sizes()
        train = find_files(data, recipe.train)
        self.tokenizer = start_tokenizer(recipe) or self._vocabulary(train, output)
        self.corpus = self._prepared("train", train)
        paths = find_held_out(data, recipe.valid)
        self.held_out = {n: self._prepared(n, [path]) for n, path in paths.items()}

    def _vocabulary(self, paths, output):
        """Makes the tokenizer. The first call learns the vocabulary from the text."""
        path = output / "vocabulary.json"
        if not path.exists():
            size = self.recipe.config["vocabulary_size"]
            learn_vocabulary(self._texts(paths), "fastai", size, path)
        family = registry.FAMILIES[self.recipe.family]
        return registry.tokenizer_classes(family)[0](path)

    def _texts(self, paths):
        """Yields the texts of documents, with `xxunk` for unknown words."""
        for document in read_documents(paths):
            lines, size = [], 0
            for line in document:
                lines.append(line.replace(UNKNOWN_MARK, UNKNOWN))
                size += len(line)
                if size >= self.recipe.options.characters:
                    yield "\n".join(lines)
                    lines, size = [], 0
            if lines:
                yield "\n".join(lines)

    def _prepared(self, name, paths):
        """Reads the token ids of some files. The first call writes them."""
        if not (self.directory / name).exists():
            write_documents(self._texts(paths), self.tokenizer, self.directory / name)
        return read_token_ids(self.directory / name)

    def build(self):
        """Makes the compiled model at the start of the run."""
        config = dict(self.recipe.config)
        if self.recipe.start is None:
            config["vocabulary_size"] = self.tokenizer.vocabulary_size
        options = {"rows": self.rows, "window": self.steps}
        model = start_model(self.recipe, CausalLM, self.tokenizer, config, **options)
        # The accuracy, which is another metric, takes a tenth of an update.
        model.compile(make_optimizer(self.recipe), weighted_metrics=[])
        return model

    def _batches(self, model, corpus, steps, **options):
        reverse = model.backbone.reverse
        streams = DocumentStreams(*corpus, self.rows, self.steps, reverse, **options)
        if steps is None:
            steps = tf.data.Dataset.range(streams.steps_per_epoch)
        return document_batches(streams, steps).map(model.finish)

    def batches(self, model, start):
        """The training batches from update `start` on.

        Args:
            model: `CausalLM`.
            start: int, number of finished updates.

        Returns:
            tf.data.Dataset, infinite.
        """
        steps = tf.data.Dataset.range(start, np.iinfo(np.int64).max)
        options = {"jitter": self.recipe.options.jitter, "seed": self.recipe.seed}
        batches = self._batches(model, self.corpus, steps, **options)
        return batches.prefetch(2).with_options(untuned())

    def evaluate(self, model):
        """The cross-entropy and the perplexity of a token of every held-out file.

        Returns:
            dict of file name to dict of float.
        """
        found = {}
        for name, corpus in self.held_out.items():
            batches = self._batches(model, corpus, None, seed=None)
            loss = model.evaluate(batches, return_dict=True, verbose=0)["loss"]
            found[name] = {"loss": loss, "perplexity": float(np.exp(loss))}
        return found

    def finished(self, model):
        """Makes the model for texts, with the config for fine-tuning."""
        return finished_model(self.recipe, model, CausalLM)
