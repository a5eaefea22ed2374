"""Random values for every option and argument of the public methods of every task.

A call either works, or raises an error of ours, whose last line of code is in `zoo`. A
value that the docstrings exclude must not work.
"""

import functools
import inspect
import math
import numbers
import pathlib
import random
import warnings

import cases
import keras
import numpy as np
import pytest
import tensorflow as tf
import tiny
from cases import columns_of

import zoo
from zoo.registry import build_backbone
from zoo.tasks import TASKS

ROOT = pathlib.Path(zoo.__file__).parent
CALLS = int(__import__("os").environ.get("CALLS", 2000))
FLOATS = (0.5, -0.5, 1.0, 1.5, 1e-9, 1e-39, 1e-300, 1e30, 1e39, 1e300, -1e300)
INTEGERS = (0, 1, 2, 3, 7, -1, -7, 2**31 - 1, 2**31, 2**32, 2**63 - 1, 2**63, 10**30)
NUMPY = (
    *(np.int64(2), np.int8(-1), np.uint64(2**64 - 1), np.float32(0.5), np.bool_(True)),
    *(
        np.float32("nan"),
        np.float64("inf"),
        np.array(2),
        np.array([1, 2]),
        np.array([]),
    ),
    *(np.array([0.5, np.nan]), np.array(["a", "b"]), np.array([None, "a"], object)),
)
OTHERS = (
    *(None, True, False, math.nan, math.inf, -math.inf, 1j),
    *("", "a", "8", "auto", "\ud800", "a" * 300, b"a", b"\xff"),
    *(
        [],
        [1],
        [-1],
        ["a"],
        [""],
        [None],
        [[1, 2], [3]],
        (),
        (1,),
        ("a",),
        {},
        {"a": 1},
    ),
    *({1, 2}, range(3), range(10**6), object(), len, int),
)
VALUES = (*FLOATS, *INTEGERS, *NUMPY, *OTHERS)


def is_integer(value, least=0, most=2**63 - 1):
    plain = value.item() if getattr(value, "shape", None) == () else value
    known = isinstance(plain, numbers.Integral) and not isinstance(plain, bool)
    return known and least <= plain <= most


def is_number(value, admits):
    plain = value.item() if getattr(value, "shape", None) == () else value
    known = isinstance(plain, numbers.Real) and not isinstance(plain, bool)
    return known and bool(admits(plain))


def count(value):
    return value is None or is_integer(value, 1)


def positive(value):
    return value is None or is_number(value, lambda x: 0 < x < math.inf)


# What the docstrings admit, for the arguments whose range they give. A value that is
# not admitted must raise an error.
ADMITTED = {
    **dict.fromkeys(
        (
            *("batch_size", "steps_per_epoch", "token_budget", "validation_batch_size"),
            *("max_new_tokens", "num_beams", "num_return", "top_k", "extra_tokens"),
            *("num_answers", "rank"),
        ),
        count,
    ),
    **dict.fromkeys(("epochs", "initial_epoch"), lambda v: v is None or is_integer(v)),
    "seed": is_integer,
    "validation_split": lambda v: v is None or is_number(v, lambda x: 0 <= x < 1),
    "learning_rate": positive,
    "temperature": positive,
    "repetition_penalty": positive,
    "top_p": lambda v: v is None or is_number(v, lambda x: 0 < x <= 1),
    "length_penalty": lambda v: is_number(v, lambda x: abs(x) <= 8),
    "no_repeat_ngram_size": lambda v: is_integer(v, 0, 100),
    "min_new_tokens": is_integer,
    "head_dropout": lambda v: is_number(v, lambda x: 0 <= x < 1),
    "mask_rate": lambda v: is_number(v, lambda x: 0 < x <= 1),
    "layer_decay": lambda v: is_number(v, lambda x: 0 < x <= 1),
    "sequence_length": count,
}
# Where Keras itself decides, or any value has a meaning.
FREE = {
    *("self", "kwargs", "callbacks", "verbose", "return_dict", "name", "backbone"),
    *("shuffle", "tokenizer", "validation_data", "run_eagerly", "jit_compile", "steps"),
    *("auto_scale_loss", "optimizer", "return_scores", "stream", "return_attention"),
}
OURS = (ValueError, TypeError, KeyError, FileNotFoundError, FileExistsError)
WRITERS = ("generate", "translate", "summarize", "parse")


