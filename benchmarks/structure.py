"""Measures the shape of the source: bases, names, calls, rooms and sizes.

    python -m benchmarks.structure [CHECKOUT]

Prints two Markdown tables of the `zoo` that Python imports, by default this one. The
calls are those of a second `fit` on texts, before that of Keras begins.
"""

import ast
import collections
import pathlib
import sys

MAX_PARAMETERS = 9
KERAS_SIGNATURES = {"fit", "evaluate", "predict", "compile", "batches"}


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__).resolve()
    root = root if root.is_dir() else root.parents[1]
    sys.path.insert(0, str(root))
    print("| task | bases | names | calls | asked twice |\n|---|--:|--:|--:|---|")
    for row in measure_tasks():
        print("|", " | ".join(map(str, row)), "|")
    print("\n| of the source | |\n|---|--:|")
    for name, value in measure_source(root).items():
        print(f"| {name} | {value} |")


def measure_tasks():
    """Rows: name, classes of ours below the task, names that Keras lacks, calls."""
    import keras

    import zoo

    rows = {}
    for kind in zoo.tasks.TASKS.values():
        bases = [c for c in kind.__mro__[1:] if is_ours(c.__module__)]
        # Keras gives a class other bases when the first model is made.
        rows[kind] = len(bases), len({*dir(kind)} - {*dir(keras.Model)})
    for kind, numbers in rows.items():
        calls = count_calls(kind) if kind is zoo.TextClassifier else ("", "")
        yield kind.__name__, *numbers, *calls


def is_ours(module):
    """Whether a module is of the package."""
    return module.split(".")[0] == "zoo"


def count_calls(kind):
    """Calls of ours before Keras' `fit`, and the functions called twice."""
    import keras

    import zoo

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "good", "bad", "film"]
    tokenizer = zoo.text.WordPieceTokenizer(words)
    sizes = {"num_layers": 1, "hidden_dim": 8, "num_heads": 2, "intermediate_dim": 8}
    config = zoo.models.bert.BERTConfig(vocabulary_size=len(words), **sizes)
    task = kind(zoo.models.bert.BERT(config), tokenizer, labels=["no", "yes"])
    texts, labels = ["good film", "bad film"] * 4, ["yes", "no"] * 4
    calls, begun = collections.Counter(), False

    def note(frame, event, argument):
        nonlocal begun
        code = frame.f_code
        begun = begun or code is keras_fit
        if event == "call" and not begun and is_ours(frame.f_globals["__name__"]):
            if code.co_name[0] != "<":
                place = frame.f_globals["__name__"].removeprefix("zoo.")
                calls[f"{place}.{code.co_name}"] += 1

    keras_fit = keras.Model.fit
    while hasattr(keras_fit, "__wrapped__"):
        keras_fit = keras_fit.__wrapped__
    keras_fit = keras_fit.__code__
    task.fit(texts, labels, verbose=0)
    sys.setprofile(note)
    try:
        task.fit(texts, labels, verbose=0)
    finally:
        sys.setprofile(None)
    if not begun:
        raise RuntimeError("Keras' `fit` did not begin.")
    twice = [f"`{n}` {c}" for n, c in calls.most_common() if c > 1]
    return calls.total(), ", ".join(twice)


def measure_source(root):
    """Dict of what is counted in the files of a checkout, to its number."""
    files = {path: path.read_text("utf-8") for path in (root / "zoo").rglob("*.py")}
    trees = {path: ast.parse(text) for path, text in files.items()}
    rooms = {room_of(path, root) for path in files}
    folders = collections.Counter(path.parent for path in files)
    largest = max(folders, key=folders.get)
    arrows = {
        (room_of(path, root), target)
        for path, tree in trees.items()
        for target in imported_rooms(tree)
    }
    wide = [n for tree in trees.values() for n in ast.walk(tree) if is_wide(n)]
    found = {"rooms, which are folders and modules of the top level": len(rooms)}
    found["import arrows between rooms"] = sum(a != b for a, b in arrows)
    label = f"files of the largest room, `{largest.relative_to(root)}`"
    found[label] = folders[largest]
    found[f"functions of more than {MAX_PARAMETERS} parameters"] = len(wide)
    for folder in ("zoo", "tests", "benchmarks"):
        lines = sum(
            len(path.read_text("utf-8").splitlines())
            for path in (root / folder).rglob("*.py")
        )
        found[f"lines of `{folder}/`"] = lines
    return found


def room_of(path, root):
    """The folder or the module of the top level that a file is part of."""
    return path.relative_to(root / "zoo").with_suffix("").parts[0]


def imported_rooms(tree):
    """Rooms that a tree imports from."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and is_ours(node.module):
            if node.module == "zoo":
                yield from (alias.name for alias in node.names)
            else:
                yield node.module.split(".")[1]


def is_wide(node):
    """Whether a node is a function of too many parameters."""
    if not isinstance(node, ast.FunctionDef) or node.name in KERAS_SIGNATURES:
        return False
    arguments = node.args.posonlyargs + node.args.args + node.args.kwonlyargs
    names = [argument.arg for argument in arguments]
    return len([n for n in names if n not in ("self", "cls")]) > MAX_PARAMETERS


if __name__ == "__main__":
    main()
