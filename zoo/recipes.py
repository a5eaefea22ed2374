"""Runs a recipe: from text files to a pretrained preset."""

import dataclasses
import json
import pathlib

import numpy as np

from zoo import registry
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
        weight_decay: see `zoo.training.AdamW`.
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
    seed: int = 0


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
    model = MaskedLM(
        registry.build_backbone(recipe.family, config, seed=recipe.seed),
        tokenizer,
        sequence_length=recipe.sequence_length,
    )
    schedule = WarmupLinearDecay(
        recipe.learning_rate, recipe.warmup_steps, recipe.steps
    )
    model.compile(AdamW(schedule, recipe.weight_decay))

    def batches(start):
        return block_dataset(
            train, tokenizer, recipe.batch_size, recipe.seed, model.make_example, start
        )

    model = train_steps(model, batches, recipe.steps, output, every)
    report = {"recipe": dataclasses.asdict(recipe), "train_blocks": len(train)}
    if len(valid) >= recipe.batch_size:
        held_out = block_dataset(
            valid, tokenizer, recipe.batch_size, 1, model.make_example
        ).take(len(valid) // recipe.batch_size)
        scores = model.evaluate(held_out, return_dict=True)
        report["valid"] = {**scores, "perplexity": float(np.exp(scores["loss"]))}
    (output / "report.json").write_text(json.dumps(report, indent=2))
    return model
