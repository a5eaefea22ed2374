"""Every field of a recipe, an objective and a config is checked at construction."""

import dataclasses
import functools
import re
import types
import typing

import numpy as np
import pytest
import tiny

from zoo.backbone.config import make_config
from zoo.checks.ranges import check_choice
from zoo.pretraining import Recipe
from zoo.pretraining.recipes import OBJECTIVES
from zoo.programs.vectors.word_vectors import SkipGramTraining
from zoo.registry import FAMILIES

NAN, INFINITE = float("nan"), float("inf")
NOTHING = types.NoneType
# What a field may not hold, by its type.
NUMBERS = ["1", True, NAN, INFINITE, -INFINITE, [1], {}, b"1", np.array([1, 2]), None]
WRONG = {
    bool: ["true", 1, 0.0, [], None],
    int: [*NUMBERS, 1.5, 2**31, np.float64(1.5)],
    float: [*NUMBERS, 1e39, 10**400, np.float32("nan")],
    str: [5, True, NAN, [], {}, b"a", None],
    list: ["a", 5, {}, NAN, [None], [NAN], [[[1]]], None],
    tuple: ["a", 5, {}, NAN, [None], [NAN], [[[[1]]]], None],
    dict: ["a", 5, [], NAN, None],
}
SIZE, COUNT, PROBABILITY = [0, -1], [-1], [-1e-9, 1, 1.0, 2]
POSITIVE, NEGATIVE, NAME = [0, -1, 1e-300], [-1, -1e-9], ["x", ""]
# What it may not hold either, by its name. The first pattern that matches counts.
WRONG_BY_NAME = {
    r"TagLMConfig\.(vocabulary_size|lstm_dim|num_layers|num_frozen)": COUNT,
    r".*\.(num_highways|word_vocabulary_size|num_decoder_layers)": COUNT,
    r"SkipGramTraining\.seed": [-1],  # up to 2**32 - 1
    r".*\.(first_position|seed|pad_id)": COUNT,
    r"ELMoConfig\.pad_character": [0, -1, 10**6],
    r"MaskedLMOptions\.repeats": SIZE,
    r".*\.(\w*_size|\w+_dim|num_\w+|max_\w+|shards|characters|word_texts)": SIZE,
    r".*\.(vocabulary_files|average|minimum|limit|window|negatives|epochs)": SIZE,
    r".*\.words_per_step": SIZE,
    r".*\.(\w*dropout|beta_2|ema|label_smoothing)": PROBABILITY,
    r".*\.(\w*epsilon|initializer_range|\w+_clip|learning_rate|clip_norm)": POSITIVE,
    r".*\.threshold": POSITIVE,
    r".*\.joined": [-1e-9, 0.91, 1],
    r".*\.most_joined": [1, 0, -1],
    r".*\.(\w*_l2|\w+_stddev|\w+_regularization|pairs|words)": NEGATIVE,
    r".*\.(weight_decay|accumulator)": NEGATIVE,
    r".*\.filters": [[[0, 1]], [[1, -1]], [[1]], [[1, 2, 3]], [1, 2], [[1, 1.5]]],
    r".*\.lm_positions": [[-1], [9], [0.5], [True]],
    r".*\.lm_layers": [-1, "first", [], [0.5], 1.5, True, None, {}],
    r".*\.columns": [[0], [0, 1, 2], [-1, 0], [0, True], ["a", "b"]],
    r".*\.(optimizer|decay|dtype|cell|output|activation|positions)": NAME,
    r".*\.(mix_layer_norm|source|smoothing_kind|linearization|family)": NAME,
    r"Recipe\.warmup_steps": [-1, 101],
    r"Recipe\.train": [[], [""], ["/a"], [3]],
    r"Recipe\.valid": [[""], ["/a"], [3]],
    r"Recipe\.stages": [
        *([], [[]], [[16, 8]], [[16, 8, 2, 1]], [[4, 8, 4]], [[16, 0, 4]]),
        *([[16, 8, -4]], [[16.5, 8, 4]], [["16", 8, 4]], [[True, 8, 4]], [16, 8, 4]),
    ],
    r"Recipe\.objective": [{}, {"name": "x"}, {"name": 5}, {"name": []}],
    r"Recipe\.config": [{"x": 1}, {"hidden_dim": -1}, {"dropout": "0"}, {"causal": 1}],
    r"Recipe\.finetuning_config": [{"x": 1}, {"dropout": 1.0}, {"num_heads": NAN}],
    r"Recipe\.defaults": [{"learning_rate": -1}, {"epochs": 1.5}, {"tasks": []}],
    r"Recipe\.card": [{"a": {1, 2}}],
    r"Recipe\.start": [],
    r".*\.fields": [{"*.txt": "x"}, {"*.txt": [-1]}, {"*.txt": []}, {5: None}],
    r".*\.repeats": [{"*.txt": 0}, {"*.txt": 1.5}, {"*.txt": "2"}],
    r".*\.tokenizer": [{"x": 1}, {"max_characters": 1}, {"max_characters": "9"}],
    r".*\.vectors": [{"a": 1}, {"texts": []}, {"texts": ["a"], "epochs": 0}],
    r".*\.tagger": [{"x": 1}, {"minimum": 0}, {"decoder": "x"}, {"head_dropout": 1}],
    r".*\.generation": [{"x": 1}, {"num_beams": 0}, {"penalty": "x"}],
    r".*\.teacher": [],
}
BERT = {"family": "bert", "config": tiny.CONFIG}
TRANSFORMER = {"family": "transformer", "config": tiny.TRANSFORMER_CONFIG}
# Name of an objective to fields of its recipe, and to its options.
SETTINGS = {
    "bidirectional_lm": ({"family": "elmo", "config": tiny.ELMO_CONFIG}, {}),
    "causal_streams": ({"family": "ulmfit", "config": tiny.ULMFIT_CONFIG}, {}),
    "distillation": (BERT, {"teacher": "a"}),
    "token_classifier": ({"family": "taglm", "config": tiny.TAGLM_CONFIG}, {}),
    "parser": (TRANSFORMER, {}),
    "translator": (TRANSFORMER, {}),
}


