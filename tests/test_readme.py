"""Runs what the README shows."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")


def blocks(language):
    """The fenced blocks of one language, in order."""
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


@pytest.mark.slow
def test_python_blocks_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in blocks("python"):
        exec(compile(block, "README.md", "exec"), names)
    assert (tmp_path / "exports" / "sentiment" / "1" / "saved_model.pb").is_file()
    assert names["vectors"].shape == (2, 256)


def test_commands_exist():
    import click

    from zoo.cli import main

    context = click.Context(main)
    shown = re.findall(r"^zoo ([\w-]+)", "\n".join(blocks("sh")), re.MULTILINE)
    assert len(shown) > 4
    assert set(shown) <= set(main.list_commands(context))
    listed = re.search(r"`zoo quickstart`(.*?); each has", README, re.DOTALL)[1]
    named = {"quickstart", *re.findall(r"`([\w-]+)`", listed)}
    assert named == set(main.list_commands(context))


def test_names_of_the_readme_exist():
    import zoo

    names = set(re.findall(r"`zoo\.(\w+)[`(.]", README))
    assert len(names) > 9
    assert not [name for name in names if not hasattr(zoo, name)]


def test_ci_runs_the_two_commands():
    commands = [line for line in README.split("\n") if line.startswith("python3 -m")]
    assert len(commands) == 2
    assert all("pip install -e" in command for command in commands)
    assert "grep '^python3 -m venv' README.md" in (ROOT / ".ci" / "run").read_text()


def test_versions_are_those_of_the_package():
    setup = (ROOT / "setup.py").read_text("utf-8")
    (first, above), (oldest, following) = (
        re.search(rf'{name} ?= ?">=(\d\.\d+),<(\d\.\d+)"', setup).groups()
        for name in ("python_requires", "TESTED")
    )
    last, newest = (f"{v[:2]}{int(v[2:]) - 1}" for v in (above, following))
    assert f"Python {first} to {last} and TensorFlow {oldest} or {newest}," in README
    assert f"With TensorFlow {oldest} or {newest}, `model.export" in README
