"""The contract's table as fixtures."""

import functools
import itertools
import shutil

import built_tasks
import cases
import layouts
import pytest

TABLES = {
    "family": cases.FAMILIES,
    "attending": [family for family in cases.FAMILIES if family.attention],
    "case": cases.TASKS,
    "directory": [*layouts.DIRECTORIES.values()],
    "writable": [row for row in layouts.DIRECTORIES.values() if row.writer],
}


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
    return built_tasks.build


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
    return built_tasks.tokenizers()


@pytest.fixture(scope="session")
def build_task():
    """Function of a case and a family: the task, compiled; see `built_tasks`."""
    return built_tasks.build_task


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
