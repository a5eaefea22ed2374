"""The architecture's rules, read from the source."""

import ast
import collections
import functools
import re
import sys

import keras
import pytest
from places import ROOT
from private_names import INTERNALS, foreign_private_names

from zoo.programs.finetune.transfer import RECIPES
from zoo.registry import FAMILIES, TASKS
from zoo.tasks.heads import HEADS

SOURCES = sorted((ROOT / "zoo").rglob("*.py"))
PROGRAMS = sorted(p for d in ("benchmarks", "tests") for p in (ROOT / d).rglob("*.py"))
LONGEST_FILE, LONGEST_CLASS, LONGEST_FUNCTION = 350, 500, 60
LARGEST_ROOM = 20  # files of a folder
MOST_BASES, MOST_NAMES = 6, 60  # of a task: classes of ours, names that Keras lacks
TWINS = {"masked_lm", "causal_lm", "bidirectional_lm"}  # objectives, named as tasks

BELOW_TASKS = {
    "distribution",
    *("text", "layers", "backbone", "checkpoint", "evaluation", "presets", "data"),
    *("serving", "generation", "training", "family", "files", "ragged_rows"),
}
BELOW_REGISTRY = {*BELOW_TASKS, "tasks", "models", "visualize"}
ABOVE_TASKS = {"registry", "pretraining", "programs", "beam", "commands", "__init__"}
EVERYTHING = BELOW_REGISTRY | ABOVE_TASKS
FORMATS = {"h5py", "ml_dtypes", "safetensors", "tensorflow"}
ENGINE, BEAM = {"keras", "tensorflow", "numpy"}, {"apache_beam", "tensorflow_text"}
OFFICIAL_METRICS = {"sacrebleu", "seqeval", "sklearn", "scipy", "threadpoolctl"}

# What a module may import: from zoo, and from other packages. Every module may import
# those of `EVERYWHERE`; a room of models may also import itself, and a package its own
# modules.
EVERYWHERE = {"files", "checks", "keras_internals", "lazy_names"}
RULES = {
    **dict.fromkeys(EVERYWHERE, (set(), {"numpy"})),
    "files/buckets": (set(), {"fsspec"}),
    "keras_internals": (set(), {"keras", "tensorflow_text"}),
    "family": (set(), {"keras"}),
    "ragged_rows": (set(), {"tensorflow"}),
    "text": ({"ragged_rows"}, {"tensorflow", "tensorflow_text", "numpy"}),
    "layers": (set(), {"keras"}),
    # On TensorFlow's CPU it is one operation, which no function of Keras reaches.
    "layers/normalization": (set(), {"keras", "tensorflow"}),
    # Tables of positions are computed in float64, which JAX does not have.
    "layers/attention/position_embedding": (set(), {"keras", "numpy"}),
    # Two thirds of a batch's words are repetitions; only TensorFlow can leave them out.
    "layers/character_cnn": (set(), {"keras", "tensorflow"}),
    # `keras.ops.scan` fails on TensorFlow for sequences of unknown length.
    "layers/recurrent/scan": (set(), {"keras", "tensorflow"}),
    # The values of all replicas, also of other workers.
    "layers/recurrent/carried_state": (set(), {"keras", "tensorflow"}),
    "checkpoint": (set(), {"numpy", *FORMATS}),
    "evaluation": (set(), {"numpy", *OFFICIAL_METRICS}),
    "presets": ({"checkpoint"}, {"safetensors", "huggingface_hub", "kagglehub"}),
    "data": ({"ragged_rows"}, {"tensorflow", "numpy", "google"}),
    "serving": (set(), {*ENGINE, "google"}),
    "backbone": ({"layers", "presets", "checkpoint", "family"}, {"keras"}),
    # Weights become arrays that are written to a file.
    "backbone/saving": (
        {"layers", "presets", "checkpoint", "family"},
        {"keras", "numpy"},
    ),
    "backbone/token_inputs": (set(), {"keras", "numpy"}),
    "models": ({"family"}, set()),
    "models/room": ({"family"}, set()),
    # A small family may be one module.
    "models/family": ({"layers", "backbone", "family"}, {"keras"}),
    "models/model": ({"layers", "backbone"}, {"keras"}),
    "models/weights": ({"checkpoint", "backbone", "family"}, {"numpy"}),
    "generation": ({"layers"}, {"keras"}),
    "distribution": (set(), ENGINE - {"numpy"}),
    "training": ({"layers", "evaluation", "backbone"}, ENGINE),
    "tasks": (BELOW_TASKS, ENGINE),
    "tasks/files/table_answers": (BELOW_TASKS, {"tqdm"}),
    "visualize": ({"text"}, {"numpy", "matplotlib"}),
    "registry": (BELOW_REGISTRY, ENGINE),
    "programs": (BELOW_REGISTRY | {"registry", "__version__"}, ENGINE),
    "programs/vectors/text_vectors": ({*BELOW_REGISTRY, "registry"}, ENGINE | {"tqdm"}),
    "pretraining": (BELOW_REGISTRY | {"registry", "programs"}, ENGINE),
    "beam": (EVERYTHING - {"commands", "__init__"}, ENGINE | BEAM),
    "data/files/table_files": (set(), {"pyarrow"}),
    "data/files/table_writing": (set(), {"pyarrow"}),
    "commands": (EVERYTHING, {"click"}),
    "__init__": (EVERYTHING, set()),
    "__main__": ({"commands"}, set()),
}
# Where a family or a task is data, no module may ask which one it has.
GENERIC = {
    *("tasks", "data", "registry", "programs", "pretraining", "backbone"),
    *("training", "visualize", "generation", "presets", "family", "commands", "beam"),
}
# These import other packages, which may be absent, by name.
OPTIONAL = ("zoo/evaluation/glue_scores.py", "zoo/commands/main.py")
IMPORTERS = ("zoo/lazy_names.py", *OPTIONAL)


