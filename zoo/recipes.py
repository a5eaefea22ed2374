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
from zoo.files import replacing
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
        stages: list of (tokens per row, rows per update, updates). Short rows first
            teach the same in a third of the time.
        learning_rate: its peak; it rises for `warmup_steps`, then falls to zero.
        warmup_steps: updates.
        weight_decay, beta_2: see `zoo.training.AdamW`.
        dtype: policy while pretraining, such as "mixed_bfloat16".
        seed: of weights, order and masks.
        card: dict, what the finished preset says of itself.
    """

    family: str
    config: dict
    train: list
    valid: list = ()
    finetuning_config: dict = dataclasses.field(default_factory=dict)
    lowercase: bool = True
    stages: list = ((128, 32, 1000),)
    learning_rate: float = 1e-3
    warmup_steps: int = 100
    weight_decay: float = 0.01
    beta_2: float = 0.999
    dtype: str = "float32"
    seed: int = 0
    card: dict = dataclasses.field(default_factory=dict)

    @property
    def steps(self):
        """Updates in all."""
        return sum(steps for _, _, steps in self.stages)

    @property
    def tokens(self):
        """Tokens in all batches together, special ones included."""
        return sum(length * rows * steps for length, rows, steps in self.stages)

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
            with replacing(path) as temporary:
                np.save(temporary, found)
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
        registry.build_backbone(recipe.family, config, recipe.dtype),
        tokenizer,
        sequence_length=recipe.sequence_length,
    )
    schedule = WarmupLinearDecay(
        recipe.learning_rate, recipe.warmup_steps, recipe.steps
    )
    model.compile(AdamW(schedule, recipe.weight_decay, beta_2=recipe.beta_2))

    def batches(start):
        return staged_batches(recipe, train, model, start)

    model = train_steps(model, batches, recipe.steps, output, every)
    report = {"recipe": dataclasses.asdict(recipe), "blocks": len(train)}
    batch_size = recipe.stages[-1][1]
    if len(valid) >= batch_size:
        report["valid"] = evaluate(model, valid, batch_size)
    with replacing(output / "report.json") as temporary:
        temporary.write_text(json.dumps(report, indent=2) + "\n", "utf-8")
    shutil.rmtree(output / "preset", ignore_errors=True)
    finished(model, recipe).save_to_preset(output / "preset", dtype="float16")
    card = {"tokens_seen": recipe.tokens, "valid": report.get("valid")}
    presets.add_to_record(output / "preset", {**recipe.card, **card})
    return model


def staged_batches(recipe, blocks, model, start):
    """Training batches from update `start` on, stage after stage.

    Args:
        recipe: `Recipe`.
        blocks: integer (N, L - 2), L the longest stage's.
        model: `MaskedLM`, which makes the examples.
        start: int, updates done.

    Returns:
        tf.data.Dataset of as many batches as there are updates left.
    """
    dataset, begin = None, 0
    for length, batch_size, steps in recipe.stages:
        done = max(start - begin, 0)
        if done < steps:
            part = block_dataset(
                shorter_blocks(blocks, length - 2),
                model.tokenizer,
                batch_size,
                recipe.seed,
                model.make_example,
                done,
            ).take(steps - done)
            dataset = dataset.concatenate(part) if dataset else part
        begin += steps
    return dataset


def shorter_blocks(blocks, length):
    """Cuts blocks into shorter ones; those with padding are dropped.

    Args:
        blocks: integer (N, M), padded with 0.
        length: int, at most M.

    Returns:
        integer (N', length).
    """
    if length == blocks.shape[1]:
        return blocks
    count = blocks.shape[1] // length
    parts = blocks[:, : count * length].reshape(-1, length)
    return parts[(parts != 0).all(axis=1)]


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
