"""What importing costs, and the examples of the docstrings."""

import ast
import doctest
import importlib
import json
import re
import subprocess
import sys

import pytest
from places import ROOT

HEAVY = ("tensorflow", "keras", "jax", "torch", "h5py")

PROGRAM = f"""
import json, sys, time
start = time.process_time()
import zoo
seconds = time.process_time() - start
heavy = {HEAVY}
after = {{"import zoo": [name for name in heavy if name in sys.modules]}}
zoo.preset_info(zoo.list_presets()[0])
after["list_presets"] = [name for name in heavy if name in sys.modules]
import zoo.serving.doctor, zoo.commands.main
after["the command line"] = [name for name in heavy if name in sys.modules]
print(json.dumps([seconds, after]))
"""


def test_importing_costs_nothing():
    """In seconds of the processor, which other programs do not change."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    seconds, after = json.loads(done.stdout)
    assert seconds < 0.2
    assert after == {key: [] for key in after} and len(after) == 3


MISSING = f"""
import json, sys
import click.testing
from zoo.commands.main import main

for command in json.load(sys.stdin):
    result = click.testing.CliRunner().invoke(main, command.split())
    heavy = [name for name in {HEAVY} if name in sys.modules]
    print(json.dumps([result.exit_code, heavy, result.output]))
"""
PRESET = "bert_mini_en_uncased_books"


COMMANDS = {
    "predict none.keras text": "No such file: none.keras.",
    "predict none/preset text": "A preset directory must exist.",
    "predict none text": "No preset is called 'none'.",
    "evaluate none.keras --data setup.py": "No such file: none.keras.",
    f"evaluate {PRESET} --data none.csv": "No such file: none.csv.",
    "export none.keras out": "No such file: none.keras.",
    f"finetune {PRESET} --data none.csv --output a.keras": "No such file",
    "finetune none --data setup.py --output a.keras": "No preset is called",
    f"finetune {PRESET} --data setup.py --output a": "A model is saved as a file",
    f"finetune {PRESET} --data setup.py --valid none.csv --output a.keras": (
        "No such file: none.csv."
    ),
    "quickstart --data none.csv": "No such file: none.csv.",
    f"evaluate-suite {PRESET} --data none --output out": "No such directory: none.",
    "fill-mask none text": "No preset is called 'none'.",
    "attend none text --output a.html": "No preset is called 'none'.",
    "convert none out": "No preset is called 'none'.",
}


def test_a_missing_file_is_reported_without_tensorflow():
    done = subprocess.run(
        [sys.executable, "-c", MISSING],
        input=json.dumps([*COMMANDS]),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    found = map(json.loads, done.stdout.splitlines())
    for (command, message), (code, heavy, output) in zip(
        COMMANDS.items(), found, strict=True
    ):
        assert (code, heavy) == (1, []), command
        assert output.startswith(f"Error: {message}"), (command, output)


def test_public_names_are_there():
    import zoo

    assert set(dir(zoo)) == set(zoo.__all__)
    for name in zoo.__all__:
        assert getattr(zoo, name) is not None
    with pytest.raises(AttributeError, match="module 'zoo' has no attribute 'nothing'"):
        zoo.nothing  # noqa: B018
    for module in ("data", "layers", "tasks", "text", "training"):
        public = importlib.import_module(f"zoo.{module}")
        assert public.__all__ and all(hasattr(public, n) for n in public.__all__)


def modules_that_hold(text):
    """The dotted names of the modules whose source has a text."""
    for path in sorted((ROOT / "zoo").rglob("*.py")):
        if text in path.read_text("utf-8"):
            parts = path.relative_to(ROOT).with_suffix("").parts
            yield ".".join(parts).removesuffix(".__init__")


@pytest.mark.parametrize("name", list(modules_that_hold(">>> ")))
def test_docstring_examples_run(name):
    results = doctest.testmod(importlib.import_module(name))
    assert results.attempted and not results.failed


def test_registered_classes_have_examples():
    """`zoo.registry` registers tokenizers and families, the decorator all others."""
    for name in ("zoo.registry", *modules_that_hold("@keras.saving.register")):
        importlib.import_module(name)
    kinds = importlib.import_module("keras").saving.get_custom_objects().items()
    registered = [kind for name, kind in kinds if name.startswith("zoo>")]
    example = re.compile(r"^ *Example:\n +>>> ", re.MULTILINE)
    without = [kind for kind in registered if not example.search(kind.__doc__ or "")]
    assert len(registered) > 80 and not without


def test_long_examples_are_not_in_docstrings():
    for path in (ROOT / "zoo").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.Module)):
                lines = (ast.get_docstring(node) or "").splitlines()
                code = [s for s in lines if s.lstrip().startswith((">>> ", "... "))]
                assert len(code) <= 6, code


LAZY = [
    path
    for path in sorted((ROOT / "zoo").rglob("__init__.py"))
    if "lazy_names(" in path.read_text("utf-8")
]


@pytest.mark.parametrize("path", LAZY, ids=lambda path: path.parent.name)
def test_a_lazy_module_lists_its_names(path):
    module = importlib.import_module(".".join(path.parent.relative_to(ROOT).parts))
    assert dir(module) == sorted(module.__all__) and len(LAZY) == 6
    if path.parent.name == "beam":
        pytest.importorskip("apache_beam")
    for name in module.__all__:
        getattr(module, name)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        getattr(module, "nothing")  # noqa: B009
