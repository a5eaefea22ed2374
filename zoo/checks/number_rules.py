"""The range of each number that users give, checked before any work."""

import collections.abc
import dataclasses
import functools
import inspect
from typing import Annotated

from zoo.checks.ranges import check_value


@dataclasses.dataclass(frozen=True)
class NumberRule:
    """The numbers that an argument takes, from `least` to `most`.

    They must be integers if `integer`, and greater than `least` if `above`.
    """

    least: float
    most: float
    integer: bool = True
    above: bool = False

    @property
    def words(self):
        """The rule in words, such as "an integer from 1 to 1,000"."""
        kind = "an integer" if self.integer else "a number"
        if self.above:
            return f"{kind} above {self.least:,} and up to {self.most:,}"
        return f"{kind} from {self.least:,} to {self.most:,}"

    checks_type = True  # see `zoo.checks.ranges.Range`

    def admits(self, value):
        """Whether a value is such a number of Python."""
        known = int if self.integer else (int, float)
        if not isinstance(value, known) or isinstance(value, bool):
            return False
        # No comparison with NaN holds.
        return self.least <= value <= self.most and not (
            self.above and value == self.least
        )

    @property
    def kind(self):
        """An annotation for `zoo.checks.ranges`."""
        return Annotated[int if self.integer else float, self]


COUNT = NumberRule(1, 10**9)
POSITIVE = NumberRule(1e-12, 1000, integer=False)  # also in float32
SHARE = NumberRule(0, 1, integer=False, above=True)
# The names of arguments that are counts.
COUNTED = (
    *("batch_size", "count", "every", "examples", "groups", "k", "limit", "lora"),
    *("min_count", "minimum", "minimum_count", "num_merges", "rows"),
    *("sequence_length", "size", "token_budget", "vocabulary_size"),
)
# The names of arguments, which mean the same in all commands and functions.
RULES = {
    **dict.fromkeys(COUNTED, COUNT),
    "accumulate": NumberRule(1, 10_000),
    "character_coverage": SHARE,
    "devices": NumberRule(1, 10_000),
    "embedding_dim": NumberRule(1, 10_000),
    "epochs": NumberRule(1, 10**6),
    "head": NumberRule(-10_000, 10_000),
    "head_dropout": NumberRule(0, 0.9999, integer=False),
    "language_model_epochs": NumberRule(0, 10**6),
    "layer": NumberRule(-10_000, 10_000),
    "layer_decay": SHARE,
    "learning_rate": POSITIVE,
    "negatives": NumberRule(1, 10_000),
    "neighbours": NumberRule(0, 10**9),
    "seed": NumberRule(0, 2**32 - 1),
    "seeds": NumberRule(1, 10_000),
    "threshold": POSITIVE,
    "version": NumberRule(1, 2**63 - 1),
    "window": NumberRule(1, 1000),
    "words_per_step": NumberRule(1, 100_000),
}
# As options of tasks and configs, these mean something else.
OTHER_OPTIONS = {"embedding_dim", "head", "vocabulary_size", "window"}


def check_number(name, value):
    """The number of an argument, int or float; see `zoo.checks.ranges.check_value`."""
    rule = RULES[name]
    number = check_value(name, value, rule.kind)
    return number if rule.integer else float(number)


def check_layers(layers):
    """The numbers of layers, a list of int, of one number or an iterable of them."""
    if isinstance(layers, str) or not isinstance(layers, collections.abc.Iterable):
        layers = [layers]
    return [check_number("layer", layer) for layer in layers]


def check_numbers(values, skip=()):
    """A copy of a dict of options, in which numbers are checked; None is kept."""
    given = {name for name, value in values.items() if value is not None}
    known = given & {*RULES} - {*skip} - OTHER_OPTIONS
    return values | {name: check_number(name, values[name]) for name in known}


def numbers_checked(skip=()):
    """A decorator: checks the numbers among the arguments of a function.

    An argument may be None if that is its default, or if it is one of `**options`. The
    function itself checks those in `skip`.
    """

    def decorate(function):
        signature = inspect.signature(function)

        @functools.wraps(function)
        def checked(*arguments, **options):
            try:
                bound = signature.bind(*arguments, **options)
            except TypeError:  # its own message names the function
                return function(*arguments, **options)
            for name, value in bound.arguments.items():
                parameter = signature.parameters[name]
                if parameter.kind is parameter.VAR_KEYWORD:
                    bound.arguments[name] = check_numbers(value, skip)
                elif name in RULES and name not in skip:
                    if value is not None or parameter.default is not None:
                        bound.arguments[name] = check_number(name, value)
            return function(*bound.args, **bound.kwargs)

        return checked

    return decorate
