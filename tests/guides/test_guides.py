"""Runs all blocks of the guides, and the command that prints them."""

import json
import subprocess
import sys

import pytest
from command_line import run
from pages import GUIDES, name, run_blocks, run_shell
from places import ROOT

# Guides whose blocks take longer than some seconds.
SLOW = ()


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=pytest.mark.slow if name(page) in SLOW else ())
        for page in GUIDES
    ],
    ids=name,
)
def test_blocks_run(page, tmp_path, monkeypatch):
    """In one directory; the blocks of Python share their names."""
    for folder in ("commands", "work"):
        (tmp_path / folder).mkdir()
    monkeypatch.chdir(tmp_path / "work")
    run_blocks(page, tmp_path / "commands")


def test_a_block_that_fails_is_found(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AssertionError, match="No guide is called 'none'"):
        run_shell("zoo guide none\necho after\n", tmp_path)
    page = tmp_path / "page.md"
    page.write_text("```python\nx = 1\n```\n\n```console\nfalse\n```\n")
    assert run_blocks(page, tmp_path)["x"] == 1
    wrong = {"sh": "false | true\nfalse", "python": "x = 1\nx + 1  # -> 3"}
    for (language, block), message in zip(
        wrong.items(), ("false", r"x \+ 1"), strict=True
    ):
        page.write_text(f"```{language}\n{block}\n```\n")
        with pytest.raises(AssertionError, match=message):
            run_blocks(page, tmp_path)


def test_the_command_lists_and_prints_the_guides():
    listed = run("guide").splitlines()
    assert [line.split()[0] for line in listed] == [name(page) for page in GUIDES]
    for page, line in zip(GUIDES, listed, strict=True):
        text = run("guide", name(page))
        assert text == page.read_text("utf-8")
        title, space, summary = text.splitlines()[:3]
        assert title.startswith("# ") and not space
        assert line.split(maxsplit=1)[1].startswith(summary) and len(line) < 160


@pytest.mark.parametrize("wrong", ["", "DATA", "dta", "data.md", "../data", "é" * 300])
def test_unknown_names(wrong):
    output = run("guide", wrong, code=1)
    assert output.startswith(f"Error: No guide is called {wrong!r}. Did you mean")
    assert "data" in output.partition("mean")[2] and output.count("\n") == 1


def test_the_command_needs_no_tensorflow():
    program = (
        "import json, sys, click.testing\n"
        "from zoo.commands.main import main\n"
        "result = click.testing.CliRunner().invoke(main, ['guide', 'data'])\n"
        "print(json.dumps([result.exit_code, 'tensorflow' in sys.modules]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, check=True
    )
    assert json.loads(done.stdout) == [0, False]
