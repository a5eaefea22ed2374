"""Runs a recipe: from text files to a pretrained preset."""

import dataclasses
import json
import pathlib
import shutil

import keras
import numpy as np

from zoo import presets, registry
from zoo.backbone import check_fields
from zoo.data.corpus import block_dataset, read_documents, tokenize_blocks
from zoo.tasks import MaskedLM
from zoo.text import WordPieceTokenizer, save_vocabulary, train_wordpiece
from zoo.training import AdamW, WarmupLinearDecay, train_steps


@dataclasses.dataclass(frozen=True)
class Recipe:
    """Everything that a pretraining run depends on, besides the text itself.

    Args:
        family: name of the family, such as "bert".
        config: dict, fields of the family's config while pretraining.
        train, valid: glob patterns of text files below the data directory.
        finetuning_config: dict, fields that the finished preset has instead.
        lowercase: whether the vocabulary is of lower case.
        sequence_length: tokens per row, special ones included.
        batch_size: rows per update.
        steps: updates.
        learning_rate: its peak; it rises for `warmup_steps`, then falls to zero.
        warmup_steps: updates.
        weight_decay, beta_2: see `zoo.training.AdamW`.
        seed: of weights, order and masks.
    """

    family: str
    config: dict
    train: list
    valid: list = ()
    finetuning_config: dict = dataclasses.field(default_factory=dict)
    lowercase: bool = True
    sequence_length: int = 128
    batch_size: int = 32
    steps: int = 1000
    learning_rate: float = 1e-3
    warmup_steps: int = 100
    weight_decay: float = 0.01
    beta_2: float = 0.999
    seed: int = 0

    def with_steps(self, steps):
        """The same recipe for another number of updates."""
        warmup = min(self.warmup_steps, steps)
        return dataclasses.replace(self, steps=steps, warmup_steps=warmup)


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


def prepare(recipe, data, output):
    """Learns the vocabulary and tokenises the corpus, each once.

    Args:
        recipe: `Recipe`.
        data: directory with the text.
        output: directory for `vocabulary.txt`, `train.npy` and `valid.npy`.

    Returns:
        tokenizer, training blocks and validation blocks, integer (N, L - 2).
    """
    output = pathlib.Path(output)
    output.mkdir(parents=True, exist_ok=True)
    vocabulary = output / "vocabulary.txt"
    if not vocabulary.exists():
        files = find_files(data, recipe.train)
        size = recipe.config["vocabulary_size"]
        save_vocabulary(train_wordpiece(files, size, recipe.lowercase), vocabulary)
    tokenizer = WordPieceTokenizer(vocabulary, lowercase=recipe.lowercase)
    blocks = []
    for name in ("train", "valid"):
        path = output / f"{name}.npy"
        if not path.exists():
            documents = read_documents(find_files(data, getattr(recipe, name)))
            found = tokenize_blocks(documents, tokenizer, recipe.sequence_length - 2)
            np.save(path.with_suffix(".tmp.npy"), found)
            path.with_suffix(".tmp.npy").rename(path)
        blocks.append(np.load(path))
    return tokenizer, *blocks


def pretrain(recipe, data, output, every=100):
    """Pretrains a masked language model; run again, it resumes.

    Args:
        recipe: `Recipe`.
        data: directory with the text.
        output: directory for vocabulary, tokens, checkpoint, log and preset.
        every: int, updates between checkpoints.

    Returns:
        The trained `MaskedLM`, which also stands in `output/preset`.
    """
    output = pathlib.Path(output)
    tokenizer, train, valid = prepare(recipe, data, output)
    config = {**recipe.config, "vocabulary_size": tokenizer.vocabulary_size}
    keras.utils.set_random_seed(recipe.seed)
    model = MaskedLM(
        registry.build_backbone(recipe.family, config),
        tokenizer,
        sequence_length=recipe.sequence_length,
    )
    schedule = WarmupLinearDecay(
        recipe.learning_rate, recipe.warmup_steps, recipe.steps
    )
    model.compile(AdamW(schedule, recipe.weight_decay, beta_2=recipe.beta_2))

    def batches(start):
        return block_dataset(
            train, tokenizer, recipe.batch_size, recipe.seed, model.make_example, start
        )

    model = train_steps(model, batches, recipe.steps, output, every)
    report = {"recipe": dataclasses.asdict(recipe), "blocks": len(train)}
    if len(valid) >= recipe.batch_size:
        report["valid"] = evaluate(model, valid, recipe.batch_size)
    (output / "report.json").write_text(json.dumps(report, indent=2) + "\n")
    shutil.rmtree(output / "preset", ignore_errors=True)
    finished(model, recipe).save_to_preset(output / "preset", dtype="float16")
    return model


def evaluate(model, blocks, batch_size):
    """Loss, accuracy and perplexity of masked tokens on held-out blocks.

    Args:
        model: compiled `MaskedLM`.
        blocks: integer (N, L - 2).
        batch_size: int; the rows left over are dropped.

    Returns:
        dict of float.
    """
    batches = block_dataset(
        blocks, model.tokenizer, batch_size, 1, model.make_example
    ).take(len(blocks) // batch_size)
    scores = model.evaluate(batches, return_dict=True)
    return {**scores, "perplexity": float(np.exp(scores["loss"]))}


def finished(model, recipe):
    """The model with the config that fine-tuning starts from."""
    config = dataclasses.asdict(model.backbone.config)
    backbone = registry.build_backbone(
        recipe.family, {**config, **recipe.finetuning_config}
    )
    copy = MaskedLM(backbone, model.tokenizer, sequence_length=model.sequence_length)
    copy.set_weights(model.get_weights())
    return copy
