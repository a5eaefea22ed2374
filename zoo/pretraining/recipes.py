"""Recipes: the settings of a pretraining run, as data."""

import dataclasses
import json
import os
import pathlib
from typing import Annotated, Literal

from zoo import presets
from zoo.backbone.config import check_fields, make_config, naming
from zoo.checks.ranges import (
    CheckedFields,
    Count,
    NotNegative,
    Positive,
    Probability,
    Range,
    Size,
    check_choice,
)
from zoo.files.buckets import local_path
from zoo.presets.schema import check_defaults
from zoo.registry.sources import find_family

OBJECTIVES = {}  # name to class, see `register_objective`
MIXED_DTYPES = ("mixed_bfloat16", "mixed_float16")
DTYPES = (*MIXED_DTYPES, "bfloat16", "float16", "float32", "float64")
Stage = tuple[Annotated[int, Range("at least 5", lambda n: n >= 5)], Size, Size]
STAGES_RULE = (
    "a list of stages: tokens per row (at least 5), rows per update, and updates"
)


def register_objective(kind):
    """Registers an objective, so that recipes can use its name.

    Args:
        kind: class with `name`, the name of its task; `Options`, a dataclass of its
            options in a recipe; and the methods that `zoo.pretraining.run` calls, some
            of which are those of `zoo.pretraining.objective.Objective`.
    """
    OBJECTIVES[kind.name] = kind
    return kind


@dataclasses.dataclass(frozen=True)
class Recipe(CheckedFields):
    """All settings of a pretraining run. The run depends on these and the text only.

    Args:
        family: str, such as "bert".
        objective: dict with the name of the objective, such as "masked_lm", and its
            options, see `Options` in its module.
        config: dict, fields of the family's config during pretraining.
        train, valid: lists of glob patterns of files in the data directory. The files
            are read by `zoo.data.read_documents`, those of a tagger by
            `zoo.data.read_conll`, of distillation by `zoo.data.read_texts`, of a
            translator by `zoo.data.read_bitext`, and of a parser as trees in brackets.
            Files that match patterns of both are not used for training.
        unique: bool, whether a document, or a pair, that is equal to an earlier one is
            left out; not for taggers, parsers and distillation.
        start: name or directory of a preset whose weights are trained further, or None.
            In JSON the field is "from".
        finetuning_config: dict, fields of the config that the finished preset has
            instead.
        stages: list of (tokens per row, rows per update, updates). Short rows at the
            beginning give the same quality in a third of the time.
        optimizer: "adamw" or "adagrad".
        learning_rate: float, the peak after the warm-up.
        warmup_steps: int, updates during which the rate rises linearly from 0.
        decay: how the rate then falls: "linear", to 0 at the end of the run;
            "inverse_square_root", see `zoo.training.InverseSquareRoot`; or "none".
        clip_norm: float, the largest norm of all gradients together.
        accumulator: float, initial sum of squares of Adagrad.
        weight_decay, beta_2: see `zoo.training.AdamW`.
        ema: float, momentum of the averaged weights, such as 0.999, or 0 for none.
        average: int, the finished model is the mean of so many of the last checkpoints.
        dtype: policy during pretraining, such as "mixed_bfloat16".
        seed: int, of the weights, the order of the rows, and the masks.
        card: dict, fields such as the description that are added to the preset record.
        defaults: dict, those of the finished preset for fine-tuning, such as
            {"learning_rate": 3e-4, "epochs": 5}.

    Raises:
        ValueError: if a field, a field of a config or an option of the objective is
            unknown, has another type or is out of its range. Also if a pattern is
            absolute, the warm-up is longer than the run, or weights are averaged twice.
    """

    family: str
    objective: dict
    config: dict
    train: list
    valid: list = ()
    unique: bool = False
    start: str | None = None
    finetuning_config: dict = dataclasses.field(default_factory=dict)
    stages: Annotated[list[Stage], Range(STAGES_RULE, bool)] = ((128, 32, 1000),)
    optimizer: Literal["adamw", "adagrad"] = "adamw"
    learning_rate: Positive = 1e-3
    warmup_steps: Count = 100
    decay: Literal["linear", "inverse_square_root", "none"] = "linear"
    clip_norm: Positive = 1.0
    accumulator: NotNegative = 1.0
    weight_decay: NotNegative = 0.01
    beta_2: Probability = 0.999
    ema: Probability = 0.0
    average: Size = 1
    dtype: Literal[DTYPES] = "float32"
    seed: Count = 0
    card: dict = dataclasses.field(default_factory=dict)
    defaults: dict = dataclasses.field(default_factory=dict)

    def __post_init__(self):
        """Checks the settings, before hours of preparation."""
        if isinstance(self.start, os.PathLike):
            object.__setattr__(self, "start", os.fspath(self.start))
        super().__post_init__()
        check_patterns("train", self.train, least=1)
        check_patterns("valid", self.valid)
        check_defaults(self.defaults)
        with naming("The recipe, which is stored as JSON,"):
            self.to_json()
        config_class = find_family(self.family).backbone.config_class
        for name in ("config", "finetuning_config"):
            fields = getattr(self, name)
            check_fields(f"`{name}` of the recipe", config_class, fields)
        least = 1 if self.decay == "inverse_square_root" else 0
        if not least <= self.warmup_steps <= self.steps:
            raise ValueError(
                f"`warmup_steps` must be from {least} to {self.steps}, the updates of "
                f"all stages. Received: {self.warmup_steps}."
            )
        if self.average > 1 and self.ema:
            raise ValueError(
                "`average` must be 1 if `ema` already averages. Received: average="
                f"{self.average}, ema={self.ema}."
            )
        name = self.objective.get("name")
        check_choice("name` of `objective", name, sorted(OBJECTIVES))
        if self.unique and not self.kind.prepares:
            raise ValueError(
                f"`unique` is not for the objective {name!r}. Received: true. Leave it "
                "out."
            )
        self.kind.check(self)

    @property
    def kind(self):
        """The class of the objective."""
        return OBJECTIVES[self.objective["name"]]

    @property
    def options(self):
        """The options of the objective, an instance of its `Options`."""
        options = {k: v for k, v in self.objective.items() if k != "name"}
        return make_config(
            self.kind.Options, options, f"the objective {self.kind.name!r}"
        )

    def config_value(self, name):
        """A field of `config`, or its default; ValueError if there is neither."""
        fields = dataclasses.fields(find_family(self.family).backbone.config_class)
        value = {**{f.name: f.default for f in fields}, **self.config}.get(name)
        if value in (None, dataclasses.MISSING):
            raise ValueError(
                f"`config` of the recipe must have {name!r}. Received: "
                f"{sorted(self.config)}. Add it."
            )
        return value

    @classmethod
    def from_json(cls, fields, name="a recipe"):
        """Makes a recipe from a JSON file's fields; ValueError if one is wrong."""
        if isinstance(fields, dict):
            fields = {"start" if k == "from" else k: v for k, v in fields.items()}
        return make_config(cls, fields, name, {"start": "from"})

    def to_json(self):
        """The inverse of `from_json`. Tuples become lists."""
        fields = dataclasses.asdict(self)
        fields["from"] = fields.pop("start")
        return json.loads(json.dumps(fields))

    @property
    def steps(self):
        """The number of updates of all stages."""
        return sum(steps for _, _, steps in self.stages)

    def sizes(self):
        """Tokens of each update, list of int."""
        return [rows * length for length, rows, n in self.stages for _ in range(n)]

    @property
    def sequence_length(self):
        """The number of tokens in the longest row, with special tokens."""
        return max(length for length, _, _ in self.stages)


