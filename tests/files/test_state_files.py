"""Damaged files of our own: an error that names the file and says what to do."""

import copy
import functools
import json

import numpy as np
import pytest
import tiny
from tiny_bert import tiny_bert

import zoo
from benchmarks.tables import stored_results
from zoo.files.state_files import check_shape
from zoo.files.written_part import WrittenPart
from zoo.presets import find_preset, read_preset
from zoo.pretraining import Recipe, running
from zoo.pretraining.causal_rows import CausalRows
from zoo.programs.scores import task_suite
from zoo.programs.scores.comparison import Comparison
from zoo.programs.vectors import text_vectors
from zoo.tasks.classifiers.ensemble import find_members
from zoo.training import AverageWeights
from zoo.training.resume import CHECKPOINT, _trim, choose_interval

PRESET = "bert_mini_en_uncased_books"  # only its record is read here
TEXTS = ["a good film", "a bad film", "the end"]
DEEP = 10**5
DAMAGES = {
    "empty": b"",
    "truncated": lambda content: content[: len(content) // 2],
    "binary": bytes(range(256)),
    "an empty object": b"{}",
    "an empty list": b"[]",
    "null": b"null",
    "a number": b"3",
    "a string": b'"rows"',
    "deep lists": b"[" * DEEP + b"]" * DEEP,
    "deep objects": b'{"rows": ' * DEEP + b"1" + b"}" * DEEP,
    "a long number": b'{"rows": 1' + b"0" * 5000 + b"}",
}
ADVICE = ("Remove", "Give", "Save", "Upgrade", "Restore", "Delete")


def write(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), "utf-8")
    return path


@functools.cache
def embedder():
    """A small model of vectors."""
    backbone = tiny_bert()
    return zoo.TextEmbedder(backbone, backbone.tokenizer)


def part_of_vectors(folder):
    output = folder / "v.npy"
    model = embedder()
    header = text_vectors._header(0, model.output_shape[-1])
    part = WrittenPart(
        output, "vectors", model.files.fingerprint(model), iter([]), header
    )
    part.add(TEXTS[:1], np.ones(model.output_shape[-1], "float32").tobytes())
    embed = functools.partial(zoo.embed, TEXTS, embedder(), output=output, verbose=0)
    return folder / "v.npy.part.json", embed


def suite(folder, name, compare=None):
    """A finished suite of one task, or a finished comparison with one run."""
    rows = ["sentence\tlabel", *(f"text {n}\t{n % 2}" for n in range(20))]
    for split in ("train", "dev"):
        (folder / f"SST-2/{split}.tsv").parent.mkdir(exist_ok=True)
        (folder / f"SST-2/{split}.tsv").write_text("\n".join(rows))
    options = {"learning_rate": 1e-3, "compare": compare, "echo": str}
    evaluate = functools.partial(
        zoo.evaluate_suite, PRESET, folder, folder / "suite", "sst2", **options
    )
    scores = {"accuracy": 0.5, "other": 1}
    result = {"scores": {"dev.tsv": scores}, "baselines": {"majority": scores},
              "train": 20, "test": 20, "seconds": 1.5, "test_seconds": 1, "title": "a",
              "metric": "accuracy", "settings": {}}  # fmt: skip
    predictions = {"valid": ["0", "1"], "dev": ["0"] * 20}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(task_suite, "measure", lambda *args, **options: result)
        patch.setattr(Comparison, "finetune", lambda *args: predictions)
        evaluate()
    return folder / "suite" / name, evaluate


def ensemble(folder):
    path = write(folder / "ensemble.json", {"format": 1, "members": 2})
    return path, functools.partial(find_members, folder)


def preset(folder):
    record = json.loads((find_preset(PRESET) / "preset.json").read_text("utf-8"))
    record = {"family": "bert", "backbone": record["backbone"], "format": 2}
    return write(folder / "preset.json", record), functools.partial(read_preset, folder)


def recipe_of_run(folder):
    begin = functools.partial(running.begin, Recipe.from_json(tiny.recipe()), folder)
    begin()
    return folder / running.RECIPE_FILE, begin


def files_of_run(folder):
    tiny.write_corpus(folder / "corpus.txt")
    recipe = Recipe.from_json({**tiny.recipe(), "train": ["*.txt"], "valid": []})
    sizes = running.check_files(recipe, folder, folder)
    check = functools.partial(running.check_files, recipe, folder, folder)
    return write(folder / running.FILES_RECORD, sizes), check


def vocabulary_of_run(folder):
    found = zoo.text.train_byte_bpe(TEXTS, 260)
    run = object.__new__(CausalRows)
    learn = functools.partial(run.learn_tokenizer, [], folder)
    return write(folder / "vocabulary.json", found), learn


