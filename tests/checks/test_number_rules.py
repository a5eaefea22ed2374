"""Numbers that users give: those out of range are errors before any work."""

import dataclasses
import functools
import inspect
import math

import click
import numpy as np
import pytest
from command_line import run

import zoo
from zoo.checks.number_rules import RULES, NumberRule, check_number, check_numbers
from zoo.commands.arguments import Number
from zoo.commands.main import main
from zoo.evaluation import group_vectors
from zoo.pretraining import run as pretrain
from zoo.programs.finetune import finetuning, quickstart
from zoo.programs.vectors.word_vectors import SkipGramTraining
from zoo.programs.vocabulary.vocabularies import learn_vocabulary
from zoo.text import (
    count_words,
    train_bpe,
    train_byte_bpe,
    train_fastai_vocabulary,
    train_sentencepiece,
    train_wordpiece,
)

OPTIONS = [
    pytest.param(name, option, id=f"{name} {option.opts[0]}")
    for name, command in main.commands.items()
    for option in command.params
    if isinstance(option.type, Number)
]
# Functions, and the names of options that they take besides their arguments.
FUNCTIONS = {
    zoo.embed: ["sequence_length"],
    zoo.embed_words: [],
    zoo.evaluate_suite: ["epochs", "batch_size", "rows", "sequence_length"],
    zoo.find_uses: [],
    zoo.finetune_ulmfit: [
        *("batch_size", "learning_rate", "layer_decay", "sequence_length"),
    ],
    zoo.make_tagger: ["head_dropout", "learning_rate"],
    zoo.probe: [],
    zoo.attend: [],
    finetuning.run: ["epochs", "batch_size", "token_budget", "layer_decay"],
    quickstart.run: [],
    learn_vocabulary: ["character_coverage"],
    pretrain: [],
    group_vectors: [],
    count_words: [],
    train_bpe: [],
    train_byte_bpe: [],
    train_fastai_vocabulary: [],
    train_sentencepiece: [],
    train_wordpiece: [],
}
OWN_CHECKS = {  # seeds may be a list, a tagger may have no vocabulary
    (zoo.evaluate_suite, "seeds"),
    (zoo.make_tagger, "minimum"),
}
ARGUMENTS = [
    pytest.param(function, name, id=f"{function.__name__} {name}")
    for function, options in FUNCTIONS.items()
    for name in [*inspect.signature(function).parameters, *options]
    if name in RULES and (function, name) not in OWN_CHECKS
]


def wrong_numbers(rule):
    """Numbers that a rule excludes."""
    numbers = [math.nan, math.inf, -math.inf, rule.least - 1, rule.most + 1]
    numbers += [10**400, -(10**400)]
    numbers += [0] * (rule.least > 0 or rule.above) + [1.5] * rule.integer
    return numbers + ([rule.least] if rule.above else [])


def test_every_option_that_is_a_number_has_a_rule():
    assert len(OPTIONS) > 30
    plain = (click.types.IntParamType, click.types.FloatParamType)
    for name, command in main.commands.items():
        wrong = [o.name for o in command.params if isinstance(o.type, plain)]
        assert not wrong, f"{name} {wrong}"


@pytest.mark.parametrize("command, option", OPTIONS)
def test_options_out_of_range_are_errors(command, option):
    flag, rule = option.opts[0], RULES[option.type.argument]
    for number in [*wrong_numbers(rule), "1,5", "auto-", ""]:
        text = str(number)[:300] if isinstance(number, str) else repr_of(number)
        output = " ".join(run(command, flag, text, code=2).split())
        assert f"Error: Invalid value for '{flag}'" in output
        assert f"must be {rule.words}. Received: " in output, number


def repr_of(number):
    """A number as a user writes it; `str` refuses long integers."""
    if isinstance(number, int) and abs(number) > 10**300:
        return f"{'-' if number < 0 else ''}1{'0' * 400}"
    return str(number)


