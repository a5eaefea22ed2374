"""Runs all blocks of the guides, and the command that prints them."""

import dataclasses
import json
import os
import re
import subprocess
import sys

import pytest
from command_line import run
from pages import (
    GUIDES,
    NEEDS,
    name,
    needs_missing,
    run_blocks,
    run_shell,
    table_rows,
)
from places import ROOT

from zoo.pretraining import Recipe
from zoo.pretraining.recipes import OBJECTIVES

# The first blocks of a guide, which run by default. All of its blocks are slow.
FIRST_BLOCKS = {"recipes": 3, "lora": 2, "scale": 2, "training_loop": 3}
RUNS = [pytest.param(g, FIRST_BLOCKS.get(name(g)), id=name(g)) for g in GUIDES]
RUNS += [
    pytest.param(g, None, id=f"{name(g)}_whole", marks=pytest.mark.slow)
    for g in GUIDES
    if name(g) in FIRST_BLOCKS
]
IN_PROCESS = "import pages, pathlib, sys; pages.run_blocks(pathlib.Path(sys.argv[1]))"


@pytest.mark.parametrize("page, count", RUNS)
def test_blocks_run(page, count, tmp_path, monkeypatch):
    """In one directory; the blocks of Python share their names."""
    if missing := needs_missing(name(page)):
        pytest.skip(f"`pip install .[{name(page)}]`: {', '.join(missing)} is missing.")
    for folder in ("commands", "work"):
        (tmp_path / folder).mkdir()
    monkeypatch.chdir(tmp_path / "work")
    if name(page) not in NEEDS:
        run_blocks(page, tmp_path / "commands", count)
        return
    paths = os.pathsep.join((str(ROOT), str(ROOT / "tests")))
    done = subprocess.run(
        [sys.executable, "-c", IN_PROCESS, str(page)],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]


def test_a_block_that_fails_is_found(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AssertionError, match="No guide is called 'none'"):
        run_shell("zoo guide none\necho after\n", tmp_path)
    page = tmp_path / "page.md"
    page.write_text("```python\nx = 1\n```\n\n```console\nfalse\n```\n")
    assert run_blocks(page, tmp_path)["x"] == 1
    for block in ("sh\nfalse | true\nfalse", "python\nx = 1\nx + 1  # -> 3"):
        page.write_text(f"```{block}\n```\n")
        with pytest.raises(AssertionError, match="false|x [+] 1"):
            run_blocks(page, tmp_path)


CHOOSING = next(page for page in GUIDES if name(page) == "choosing")
LINK = re.compile(r"\[([^]]+)\]\(([^)#]+)\)")
SCORES = [cells for cells, _ in table_rows(CHOOSING) if LINK.match(cells[-1])]


@pytest.mark.parametrize("cells", SCORES, ids=lambda cells: f"{cells[1]} {cells[0]}")
def test_a_score_is_that_of_the_table(cells):
    """The row of the table has it for this preset; the baseline is in the table."""
    _, preset, *numbers, link = cells
    row, target = LINK.match(link).groups()
    page, found = (CHOOSING.parent / target).resolve(), []
    for others, above in table_rows(page):
        shown = [cell.split(" (")[0] for cell in others]
        about = preset in (*others, above.strip("`:"), page.parent.name)
        if about and row in others and numbers[0] in shown:
            found.append(numbers[0])
        found += [numbers[1]] if numbers[1] in shown else []
    assert {*found} == {*numbers}, f"{page} has other numbers of {preset}, {row}"


RECIPES = next(page for page in GUIDES if name(page) == "recipes")


def test_the_guide_to_recipes_has_every_field_with_its_default():
    shown = {}
    for cells, _ in table_rows(RECIPES):
        shown.setdefault(cells[0], cells[1])  # the first table has the fields
    for field in dataclasses.fields(Recipe):
        default = field.default
        if field.default_factory is not dataclasses.MISSING:
            default = field.default_factory()
        required = default is dataclasses.MISSING
        value = "required" if required else json.dumps(default)
        assert shown[{"start": "from"}.get(field.name, field.name)] == value
    options = {cells[0]: cells[-1] for cells, _ in table_rows(RECIPES)}
    for known, kind in OBJECTIVES.items():
        listed = options[known].removeprefix("as ").replace("`", "").split(", ")
        fields = {field.name for field in dataclasses.fields(kind.Options)}
        assert {*listed} <= {*fields, *OBJECTIVES}, known


@pytest.mark.parametrize("page", GUIDES, ids=name)
def test_links_exist(page):
    for _, target in LINK.findall(page.read_text("utf-8")):
        assert "://" in target or (page.parent / target).exists(), target


def test_the_command_lists_and_prints_the_guides():
    listed = run("guide").splitlines()
    assert [line.split()[0] for line in listed] == [name(page) for page in GUIDES]
    for page, line in zip(GUIDES, listed, strict=True):
        text = run("guide", name(page))
        assert text == page.read_text("utf-8")
        title, space, summary = text.splitlines()[:3]
        assert title.startswith("# ") and not space
        assert line.split(maxsplit=1)[1].startswith(summary) and len(line) < 160


@pytest.mark.parametrize(
    "wrong, near",
    [
        *((wrong, "data") for wrong in ("DATA", "dta", "data.md", "../data")),
        *(("", ""), ("é" * 300, ""), ("two\nlines", "")),
    ],
)
def test_unknown_names(wrong, near):
    output = run("guide", wrong, code=1)
    assert output.startswith("Error: No guide is called ") and output.count("\n") == 1
    assert f"Did you mean {near}" in output and "`zoo guide` lists all." in output


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
