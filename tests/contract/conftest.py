"""The contract's table as fixtures."""

import cases
import keras
import pytest

from zoo.registry import build_backbone
from zoo.tasks import TASKS
from zoo.training import AdamW


def pytest_generate_tests(metafunc):
    """Runs a test that takes `family` or `case` over the whole table."""
    for name, table in (("family", cases.FAMILIES), ("case", cases.TASKS)):
        if name in metafunc.fixturenames:
            metafunc.parametrize(name, table, ids=lambda row: row.name)


@pytest.fixture(scope="session")
def build():
    """Function of a family: its backbone, the same at every call."""

    def make(family, dtype=None, **fields):
        keras.utils.set_random_seed(1)
        return build_backbone(family.family, {**family.config, **fields}, dtype)

    return make


@pytest.fixture(scope="session")
def build_task(build, tokenizer):
    """Function of a case and a family: the task, compiled."""

    def make(case, family=cases.FAMILIES[0], dtype=None, fields=None, **options):
        backbone = build(family, dtype, **fields or {})
        task = TASKS[case.name](backbone, tokenizer, **case.options)
        options = {"optimizer": AdamW(1e-2, epsilon=1e-3), **options}
        task.compile(**{"run_eagerly": True, **options})
        return task

    return make
