"""2,000 random values of options and arguments: each works, or is refused by us.

A value may be refused by an error of this package, not by one of NumPy, TensorFlow or
Keras. A value that the documentation excludes must be refused. The arguments are those
in the signatures of the public methods, so that a new one is tried too.
"""

import collections
import dataclasses
import decimal
import inspect
import math
import numbers
import pathlib
import random
import resource
import shutil
import signal
import warnings

import cases
import keras
import numpy as np
import pytest
import tiny
from task_cases import Case

import zoo
from zoo.generation import GenerationOptions
from zoo.text import ParsingTokenizer, list_tokens, read_tree, train_sentencepiece

SEED, TRIALS = 0, 2_000
SECONDS = 60  # of processor time for a call
MEMORY = 8 << 30  # bytes that all calls together may add
ROOT = str(pathlib.Path(zoo.__file__).parent)
TEXTS, LABELS = tiny.make_texts(4, seed=4)
REFUSALS = (ValueError, TypeError, KeyError, OSError)

SMALL = [0, 1, -1, 2, 3, -7, 1.0, 1.5, -0.5, 0.5, 0.0, -0.0]
LARGE = [999, 10**6, -(10**9), 2**31, 2**32, 2**63, 2**70, 1e30, -1e30]
TINY = [1e-3, 1e-12, 1e-39, 1e-50, 1e-320]
NO_NUMBERS = [math.nan, math.inf, -math.inf]
OF_NUMPY = [
    *(np.int64(3), np.int8(-1), np.uint64(2**63), np.int32(0), np.bool_(True)),
    *(np.float32(0.5), np.float16(2), np.float64(math.nan), np.float32(math.inf)),
    *(np.array(3), np.array(0.5), np.array([1, 2]), np.array([]), np.array(["a"])),
    *(np.zeros((2, 2)), np.array([None]), np.array([math.nan, 1.0])),
]
TEXTUAL = ["", "a", "8", "nan", "auto", " ", "\ud800", "x" * 999, b"a", b"\xff"]
CONTAINERS = [
    *([], [1], ["a"], [None], [[]], [1.5], [10**9], [-1], (), (1, 2), ("a",)),
    *({}, {"a": 1}, {0: 1.0}, {1: -1.0}, {"good": math.nan}, set(), {1}, range(3)),
]
OTHERS = [None, True, False, 1j, decimal.Decimal(2), object(), print, int, ...]
VALUES = [
    *(SMALL * 3 + LARGE + TINY + NO_NUMBERS * 2),
    *(OF_NUMPY + TEXTUAL + CONTAINERS + OTHERS),
]


@dataclasses.dataclass(frozen=True)
class Range:
    """The numbers that an argument may be, as its docstring says.

    Args:
        low, high: the ends.
        whole: whether it is an integer.
        optional: whether it may be None.
        open: which ends do not belong to it, "low", "high" or "both".
    """

    low: float
    high: float = math.inf
    whole: bool = False
    optional: bool = False
    open: str = ""

    def excludes(self, value):
        """Whether a value is surely none of them; arrays and 2.0 for 2 are left out."""
        if value is None:
            return not self.optional
        if isinstance(value, (bool, np.bool_)):
            return True
        if isinstance(value, (np.ndarray, decimal.Decimal)):
            return False
        if not isinstance(value, numbers.Real) or math.isnan(value):
            return True
        low = value < self.low or value == self.low and self.open in ("low", "both")
        high = value > self.high or value == self.high and self.open in ("high", "both")
        return low or high or self.whole and value % 1 != 0


COUNT = Range(1, whole=True)
COUNT_OR_NONE = Range(1, whole=True, optional=True)
SHARE = Range(0, 1, open="high")
RANGES = {
    **dict.fromkeys(("max_new_tokens", "num_beams", "num_return", "k"), COUNT),
    **dict.fromkeys(("updates", "num_choices", "num_answers", "answer_length"), COUNT),
    **dict.fromkeys(("max_predictions", "question_length", "stride"), COUNT),
    **dict.fromkeys(("batch_size", "steps_per_epoch"), COUNT_OR_NONE),
    "epochs": Range(0, whole=True, optional=True),
    **dict.fromkeys(("steps", "validation_steps", "top_k"), COUNT_OR_NONE),
    **dict.fromkeys(("extra_tokens", "validation_batch_size"), COUNT_OR_NONE),
    **dict.fromkeys(("token_budget", "sequence_length", "head_dim"), COUNT_OR_NONE),
    **dict.fromkeys(("head_dropout", "mask_rate"), SHARE),
    "validation_split": dataclasses.replace(SHARE, optional=True),
    **dict.fromkeys(("initial_epoch", "min_new_tokens"), Range(0, whole=True)),
    "seed": Range(0, whole=True),
    "version": Range(0, whole=True, optional=True),
    "first_token": Range(0, 10**5, whole=True, optional=True),
    "last_token": Range(0, 10**5, whole=True, optional=True),
    "temperature": Range(0, optional=True, open="both"),
    "top_p": Range(0, 1, optional=True, open="low"),
    "repetition_penalty": Range(0, open="both"),
    "length_penalty": Range(-8, 8),
    "learning_rate": Range(0, optional=True, open="high"),
    "lowest": Range(0, open="both"),
    "highest": Range(0, open="both"),
    "null_threshold": Range(-math.inf, optional=True),
}


