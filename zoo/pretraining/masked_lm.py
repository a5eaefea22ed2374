"""Pretraining of masked language models, on pairs of texts with masked tokens."""

import dataclasses
import functools
import itertools

import numpy as np
import tensorflow as tf

from zoo.checks.ranges import CheckedFields, Size
from zoo.data import (
    pair_batches,
    read_records,
    split_sentences,
    tokenize_documents,
    unmask,
)
from zoo.data.files.document_formats import UNKNOWN_MARK
from zoo.data.files.tfrecords import join_records, write_shards
from zoo.files.whole_files import replacing
from zoo.pretraining.objective import StagedObjective
from zoo.pretraining.preparation import HERE, corpus_of, words_of
from zoo.pretraining.recipes import find_files, find_train
from zoo.pretraining.start import (
    finished_model,
    make_optimizer,
    start_model,
    start_word_pieces,
)
from zoo.tasks import MaskedLM
from zoo.text import WordPieceTokenizer


@dataclasses.dataclass(frozen=True)
class MaskedLMOptions(CheckedFields):
    """The options of this objective in a recipe.

    Args:
        lowercase: bool, whether the tokenizer converts text to lower case.
        next_sentence: bool, whether next-sentence prediction is trained too.
        whole_words: bool, whether whole words are masked.
        dynamic: bool, True to draw new masks each time a row is read, False to use the
            stored masks.
        repeats: int, how often a document is split into pairs, each time at random.
        shards: int, number of files of examples per length.
    """

    lowercase: bool = True
    next_sentence: bool = False
    whole_words: bool = False
    dynamic: bool = True
    repeats: Size = 1
    shards: Size = 8


