"""Every objective trains alike on one device, on replicas, and on several workers."""

import json
import re
import signal
import time

import jobs
import numpy as np
import pytest
from eager import without_graphs
from workers import SECONDS, run_workers, start_workers

from zoo import pretraining
from zoo.pretraining import Recipe

# Their gradient is noise, which Adam makes a step of.
NOISE = "key/bias"
EVERY_OBJECTIVE = [
    name if name == "causal_rows" else pytest.param(name, marks=pytest.mark.slow)
    for name in jobs.RECIPES
]
PROGRAM = jobs.HERE / "jobs.py"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    jobs.write_data(folder)
    return folder


@pytest.fixture(scope="module")
def one(data, tmp_path_factory):
    """A function of an objective: the folder of its run on one device."""
    output = tmp_path_factory.mktemp("one")

    def run(name):
        if not (output / name).exists():
            with without_graphs():
                jobs.pretrain(data, output, [name])
        return output

    return run


def assert_same_training(ours, theirs, name, atol=1e-5):
    """Two runs have the same losses, and presets of the same weights."""
    found, wanted = (jobs.losses(output, name) for output in (ours, theirs))
    np.testing.assert_allclose(found, wanted, atol=atol)
    found, wanted = (jobs.weights(output, name) for output in (ours, theirs))
    for path, weight in wanted.items():
        # The presets are in float16.
        near = {"atol": 1e-3 if path.endswith(NOISE) else 2e-5, "rtol": 1e-3}
        np.testing.assert_allclose(found[path], weight, **near, err_msg=path)


@pytest.mark.parametrize("name", EVERY_OBJECTIVE)
def test_two_replicas_train_as_one(one, data, name, two_replicas, tmp_path):
    with two_replicas.scope():
        jobs.pretrain(data, tmp_path, [name])
    assert_same_training(tmp_path, one(name), name)


@pytest.mark.slow
@pytest.mark.parametrize("name", jobs.RECIPES)
def test_updates_in_parts_are_those_of_the_whole(one, data, name, tmp_path):
    """Where a row does not depend on the others."""
    recipe, options = jobs.make_recipe(name, data), {"accumulate": 2}
    if not recipe.kind.in_parts:
        with pytest.raises(ValueError, match="rows of an update belong together"):
            pretraining.run(recipe, data, tmp_path / name, jobs.EVERY, **options)
        return
    pretraining.run(recipe, data, tmp_path / name, jobs.EVERY, **options)
    assert_same_training(tmp_path, one(name), name)


@pytest.mark.slow
@pytest.mark.parametrize(
    "workers, names",
    [(2, [*jobs.RECIPES]), (4, ["masked_lm", "causal_streams", "distillation"])],
)
def test_workers_train_as_one(one, data, workers, names, tmp_path):
    """And only the first one writes; no number of workers divides most batches."""
    logs = [tmp_path / f"{index}.log" for index in range(workers)]
    command = [PROGRAM, data, tmp_path / "run", "multi_worker", *names]
    run_workers([command] * workers, logs)
    for name in names:
        assert_same_training(tmp_path / "run", one(name), name)
        left = {path.name for path in (tmp_path / "run" / name).iterdir()}
        assert left == {path.name for path in (one(name) / name).iterdir()}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["masked_lm", "causal_streams"])
def test_a_killed_worker_ends_the_job(data, name, tmp_path):
    """The other one names it. The next start goes on, here on one device."""
    fields = jobs.make_recipe(name, data).to_json()
    ((length, rows, _), *_) = fields["stages"]
    fields["stages"] = [[length, rows, 120]]
    (tmp_path / "r.json").write_text(json.dumps(fields))
    command = ["-m", "zoo", "pretrain", "--recipe", tmp_path / "r.json", "--data", data]
    command += ["--output", tmp_path / "run" / name, "--every", 6]
    logs = [tmp_path / f"{index}.log" for index in range(2)]
    command += ["--strategy", "multi_worker"]
    first, second = start_workers([command] * 2, logs)
    checkpoint = tmp_path / "run" / name / "checkpoint.keras"
    while not checkpoint.exists() and first.poll() is None:
        time.sleep(0.1)
    second.send_signal(signal.SIGKILL)
    assert first.wait(SECONDS) == 1
    *_, last = logs[0].read_text().splitlines()
    # A progress bar may be in the same line.
    assert re.search(r"Error: A worker has ended: worker 1 \(127.0.0.1:\d+\). S", last)
    recipe = Recipe.from_json(fields, "it")
    pretraining.run(recipe, data, tmp_path / "run" / name, 6)
    pretraining.run(recipe, data, tmp_path / "whole" / name, 6)
    assert_same_training(tmp_path / "run", tmp_path / "whole", name)
