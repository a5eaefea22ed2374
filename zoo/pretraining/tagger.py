"""Taggers, trained on sentences whose words have tags."""

import dataclasses

import numpy as np

from zoo.data import read_conll
from zoo.pretraining.optimizer import make_optimizer
from zoo.pretraining.recipes import find_files, find_held_out
from zoo.pretraining.start import start_model
from zoo.programs.taggers import make_tagger
from zoo.tasks import TokenClassifier


@dataclasses.dataclass(frozen=True)
class TaggerOptions:
    """What a recipe says of a tagger.

    Args:
        tagger: dict, arguments of `zoo.make_tagger` besides those of the config.
    """

    tagger: dict = dataclasses.field(default_factory=dict)


class TaggerTraining:
    """What a run of a tagger on tagged sentences needs, prepared once.

    Sentences with more words than a row of the recipe are not trained on.

    Args:
        recipe: `zoo.pretraining.Recipe`.
        data: directory with files in CoNLL's columns.
        output: pathlib.Path of the run.

    Attributes:
        train: words and tags, two lists of lists of str.
        valid: dict of file name to the same.
        sizes: list of int, words of each update, on average.

    Raises:
        ValueError: if the recipe has several stages, there is no sentence, or a tag
            of a held-out file is not trained on.
    """

    name = TokenClassifier.task_name
    Options = TaggerOptions

    def __init__(self, recipe, data, output):
        if len(recipe.stages) > 1:
            raise ValueError(f"A tagger has one stage. Received: {recipe.stages}.")
        self.recipe = recipe
        ((longest, self.rows, _),) = recipe.stages
        files = [read_conll(path) for path in find_files(data, recipe.train)]
        pairs = [
            pair
            for columns in files
            for pair in zip(*columns, strict=True)
            if len(pair[0]) <= longest
        ]
        self.train = [words for words, _ in pairs], [tags for _, tags in pairs]
        if not pairs:
            raise ValueError(
                f"There must be sentences of at most {longest} words. Received: none "
                f"in {recipe.train}."
            )
        mean = np.mean([len(words) for words in self.train[0]])
        self.sizes = [round(self.rows * float(mean))] * recipe.steps
        paths = find_held_out(data, recipe.valid)
        self.valid = {name: read_conll(path) for name, path in paths.items()}
        self._check_held_out()

    def _check_held_out(self):
        known = {tag for row in self.train[1] for tag in row}
        for name, (_, tags) in self.valid.items():
            unknown = {tag for row in tags for tag in row} - known
            if unknown or not tags:
                raise ValueError(
                    "A held-out file must have sentences, with tags that are trained "
                    f"on. Received: {len(tags)} sentences in {name}, and the unknown "
                    f"tags {sorted(unknown)[:5]}."
                )

    def build(self):
        """The compiled model that the recipe begins with."""
        recipe = self.recipe
        if recipe.start is None:
            options = {"seed": recipe.seed, "dtype": recipe.dtype}
            options |= recipe.options.tagger
            model = make_tagger(*self.train, **recipe.config, **options)
        else:
            labels = TokenClassifier.data_options(self.train[1])
            model = start_model(recipe, TokenClassifier, None, {}, **labels)
        model.compile(make_optimizer(recipe))
        return model

    def batches(self, model, start):
        """Training batches from update `start` on, whole epochs in a new order each.

        Args:
            model: `zoo.TokenClassifier`.
            start: int, updates done.

        Returns:
            tf.data.Dataset of at least as many batches as there are updates left.
        """
        updates = -(-len(self.train[0]) // self.rows)
        epochs = range(start // updates, -(-self.recipe.steps // updates) + 1)
        seed = self.recipe.seed
        batches = model.batches(
            *self.train, batch_size=self.rows, shuffle=True, seed=seed, epochs=epochs
        )
        return batches.skip(start % updates)

    def tokens(self):
        """Words in all updates, int."""
        return sum(self.sizes)

    def evaluate(self, model):
        """The share of right tags in every held-out file, and F1 of spans.

        Returns:
            dict of file name to dict of float.
        """
        return {name: model.measure(*rows) for name, rows in self.valid.items()}

    def finished(self, model):
        """The model as it is."""
        return model