def rule_of(path):
    """The key of `RULES` for a source file."""
    parts = path.relative_to(ROOT / "zoo").with_suffix("").parts
    if "/".join(parts) in RULES:
        return "/".join(parts)
    if parts[0] != "models" or parts[1] == "__init__":
        return parts[0]
    if len(parts) == 2:
        return "models/family"
    rules = dict.fromkeys(("model", "configs"), "models/model")
    return {**rules, "__init__": "models/room"}.get(parts[2], "models/weights")


@functools.cache
def parse(path):
    return ast.parse(path.read_text("utf-8"))


def imports(tree):
    """Dotted names that a tree imports, wherever in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "Imports are absolute."
            if node.module == "zoo":
                yield from (f"zoo.{alias.name}" for alias in node.names)
            else:
                yield node.module


def own_package(path):
    """The package, or the family's room, that a file may import from freely."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    depth = 3 if parts[1:2] == ("models",) and parts[2] != "__init__" else 2
    return ".".join(parts[:depth]) if len(parts) > 2 else None


def name(path):
    return str(path.relative_to(ROOT))


def imports_follow_the_table(path):
    inside, outside = RULES[rule_of(path)]
    inside = {*inside, *EVERYWHERE}
    own = own_package(path)
    for imported in imports(parse(path)):
        top, *rest = imported.split(".")
        if top != "zoo":
            assert top in outside | sys.stdlib_module_names, imported
        elif not (own and f"{imported}.".startswith(f"{own}.")):
            assert (rest or ["__init__"])[0] in inside, imported


def test_the_rules_can_fail():
    """A family that imports its sibling, or a layer that imports a task."""
    code = "from zoo.models.gpt import GPT\ndef f():\n    import zoo.tasks.base\n"
    assert list(imports(ast.parse(code))) == ["zoo.models.gpt", "zoo.tasks.base"]
    bert = ROOT / "zoo/models/bert/model.py"
    assert own_package(bert) == "zoo.models.bert"
    assert rule_of(bert) == "models/model"
    assert rule_of(ROOT / "zoo/commands/main.py") == "commands"
    assert own_package(ROOT / "zoo/tasks/heads/pooling.py") == "zoo.tasks"
    assert "models" not in RULES["models/model"][0]
    assert "tasks" not in RULES["layers"][0]


def imports_of_zoo_stand_at_the_top(path):
    if RULES[rule_of(path)][0] == EVERYTHING or rule_of(path) == "programs":
        # Pictures need matplotlib, which may be absent.
        return
    for function in ast.walk(parse(path)):
        if isinstance(function, (ast.FunctionDef, ast.Lambda)):
            late = [name for name in imports(function) if name.split(".")[0] == "zoo"]
            assert not late


def only_the_registry_turns_a_string_into_a_class(path):
    if path.name == "__init__.py" or rule_of(path) == "registry":
        return
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Call):
            called = getattr(node.func, "attr", getattr(node.func, "id", None))
            assert called not in ("__import__", "eval", "exec")
            assert called != "import_module" or name(path) in IMPORTERS
        if isinstance(node, ast.ImportFrom):
            assert "TASKS" not in {alias.name for alias in node.names}


def module_of(path):
    """The dotted name of a source file."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def names_in(tree, names):
    """Those of the names that stand in a tree as strings, but for docstrings."""
    docstrings = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in docstrings:
            if isinstance(node.value, str) and node.value in names:
                yield node.value


def probes(tree):
    """Calls of `hasattr` and `getattr` on a backbone, a tokenizer or a config."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called, asked = ast.unparse(node.func), "".join(map(ast.unparse, node.args))
            if called in ("hasattr", "getattr"):
                if re.search("backbone|tokenizer|config", asked):
                    yield ast.unparse(node)


def foreign_names(path):
    """Names of families, tasks and heads that are not at home in a module."""
    rule, room = rule_of(path), path.relative_to(ROOT / "zoo").with_suffix("").parts
    families = {n for n in FAMILIES if room[:2] != ("models", n)}
    tasks = {n for n, kind in TASKS.items() if kind.__module__ != module_of(path)}
    families -= {*RECIPES}  # which are called as the family that they were made for
    heads = {head for family in FAMILIES.values() for head in family.heads}
    if rule in ("tasks", "data") or rule.startswith("models"):
        heads = set()  # tasks build heads, and data has features of the same names
    return families | tasks | heads


