"""Recipes: everything that a pretraining run depends on, as data."""

import dataclasses
import json
import pathlib

from zoo import presets
from zoo.backbone import check_fields

NAMES = {
    "task": ("masked_lm", "language_model", "token_classifier"),
    "optimizer": ("adamw", "adagrad"),
}


@dataclasses.dataclass(frozen=True)
class Recipe:
    """Everything that a pretraining run depends on, besides the text itself.

    Args:
        family: name of the family, such as "bert".
        task: "masked_lm", "language_model" or "token_classifier".
        config: dict, fields of the family's config while pretraining.
        train, valid: glob patterns of text files below the data directory, see
            `zoo.data.read_documents`; a tagger's, see `zoo.data.read_conll`.
        finetuning_config: dict, fields that the finished preset has instead.
        tokenizer: dict, arguments of a language model's tokenizer.
        tagger: dict, arguments of `zoo.make_tagger` besides the config's.
        num_words: words that a language model tells apart, the most frequent ones.
        num_samples: words that are sampled for an update of a language model, or None.
        lowercase: whether the vocabulary is of lower case.
        stages: list of (tokens per row, rows per update, updates). Short rows first
            teach the same in a third of the time. A language model has one stage, and
            so has a tagger, whose longer sentences are left out.
        next_sentence: whether the model also tells next sentences from others.
        whole_words: whether whole words are hidden.
        dynamic: whether masks are drawn anew whenever a row is read, or once for all.
        repeats: how often a document is cut into pairs, each time anew.
        shards: files of examples per length.
        optimizer: "adamw" or "adagrad".
        learning_rate: its peak; it rises for `warmup_steps`, then falls to zero.
        warmup_steps: updates.
        decays: whether the rate falls to zero, or stays at its peak.
        clip_norm: largest norm of all gradients together.
        accumulator: what Adagrad's sums of squares begin with.
        weight_decay, beta_2: see `zoo.training.AdamW`.
        ema: momentum of averaged weights, such as 0.999, or 0 for none.
        dtype: policy while pretraining, such as "mixed_bfloat16".
        seed: of weights, order and masks.
        card: dict, what the finished preset says of itself.

    Raises:
        ValueError: if a stage is not three positive integers, a row has less than 5
            tokens, the warm-up is longer than the run, or a name is unknown.
    """

    family: str
    config: dict
    train: list
    valid: list = ()
    task: str = "masked_lm"
    tokenizer: dict = dataclasses.field(default_factory=dict)
    tagger: dict = dataclasses.field(default_factory=dict)
    num_words: int | None = None
    num_samples: int | None = None
    finetuning_config: dict = dataclasses.field(default_factory=dict)
    lowercase: bool = True
    stages: list = ((128, 32, 1000),)
    next_sentence: bool = False
    whole_words: bool = False
    dynamic: bool = True
    repeats: int = 1
    shards: int = 8
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
        for field, names in NAMES.items():
            if getattr(self, field) not in names:
                raise ValueError(
                    f"`{field}` must be one of {names}. Received: "
                    f"{getattr(self, field)!r}."
                )

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


def find_recipe(name, family):
    """Reads a recipe.

    Args:
        name: name of a shipped preset, or path of a JSON file.
        family: str, which the recipe must be of.

    Returns:
        Recipe.

    Raises:
        FileNotFoundError: if there is none.
        ValueError: if the file is no recipe, or of another family.
    """
    path = presets.preset_root() / family / name / "recipe.json"
    path = path if path.is_file() else pathlib.Path(name)
    if not path.is_file():
        raise FileNotFoundError(
            f"No recipe is called {name!r} in family {family!r}, and no file either."
        )
    fields = json.loads(path.read_text("utf-8"))
    check_fields("a recipe", Recipe, fields)
    recipe = Recipe(**fields)
    if recipe.family != family:
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
