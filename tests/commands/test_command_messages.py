"""What commands say: help, errors of names, missing packages and too little memory."""

import json
import re
from unittest import mock

import pytest
import tiny
from command_line import run
from places import ROOT
from python_process import run_python

from zoo.checks.extras import missing_package
from zoo.commands import score_commands
from zoo.commands.main import main
from zoo.programs.scores.suite_tasks import SUITE

SOURCES = sorted((ROOT / "zoo").rglob("*.py"))
WRONG_NAMES = {
    "info bert": "Did you mean bert_",
    "info bert_mini_en_uncased_book": "Did you mean bert_mini_en_uncased_books",
    "convert gpt x": "Did you mean gpt",
    "finetune elmo_mini_en_book --data d --output o.keras": "elmo_mini_en_books",
    "predict bertt_base_en_uncased": "Did you mean bert_base",
    "predict none.keras": "No such file: none.keras",
    "pretrain --data . --output o --recipe bert_mini": "bert_mini_en_uncased_books",
    "pretrain bert --data . --output o --recipe no": "recipe",
    "list --family brt": "must be one that has presets: bert, .*brt",
    "evaluate-suite bert_mini_en_uncased_books --task colaa": "'colaa' is not one of",
    "finetun bert": "No such command 'finetun'",
    "embed no/such/directory f --output o.npy": "A preset directory must exist",
}
PROGRAM = f"""
import click.testing, sys
from zoo.commands.main import main

for line in {list(WRONG_NAMES)!r}:
    result = click.testing.CliRunner().invoke(main, line.split())
    print(result.output.splitlines()[-1])
for line in ("list", "info bert_mini_en_uncased_books"):
    assert click.testing.CliRunner().invoke(main, line.split()).exit_code == 0
assert "tensorflow" not in sys.modules and "numpy" not in sys.modules
"""


def test_wrong_names_and_info_are_answered_without_tensorflow(tmp_path):
    (tmp_path / "d").touch()
    lines = run_python(PROGRAM, cwd=tmp_path).stdout.splitlines()
    for line, (command, message) in zip(lines, WRONG_NAMES.items(), strict=True):
        assert re.match(f"Error: .*{message}", line), (command, line)


def test_names_of_tasks_are_those_of_the_suite():
    assert {*score_commands.SUITE} == {*SUITE}


def test_help_names_options_that_the_command_has():
    for name, command in main.commands.items():
        flags = ((*option.opts, *option.secondary_opts) for option in command.params)
        own = {flag for pair in flags for flag in pair}
        text = " ".join(run(name, "--help").split())
        named = {*re.findall(r"--[a-z]+(?:-[a-z]+)*", text)} - {"--help"}
        assert named <= own, f"{name}: {named - own}"


def test_one_thing_has_one_name():
    """Rates, rows and layouts had several names."""
    flags = {f: n for n, c in main.commands.items() for o in c.params for f in o.opts}
    assert not {"--rate", "--examples", "--layout"} & {*flags}
    assert {"--learning-rate", "--rows", "--from", "--to"} <= {*flags}


def test_missing_packages_are_named_with_what_works():
    message = missing_package("Pictures need", "matplotlib", "quickstart")
    assert message == (
        "Pictures need matplotlib. Run `pip install matplotlib`, or in a checkout of "
        'the project `pip install -e ".[quickstart]"`.'
    )
    # The name is on no index, so it can be installed from a checkout only.
    assert not [path for path in SOURCES if "keras-context-zoo[" in path.read_text()]


def test_too_little_memory_is_one_line(monkeypatch):
    import numpy as np
    import tensorflow as tf

    with pytest.raises(MemoryError) as caught:
        np.zeros(2**45)
    for error, words in (
        (caught.value, "Unable to allocate"),
        (MemoryError(), "MemoryError"),
        (tf.errors.ResourceExhaustedError(None, None, "OOM\nDetails"), "OOM"),
    ):
        describe = mock.Mock(side_effect=error)
        monkeypatch.setattr("zoo.presets.describe_record", describe)
        output = run("info", "bert_mini_en_uncased_books", code=1)
        message = f"Error: There is not enough memory. Received: {words}"
        assert output.startswith(message) and output.count("\n") == 1


@pytest.mark.parametrize(
    "steps, every, chosen",
    [
        *((40, None, 40), (250, None, 50), (250, 60, 50), (997, None, 997)),
        *((1000, 100, 100), (6, 4, 3), (1, None, 1), (2 * 499, None, 499)),
    ],
)
def test_the_number_of_updates_between_checkpoints_fits(
    steps, every, chosen, tmp_path, monkeypatch
):
    recipe = {**tiny.recipe(), "stages": [[16, 4, steps]], "warmup_steps": 0}
    (tmp_path / "recipe.json").write_text(json.dumps(recipe))
    pretrain = mock.Mock()
    monkeypatch.setattr("zoo.pretraining.run", pretrain)
    command = ["pretrain", "--recipe", tmp_path / "recipe.json", "--data", tmp_path]
    command += ["--output", tmp_path / "run"] + (["--every", every] if every else [])
    output = run(*command)
    assert pretrain.call_args.args[3] == chosen
    assert (f"--every {chosen}" in output) == (chosen != every)