def no_module_names_a_family_a_task_or_a_head_of_another_room(path):
    if rule_of(path) in GENERIC or rule_of(path).startswith("models"):
        assert not [*names_in(parse(path), foreign_names(path))]


def generic_modules_ask_contracts_and_do_not_probe(path):
    tree = parse(path)
    if rule_of(path) in GENERIC:
        assert not [*probes(tree)]
    attributes = [n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)]
    assert "__subclasses__" not in attributes


def test_these_rules_can_fail():
    code = """
def choose(task, backbone):
    'text_classifier'
    if task == "text_classifier" and hasattr(backbone, "pooler"):
        return getattr(backbone.config, "causal", False)
"""
    tree = ast.parse(code)
    assert [*names_in(tree, {"text_classifier", "bert"})] == ["text_classifier"]
    assert len([*probes(tree)]) == 2
    registry = ROOT / "zoo/registry/from_preset.py"
    wanted = {"bert", "elmo", "taglm", "text_classifier", "softmax", "causal_lm"}
    assert wanted <= foreign_names(registry)
    assert "bert" not in foreign_names(ROOT / "zoo/models/bert/model.py")
    assert "elmo" in foreign_names(ROOT / "zoo/models/bert/model.py")
    task = ROOT / "zoo/tasks/language_models/causal_lm.py"
    assert "causal_lm" not in foreign_names(task)
    assert "registry" not in RULES["tasks"][0] and "models" not in RULES["tasks"][0]


def test_no_two_rooms_have_a_module_of_one_name():
    """Rooms of families have the same names; see `TWINS` for others."""
    shared = {"__init__", "base", "model", "shapes", "weights", "tables"}
    stems = [p.stem for p in SOURCES if p.stem not in shared]
    assert {stem for stem in stems if stems.count(stem) > 1} <= TWINS


def files_and_functions_are_short(path):
    """A file that has one class may be longer."""
    tree = parse(path)
    kinds = [type(node) for node in tree.body if hasattr(node, "name")]
    limit = LONGEST_CLASS if kinds == [ast.ClassDef] else LONGEST_FILE
    assert len(path.read_text("utf-8").splitlines()) <= limit
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            lines = node.end_lineno - node.lineno + 1
            assert lines <= LONGEST_FUNCTION, f"{node.name} has {lines} lines"


def test_no_room_has_many_files():
    rooms = collections.Counter(path.parent for path in SOURCES)
    assert max(rooms.values()) <= LARGEST_ROOM


def test_tasks_have_few_bases_and_names():
    inputs = keras.Input((1,))  # Keras makes tasks functional with the first model
    functional = {*dir(keras.Model(inputs, inputs))}
    for kind in TASKS.values():
        kinds = [c for c in kind.__mro__ if c.__module__.startswith("zoo.")]
        assert len(kinds) - 1 <= MOST_BASES, kinds
        names = {name for c in kinds for name in vars(c)} - functional
        assert len(names) <= MOST_NAMES, f"{kind.__name__} has {len(names)} names"


def no_module_branches_on_the_name_of_a_head(path):
    """A task asks its head; only heads and families have their names."""
    if "heads" not in path.parts and "models" not in path.parts:
        known = {n for n, kind in HEADS.items() if kind.__module__.startswith("zoo.")}
        assert not [*names_in(parse(path), known - {"linear"})]


def modules_have_telling_names(path):
    assert path.stem not in ("utils", "common", "misc", "helpers")


def users_get_errors_not_assertions(path):
    for node in ast.walk(parse(path)):
        assert not isinstance(node, ast.Assert), f"assert in line {node.lineno}"
        if isinstance(node, ast.ExceptHandler):
            caught = getattr(node.type, "elts", [node.type])  # of a tuple
            names = [ast.unparse(item) if item else "all" for item in caught]
            wide = {"all", "Exception", "BaseException"} & set(names)
            assert not wide, f"except in line {node.lineno}"


def private_names_of_keras_stand_in_one_module(path):
    if path != INTERNALS:
        assert not [*foreign_private_names(parse(path))]


CHECKS = (
    imports_follow_the_table,
    imports_of_zoo_stand_at_the_top,
    only_the_registry_turns_a_string_into_a_class,
    no_module_names_a_family_a_task_or_a_head_of_another_room,
    generic_modules_ask_contracts_and_do_not_probe,
    modules_have_telling_names,
    no_module_branches_on_the_name_of_a_head,
    users_get_errors_not_assertions,
    private_names_of_keras_stand_in_one_module,
)


@pytest.mark.parametrize("path", [*SOURCES, *PROGRAMS], ids=name)
def test_a_file_follows_the_rules(path):
    """The traceback names the one that it breaks."""
    files_and_functions_are_short(path)
    for check in CHECKS if path in SOURCES else ():
        check(path)


def test_presets_and_guides_hold_no_code():
    code = {".py", ".pyc", ".so", ".pkl", ".pickle", ".sh"}
    paths = [*(ROOT / "presets").rglob("*"), *(ROOT / "zoo" / "guides").iterdir()]
    assert not [path for path in paths if path.suffix in code]
