"""The private names that source code uses, and those of Keras and TensorFlow."""

import ast
import functools
import re

from places import ROOT

INTERNALS = ROOT / "zoo/keras_internals.py"
ENGINES = ("keras", "tensorflow", "tensorflow_text")
# Of Python, of sacrebleu, and a symbol of the C library of TensorFlow.
OTHER_NAMES = {
    *("_getframe", "_exit", "_extract_corpus_statistics", "_aggregate_and_compute"),
    "_ZN10tensorflow21DisableXlaCompilationEv",
}
PROBES = ("getattr", "setattr", "hasattr", "delattr")


def is_private(name):
    """Whether a name begins with one underscore."""
    return bool(re.fullmatch(r"_[A-Za-z]\w*", name))


def attributes(tree):
    """Pairs of a private attribute, and whether it is one of self, cls or super()."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            yield node.attr, ast.unparse(node.value) in ("self", "cls", "super()")


def methods(tree):
    """The private methods that classes define."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            names = [n.name for n in node.body if isinstance(n, ast.FunctionDef)]
            yield from filter(is_private, names)


def strings(nodes):
    """The strings among nodes that are private names."""
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if is_private(node.value):
                yield node.value


def probed(tree):
    """The private names that `getattr` and its like are called with."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in PROBES:
            yield from strings(node.args)


def defined(tree):
    """The private names that a file defines: of classes, functions and attributes."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            if ast.unparse(node.value) in ("self", "cls"):
                yield node.attr


def private_imports(tree):
    """Imported private modules of Keras and TensorFlow, and private names of others."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            top, *rest = name.split(".")
            if top in ENGINES and {"src", "python", "_tf_keras"} & {*rest}:
                yield name
            elif any(map(is_private, rest)):
                yield name


@functools.cache
def internals():
    """The private names of Keras and TensorFlow that `zoo.keras_internals` uses."""
    tree = ast.parse(INTERNALS.read_text("utf-8"))
    used = [name for name, _ in attributes(tree)]
    return {*used, *methods(tree), *strings(ast.walk(tree))}


@functools.cache
def defined_in_zoo():
    """The private names that any file of `zoo` defines."""
    trees = (ast.parse(p.read_text("utf-8")) for p in (ROOT / "zoo").rglob("*.py"))
    return {name for tree in trees for name in defined(tree)} - internals()


def foreign_private_names(tree):
    """The private names in a file of `zoo` that belong to Keras or TensorFlow."""
    here = {*defined(tree)} - internals()
    yield from private_imports(tree)
    yield from internals().intersection([*methods(tree), *strings(ast.walk(tree))])
    yield from {*probed(tree)} - here
    for name, of_self in attributes(tree):
        known = here | defined_in_zoo() if of_self else here
        if name not in known | OTHER_NAMES:
            yield name
