"""Recipes: everything that a pretraining run depends on, as data."""

import dataclasses
import json
import pathlib

from zoo import presets
from zoo.config import check_fields

OBJECTIVES = {}  # name to class, see `register_objective`
OPTIMIZERS = ("adamw", "adagrad")


def register_objective(kind):
    """Makes an objective known to recipes.

    Args:
        kind: class with `name`, the name of its task; `Options`, a dataclass of what a
            recipe may say of it; and what `zoo.pretraining.run` calls.
    """
    OBJECTIVES[kind.name] = kind
    return kind


@dataclasses.dataclass(frozen=True)
class Recipe:
    """Everything that a pretraining run depends on, besides the text itself.

    Args:
        family: name of the family, such as "bert".
        objective: dict of name, such as "masked_lm", and the options of the objective;
            see `Options` in its module.
        config: dict, fields of the family's config while pretraining.
        train, valid: glob patterns of text files below the data directory, see
            `zoo.data.read_documents`; a tagger's, see `zoo.data.read_conll`.
        start: name or directory of a preset that the run starts from; in JSON "from".
        finetuning_config: dict, fields that the finished preset has instead.
        stages: list of (tokens per row, rows per update, updates). Short rows first
            teach the same in a third of the time.
        optimizer: "adamw" or "adagrad".
        learning_rate: its peak; it rises for `warmup_steps`, then falls to zero.
        warmup_steps: updates.
        decays: whether the rate falls to zero, or keeps its peak.
        clip_norm: largest norm of all gradients together.
        accumulator: initial sum of squares of Adagrad.
        weight_decay, beta_2: see `zoo.training.AdamW`.
        ema: momentum of averaged weights, such as 0.999, or 0 for none.
        dtype: policy while pretraining, such as "mixed_bfloat16".
        seed: of weights, order and masks.
        card: dict, what the finished preset says of itself.

    Raises:
        ValueError: if a stage is not three positive integers, a row has less than 5
            tokens, the warm-up is longer than the run, or a name or an option of the
            objective is unknown.
    """

    family: str
    objective: dict
    config: dict
    train: list
    valid: list = ()
    start: str | None = None
    finetuning_config: dict = dataclasses.field(default_factory=dict)
    stages: list = ((128, 32, 1000),)
    optimizer: str = "adamw"
    learning_rate: float = 1e-3
    warmup_steps: int = 100
    decays: bool = True
    clip_norm: float = 1.0
    accumulator: float = 1.0
    weight_decay: float = 0.01
    beta_2: float = 0.999
    ema: float = 0.0
    dtype: str = "float32"
    seed: int = 0
    card: dict = dataclasses.field(default_factory=dict)

    def __post_init__(self):
        """Checks what would else be found out after hours of preparation."""
        for stage in self.stages:
            if len(stage) != 3 or min(stage) < 1 or stage[0] < 5:
                raise ValueError(
                    "A stage must be tokens per row, at least 5, rows per update and "
                    f"updates. Received: {stage}."
                )
        if not 0 <= self.warmup_steps <= self.steps:
            raise ValueError(
                f"`warmup_steps` must be at most {self.steps}, the updates of all "
                f"stages. Received: {self.warmup_steps}."
            )
        if self.optimizer not in OPTIMIZERS:
            raise ValueError(
                f"`optimizer` must be one of {OPTIMIZERS}. Received: "
                f"{self.optimizer!r}."
            )
        name = self.objective.get("name")
        if name not in OBJECTIVES:
            raise ValueError(
                f"`objective` must have a name out of {sorted(OBJECTIVES)}. Received: "
                f"{name!r}."
            )
        _ = self.options

    @property
    def kind(self):
        """The class of the objective."""
        return OBJECTIVES[self.objective["name"]]

    @property
    def options(self):
        """The options of the objective, an instance of its `Options`."""
        options = {k: v for k, v in self.objective.items() if k != "name"}
        check_fields(f"the objective {self.kind.name!r}", self.kind.Options, options)
        return self.kind.Options(**options)

    @classmethod
    def from_json(cls, fields, name="a recipe"):
        """Makes a recipe from the object in a JSON file.

        Raises:
            ValueError: if a field is unknown or missing.
        """
        fields = dict(fields)
        if "from" in fields:
            fields["start"] = fields.pop("from")
        check_fields(name, cls, fields)
        missing = [k for k in ("family", "objective", "config") if k not in fields]
        if missing:
            raise ValueError(f"{name} must have {', '.join(missing)}. Received: none.")
        return cls(**fields)

    def to_json(self):
        """The inverse of `from_json`; lists for tuples."""
        fields = dataclasses.asdict(self)
        fields["from"] = fields.pop("start")
        return json.loads(json.dumps(fields))

    @property
    def steps(self):
        """Updates in all."""
        return sum(steps for _, _, steps in self.stages)

    def sizes(self):
        """Tokens of each update, list of int."""
        return [rows * length for length, rows, n in self.stages for _ in range(n)]

    @property
    def sequence_length(self):
        """Tokens in the longest row, special ones included."""
        return max(length for length, _, _ in self.stages)


def find_recipe(name, family=None):
    """Reads a recipe.

    Args:
        name: name of a shipped preset, or path of a JSON file.
        family: str, which the recipe must be of; None for any.

    Returns:
        Recipe.

    Raises:
        FileNotFoundError: if there is none.
        ValueError: if the file is no recipe, or of another family.
    """
    shipped = presets.preset_root().glob(f"{family or '*'}/{name}/recipe.json")
    path = next(shipped, pathlib.Path(name))
    if not path.is_file():
        place = f" in family {family!r}" if family else ""
        raise FileNotFoundError(
            f"No recipe is called {name!r}{place}, and no file has this name."
        )
    recipe = Recipe.from_json(json.loads(path.read_text("utf-8")), f"the recipe {path}")
    if family and recipe.family != family:
        raise ValueError(f"{path} is of family {recipe.family!r}, not {family!r}.")
    return recipe


def find_held_out(data, patterns):
    """Files that a run is judged by, as `find_files`, a dict of name to path.

    Raises:
        ValueError: if two have one name, or one is called "train".
    """
    paths = find_files(data, patterns)
    names = [path.name for path in paths]
    if len({*names, "train"}) <= len(names):
        raise ValueError(
            'Held-out files must have names of their own, none of them "train". '
            f"Received: {sorted(names)}."
        )
    return dict(zip(names, paths, strict=True))


def find_files(data, patterns):
    """Files below a directory that match any of the patterns, sorted.

    Raises:
        FileNotFoundError: if a pattern matches nothing.
    """
    files = []
    for pattern in patterns:
        found = sorted(pathlib.Path(data).glob(pattern))
        if not found:
            raise FileNotFoundError(
                f"No file matches {pattern!r} in {data}. Give the directory that the "
                "recipe's patterns are relative to."
            )
        files += found
    return files
