"""Runs the blocks of the pages that users read, in order."""

import ast
import importlib.util
import os
import re
import subprocess
import sys

from places import ROOT

README = ROOT / "README.md"
CARDS = sorted((ROOT / "presets").glob("**/README.md"))
GUIDES = sorted((ROOT / "zoo" / "guides").glob("*.md"))
# Packages that a guide needs and the tests do not. It runs in a process of its own,
# with the environment that it sets in its first lines.
NEEDS = {"mobile": ("ai_edge_litert", "onnxruntime", "tf2onnx", "tokenizers")}
SHOWN = re.compile(r"  # -> (.*)$")  # after an expression: its value
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def name(page):
    """The name of a guide, or the directory of a README."""
    return page.parent.name if page.stem == "README" else page.stem


def needs_missing(guide):
    """Names of the packages that a guide, by its name, needs and that are missing."""
    return [n for n in NEEDS.get(guide, ()) if importlib.util.find_spec(n) is None]


def table_rows(page):
    """(cells, line above the table) of the rows of the tables of a page."""
    above = ""
    for line in page.read_text("utf-8").splitlines():
        if line.startswith("|"):
            yield [cell.strip(" `") for cell in line.strip("|").split("|")], above
        elif line.strip():
            above = line


def all_blocks(page):
    """(language, text) of the fenced blocks of a page, in order."""
    return FENCED.findall(page.read_text("utf-8"))


def blocks(page, language="python"):
    """The fenced blocks of one language in a page, in order."""
    return [text for found, text in all_blocks(page) if found == language]


def run_blocks(page, commands=None, count=None):
    """Runs the blocks of a page in the working directory; returns the Python names.

    Args:
        page: path.
        commands: directory for the command `zoo`, with which the blocks of sh are run,
            too; None for Python only.
        count: int, the first blocks only; None for all.
    """
    names = {}
    for language, block in all_blocks(page)[:count]:
        if language == "python":
            run_python(block, page, names)
        elif language == "sh" and commands:
            run_shell(block, commands)
    return names


def run_python(block, page, names):
    """Runs a block; a value that it shows must be that of the expression."""
    lines = block.splitlines()
    for statement in ast.parse(block).body:
        shown = SHOWN.search(lines[statement.end_lineno - 1])
        if shown:
            code = compile(ast.Expression(statement.value), str(page), "eval")
            assert repr(eval(code, names)) == shown[1], ast.unparse(statement)
        else:
            code = ast.Module([statement], type_ignores=[])
            exec(compile(code, str(page), "exec"), names)


def run_shell(block, commands):
    """Runs a block of sh with `zoo` of this checkout on the PATH; it must succeed."""
    command = commands / "zoo"
    if not command.exists():
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m zoo "$@"\n')
        command.chmod(0o755)
    paths = {
        "PATH": os.pathsep.join((str(commands), os.environ["PATH"])),
        "PYTHONPATH": str(ROOT),
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }
    done = subprocess.run(
        ["bash", "-c", f"set -eu\n{block}"],
        capture_output=True,
        text=True,
        env={**os.environ, **paths},
    )
    assert done.returncode == 0, (block, done.stdout[-2000:], done.stderr[-3000:])
    return done.stdout