def find_recipe(name, family=None):
    """Reads a recipe.

    Args:
        name: name of a shipped preset, or path of a JSON file.
        family: str, the family that the recipe must have; None for any.

    Returns:
        Recipe.

    Raises:
        FileNotFoundError: if there is no such preset and no such file.
        ValueError: if the file is not a recipe, or its family is another one.
    """
    shipped = presets.preset_root().glob(f"{family or '*'}/{name}/recipe.json")
    path = next(shipped, None) or local_path(name)
    if not path.is_file():
        place = f" in family {family!r}" if family else ""
        raise FileNotFoundError(
            f"A recipe must be the name of a shipped preset{place}, or the path of a "
            f"JSON file. Received: {str(name)!r}."
        )
    where = f"the recipe {path}"
    with naming(where):
        fields = json.loads(path.read_text("utf-8"))
    recipe = Recipe.from_json(fields, where)
    if family and recipe.family != family:
        raise ValueError(
            f"The family of the recipe must be {family!r}. Received: {recipe.family!r} "
            f"in {path}."
        )
    return recipe


def check_patterns(name, patterns, least=0):
    """Checks the glob patterns of a field of a recipe, `least` or more.

    ValueError if they are no list of str, or one is empty or absolute.
    """
    words = "a list of at least one pattern" if least else "a list of patterns"
    listed = isinstance(patterns, (list, tuple)) and len(patterns) >= least
    if not listed or not all(
        isinstance(p, str) and p and not pathlib.PurePath(p).is_absolute()
        for p in patterns
    ):
        raise ValueError(
            f"`{name}` must be {words} of files, relative to the data directory. "
            f"Received: {patterns!r:.80}."
        )


def find_train(data, patterns, held_out):
    """The training files, list of paths, without those that are held out.

    `patterns` and `held_out` are glob patterns of both kinds of files.
    FileNotFoundError if no file matches a pattern; ValueError if no file is left.
    """
    held_out_files = {*find_files(data, held_out)}
    files = [path for path in find_files(data, patterns) if path not in held_out_files]
    if not files:
        raise ValueError(
            "Files for training must be left without the held-out ones. Received: "
            f"train {list(patterns)}, valid {list(held_out)}. Change one of them."
        )
    return files


def find_held_out(data, patterns):
    """The held-out files, a dict of name to path; see `find_files`.

    ValueError if two files have the same name, or one has the name "train".
    """
    paths = find_files(data, patterns)
    names = [path.name for path in paths]
    if len({*names, "train"}) <= len(names):
        raise ValueError(
            'Held-out files must have different names, and none may be called "train". '
            f"Received: {sorted(names)}."
        )
    return dict(zip(names, paths, strict=True))


def find_files(data, patterns):
    """The files that match patterns; FileNotFoundError for one without a file."""
    files = []
    for pattern in patterns:
        found = sorted(pathlib.Path(data).glob(pattern))
        if not found:
            raise FileNotFoundError(
                f"A file in {data} must match {pattern!r}. Received: no such file. The "
                "patterns of the recipe are relative to the data directory."
            )
        files += found
    return files
