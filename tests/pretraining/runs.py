"""Runs of `zoo pretrain` in processes of their own."""

import os
import pathlib
import subprocess
import sys


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
