"""Pretraining by a recipe: from text files to a preset."""

import dataclasses
import json
import pathlib
import shutil

import keras
import numpy as np
import tensorflow as tf

from zoo import presets, registry
from zoo.data import (
    pair_batches,
    read_documents,
    read_records,
    split_sentences,
    tokenize_documents,
    unmask,
    write_records,
)
from zoo.files import replacing
from zoo.recipes import find_files
from zoo.tasks import MaskedLM
from zoo.text import WordPieceTokenizer, save_vocabulary, train_wordpiece
from zoo.training import AdamW, WarmupLinearDecay, train_steps
from zoo.training.resume import check_interval


def run(recipe, data, output, every=100, tensorboard=False):
    """Pretrains a masked language model; run again, it resumes.

    Args:
        recipe: `zoo.recipes.Recipe`.
        data: directory with the text.
        output: directory for vocabulary, examples, checkpoint, log, report and preset.
        every: int, updates between checkpoints.
        tensorboard: bool, whether TensorBoard's files are written, too.

    Returns:
        The trained `MaskedLM`, which also stands in `output/preset`.

    Raises:
        ValueError: if `output` holds a run of another recipe, or `every` does not
            divide its updates.
    """
    output = pathlib.Path(output)
    check_interval(recipe.steps, every)
    begin(recipe, output)
    tokenizer = prepare_vocabulary(recipe, data, output)
    files = prepare_examples(recipe, data, output, tokenizer)
    model = build(recipe, tokenizer)
    sizes = [rows * length for length, rows, n in recipe.stages for _ in range(n)]

    def batches(start):
        return staged_batches(recipe, files, model, start).repeat()  # Keras looks on

    callbacks = [keras.callbacks.TensorBoard(output / "tensorboard")] * tensorboard
    model = train_steps(model, batches, recipe.steps, output, every, callbacks, sizes)
    report = {"recipe": dataclasses.asdict(recipe), "tokens": tokens_in(recipe, files)}
    if recipe.valid:
        report["valid"] = evaluate(model, files["valid"])
    with replacing(output / "report.json") as temporary:
        temporary.write_text(json.dumps(report, indent=2) + "\n", "utf-8")
    shutil.rmtree(output / "preset", ignore_errors=True)
    finished(model, recipe).save_to_preset(output / "preset", dtype="float16")
    card = {"tokens_seen": report["tokens"], "valid": report.get("valid")}
    presets.add_to_record(output / "preset", {**recipe.card, **card})
    return model


def begin(recipe, output):
    """Writes the recipe to `output`, or checks that it is the one there.

    Raises:
        ValueError: naming the fields that differ.
    """
    path, fields = output / "recipe.json", dataclasses.asdict(recipe)
    fields.pop("card")
    fields = json.loads(json.dumps(fields))  # tuples are lists there
    if path.exists():
        found = json.loads(path.read_text("utf-8"))
        differing = [key for key in fields if fields[key] != found.get(key)]
        if differing:
            raise ValueError(
                f"{output} holds a run of another recipe, which differs in "
                f"{', '.join(differing)}. Give another output directory."
            )
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(fields, indent=2) + "\n", "utf-8")


def prepare_vocabulary(recipe, data, output):
    """Learns `vocabulary.txt` from the training text, once; returns the tokenizer."""
    path = output / "vocabulary.txt"
    if not path.exists():
        documents = read_documents(find_files(data, recipe.train))
        lines = (line.replace("[UNK]", " ") for text in documents for line in text)
        size = recipe.config["vocabulary_size"]
        save_vocabulary(train_wordpiece(lines, size, recipe.lowercase), path)
    return WordPieceTokenizer(path, lowercase=recipe.lowercase)


