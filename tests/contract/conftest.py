"""The contract's table as fixtures."""

import functools
import itertools
import shutil

import cases
import keras
import layouts
import numpy as np
import pytest

from zoo.registry import build_backbone
from zoo.tasks import TASKS
from zoo.training import AdamW

TABLES = {
    "family": cases.FAMILIES,
    "attending": [family for family in cases.FAMILIES if family.attention],
    "case": cases.TASKS,
    "directory": [*layouts.DIRECTORIES.values()],
    "writable": [row for row in layouts.DIRECTORIES.values() if row.writer],
}
LAYERS = {"num_layers", "num_encoder_layers", "num_decoder_layers"}


def _differs(case, family):
    """Whether the family has the task, and no variant of it shows the same."""
    variant = family.tokenizer is None
    shown = case.name in ("masked_lm", "causal_lm")
    return case.name in family.tasks and (not variant or shown)


def pytest_generate_tests(metafunc):
    """Runs a test that takes a row of a table over the whole table."""
    names = sorted(TABLES.keys() & {*metafunc.fixturenames})
    rows = list(itertools.product(*map(TABLES.get, names)))
    shown = None
    if names == ["case", "family"]:
        rows = [(case, family) for case, family in rows if _differs(case, family)]
        if not metafunc.definition.get_closest_marker("shown"):
            shown = _each_case_once(rows)
    if names:
        metafunc.parametrize(names, [_row(row, shown) for row in rows])


def _each_case_once(rows):
    """The names of rows that have every case once, with its first family."""
    first = {case.name: f"{case.name}-{family.name}" for case, family in rows[::-1]}
    return list(first.values())


def _row(row, shown):
    """A row with its name; it is slow if others are shown by default."""
    row = row if isinstance(row, tuple) else (row,)
    name = "-".join(part.name for part in row)
    slow = shown is not None and name not in shown
    return pytest.param(*row, id=name, marks=[pytest.mark.slow] if slow else [])


@pytest.fixture(scope="session")
def build():
    """Function of a family: its backbone, the same at every call."""

    def make(family, dtype=None, **fields):
        keras.utils.set_random_seed(1)
        return build_backbone(family.family, {**family.config, **fields}, dtype)

    return make


@pytest.fixture(scope="module")
def built(build):
    """Like `build`, but one object for a family; no test may change it."""
    made = {}

    def find(family, dtype=None):
        key = (family.name, dtype)
        if key not in made:
            made[key] = build(family, dtype)
        return made[key]

    return find


@pytest.fixture(scope="session")
def tokenizers():
    """Dict of the name of each row to its tokenizer, or to that of its family."""
    made = {row.name: row.tokenizer() for row in cases.FAMILIES if row.tokenizer}
    return {row.name: made.get(row.name) or made[row.family] for row in cases.FAMILIES}


@pytest.fixture(scope="session")
def build_task(build, tokenizers):
    """Function of a case and a family: the task, compiled.

    The backbone has one layer, which compiles in half of the time, or with
    `smallest=False` those of the table.
    """

    def make(case, family=None, dtype=None, smallest=True, **options):
        family = family or cases.first_family(case)
        smallest &= case.task != "text_embedder"  # whose vectors are of two layers
        fields = {name: 1 for name in LAYERS if smallest and family.config.get(name)}
        backbone = build(family, dtype, **fields)
        tokenizer = tokenizers[family.name]
        task = TASKS[case.task](backbone, tokenizer, **case.options)
        for layer in task.layers:  # a kernel that is 0 at first shows nothing
            if layer.name == "classifier" and not np.any(layer.get_weights()[0]):
                layer.kernel.assign(keras.random.normal(layer.kernel.shape, seed=1))
        options = {"optimizer": AdamW(1e-2, epsilon=1e-3), **options}
        task.compile(**{"run_eagerly": True, **options})
        return task

    return make


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """Function of a row: its directory, which no test may change, and its content."""

    @functools.cache
    def find(row):
        directory = tmp_path_factory.mktemp("layouts") / "model"
        row.make(directory)
        return directory, *layouts.read(directory)

    return find


@pytest.fixture
def damaged(made, tmp_path):
    """Function of a row: a copy of its directory, to be damaged."""
    return lambda row: shutil.copytree(made(row)[0], tmp_path / "model")
