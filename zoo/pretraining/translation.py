"""Training of translators on pairs of texts, by a recipe."""

import dataclasses
import functools
from typing import Annotated, Literal

import numpy as np

from zoo.backbone.config import naming
from zoo.checks.ranges import CheckedFields, Count, Probability, Range
from zoo.data import plan_batches, read_bitext
from zoo.data.files.bitext import bitext_format
from zoo.files.whole_files import join_files, replacing
from zoo.generation import GenerationOptions
from zoo.pretraining.learned_vectors import (
    check_vectors,
    learn_vectors,
    split_lines,
)
from zoo.pretraining.objective import StagedObjective, count_tokens
from zoo.pretraining.preparation import (
    HERE,
    all_documents,
    corpus_of,
    words_of,
)
from zoo.pretraining.recipes import find_held_out, find_train
from zoo.pretraining.start import (
    finished_model,
    learn_once,
    make_optimizer,
    start_model,
    start_tokenizer,
)
from zoo.tasks import Translator
from zoo.tasks.losses.label_smoothing import KINDS
from zoo.text import (
    BitextTokenizer,
    SentencePieceTokenizer,
    count_words,
    extend_tokenizer,
    match_vectors,
)
from zoo.text.words.word_tokenizer import SPECIALS

MODEL = "sentencepiece.model"
JoinedShare = Annotated[float, Range("a number in [0, 0.9]", lambda x: 0 <= x <= 0.9)]
SeveralPairs = Annotated[int, Range("an integer in [2, 100]", lambda n: 2 <= n <= 100)]
MIN_COUNT = 2  # how often a word of the source must occur to have an id
# The mean square of the components of word vectors at the start. Inputs of this size
# use the range of the gates of an LSTM.
MEAN_SQUARE = 0.1


@dataclasses.dataclass(frozen=True)
class WritingOptions(CheckedFields):
    """The options of a model that writes texts.

    Args:
        label_smoothing, smoothing_kind, generation: of `zoo.Translator`.
    """

    label_smoothing: Probability = 0.1
    smoothing_kind: Literal[KINDS] = "paper"
    generation: dict = dataclasses.field(default_factory=dict)

    def __post_init__(self):
        """Checks the options before the training."""
        super().__post_init__()
        with naming("`generation`"):
            GenerationOptions(**self.generation)


@dataclasses.dataclass(frozen=True)
class TranslationOptions(WritingOptions):
    """The options of this objective in a recipe.

    Args:
        columns: pair of ints, the columns of source and target in the files.
        source: "pieces", of one SentencePiece model for both sides; or "words" in lower
            case, with a model for the target, see `zoo.text.BitextTokenizer`.
        vectors: dict, of the word vectors at the start, see
            `zoo.pretraining.learned_vectors.learn_vectors`; {} for random ones.
        joined: float in [0, 0.9], the share of the training rows that are several
            pairs, see `join_pairs`.
        most_joined: int, the most pairs of such a row.
        label_smoothing, smoothing_kind, generation: of `zoo.Translator`.
    """

    columns: tuple[Count, Count] = (0, 1)
    source: Literal["pieces", "words"] = "pieces"
    vectors: dict = dataclasses.field(default_factory=dict)
    joined: JoinedShare = 0.0
    most_joined: SeveralPairs = 6

    def __post_init__(self):
        """Checks the options before the training."""
        super().__post_init__()
        check_vectors(self.vectors)
        if self.vectors and self.source != "words":
            raise ValueError(
                '`vectors` are those of words. Received: source="pieces". Set `source` '
                'to "words".'
            )


