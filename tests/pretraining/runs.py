"""Runs of `zoo pretrain` in processes of their own."""

import os
import pathlib
import random
import signal
import subprocess
import sys
import time

import pytest

from zoo import pretraining


def start_run(folder, name, **environment):
    """Begins, or goes on with, a run in a process of its own."""
    arguments = ["pretrain", "bert", "--data", folder, "--recipe", folder / "r.json"]
    arguments += ["--output", folder / name, "--every", "5"]
    log = open(folder / f"{name}.log", "ab")
    return subprocess.Popen(
        [sys.executable, "-m", "zoo", *map(str, arguments)],
        stdout=log,
        stderr=log,
        env={**os.environ, **environment},
    )


def weights_of(folder):
    return (pathlib.Path(folder) / "preset" / "weights.safetensors").read_bytes()


def assert_killing_changes_nothing(folder, times):
    """Runs `r.json` in one go, and killed at random moments of the training."""
    assert start_run(folder, "whole").wait() == 0
    draw = random.Random(0)
    for _ in range(times):
        process = start_run(folder, "parts")
        checkpoint = folder / "parts" / "checkpoint.keras"
        before = checkpoint.stat().st_mtime_ns if checkpoint.exists() else 0
        while process.poll() is None:
            time.sleep(0.02)
            if checkpoint.exists() and checkpoint.stat().st_mtime_ns != before:
                time.sleep(draw.uniform(0, 1))
                process.send_signal(signal.SIGKILL)
                break
        assert process.wait() == -signal.SIGKILL, "It ended before it was killed."
    assert start_run(folder, "parts").wait() == 0
    assert weights_of(folder / "parts") == weights_of(folder / "whole")


def assert_stopping_changes_nothing(recipe, finished, folder, every):
    """Runs a recipe that is stopped before its preset is complete, as `finished`."""

    def stop(*arguments):
        raise InterruptedError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("zoo.pretraining.running.presets.add_to_record", stop)
        with pytest.raises(InterruptedError):
            pretraining.run(recipe, finished, folder, every=every)
    pretraining.run(recipe, finished, folder, every=every)
    assert weights_of(folder) == weights_of(finished / "run")