@pytest.mark.parametrize("function, name", ARGUMENTS)
def test_arguments_out_of_range_are_errors(function, name):
    """Before any work: the other arguments are not used."""
    parameters = inspect.signature(function).parameters
    others = {
        p.name: RULES[p.name].least if p.name in RULES else None
        for p in parameters.values()
        if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD
    }
    wrong = [*wrong_numbers(RULES[name]), True, "3", [1], np.float32("nan")]
    if name in parameters and parameters[name].default is not None:
        wrong.append(None)
    for number in wrong:
        with pytest.raises(ValueError, match=f"`{name}` must be an? .*Received: "):
            function(**{**others, name: number})


@pytest.mark.parametrize(
    "name", sorted({f.name for f in dataclasses.fields(SkipGramTraining)} & {*RULES})
)
def test_word_vectors(name):
    for number in [*wrong_numbers(RULES[name]), "3", True]:
        with pytest.raises(ValueError, match=f"`{name}` must be an? "):
            zoo.train_word_vectors(["a b"], **{name: number})


def test_options_whose_default_is_a_number_are_not_none():
    finetune = functools.partial(zoo.finetune_ulmfit, "p", ["a"], ["b"])
    tag = functools.partial(zoo.make_tagger, [["a"]], [["b"]])
    names = {"batch_size": finetune, "layer_decay": finetune}
    for name, call in (names | {"head_dropout": tag, "learning_rate": tag}).items():
        with pytest.raises(ValueError, match=f"`{name}` must be an? .*: None"):
            call(**{name: None})


def test_lists_of_numbers():
    for seeds in (0, -1, 2.0, "2", None, [0.5], [-1], [math.nan], 10**9):
        with pytest.raises(ValueError, match="`seeds?` must be an integer"):
            zoo.evaluate_suite("p", "d", "o", seeds=seeds)
    compare = functools.partial(zoo.evaluate_suite, "p", "d", "o", compare="both")
    for rates in ([0.0], [1e-3, -1], [math.nan], [math.inf], 0, "3"):
        with pytest.raises(ValueError, match="`learning_rate` must be a number"):
            compare(learning_rate=rates)
    with pytest.raises(ValueError, match="needs a learning rate. Received: none"):
        compare(learning_rate=[])
    for rate in (*wrong_numbers(RULES["learning_rate"]), True, "3", [1e-3]):
        with pytest.raises(ValueError, match="`learning_rate` must be a number"):
            zoo.evaluate_suite("p", "d", "o", learning_rate=rate)
    with pytest.raises(ValueError, match="`learning_rate` must be a number"):
        finetuning.run("p", "d", learning_rate=-1)
    output = run("finetune", "p", "--option", "head_dropout=NaN", code=1)
    assert "`head_dropout` must be a number from 0 to 0.9999. Received: nan" in output


def test_layers(make_task):
    model = make_task("text_embedder")
    for layers in ([0.5], "x", [math.nan], [True], 1.5, [[0]], [10**30]):
        with pytest.raises(ValueError, match="`layer` must be an integer from"):
            zoo.embed_words(["a film"], model.backbone, layers)
        with pytest.raises(ValueError, match="`layer` must be an integer from"):
            zoo.TextEmbedder(model.backbone, layers=layers)
    (found,) = zoo.embed_words(["a film"], model.backbone, np.int64(-1))
    assert found.shape[:2] == (2, 1)


def test_options_of_tasks_and_configs_are_not_restricted():
    options = {"head": "biattentive", "window": 2000, "vocabulary_size": 0}
    options["rows"] = None
    assert check_numbers(options) == options
    with pytest.raises(ValueError, match="`sequence_length` must be an integer"):
        check_numbers({**options, "sequence_length": 1.5})


def test_the_numbers_of_numpy_are_numbers():
    assert type(check_number("epochs", np.int64(3))) is int
    assert type(check_number("learning_rate", np.float32(0.5))) is float
    assert check_number("learning_rate", 1) == 1.0
    assert check_number("layer_decay", 1) == 1.0
    assert NumberRule(0, 1, False, True).words == "a number above 0 and up to 1"