def prepare_examples(recipe, data, output, tokenizer):
    """Writes sharded examples for every length of the recipe, each once.

    The corpus passes through: what is in memory is a few million tokens.

    Args:
        recipe: `zoo.recipes.Recipe`.
        data: directory with the text.
        output: pathlib.Path of the run.
        tokenizer: `WordPieceTokenizer`.

    Returns:
        dict of length, or "valid", to a list of pathlib.Path.
    """
    config = {**tokenizer.get_config(), "specials_in_text": True}
    marked = WordPieceTokenizer.from_config(config)  # WikiText's [UNK] is one token
    wanted = {length: ("train", length, recipe.repeats) for length, *_ in recipe.stages}
    if recipe.valid:
        wanted["valid"] = ("valid", recipe.sequence_length, 1)
    files = {}
    for key, (split, length, repeats) in wanted.items():
        directory = output / "examples" / f"{split}-{length}"
        if not directory.exists():
            paths = find_files(data, getattr(recipe, split))
            sentences = (
                [sentence for line in document for sentence in split_sentences(line)]
                for document in read_documents(paths)
            )
            batches = pair_batches(
                tokenize_documents(sentences, marked),
                tokenizer,
                length,
                recipe.seed,
                repeats,
                max_predictions=max_predictions(length),
                whole_words=recipe.whole_words,
            )
            with replacing(directory) as temporary:
                write_records(batches, temporary, recipe.shards)
        files[key] = sorted(directory.iterdir())
    return files


def max_predictions(length):
    """How many tokens of a row are hidden at most: 20 of 128, 77 of 512, as Google."""
    return -(-length * 15 // 100)


def build(recipe, tokenizer):
    """The compiled model that a recipe begins with."""
    config = {**recipe.config, "vocabulary_size": tokenizer.vocabulary_size}
    keras.utils.set_random_seed(recipe.seed)
    model = MaskedLM(
        registry.build_backbone(recipe.family, config, recipe.dtype),
        tokenizer,
        max_predictions=max_predictions(recipe.sequence_length),
        whole_words=recipe.whole_words,
        next_sentence=recipe.next_sentence,
        sequence_length=recipe.sequence_length,
    )
    schedule = WarmupLinearDecay(
        recipe.learning_rate, recipe.warmup_steps, recipe.steps
    )
    averages = {"use_ema": True, "ema_momentum": recipe.ema} if recipe.ema else {}
    model.compile(
        AdamW(schedule, recipe.weight_decay, beta_2=recipe.beta_2, **averages)
    )
    return model


def staged_batches(recipe, files, model, start):
    """Training batches from update `start` on, stage after stage.

    Args:
        recipe: `zoo.recipes.Recipe`.
        files: dict, from `prepare_examples`.
        model: `MaskedLM`, which makes the examples.
        start: int, updates done.

    Returns:
        tf.data.Dataset of as many batches as there are updates left.
    """

    def example(step, batch):
        if not recipe.dynamic:
            return model.fixed_example(batch)
        return model.make_example(unmask(batch), (recipe.seed, step))

    dataset, begin = None, 0
    for length, rows, steps in recipe.stages:
        done = max(start - begin, 0)
        if done < steps:
            batches = read_records(files[length], rows, recipe.seed, done)
            part = batches.take(steps - done).enumerate(begin + done).map(example)
            dataset = dataset.concatenate(part) if dataset else part
        begin += steps
    return dataset.prefetch(2)


def tokens_in(recipe, files):
    """Tokens in all batches together, padding left out: int, from the files' mean."""
    total = 0
    for length, rows, steps in recipe.stages:
        masks = read_records(files[length], 1024).map(lambda x: x["padding_mask"])
        share = np.mean(
            np.concatenate([mask.mean(1) for mask in masks.as_numpy_iterator()])
        )
        total += length * rows * steps * share
    return int(total)


def evaluate(model, files, batch_size=32):
    """Losses, accuracies and perplexity on held-out examples, masked once for all.

    Args:
        model: compiled `MaskedLM`.
        files: list of TFRecord files.
        batch_size: int.

    Returns:
        dict of float.
    """
    records = read_records(files, batch_size)
    steps = sum(1 for _ in records)  # Keras warns where it does not know
    batches = records.map(model.fixed_example)
    batches = batches.apply(tf.data.experimental.assert_cardinality(steps))
    scores = model.evaluate(batches, return_dict=True, verbose=0)
    loss = scores.get("masked_lm_loss", scores["loss"])
    return {**scores, "perplexity": float(np.exp(loss))}


def finished(model, recipe):
    """The model with the config that fine-tuning starts from."""
    config = dataclasses.asdict(model.backbone.config)
    backbone = registry.build_backbone(
        recipe.family, {**config, **recipe.finetuning_config}
    )
    copy = MaskedLM(
        backbone,
        model.tokenizer,
        sequence_length=model.sequence_length,
        **model.options,
    )
    copy.set_weights(model.get_weights())
    return copy
