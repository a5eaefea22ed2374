"""Language models over words: contiguous streams with carried states."""

import dataclasses

import keras
import tensorflow as tf

from zoo import registry
from zoo.data import (
    TokenStreams,
    read_documents,
    read_word_corpus,
    split_sentences,
    stream_batches,
    untuned,
    write_word_corpus,
)
from zoo.pretraining.optimizer import make_optimizer
from zoo.recipes import find_files, find_held_out
from zoo.saving import preset_variables
from zoo.tasks import LanguageModel

EVALUATION_STEPS = 5  # words at once: the whole softmax of more takes much memory


class StreamPretraining:
    """What a run of a language model over words needs, prepared once.

    Args:
        recipe: `zoo.recipes.Recipe`.
        data: directory with the text.
        output: pathlib.Path of the run.

    Attributes:
        corpus: `zoo.data.WordCorpus` to train on.
        tokenizer: of the family, with the most frequent words as its vocabulary.
        sizes: list of int, words of each update.

    Raises:
        ValueError: if the recipe has several stages: the rows' states go through.
    """

    def __init__(self, recipe, data, output):
        if len(recipe.stages) > 1:
            raise ValueError(
                "A language model that carries states has one stage. Received: "
                f"{recipe.stages}."
            )
        self.recipe, self.directory = recipe, output / "examples"
        self.sizes = recipe.sizes()
        self.corpus = self._prepared("train", find_files(data, recipe.train))
        words = self.corpus.words[: recipe.num_words]
        self.tokenizer = self._tokenizer(vocabulary=words)
        paths = find_held_out(data, recipe.valid)
        self.held_out = {n: self._prepared(n, [path]) for n, path in paths.items()}
        for corpus in self.held_out.values():
            self.streams(corpus, EVALUATION_STEPS, None)  # refuses what is too short

    def _tokenizer(self, **options):
        kind = registry.TOKENIZERS[self.recipe.family]
        return kind(**self.recipe.tokenizer, **options)

    def _prepared(self, name, paths):
        """The corpus of some files, written once."""
        if not (self.directory / name).exists():
            sentences = (
                sentence
                for document in read_documents(paths)
                for line in document
                for sentence in split_sentences(line)
            )
            write_word_corpus(sentences, self._tokenizer(), self.directory / name)
        return read_word_corpus(self.directory / name)

    def build(self):
        """The compiled model that the recipe begins with."""
        ((_, rows, _),) = self.recipe.stages
        keras.utils.set_random_seed(self.recipe.seed)
        model = LanguageModel(
            registry.build_backbone(
                self.recipe.family, self.recipe.config, self.recipe.dtype
            ),
            self.tokenizer,
            num_samples=self.recipe.num_samples,
            rows=rows,
        )
        model.compile(make_optimizer(self.recipe))
        return model

    def streams(self, corpus, steps, seed):
        """A corpus as streams of so many words at once."""
        ((_, rows, _),) = self.recipe.stages
        return TokenStreams(corpus.ids, corpus.offsets, rows, steps, seed=seed)

    def batches(self, model, start):
        """Training batches from update `start` on.

        Args:
            model: `LanguageModel`.
            start: int, updates done.

        Returns:
            tf.data.Dataset without end.
        """
        ((steps, _, _),) = self.recipe.stages
        streams = self.streams(self.corpus, steps, self.recipe.seed)
        batches = stream_batches(streams, self.corpus.words, self.tokenizer, start)
        return batches.map(model.finish).prefetch(2).with_options(untuned())

    def tokens(self):
        """Words predicted by each direction in all updates, int."""
        return sum(self.sizes)

    def evaluate(self, model):
        """The perplexity of every held-out file, by the whole softmax.

        Returns:
            dict of file name to dict of float.
        """
        found = {}
        for name, corpus in self.held_out.items():
            streams = self.streams(corpus, EVALUATION_STEPS, None)
            batches = stream_batches(streams, corpus.words, self.tokenizer)
            batches = batches.take(streams.steps_per_epoch).map(model.finish)
            batches = batches.apply(
                tf.data.experimental.assert_cardinality(streams.steps_per_epoch)
            )
            found[name] = model.evaluate(batches, return_dict=True, verbose=0)
        return found

    def finished(self, model):
        """The model for texts, with the config that fine-tuning starts from."""
        config = dataclasses.asdict(model.backbone.config)
        backbone = registry.build_backbone(
            self.recipe.family, {**config, **self.recipe.finetuning_config}
        )
        options = {**model.options, "rows": None}
        copy = LanguageModel(backbone, model.tokenizer, **options)
        trained = {variable.path: variable for variable in model.variables}
        for variable in preset_variables(copy):
            variable.assign(trained[variable.path])
        return copy