@dataclasses.dataclass
class Subject:
    """A class of tasks, how one is made, and valid calls: method to its arguments."""

    kind: type
    make: object
    calls: dict
    task: object = None

    def call(self, method, options):
        """Calls a method; those that may change the task have a new one each time."""
        if method == "__init__":
            return self.make(**options)
        if self.task is None:
            self.task = self.make()
            self.task.compile(run_eagerly=True)
        task = self.task
        if method in CHANGING:
            self.task = None
        found = getattr(task, method)(**options)
        return next(iter(found), None) if method == "batches" else found


CHANGING = (
    *("fit", "train_on_batch", "find_learning_rate", "find_null_threshold"),
    *("compile", "quantize"),
)
NEVER = {"self", "args", "kwargs", "callbacks", "backbone", "tokenizer", "name"}
# An endless progress bar, files in strange places, and what Keras alone documents.
NEVER |= {"verbose", "filepath", "directory", "config", "custom_objects"}
NEVER |= {"optimizer", "return_dict"}
# Keras checks it before it calls `quantize` of a task.
NEVER |= {"mode"}
NO_NUMBER = {("batches", "epochs")}  # a list of numbers
# As much work as is asked for. To stop it would leave Keras within a layer's call.
LONG = {"epochs", "steps_per_epoch", "updates"}
TEXT_LISTS = ("['a']", "('a',)", "array(['a'], dtype='<U1')")
WRITING = ("generate", "translate", "summarize")  # and `parse`
# It has the family of the translator.
(TRANSLATOR,) = (case for case in cases.TASKS if case.task == "translator")
SUMMARIZER = dataclasses.replace(TRANSLATOR, task="summarizer", called="translator")


def calls_of(case, task, folder):
    """The public methods that a user calls, with valid arguments."""
    x, y = cases.columns_of(task, TEXTS), case.targets(TEXTS, LABELS)
    data, quiet = {"x": x, "y": y}, {"verbose": 0}
    calls = {
        "__init__": {},
        "compile": {},
        "default_optimizer": {},
        "fit": data | quiet,
        "evaluate": data | quiet,
        "predict": {"x": x} | quiet,
        "answer": {"x": x},
        "batches": data,
        "train_on_batch": data,
        "test_on_batch": data,
        "predict_on_batch": {"x": x},
        "encode_labels": {"y": y},
        "find_learning_rate": data | {"updates": 2},
        "find_null_threshold": data,
        "save": {"filepath": folder / "a.keras"},
        "save_to_preset": {"directory": folder / "preset"},
        "quantize": {"mode": "int8"},
        "fill_mask": {"texts": ["a [MASK]"]},
        "choose": {"text": TEXTS[0], "choices": TEXTS[1:]},
        "score": data,
        "answer_question": {"question": TEXTS[0], "context": TEXTS[1]},
        "export": {"directory": folder / "exports"},
        **dict.fromkeys(("tag", "entities"), {"texts": x}),
        **dict.fromkeys(WRITING, {"texts": TEXTS, "max_new_tokens": 3}),
        "parse": {"sentences": TEXTS, "max_new_tokens": 3},
    }
    return {name: given for name, given in calls.items() if hasattr(task, name)}


def arguments_of(kind, method):
    """Names of the arguments of a method, those of its `**options` too."""
    names = {*inspect.signature(getattr(kind, method)).parameters}
    if method in (*WRITING, "parse"):
        names |= {field.name for field in dataclasses.fields(GenerationOptions)}
    if method == "__init__":
        names |= {*kind.keyword_options}
    if method == "export":
        names |= {"warmup_texts"}
    return sorted(names - NEVER - {"options"})


