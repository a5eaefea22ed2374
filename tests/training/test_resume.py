"""A training run that is stopped goes on as if it had not been."""

import csv

import keras
import numpy as np
import pytest
import tiny

from zoo.data import block_dataset
from zoo.data.corpus import tokenize_blocks
from zoo.registry import build_backbone
from zoo.tasks import MaskedLM
from zoo.training import AdamW, WarmupLinearDecay, train_steps


class Stop(keras.callbacks.Callback):
    """Ends the run at the beginning of a step, as a power cut does."""

    def __init__(self, step):
        super().__init__()
        self.left = step

    def on_train_batch_begin(self, batch, logs=None):
        if not self.left:
            raise KeyboardInterrupt
        self.left -= 1


@pytest.fixture
def run(tokenizer, tmp_path):
    """Function of a directory's name: trains 6 steps, 2 between checkpoints."""
    documents = [[text] for text in tiny.make_texts(40, longest=30)[0]]
    blocks = tokenize_blocks(documents, tokenizer, 14)

    def train(name, callbacks=(), **options):
        keras.utils.set_random_seed(4)
        # Dropout, so that the state of the random numbers counts.
        backbone = build_backbone("bert", {**tiny.CONFIG, "dropout": 0.2})
        model = MaskedLM(backbone, tokenizer, sequence_length=16)
        optimizer = AdamW(WarmupLinearDecay(1e-2, 2, 6), **options)
        model.compile(optimizer, run_eagerly=True)

        def batches(start):
            return block_dataset(blocks, tokenizer, 4, 7, model.make_example, start)

        return train_steps(model, batches, 6, tmp_path / name, 2, callbacks)

    return train


def assert_same(model, other):
    for ours, theirs in zip(model.variables, other.variables, strict=True):
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy(), err_msg=ours.path)
    for ours, theirs in zip(
        model.optimizer.variables, other.optimizer.variables, strict=True
    ):
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy(), err_msg=ours.path)


def read_log(directory):
    with open(directory / "log.csv", newline="") as file:
        return list(csv.DictReader(file))


def test_a_stopped_run_ends_as_an_undisturbed_one(run, tmp_path):
    whole = run("whole")
    for step in (3, 1):  # in the second stretch, then in the third
        with pytest.raises(KeyboardInterrupt):
            run("parts", [Stop(step)])
    parts = run("parts")
    assert int(parts.optimizer.iterations) == 6
    assert_same(whole, parts)
    logs = [read_log(tmp_path / name) for name in ("whole", "parts")]
    assert [row["epoch"] for row in logs[0]] == ["0", "1", "2"]
    assert logs[0] == logs[1]
    left = sorted(path.name for path in (tmp_path / "parts").iterdir())
    assert left == ["checkpoint.keras", "log.csv"]


def test_a_finished_run_is_not_repeated(run):
    first, again = run("done"), run("done", [Stop(0)])
    assert_same(first, again)


def test_accumulated_gradients_count_as_one_update(run):
    whole = run("whole", gradient_accumulation_steps=2)
    with pytest.raises(KeyboardInterrupt):
        run("parts", [Stop(3)], gradient_accumulation_steps=2)
    parts = run("parts", gradient_accumulation_steps=2)
    assert int(parts.optimizer.iterations) == int(whole.optimizer.iterations) == 3
    assert_same(whole, parts)


def test_checkpoints_come_at_the_end_too(run, tmp_path):
    with pytest.raises(ValueError, match="`every` must divide `steps`. .*every=4"):
        train_steps(None, None, 6, tmp_path, every=4)