class MaskedPretraining(StagedObjective):
    """A pretraining run of a masked language model.

    The first run in `output` learns the vocabulary and writes the examples. Later runs
    read them.

    Attributes:
        files: dict of a row length, or "valid", to a list of pathlib.Path.
        sizes: list of int, tokens of each update with padding.
    """

    task = MaskedLM
    name = task.task_name
    prepares = True
    Options = MaskedLMOptions

    def __init__(self, recipe, data, output, preparation=HERE):
        self.recipe = recipe
        self.sizes = recipe.sizes()
        train = corpus_of(recipe, find_train(data, recipe.train, recipe.valid))
        words = functools.partial(
            words_of,
            *(preparation, train, "wordpiece", _plain_lines),
            lowercase=recipe.options.lowercase,
        )
        self.tokenizer = start_word_pieces(recipe, words, output)
        self.files = {}
        for length, *_ in recipe.stages:
            self.files[length] = self._prepare(preparation, train, output, length)
        if recipe.valid:
            valid = corpus_of(recipe, find_files(data, recipe.valid))
            length = recipe.sequence_length
            found = self._prepare(preparation, valid, output, length, "valid")
            self.files["valid"] = found

    def _prepare(self, preparation, corpus, output, length, split="train"):
        """Writes sharded examples of a length, unless they exist; a list of paths."""
        directory = output / "examples" / f"{split}-{length}"
        if not directory.exists():
            repeats = self.recipe.options.repeats if split == "train" else 1
            write = functools.partial(
                write_examples, self.recipe, self.tokenizer, length, repeats
            )
            preparation.write(corpus, write, join_records, directory)
        return sorted(directory.iterdir())

    @staticmethod
    def rows(recipe, tokenizer, number, documents):
        """Yields the training examples of all lengths; see the base class."""
        documents, repeats = list(documents), recipe.options.repeats
        for length in dict.fromkeys(length for length, *_ in recipe.stages):
            for batch in example_batches(
                recipe, tokenizer, length, repeats, number, documents
            ):
                for row in zip(*batch.values(), strict=True):
                    yield dict(zip(batch, row, strict=True))

    def build(self):
        """Makes the compiled model at the start of the run."""
        recipe = self.recipe
        config = {**recipe.config, "vocabulary_size": self.tokenizer.vocabulary_size}
        model = start_model(
            recipe,
            self.task,
            self.tokenizer,
            config,
            **self.task_options(recipe),
        )
        model.compile(make_optimizer(recipe))
        return model

    @staticmethod
    def task_options(recipe):
        """See the base class."""
        return dict(
            sequence_length=recipe.sequence_length,
            max_predictions=max_predictions(recipe.sequence_length),
            whole_words=recipe.options.whole_words,
            next_sentence=recipe.options.next_sentence,
        )

    def example(self, model, step, batch):
        """Makes a training example from a batch of stored rows."""
        if not self.recipe.options.dynamic:
            return model.fixed_example(batch)
        return model.make_example(unmask(batch), (self.recipe.seed, step))

    def held_out_example(self, model, batch):
        """Makes an example with the stored masks."""
        return model.fixed_example(batch)

    def stage(self, model, length, rows, steps, done):
        """The stored rows of a stage that are left; see the base class."""
        records = read_records(self.files[length], rows, self.recipe.seed, done)
        return records.take(steps - done)

    def batches(self, model, start):
        """The training batches from update `start` on; see the base class."""
        example = functools.partial(self.example, model)
        rows = super().batches(model, start).enumerate(start)
        return rows.map(example).prefetch(2)

    def tokens(self):
        """The tokens of all batches without padding, from its share in the rows."""
        total = 0
        for length, rows, steps in self.recipe.stages:
            records = read_records(self.files[length], 1024)
            masks = records.map(lambda x: x["padding_mask"]).as_numpy_iterator()
            share = np.mean(np.concatenate([mask.mean(1) for mask in masks]))
            total += length * rows * steps * share
        return int(total)

    def evaluate(self, model, batch_size=32):
        """Scores on the held-out examples with the stored masks."""
        records = read_records(self.files["valid"], batch_size)
        steps = sum(1 for _ in records)  # without this number Keras warns
        batches = records.map(lambda batch: self.held_out_example(model, batch))
        batches = batches.apply(tf.data.experimental.assert_cardinality(steps))
        scores = model.evaluate(batches, return_dict=True, verbose=0)
        loss = scores.get("masked_lm_loss", scores["loss"])
        return {**scores, "perplexity": float(np.exp(loss))}

    def finished(self, model):
        """Makes a copy of the model with the config for fine-tuning."""
        options = {**model.options, "sequence_length": model.sequence_length}
        return finished_model(self.recipe, model, type(model), **options)


def _plain_lines(document):
    """The lines of a document, without the mark of unknown words."""
    return [line.replace(UNKNOWN_MARK, " ") for line in document]


def write_examples(recipe, tokenizer, length, repeats, parts, directory):
    """Writes sharded examples of a row length; see `zoo.pretraining.preparation`."""
    batches = functools.partial(example_batches, recipe, tokenizer, length, repeats)
    with replacing(directory) as temporary:
        parts = itertools.starmap(batches, parts)
        write_shards(parts, temporary, recipe.options.shards)


def example_batches(recipe, tokenizer, length, repeats, number, documents):
    """The batches of examples of a part of a corpus; see `zoo.data.pair_batches`.

    The documents are streamed. A few million tokens, or the longest document, are in
    memory at a time.
    """
    config = {**tokenizer.get_config(), "specials_in_text": True}
    marked = WordPieceTokenizer.from_config(config)  # [UNK] of WikiText is one token
    sentences = (
        [sentence for line in document for sentence in split_sentences(line)]
        for document in documents
    )
    return pair_batches(
        tokenize_documents(sentences, marked),
        tokenizer,
        length,
        recipe.seed,
        repeats,
        part=number,
        max_predictions=max_predictions(length),
        whole_words=recipe.options.whole_words,
    )


def max_predictions(length):
    """The most masked tokens of a row: 20 of 128, 77 of 512, as in Google's code."""
    return -(-length * 15 // 100)
