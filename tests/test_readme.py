"""What the README and the cards show runs; what guides show, too, is there."""

import builtins
import importlib.util
import pkgutil
import re
import symtable

import pytest
from pages import CARDS, GUIDES, README, blocks, name, run_blocks
from places import ROOT

PAGES = [README, *CARDS, *GUIDES]
QUICK = ("elmo", "bert_mini_en_uncased_distilled")  # whose blocks run in seconds


LONGEST = {"scale": 230}  # lines of guides; of others 175


@pytest.mark.parametrize("page", [README, *GUIDES])
def test_the_readme_and_the_guides_are_short(page):
    lines = page.read_text("utf-8").splitlines()
    longest = 150 if page == README else LONGEST.get(name(page), 175)
    assert len(lines) <= longest
    assert max(len(line) for line in lines if not line.startswith("|")) <= 100


@pytest.mark.slow
def test_python_blocks_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = run_blocks(README)
    assert (tmp_path / "exports" / "sentiment" / "1" / "saved_model.pb").is_file()
    assert names["vectors"].shape == (2, 256)


@pytest.mark.parametrize(
    "card",
    [
        pytest.param(card, marks=() if name(card) in QUICK else pytest.mark.slow)
        for card in CARDS
        if blocks(card)
    ],
    ids=name,
)
def test_python_blocks_of_a_card_run(card, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_blocks(card)


def undefined_names(page):
    """The names that the Python blocks of a page use and neither make nor import."""
    defined, found = {*dir(builtins)}, []
    for block in blocks(page):
        tables = [symtable.symtable(block, str(page), "exec")]
        symbols = tables[0].get_symbols()
        defined |= {s.get_name() for s in symbols if s.is_assigned() or s.is_imported()}
        for table in tables:
            tables += table.get_children()
            found += [
                symbol.get_name()
                for symbol in table.get_symbols()
                if symbol.is_global() and symbol.get_name() not in defined
            ]
    return found


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_blocks_define_the_names_that_they_use(page):
    assert not undefined_names(page)
    fences = re.findall(r"^```(.*)$", page.read_text("utf-8"), re.MULTILINE)
    # Another language would hide a block from these tests.
    shown = {README: {"bibtex"}, **dict.fromkeys(GUIDES, {"console", "text"})}
    languages = {"python", "sh", *shown.get(page, ())}
    assert {*fences[::2]} <= languages and {*fences[1::2]} <= {""}


def test_an_undefined_name_is_found(tmp_path):
    page = tmp_path / "README.md"
    page.write_text(
        "```python\nx = zoo.probe(print)\n```\n```python\nimport zoo\n```\n"
    )
    assert undefined_names(page) == ["zoo"]
    page.write_text(
        "```python\ndef f(a):\n    return a + b\n\n\n[c for c in f(1)]\n```\n"
    )
    assert undefined_names(page) == ["b"]


def test_commands_exist():
    import click

    from zoo.commands.main import main

    known = {*main.list_commands(click.Context(main))}
    for page in PAGES:
        commands = "\n".join(blocks(page, "sh"))
        shown = re.findall(r"^zoo ([\w-]+)", commands, re.MULTILINE)
        assert {*shown} <= known and (page != README or len(shown) > 4)


def named(page):
    """The names in a page that begin with `zoo.`, such as "zoo.text.read_trees"."""
    found = re.findall(r"\bzoo(?:\.[a-zA-Z_]\w*)+", page.read_text("utf-8"))
    return [name for name in found if not name.endswith((".md", ".json"))]


def test_names_in_the_text_exist():
    names = {name for page in PAGES for name in named(page)}
    assert len(names) > 50
    if importlib.util.find_spec("apache_beam") is None:
        names = {name for name in names if not name.startswith("zoo.beam.")}
    for dotted in sorted(names):
        pkgutil.resolve_name(dotted)


def test_ci_runs_the_two_commands():
    lines = README.read_text("utf-8").split("\n")
    commands = [line for line in lines if line.startswith("python3 -m")]
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
    readme = (ROOT / "README.md").read_text("utf-8")
    assert f"Python {first} to {last} and TensorFlow {oldest} or {newest}," in readme
    assert f"With TensorFlow {oldest} or {newest}, `model.export" in readme