def parser(build, folder):
    """The subject of a parser of two kinds of phrases."""
    tokens = list_tokens([read_tree("(S (NP (DT a) (NN film)) (VP (VB is)))")])
    sentences = train_sentencepiece(tiny.make_texts(60)[0], 330)
    tokenizer = ParsingTokenizer(sentences, tokens)
    sizes = tokenizer.vocabulary_size, tokenizer.target_vocabulary_size
    names = "vocabulary_size", "target_vocabulary_size"
    family = cases.first_family(TRANSLATOR)
    backbone = build(family, **dict(zip(names, sizes, strict=True)))

    def make(**options):
        return zoo.Parser(backbone, tokenizer, **options)

    trees = [
        f"(S {' '.join(f'(NN {word})' for word in text.split())})" for text in TEXTS
    ]
    case = Case("parser", {}, lambda texts, labels: trees, ("T", sizes[1]))
    return Subject(zoo.Parser, make, calls_of(case, make(), folder))


@pytest.fixture
def subjects(build, tokenizers, tmp_path):
    """A subject for each task of the table, the summarizer and the parser."""
    found = [parser(build, tmp_path)]
    for case in (*cases.TASKS[:-1], SUMMARIZER):  # the last one is a user's own
        backbone = build(cases.first_family(case))
        tokenizer = tokenizers[cases.first_family(case).name]

        def make(case=case, backbone=backbone, tokenizer=tokenizer, **options):
            options = {**case.options, **options}
            return zoo.tasks.TASKS[case.task](backbone, tokenizer, **options)

        task = make()
        found.append(Subject(type(task), make, calls_of(case, task, tmp_path)))
    return found


@pytest.fixture(autouse=True)
def limits():
    """Bounds on time and memory, and tracebacks that Keras has not cut."""

    def stop(*_):
        raise TimeoutError(f"more than {SECONDS} s")

    former = signal.signal(signal.SIGPROF, stop)
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[0])
    size = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (size, hard))
    keras.config.disable_traceback_filtering()
    yield
    keras.config.enable_traceback_filtering()
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    signal.signal(signal.SIGPROF, former)


def fault_of(subject, method, name, value, folder):
    """What is wrong with the outcome of a call, or None."""
    options = {**subject.calls[method], name: value}
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            subject.call(method, options)
    except REFUSALS as error:
        return None if is_ours(error) else describe(error)
    except Exception as error:  # the raw errors that are looked for
        return describe(error)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        for path in folder.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    allowed = None if (method, name) in NO_NUMBER else RANGES.get(name)
    return "is accepted" if allowed and allowed.excludes(value) else None


def asks_for_much(name, value):
    """Whether a value is a number of steps or epochs that takes long."""
    return name in LONG and isinstance(value, numbers.Real) and value > 9


def is_ours(error):
    """Whether code of this package raised it, with a message that says the value."""
    trace = error.__traceback__
    while trace.tb_next:
        trace = trace.tb_next
    return trace.tb_frame.f_code.co_filename.startswith(ROOT) and "Received" in str(
        error
    )


def describe(error):
    """The class and the beginning of the message of an error."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:90]}"


@pytest.mark.slow
@pytest.mark.usefixtures("eagerly")
@pytest.mark.filterwarnings("ignore")
def test_each_value_works_or_is_refused(subjects, tmp_path):
    choose, faults = random.Random(SEED), collections.Counter()
    rows = [
        (subject, method, name)
        for subject in subjects
        for method in subject.calls
        for name in arguments_of(subject.kind, method)
    ]
    for _ in range(TRIALS):
        subject, method, name = choose.choice(rows)
        value = choose.choice([v for v in VALUES if not asks_for_much(name, v)])
        fault = fault_of(subject, method, name, value, tmp_path)
        if fault:
            call = f"{subject.kind.__name__}.{method}({name}={value!r:.40})"
            faults[f"{call}: {fault}"] += 1
    if faults:
        text = f"{len(faults)} faults:\n" + "\n".join(sorted(faults))
        pytest.fail(text, pytrace=False)


@pytest.mark.usefixtures("eagerly")
def test_an_export_refuses_values_before_its_work(build_task, tmp_path):
    """It takes too long for many trials."""
    task = build_task(cases.TASKS[0])
    subject = Subject(type(task), None, {"export": {"directory": tmp_path / "a"}}, task)
    excluded = [value for value in VALUES if RANGES["version"].excludes(value)]
    wrong = {"version": [*excluded, 0, np.array([1, 2])]}
    wrong["pair"] = [
        v for v in VALUES if not isinstance(v, (bool, np.bool_, type(None)))
    ]
    wrong["warmup_texts"] = [v for v in VALUES if repr(v) not in TEXT_LISTS]
    for name, values in wrong.items():
        for value in values:
            try:
                subject.call("export", {**subject.calls["export"], name: value})
            except REFUSALS as error:
                assert is_ours(error), (name, value, error)
            else:
                pytest.fail(f"{name}={value!r} is accepted")
    assert not (tmp_path / "a").exists()