class Translation(StagedObjective):
    """A training run of a `Translator`, or of another task that writes texts.

    The first run writes the pairs to `examples`, and learns one SentencePiece model
    from both sides, `sentencepiece.model`. Later runs read them.
    If the source is words, it learns the model from the target only, with
    `target_vocabulary_size` pieces. The words are those that occur at least twice in
    the source, the most frequent first. With vectors, only words with a vector count,
    and further words with vectors follow.

    A stage has the pairs whose texts have at most its tokens per row. An update has as
    many pairs of similar length as fit into the tokens of its rows, padding included,
    on the longer side. Short pairs make updates of more rows.

    Attributes:
        train: two lists of str, the sources and the targets.
        num_pairs: int, the first of them that are single pairs.
        lengths: int (N, 2), tokens of both texts, with the end.
        valid: dict of file name to such lists.
        sizes: list of int, the mean number of tokens of an update, for each update.
    """

    task = Translator
    name = task.task_name
    prepares = True
    Options = TranslationOptions

    def __init__(self, recipe, data, output, preparation=HERE):
        self.recipe, self.options, self.vectors = recipe, recipe.options, None
        self.preparation = preparation
        given = recipe.objective.get("vectors")
        if recipe.start is not None and given:
            raise ValueError(
                "A recipe with `from` has the vectors of the preset. Received: vectors="
                f"{given}. Leave them out."
            )
        self.data, self.output = data, output
        self.paths = find_train(data, recipe.train, recipe.valid)
        self.train = self._read("train", self.paths)
        held_out = find_held_out(data, recipe.valid)
        self.valid = {name: self._read(name, [path]) for name, path in held_out.items()}
        self.tokenizer = start_tokenizer(recipe) or self._tokenizer(output / MODEL)
        self.num_pairs = len(self.train[0])
        self.train = self._with_joined_rows()
        sources, targets = self.train[0], self._target_texts()
        sides = (self.tokenizer, sources), (self.tokenizer.targets, targets)
        self.lengths = np.stack([count_tokens(*side, 1) for side in sides], axis=1)
        self.sizes = []
        for length, rows, steps in recipe.stages:
            chosen = self._chosen(length)
            updates = self._updates(chosen, length * rows)
            self.sizes += [int(self.lengths[chosen].sum() / updates)] * steps

    def _read(self, name, paths):
        """The pairs of some files, two lists. The first call writes them."""
        path = self.output / "examples" / f"{name}.tsv"
        if not path.exists():
            self.preparation.write(self._corpus(paths), write_pairs, join_files, path)
        return read_bitext(path)

    def _corpus(self, paths):
        """The pairs of some files."""
        formats = functools.partial(bitext_format, self.options.columns)
        return corpus_of(self.recipe, paths, formats=formats)

    def _with_joined_rows(self):
        """The training pairs, and rows of several of them; two lists."""
        share, most = self.options.joined, self.options.most_joined
        count = round(len(self.train[0]) * share / (1 - share))
        joined = join_pairs(*self.train, count, most, self.recipe.seed)
        return tuple(a + b for a, b in zip(self.train, joined, strict=True))

    def _tokenizer(self, path):
        """Makes the tokenizer. The first call writes its model."""
        if self.options.source == "words":
            return self._word_tokenizer(path)
        self._learn_pieces(path, list)
        return SentencePieceTokenizer(path)

    def _learn_pieces(self, path, lines, *size):
        """Learns a SentencePiece model from what `lines` gives of a pair."""
        corpus = self._corpus(self.paths)
        arguments = self.preparation, corpus, "sentencepiece", lines
        learn_once(
            self.recipe, lambda: words_of(*arguments), "sentencepiece", path, *size
        )

    def _word_tokenizer(self, path):
        """Makes the tokenizer of a source of words, and the vectors of the words."""
        size = "target_vocabulary_size"
        self._learn_pieces(path, _target, size)
        limit = self.recipe.config_value("vocabulary_size") - len(SPECIALS)
        words = count_words(split_lines(self.train[0]), MIN_COUNT, lowercase=True)
        self.vectors = learn_vectors(self.options.vectors, self.data, self.output)
        if self.vectors:
            known = {*self.vectors[0]}
            words = [word for word in words if word in known]
            words += self.vectors[0]
        words = extend_tokenizer(BitextTokenizer([], path), words)[0].vocabulary
        return BitextTokenizer(words[:limit], path)

    def _target_texts(self):
        """The targets as the tokenizer reads them, list of str."""
        return self.train[1]

    def _chosen(self, length):
        """The numbers of the pairs of a stage."""
        chosen = np.flatnonzero(self.lengths.max(axis=1) <= length)
        if not len(chosen):
            raise ValueError(
                "Every stage must have pairs. Received: no pair of at most "
                f"{length} tokens."
            )
        return chosen

    def _updates(self, chosen, budget):
        """The number of updates of an epoch, int."""
        longest = self.lengths[chosen].max(axis=1)
        return int(plan_batches(longest, None, token_budget=budget).cardinality())

    @staticmethod
    def task_options(recipe):
        """See `Objective`."""
        names = [field.name for field in dataclasses.fields(WritingOptions)]
        options = {name: getattr(recipe.options, name) for name in names}
        return {**options, "sequence_length": recipe.sequence_length}

    def build(self):
        """Makes the compiled model at the start of the run."""
        recipe, options = self.recipe, self.task_options(self.recipe)
        if recipe.start is not None:  # the others are those of the preset
            kept = {"sequence_length", *recipe.objective}
            options = {k: v for k, v in options.items() if k in kept}
        sizes = {
            "vocabulary_size": self.tokenizer.vocabulary_size,
            "target_vocabulary_size": self.tokenizer.target_vocabulary_size,
        }
        if self.vectors:
            sizes["embedding_dim"] = self.vectors[1].shape[1]
        model = start_model(
            recipe,
            self.task,
            self.tokenizer,
            {**recipe.config, **sizes},
            **options,
        )
        if self.vectors:
            ids, rows = match_vectors(self.tokenizer, *self.vectors)
            rows = rows * (MEAN_SQUARE * rows.shape[1]) ** 0.5
            model.backbone.named_layers["word_embedding"].assign_rows(ids, rows)
        model.compile(make_optimizer(recipe))
        return model

    def stage(self, model, length, rows, steps, done):
        """The batches of a stage that are left; see the base class."""
        chosen, budget = self._chosen(length), length * rows
        columns = [[side[number] for number in chosen] for side in self.train]
        updates = self._updates(chosen, budget)
        return self.rest(model, columns, updates, steps, done, token_budget=budget)

    def evaluate(self, model):
        """Loss, cross-entropy and accuracy on every held-out file."""
        return {
            name: model.evaluate(*pairs, return_dict=True, verbose=0)
            for name, pairs in self.valid.items()
        }

    def finished(self, model):
        """Makes a copy of the model with the config for fine-tuning.

        It knows the longest source of a single pair, see `zoo.Translator`.
        """
        longest = model.backbone.config.max_sequence_length
        options = {**model.options, "sequence_length": longest}
        chosen = self._chosen(self.recipe.sequence_length)
        single = self.lengths[chosen[chosen < self.num_pairs], 0]
        options["longest_source"] = int(single.max(initial=1))
        return finished_model(self.recipe, model, self.task, **options)


def _target(pair):
    return pair[1:]


def write_pairs(parts, path):
    """Writes the pairs of parts, with a tab between source and target."""
    with replacing(path) as temporary:
        with open(temporary, "w", encoding="utf-8", newline="\n") as file:
            file.writelines("\t".join(pair) + "\n" for pair in all_documents(parts))


def join_pairs(sources, targets, count, most, seed):
    """Makes pairs of several pairs, which are drawn at random and joined by a space.

    Args:
        sources, targets: lists of str.
        count: int, pairs to make.
        most: int, the most pairs that are joined. Their number is uniform from 2 on.
        seed: int, on which the result depends.

    Returns:
        two lists of `count` str.
    """
    generator = np.random.default_rng(seed)
    sizes = generator.integers(2, most + 1, count)
    rows = [generator.integers(len(sources), size=size) for size in sizes]
    return [
        [" ".join(side[number] for number in row) for row in rows]
        for side in (sources, targets)
    ]