def table(folder):
    result = dict.fromkeys(stored_results.FIELDS, 1)
    path = write(folder / "results" / "a.json", {**result, "options": {"rows": 1}})
    options = {"folder": folder, "options": {"rows": 1}}
    return path, functools.partial(stored_results.stored, "a", **options)


# Functions of a folder that make a sound file, and a call that reads it.
READERS = {
    "part of vectors": part_of_vectors,
    "run of a comparison": lambda folder: suite(
        folder, "sst2-18-preset-0.001-0.json", "preset"
    ),
    "settings of a comparison": lambda folder: suite(folder, "settings.json", "preset"),
    "result of the suite": lambda folder: suite(folder, "sst2-0.json"),
    "settings of the suite": lambda folder: suite(folder, "settings.json"),
    "ensemble": ensemble,
    "preset": preset,
    "recipe of a run": recipe_of_run,
    "files of a run": files_of_run,
    "vocabulary of a run": vocabulary_of_run,
    "result of a table": table,
}


def check_message(error, path):
    message = str(error)
    assert str(path) in message or str(path.parent) in message, message
    assert any(f" {word} " in message for word in ADVICE), message
    assert len(message) < 1500 and "Errno" not in message


@pytest.mark.parametrize("name", READERS)
def test_a_damaged_file_is_an_error_that_names_it(name, tmp_path):
    path, read = READERS[name](tmp_path)
    sound = path.read_bytes()
    for damage in DAMAGES.values():
        path.write_bytes(damage(sound) if callable(damage) else damage)
        with pytest.raises((ValueError, FileExistsError)) as caught:
            read()
        check_message(caught.value, path)
    path.unlink()
    path.mkdir()
    with pytest.raises((ValueError, FileExistsError)) as caught:
        read()
    check_message(caught.value, path)
    path.rmdir()
    path.write_bytes(sound)
    read()


def places(value, depth=0):
    """The keys and indices that lead to each value of an object or a list."""
    items = []
    if depth < 3 and isinstance(value, (dict, list)):
        items = [*(value.items() if isinstance(value, dict) else enumerate(value))][:9]
    for key, item in items:
        yield (key,)
        yield from ((key, *place) for place in places(item, depth + 1))


@pytest.mark.parametrize("name", READERS)
def test_a_wrong_value_is_accepted_or_an_error_that_names_the_file(name, tmp_path):
    path, read = READERS[name](tmp_path)
    sound = path.read_bytes()
    value = json.loads(sound)
    for place in places(value):
        for wrong in (None, True, -1, 10**30, 0.5, float("nan"), "x", [], {}, [[]]):
            changed = inner = copy.deepcopy(value)
            for key in place[:-1]:
                inner = inner[key]
            inner[place[-1]] = wrong
            path.write_text(json.dumps(changed))
            try:
                read()
            except (ValueError, FileExistsError) as error:
                check_message(error, path)
            if not path.exists():  # the vectors were completed
                path, read = READERS[name](tmp_path)


@pytest.mark.parametrize("content", [b"", b"PK", b"text\n", bytes(range(256)) * 9])
def test_damaged_checkpoints_and_logs(content, tmp_path):
    averages = AverageWeights(2, tmp_path)
    for name, read in {
        CHECKPOINT: lambda: choose_interval(100, tmp_path),
        "log.csv": lambda: _trim(tmp_path / "log.csv", 9),
        "1.npz": lambda: averages._weights(1),
    }.items():
        path = tmp_path / name
        head, tail = (b"epoch\n", b"x\n") if name == "log.csv" else (b"", b"")
        path.write_bytes(head + content + tail)
        with pytest.raises(ValueError) as caught:
            read()
        check_message(caught.value, path)


def test_shapes():
    shape = {"a": int, "b?": [str], "c?": {str: (float, str)}}
    for value in ({"a": 1}, {"a": 1, "b": None}, {"a": 1, "c": {"x": 1, "y": "z"}}):
        check_shape(value, shape, "the file")
    for value, message in (
        ({}, "the file lacks a"),
        ({"a": None}, "`a` must be an integer. Received: None"),
        ({"a": True}, "`a` must be an integer. Received: True"),
        ({"a": 1, "b": [1]}, r"`b\[0\]` must be a string. Received: 1"),
        ({"a": 1, "c": {"x": {}}}, "`c.x` must be a number or a string. Received: {}"),
    ):
        with pytest.raises(ValueError, match=f"^{message}$"):
            check_shape(value, shape, "the file")
