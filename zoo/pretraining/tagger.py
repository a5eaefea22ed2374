"""Training of taggers on sentences with tags, by a recipe."""

import dataclasses
from typing import Literal

import numpy as np

from zoo.backbone.config import check_fields
from zoo.checks.ranges import CheckedFields, Count, Positive, Probability, Size
from zoo.data import read_conll
from zoo.evaluation import convert_tags
from zoo.evaluation.spans import SCHEMES
from zoo.presets import find_preset
from zoo.pretraining.learned_vectors import check_vectors, learn_vectors
from zoo.pretraining.objective import Objective, only_stage
from zoo.pretraining.recipes import DTYPES, find_held_out, find_train
from zoo.pretraining.start import make_optimizer, start_model
from zoo.programs.vocabulary.taggers import make_tagger
from zoo.tasks import TokenClassifier
from zoo.tasks.heads.tag_decoders import TAG_DECODERS
from zoo.text.words.word_tokenizer import MODES


@dataclasses.dataclass(frozen=True)
class TaggerArguments:
    """The arguments of `zoo.make_tagger` that a recipe may have."""

    language_models: list[str]
    minimum: Size | None
    limit: Size | None
    unknown: Literal[MODES]
    decoder: Literal[tuple(TAG_DECODERS)]
    scheme: Literal[SCHEMES] | None
    head_dropout: Probability
    learning_rate: Positive
    seed: Count | None
    dtype: Literal[DTYPES] | None


@dataclasses.dataclass(frozen=True)
class TaggerOptions(CheckedFields):
    """The options of this objective in a recipe.

    Args:
        tagger: dict of `TaggerArguments`. With a `scheme`, the tags of all files are
            converted to it. So the files may have different schemes.
        vectors: dict, of the word vectors that the tagger reads, see
            `zoo.pretraining.learned_vectors.learn_vectors`. {} for a tagger without
            them.
    """

    tagger: dict = dataclasses.field(default_factory=dict)
    vectors: dict = dataclasses.field(default_factory=dict)

    def __post_init__(self):
        """Checks the options before the training."""
        super().__post_init__()
        check_fields("`tagger`", TaggerArguments, self.tagger)
        check_vectors(self.vectors)


class TaggerTraining(Objective):
    """A training run of a tagger on files in the columns of CoNLL.

    Sentences with more words than the tokens per row of the recipe are ignored. The
    word vectors are stored in `vectors.txt` of the run.

    Attributes:
        sizes: list of int, the mean number of words of an update, for each update.
    """

    name = TokenClassifier.task_name
    Options = TaggerOptions

    def __init__(self, recipe, data, output):
        self.recipe, self.options = recipe, recipe.options
        self.data, self.output = data, output
        for preset in self.options.tagger.get("language_models") or ():
            find_preset(preset)  # before the files are read
        ((longest, self.rows, _),) = recipe.stages
        paths = find_train(data, recipe.train, recipe.valid)
        files = [self._read(path) for path in paths]
        pairs = [
            pair
            for columns in files
            for pair in zip(*columns, strict=True)
            if len(pair[0]) <= longest
        ]
        self.train = [words for words, _ in pairs], [tags for _, tags in pairs]
        if not pairs:
            raise ValueError(
                "The training files must have sentences of at most "
                f"{longest} words. Received: none in {recipe.train}."
            )
        mean = np.mean([len(words) for words in self.train[0]])
        self.sizes = [round(self.rows * float(mean))] * recipe.steps
        paths = find_held_out(data, recipe.valid)
        self.valid = {name: self._read(path) for name, path in paths.items()}
        self._check_held_out()

    @staticmethod
    def check(recipe):
        """Raises ValueError if an option is wrong or has no effect."""
        only_stage(recipe, "a tagger")
        options = recipe.options  # raises if one is wrong
        unused = {"finetuning_config": recipe.finetuning_config}
        if recipe.start is not None:
            unused["vectors"] = options.vectors
        given = [name for name, value in unused.items() if value]
        if given:
            raise ValueError(
                "A recipe for a tagger takes no `finetuning_config`, and with `from` "
                f"no `vectors`. Received: {given}. Leave them out."
            )

    def _read(self, path):
        """Words and tags of a file; the tags are converted to the recipe's scheme."""
        words, tags = read_conll(path)
        scheme = self.recipe.options.tagger.get("scheme")
        return words, [convert_tags(row, scheme) for row in tags] if scheme else tags

    def _check_held_out(self):
        known = {tag for row in self.train[1] for tag in row}
        for name, (_, tags) in self.valid.items():
            unknown = {tag for row in tags for tag in row} - known
            if unknown or not tags:
                raise ValueError(
                    "A held-out file must have sentences with tags of the training "
                    f"files only. Received: {len(tags)} sentences in {name}, and the "
                    f"unknown tags {sorted(unknown)[:5]}."
                )

    def build(self):
        """Makes the compiled model at the start of the run."""
        recipe = self.recipe
        if recipe.start is None:
            options = {"seed": recipe.seed, "dtype": recipe.dtype}
            options |= {"language_models": (), **recipe.options.tagger}
            vectors = recipe.options.vectors
            options["vectors"] = learn_vectors(vectors, self.data, self.output)
            model = make_tagger(*self.train, **recipe.config, **options)
        else:
            options = TokenClassifier.files.options(TokenClassifier, *self.train)
            options |= recipe.options.tagger
            model = start_model(recipe, TokenClassifier, None, {}, **options)
        model.compile(make_optimizer(recipe))
        return model

    def batches(self, model, start):
        """The training batches from update `start` on. Every epoch has a new order."""
        whole = model.batches(*self.train, batch_size=self.rows)
        updates = int(whole.cardinality())  # a long sentence may be several rows
        epochs = range(start // updates, -(-self.recipe.steps // updates) + 1)
        seed = self.recipe.seed
        batches = model.batches(
            *self.train, batch_size=self.rows, shuffle=True, seed=seed, epochs=epochs
        )
        return batches.skip(start % updates)

    def finished(self, model):
        """Returns the model itself."""
        return model
