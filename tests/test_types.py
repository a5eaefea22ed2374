"""The types of the public names: they are those of the code, and mypy reads them."""

import ast
import inspect
import re
import subprocess
import sys

import pytest
from places import ROOT

import zoo
from zoo.tasks import MODULES

STUB = ast.parse((ROOT / "zoo" / "__init__.pyi").read_text("utf-8"))
CLASSES = {node.name: node for node in STUB.body if isinstance(node, ast.ClassDef)}
FUNCTIONS = {n.name: n for n in STUB.body if isinstance(n, ast.FunctionDef)}
OVERLOADED = [n for n in STUB.body if getattr(n, "name", "") == "from_preset"]


def typed_functions():
    """(path, node) of all functions and methods; of the last one of overloads."""
    for name, node in FUNCTIONS.items():
        yield name, node
    for name, node in CLASSES.items():
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and not method.decorator_list:
                yield f"{name}.{method.name}", method


def written(arguments):
    """Names of the parameters of a stub, with their kinds and defaults."""
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(positional) - len(arguments.defaults))
    pairs = [*zip(positional, [*defaults, *arguments.defaults], strict=True)]
    yield from ((a.arg, "positional", d) for a, d in pairs)
    keywords = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    yield from ((a.arg, "keyword", d) for a, d in keywords)
    for rest, kind in ((arguments.vararg, "*"), (arguments.kwarg, "**")):
        if rest:
            yield rest.arg, kind, None


KINDS = {
    inspect.Parameter.POSITIONAL_OR_KEYWORD: "positional",
    inspect.Parameter.KEYWORD_ONLY: "keyword",
    inspect.Parameter.VAR_POSITIONAL: "*",
    inspect.Parameter.VAR_KEYWORD: "**",
}


@pytest.mark.parametrize(
    "path, node", [pytest.param(*pair, id=pair[0]) for pair in typed_functions()]
)
def test_signatures_are_those_of_the_code(path, node):
    owner = zoo.tasks if path.startswith("Task.") else zoo
    found = owner
    for part in path.split("."):
        found = getattr(found, part)
    actual = inspect.signature(found).parameters.values()
    stub = [*written(node.args)]
    assert [(name, kind) for name, kind, _ in stub] == [
        (p.name, KINDS[p.kind]) for p in actual
    ]
    for (name, _, default), parameter in zip(stub, actual, strict=True):
        assert (default is None) == (parameter.default is inspect.Parameter.empty), name
        if default is not None and not ast.unparse(default) == "...":
            assert ast.literal_eval(default) == parameter.default, name


def test_all_public_names_have_types():
    values = {n.target.id for n in STUB.body if isinstance(n, ast.AnnAssign)}
    imports = [n for n in STUB.body if getattr(n, "module", None) == "zoo"]
    modules = {alias.asname for node in imports for alias in node.names}
    typed = {*CLASSES, *FUNCTIONS, *values, *modules}
    assert typed - {"Task", "Array", "Path", "Data", "Answers"} == {*zoo.__all__}


def test_the_class_of_each_task_is_known():
    tasks = {}
    for node in OVERLOADED[:-1]:
        name, kind = re.search(
            r"Literal\['(\w+)'\] \| type\[(\w+)\]", ast.unparse(node.args)
        ).groups()
        assert node.returns.id == kind
        tasks[name] = kind
    kinds = [getattr(zoo, name) for name in MODULES]
    assert tasks == {kind.task_name: kind.__name__ for kind in kinds}


WRONG = """
import zoo

zoo.from_presett("bert_mini_en_uncased_books")
zoo.list_presets(family=3)
model = zoo.from_preset("bert_mini_en_uncased_books", "text_classifier")
model.fit(["a text"], ["a label"], epochs="three")
model.save_to_preset("directory", dtype="float8")
"""


def test_mypy_accepts_the_readme_and_finds_mistakes(tmp_path):
    readme = (ROOT / "README.md").read_text("utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", readme, re.DOTALL | re.MULTILINE)
    (tmp_path / "right.py").write_text("\n".join(blocks), "utf-8")
    (tmp_path / "wrong.py").write_text(WRONG)
    settings = "[mypy]\nignore_missing_imports = true\n"
    (tmp_path / "mypy.ini").write_text(settings + f"mypy_path = {ROOT}\n")
    command = [sys.executable, "-m", "mypy", "--follow-imports=silent", "right.py"]
    done = subprocess.run(
        [*command, "wrong.py"], cwd=tmp_path, capture_output=True, text=True
    )
    lines = [line.split(":")[:2] for line in done.stdout.splitlines()[:-1]]
    assert lines == [["wrong.py", str(n)] for n in (4, 5, 7, 8)], done.stdout