def make_tasks():
    """One small task of each kind, with texts and targets."""
    for case in cases.TASKS:
        if case.name == "pair_ranker":
            continue  # a user's own, which checks little
        family = case.family
        keras.utils.set_random_seed(3)
        backbone = build_backbone(family.family, family.config)
        same = [f for f in cases.FAMILIES if f.family == family.family and f.tokenizer]
        task = TASKS[case.task](backbone, same[0].tokenizer(), **case.options)
        texts, labels = tiny.make_texts(8)
        yield task, case, columns_of(task, texts), case.targets(texts, labels)


def calls_of(task, case, x, y):
    """Methods of a task with arguments that work, and those that are replaced."""
    data = {"x": x} if y is None else {"x": x, "y": y}
    options = inspect.signature(type(task).__init__).parameters
    given = {"backbone": task.backbone, "tokenizer": task.tokenizer, **case.options}
    yield "new", type(task), given, options
    for name in ("fit", "evaluate", "train_on_batch", "test_on_batch"):
        fixed = data | ({"verbose": 0} if name in ("fit", "evaluate") else {})
        parameters = {*inspect.signature(getattr(task, name)).parameters}
        yield name, getattr(task, name), fixed, parameters - {"kwargs"}
    yield "compile", task.compile, {}, {"loss", "metrics", "learning_rate"}
    yield "answer", task.answer, {"x": x}, {"x", "batch_size"}
    if task.answers_tokens:
        yield "predict", task.predict, {"x": x, "verbose": 0}, {"x", "batch_size"}
        yield "predict_on_batch", task.predict_on_batch, {"x": x}, {"x"}
    fields = {*zoo.generation.GenerationOptions.__dataclass_fields__}
    for name in WRITERS:
        if hasattr(task, name):
            fixed = {"texts": x, "max_new_tokens": 4}
            yield name, getattr(task, name), fixed, {"texts", "batch_size", *fields}
    yield (
        "default_optimizer",
        task.default_optimizer,
        {},
        {"learning_rate", "layer_decay"},
    )


def innermost(error):
    """The file of the code that raised an error."""
    trace = error.__traceback__
    while trace.tb_next:
        trace = trace.tb_next
    return pathlib.Path(trace.tb_frame.f_code.co_filename)


def judge(name, value, call):
    """What is wrong with a call, str; None if nothing is."""
    try:
        call()
    except OURS as error:
        place = innermost(error)
        if not place.is_relative_to(ROOT):
            return f"{type(error).__name__} in {place.name}: {str(error)[:150]}"
        if "Received" not in str(error):
            return f"a message without what was received: {str(error)[:150]}"
    except Exception as error:  # all other types are wrong
        return f"{type(error).__name__}: {str(error)[:150]}"
    else:
        if name in ADMITTED and not ADMITTED[name](value):
            return "it was accepted"
    return None


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_wrong_values_raise_errors_of_ours():
    draw, values = random.Random(20), (*VALUES, tf.constant([1, 2]))
    table = []
    for task, case, x, y in make_tasks():
        for method, function, given, names in calls_of(task, case, x, y):
            names = sorted({*names} - FREE)
            table += [(task, case, method, function, given, name) for name in names]
    found, seen = {}, 0
    while seen < CALLS:
        task, case, method, function, given, name = draw.choice(table)
        value = draw.choice(values)
        seen += 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call = functools.partial(function, **{**given, name: value})
            wrong = judge(name, value, call)
        if method == "compile":
            task.compile()
        if wrong:
            found.setdefault((method, name, repr(value)[:60]), (case.name, wrong))
    lines = [f"{key}: {value}" for key, value in sorted(found.items())]
    assert not found, f"{len(lines)} faults in {seen} calls\n" + "\n".join(lines)
