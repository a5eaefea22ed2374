"""What several tests of tables share."""

import dataclasses

import click.testing
import pytest
import tiny
import tiny_workloads
from tiny_inputs import make_bert, make_elmo, make_ulmfit, write_sets

from zoo.text import train_fastai_vocabulary


@pytest.fixture
def make_run(tmp_path):
    """Function of a module and options: a run in the folders of the test."""

    def make(module, **options):
        folders = {"data": tmp_path, "work": tmp_path / "work"}
        return module.TABLE.run(**{**folders, "output": tmp_path / "tables", **options})

    return make


@pytest.fixture
def command(tmp_path):
    """Function of arguments that runs the command in the folders of the test."""

    def run(*arguments):
        from benchmarks.tables.runner import main

        folders = {"data": "", "work": "work", "output": "tables"}
        given = [f"--{name}={tmp_path / folder}" for name, folder in folders.items()]
        invoke = click.testing.CliRunner().invoke
        given += map(str, arguments)
        return invoke(main, given, catch_exceptions=False, standalone_mode=False).output

    return run


@pytest.fixture
def small_sets(monkeypatch, tmp_path):
    """Small files of all labelled sets, of which tables use all rows."""
    from benchmarks.tables.gpt_tasks import TASKS
    from benchmarks.tables.labelled_sets import LABELLED_SETS

    write_sets(tmp_path)
    for sets in (LABELLED_SETS, TASKS):
        for name, labelled in sets.items():
            small = dataclasses.replace(labelled, train=None, test=None)
            monkeypatch.setitem(sets, name, small)


@pytest.fixture
def elmo(tmp_path):
    """A tiny ELMo as a directory."""
    make_elmo().save_to_preset(tmp_path / "elmo_tiny")
    return tmp_path / "elmo_tiny"


@pytest.fixture(scope="session")
def presets(tmp_path_factory):
    """A tiny ULMFiT of each direction and a tiny BERT, values of `--preset`."""
    folder = tmp_path_factory.mktemp("presets")
    tokens = train_fastai_vocabulary(tiny.make_texts(40)[0], minimum_count=1)[:-3]
    make_ulmfit(tokens).save_to_preset(folder / "lm_forward")
    make_ulmfit(tokens, reverse=True).save_to_preset(folder / "lm_backward")
    make_bert().save_to_preset(folder / "bert_tiny")
    names = {"forward": "lm_forward", "backward": "lm_backward", "bert": "bert_tiny"}
    return [f"{role}={folder / name}" for role, name in names.items()]


@pytest.fixture
def workload_files(tmp_path):
    """A folder with the files of all workloads."""
    tiny_workloads.write_files(tmp_path)
    return tmp_path


@pytest.fixture
def shrink(monkeypatch, tmp_path):
    """Function of a name: the module of a workload, at a tiny size."""
    return tiny_workloads.shrink(monkeypatch, tmp_path)
