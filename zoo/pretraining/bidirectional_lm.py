"""Pretraining of bidirectional language models of words, on contiguous streams."""

import dataclasses

from zoo import registry
from zoo.backbone.config import check_options, naming
from zoo.checks.ranges import CheckedFields, Size
from zoo.data import (
    TokenStreams,
    read_word_corpus,
    split_sentences,
    stream_batches,
    untuned,
    write_word_corpus,
)
from zoo.data.files.word_corpus import join_word_corpora
from zoo.pretraining.objective import Objective, only_stage, rows_of_replica
from zoo.pretraining.preparation import all_documents
from zoo.pretraining.start import finished_model, make_optimizer, start_model
from zoo.pretraining.token_documents import TokenDocuments
from zoo.tasks import BidirectionalLM

EVALUATION_STEPS = 5  # words per batch; the full softmax takes much memory


@dataclasses.dataclass(frozen=True)
class BidirectionalLMOptions(CheckedFields):
    """The options of this objective in a recipe.

    Args:
        tokenizer: dict, arguments of the first tokenizer class of the family.
        num_words: int, size of the vocabulary that the model predicts: the most
            frequent words. None for all words.
        num_samples: int, sampled words of the softmax per update, or None for the full
            softmax.
    """

    tokenizer: dict = dataclasses.field(default_factory=dict)
    num_words: Size | None = None
    num_samples: Size | None = None


class StreamPretraining(TokenDocuments, Objective):
    """A pretraining run of a bidirectional language model of words.

    The run carries the states of the LSTMs from batch to batch through its only stage.
    The vocabulary of the tokenizer is the most frequent words.
    """

    name, rows = BidirectionalLM.task_name, None
    in_parts = False
    Options = BidirectionalLMOptions
    read, join = staticmethod(read_word_corpus), staticmethod(join_word_corpora)
    task = BidirectionalLM

    def __init__(self, recipe, *places):
        ((self.steps, self.rows, _),) = recipe.stages
        super().__init__(recipe, *places)
        for corpus in self.held_out.values():
            self.streams(corpus, EVALUATION_STEPS, None)  # raises if it is too short

    @staticmethod
    def check(recipe):
        """Raises ValueError if there are several stages, or an option is wrong."""
        only_stage(recipe, "a model that carries states")
        make_tokenizer(recipe)

    @staticmethod
    def task_options(recipe):
        """See `Objective`."""
        ((_, rows, _),) = recipe.stages
        names = "num_words", "num_samples"
        options = {name: getattr(recipe.options, name) for name in names}
        return {**options, "rows": rows_of_replica(rows)}

    def learn_tokenizer(self, paths, output):
        """Makes the tokenizer of the most frequent words of the text."""
        self.tokenizer = make_tokenizer(self.recipe)
        words = self.prepare("train", paths).words[: self.recipe.options.num_words]
        return make_tokenizer(self.recipe, vocabulary=words)

    @staticmethod
    def write_ids(recipe, tokenizer, parts, directory):
        """Writes the word corpus of parts; see the base class."""
        sentences = (
            sentence
            for document in all_documents(parts)
            for line in document
            for sentence in split_sentences(line)
        )
        write_word_corpus(sentences, tokenizer, directory)

    def build(self):
        """Makes the compiled model at the start of the run."""
        model = start_model(
            self.recipe,
            BidirectionalLM,
            self.tokenizer,
            self.recipe.config,
            **{**self.task_options(self.recipe), "num_words": None},
        )
        model.compile(make_optimizer(self.recipe))
        return model

    def streams(self, corpus, steps, seed):
        """Splits a corpus into streams. A batch has `steps` words of each stream."""
        return TokenStreams(corpus.ids, corpus.offsets, self.rows, steps, seed=seed)

    def batches(self, model, start):
        """The training batches from update `start` on; see the base class."""
        streams = self.streams(self.corpus, self.steps, self.recipe.seed)
        batches = stream_batches(streams, self.corpus.words, self.tokenizer, start)
        return batches.map(model.finish).prefetch(2).with_options(untuned())

    def evaluate(self, model):
        """The perplexity of every held-out file, with the full softmax."""
        found = {}
        for name, corpus in self.held_out.items():
            streams = self.streams(corpus, EVALUATION_STEPS, None)
            batches = stream_batches(streams, corpus.words, self.tokenizer)
            batches = batches.take(streams.steps_per_epoch).map(model.finish)
            found[name] = model.evaluate(batches, return_dict=True, verbose=0)
        return found

    def finished(self, model):
        """Makes the model for texts, with the config for fine-tuning."""
        options = {**model.options, "rows": None}
        return finished_model(self.recipe, model, BidirectionalLM, **options)


def make_tokenizer(recipe, **options):
    """Makes the tokenizer of a recipe; see `BidirectionalLMOptions`."""
    kind = registry.tokenizer_classes(registry.FAMILIES[recipe.family])[0]
    where, given = "the option `tokenizer`", recipe.options.tokenizer
    with naming(where):
        check_options(kind.__init__, given, where)
        return kind(**given, **options)
