"""Examples for users import public names only."""

import ast
import importlib

from pages import CARDS, GUIDES, README, blocks
from places import ROOT

import zoo


def public_imports():
    """(file, import) of every `zoo` import in the benchmarks and in pages."""
    for path in sorted((ROOT / "benchmarks").rglob("*.py")):
        yield from (
            (path, node) for node in ast.walk(ast.parse(path.read_text("utf-8")))
        )
    for page in (README, *CARDS, *GUIDES):
        for block in blocks(page):
            yield from ((page, node) for node in ast.walk(ast.parse(block)))


def is_public(module):
    """Whether users may import a module: another package, zoo.x, a family's room."""
    parts = module.split(".")
    if parts[0] != "zoo" or len(parts) == 1:
        return True
    room = parts[1] == "models" and len(parts) == 3
    return parts[1] in zoo.__all__ and (room or len(parts) == 2)


def test_examples_use_public_names_only():
    for path, node in public_imports():
        if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] == "zoo":
            assert is_public(node.module), f"{path}: {node.module}"
            names = {alias.name for alias in node.names}
            owner = importlib.import_module(node.module)
            assert names <= set(owner.__all__), f"{path}: {names}"
        elif isinstance(node, ast.Import):
            for alias in node.names:
                assert is_public(alias.name), f"{path}: {alias.name}"
