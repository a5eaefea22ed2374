"""Paths that commands read and write, checked before any work."""

import os

import click
import pytest
from command_line import run

from zoo.checkpoint import write_vectors
from zoo.commands import arguments
from zoo.commands.main import main
from zoo.data import read_conll, read_glue, read_labelled
from zoo.files.whole_files import replacing, write_json
from zoo.serving import Signature, write_version
from zoo.text import count_words, train_wordpiece

READ_FILE, READ_FOLDER = "a file to read", "a directory to read"
RUN_FOLDER = "a directory to read, which may be missing when a run continues"
FILE, FOLDER = "a file to write", "a directory to write"
# What a callback checks, and how the names of such files end.
KINDS = {
    arguments.check_data: (READ_FILE, ""),
    arguments.check_text_files: (READ_FILE, ""),
    arguments.check_folder: (READ_FOLDER, ""),
    arguments.check_run_data: (RUN_FOLDER, ""),
    arguments.check_new_file: (FILE, ""),
    arguments.check_new_model: (FILE, ".keras"),
    arguments.check_picture: (FILE, ".svg"),
    arguments.check_new_folder: (FOLDER, ""),
    arguments.check_new_preset: (FOLDER, ""),
}
NAMES = ("data", "test", "valid", "target", "valid_target", "unlabeled", "files")
NAMES += ("output", "report", "page", "directory")
PARAMETERS = [
    pytest.param(name, parameter, id=f"{name} {parameter.name}")
    for name, command in main.commands.items()
    for parameter in command.params
    if parameter.name in NAMES
    # The latter is a directory for some kinds, which the function checks.
    and (name, parameter.name) not in (("attend", "target"), ("vocabulary", "output"))
]
PRESET = "bert_mini_en_uncased_books"
LONG = "x" * 300  # longer than the name of a file may be


@pytest.fixture
def files(tmp_path):
    """A directory with a file, directories with the names of files, and a loop."""
    (tmp_path / "train.tsv").write_text("text\tlabel\na\tb\n")
    for name in ("folder", "folder.keras", "folder.svg"):
        (tmp_path / name).mkdir()
    os.symlink(tmp_path / "loop", tmp_path / "loop")
    return tmp_path


def wrong_paths(kind):
    """Dict of wrong paths, in `files`, to what the message says."""
    if kind == RUN_FOLDER:
        return {"train.tsv": "is a file. Give the directory that has it."}
    if kind in (READ_FILE, READ_FOLDER):
        paths = dict.fromkeys(("none", "train.tsv/a", LONG, "loop"), "No such ")
        other = {"folder": "is a directory. Give its files."}
        if kind == READ_FOLDER:
            other = {"train.tsv": "is a file. Give the directory that has it."}
        return paths | other
    paths = dict.fromkeys(("train.tsv/a", "none/" + LONG, "loop/a"), "while writing")
    if kind == FOLDER:
        return paths | {"train.tsv": "train.tsv"}  # the errors differ
    return paths | {"folder": "The output must be a file. Received"}


def test_every_path_is_checked():
    assert len(PARAMETERS) > 30


@pytest.mark.parametrize("command, parameter", PARAMETERS)
def test_wrong_paths_are_one_line_before_any_work(command, parameter, files):
    kind, suffix = KINDS[parameter.callback]
    before = [parameter.opts[0]]
    if isinstance(parameter, click.Argument):
        others = [p for p in main.commands[command].params if p.name != parameter.name]
        before = [PRESET for other in others if isinstance(other, click.Argument)]
    for path, message in wrong_paths(kind).items():
        path = str(files / path) + suffix
        output = run(command, *before, path, code=1)
        assert output.startswith("Error: ") and output.count("\n") == 1, output
        assert path in output and message in output and "[Errno" not in output, output


@pytest.mark.parametrize("kind", ["wordpiece", "bpe"])
def test_the_output_of_a_vocabulary(kind, files):
    command = ["vocabulary", files / "train.tsv", "--kind", kind, "--size", 999]
    for path in ("train.tsv/a", LONG, "train.tsv"):
        output = run(*command, "--output", files / path, code=1)
        assert output.startswith("Error: ") and path in output, output
        assert output.count("\n") == 1 and "[Errno" not in output, output


WRITERS = {
    "replacing": lambda path: write_json(path, {}),
    "vectors": lambda path: write_vectors(path.with_suffix(".txt"), ["a"], [[1.0]]),
    "export": lambda path: write_version(path, {"a": Signature(None, [], {})}, []),
}


@pytest.mark.parametrize("name", WRITERS)
def test_writers_without_a_command(name, files):
    for path in ("train.tsv/a", "train.tsv/a/b"):
        with pytest.raises((OSError, ValueError)) as caught:
            WRITERS[name](files / path)
        assert "Nothing was written. Choose another path" in str(caught.value)
    with pytest.raises(OSError, match="Nothing was written. Choose another path"):
        with replacing(files / LONG) as temporary:
            temporary.write_text("")


READERS = {
    "labels": lambda path: read_labelled(path.with_suffix(".tsv")),
    "tags": read_conll,
    "words": lambda path: count_words([path], 1),
    "pieces": lambda path: train_wordpiece([path], 999),
    "glue": lambda path: read_glue(path, "sst2", "train"),
}


@pytest.mark.parametrize("name", READERS)
def test_readers_without_a_command(name, files):
    (files / "folder.tsv").mkdir()
    for path in ("folder", "none"):
        words = "o such file|is a directory. Give|There is no|must be a file that"
        with pytest.raises((OSError, ValueError), match=words):
            READERS[name](files / path)