def make_recipe(**fields):
    """A recipe of 100 updates."""
    return Recipe(**tiny.recipe(**{"stages": [[16, 8, 100]], **fields}))


def make_options(objective, **options):
    """The options of an objective, in a recipe."""
    fields, needed = SETTINGS.get(objective, (BERT, {}))
    settings = {"name": objective, **needed, **options}
    return make_recipe(**fields, objective=settings).options


# Those of a user, which other tests register, check what they want.
CONFIGS = [f.backbone.config_class for f in FAMILIES.values()]
CONFIGS = [kind for kind in CONFIGS if kind.__module__.startswith("zoo.")]
MAKERS = {o.Options: functools.partial(make_options, n) for n, o in OBJECTIVES.items()}
MAKERS |= {kind: kind for kind in [*CONFIGS, SkipGramTraining]} | {Recipe: make_recipe}
FIELDS = [(kind, field) for kind in MAKERS for field in dataclasses.fields(kind)]


def name_of(value):
    return getattr(value, "__name__", None) or getattr(value, "name", None)


def plain_types(hint):
    """The types of an annotation, without ranges, a set."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return {kind for part in parts for kind in plain_types(part)}
    return {str} if origin is typing.Literal else {origin or hint}


def wrong_values(kind, field):
    """The values that a field may not hold."""
    known = plain_types(typing.get_type_hints(kind)[field.name])
    called = f"{kind.__name__}.{field.name}"
    patterns = [p for p in WRONG_BY_NAME if re.fullmatch(p, called)]
    assert patterns or bool in known, f"Add {called} to the table."
    found = [value for pattern in patterns[:1] for value in WRONG_BY_NAME[pattern]]
    if len(known - {NOTHING}) == 1:
        (plain,) = known - {NOTHING}
        found += WRONG[plain]
    if called == "SkipGramTraining.seed":
        found = [v for v in found if type(v) is not int or v != 2**31]
    return [value for value in found if value is not None or NOTHING not in known]


@pytest.mark.parametrize("kind", MAKERS, ids=name_of)
def test_without_a_wrong_field_each_of_them_is_made(kind):
    assert isinstance(MAKERS[kind](), kind)


@pytest.mark.parametrize("kind, field", FIELDS, ids=name_of)
def test_a_field_refuses_other_types_and_what_is_out_of_its_range(kind, field):
    for value in wrong_values(kind, field):
        with pytest.raises(ValueError) as error:
            MAKERS[kind](**{field.name: value})
            pytest.fail(f"{field.name}={value!r} was taken.")
        assert re.search(f"`{field.name}[`.]|`name`|JSON", str(error.value)), value


@pytest.mark.parametrize("kind, field", FIELDS, ids=name_of)
def test_a_field_takes_numbers_of_numpy(kind, field):
    number = type(field.default)
    for make in {int: (np.int64, np.uint32), float: (np.float64,)}.get(number, ()):
        for value in (make(field.default), np.array(field.default)):
            found = getattr(MAKERS[kind](**{field.name: value}), field.name)
            assert found == field.default and type(found) is number


def test_a_config_of_a_file_names_the_field_as_the_file_does():
    kind = FAMILIES["bert"].backbone.config_class
    names = {"hidden_dim": "n_embd"}
    for value in (0, -1, "12", True, NAN, 2**31):
        with pytest.raises(ValueError, match="^`n_embd` of a.json must be an integer"):
            make_config(kind, {"hidden_dim": value}, "a.json", names)
    assert make_config(kind, {"hidden_dim": np.int64(12)}, "a.json").hidden_dim == 12


def test_choices():
    """A value is returned if it is a choice; others may be of any type."""
    assert check_choice("kind", "a", {"a": 1, "b": 2}) == "a"
    for value, written in (("c", "'c'"), (None, "None"), (["a"], r"\['a'\]")):
        message = f"`kind` must be one of 'a', 'b'. Received: {written}. Leave it."
        with pytest.raises(ValueError, match=message):
            check_choice("kind", value, ("a", "b"), "Leave it.")
