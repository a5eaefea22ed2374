"""Training of parsers on trees, by a recipe."""

import dataclasses
from typing import Literal

from zoo.pretraining.objective import Objective
from zoo.pretraining.start import learn_once
from zoo.pretraining.translation import Translation, WritingOptions
from zoo.tasks import Parser
from zoo.text import ParsingTokenizer, linearize, list_tokens, read_tree
from zoo.text.parsing.linear_trees import LINEARIZATIONS


@dataclasses.dataclass(frozen=True)
class ParsingOptions(WritingOptions):
    """The options of this objective in a recipe.

    Args:
        linearization: str, see `zoo.text.linearize`.
        label_smoothing, smoothing_kind, generation: of `zoo.Parser`.
    """

    linearization: Literal[(*LINEARIZATIONS,)] = "tensor2tensor"


class Parsing(Translation):
    """A training run of a `Parser` on files of trees, see `zoo.text.read_trees`.

    The first run learns a SentencePiece model from the sentences. The decoder has the
    tokens of the training trees, all of which are cleaned, see `zoo.text.clean_tree`.
    Trees without words are ignored. The other rules are those of `Translation`, whose
    attributes hold sentences and trees in brackets.
    """

    task = Parser
    name = task.task_name
    Options = ParsingOptions
    evaluate = Objective.evaluate  # the scores of brackets as well
    prepares = False

    def _read(self, name, paths):
        """The trees of some files, and their sentences; two lists."""
        files = map(Parser.files.read, paths)
        return tuple(sum(side, []) for side in zip(*files, strict=True))

    def _tokenizer(self, path):
        """Makes the tokenizer. The first call writes the model of the sentences."""
        learn_once(self.recipe, lambda: self.train[0], "sentencepiece", path)
        kind = self.options.linearization
        tokens = list_tokens(map(read_tree, self.train[1]), kind)
        return ParsingTokenizer(path, tokens, kind)

    def _with_joined_rows(self):
        """The training rows; there are no others."""
        return self.train

    def _target_texts(self):
        """The linear trees, list of str."""
        kind = self.tokenizer.linearization
        return [" ".join(linearize(read_tree(t), kind)) for t in self.train[1]]
