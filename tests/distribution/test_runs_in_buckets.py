"""Pretraining whose text and output are in a bucket, continued on another machine."""

import json
import shutil

import jobs
import keras
import numpy as np
import pytest
from eager import without_graphs
from s3_server import new_bucket
from workers import run_workers

from zoo import pretraining
from zoo.files.buckets import cache_root, local_path, open_store

BUCKET = "memory://runs-of-pretraining"


class MachineStopped(Exception):
    """Raised in the middle of a run."""


@pytest.fixture
def stopping(monkeypatch):
    """The first call of `fit` ends in the second of its three epochs."""

    class Stopper(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if self.model.optimizer.iterations > jobs.EVERY:
                raise MachineStopped

    fit = keras.Model.fit

    def stopped_fit(self, *arguments, callbacks, **options):
        monkeypatch.setattr(keras.Model, "fit", fit)
        return fit(self, *arguments, callbacks=[*callbacks, Stopper()], **options)

    monkeypatch.setattr(keras.Model, "fit", stopped_fit)


@pytest.mark.parametrize(
    "name",
    [
        name if name == "causal_rows" else pytest.param(name, marks=pytest.mark.slow)
        for name in jobs.RECIPES
    ],
)
def test_a_run_goes_on_from_its_bucket(name, tmp_path, monkeypatch, request):
    monkeypatch.setenv("ZOO_HOME", str(tmp_path / "home"))
    data, output = f"{BUCKET}/{name}/text", f"{BUCKET}/{name}/run"
    (tmp_path / "text").mkdir()
    jobs.write_data(tmp_path / "text")
    recipe = jobs.make_recipe(name, tmp_path / "text")
    store, place = open_store(data)
    store.put(f"{tmp_path}/text/", place, recursive=True)
    with without_graphs():
        pretraining.run(recipe, tmp_path / "text", tmp_path / name, jobs.EVERY)
        request.getfixturevalue("stopping")
        with pytest.raises(MachineStopped):
            pretraining.run(recipe, data, output, jobs.EVERY, tensorboard=True)
        shutil.rmtree(cache_root())  # the machine is gone
        pretraining.run(recipe, data, output, jobs.EVERY, tensorboard=True)
    shutil.rmtree(cache_root())
    kept = local_path(f"{BUCKET}/{name}")
    shutil.copytree(kept / "run", kept / name)
    np.testing.assert_array_equal(jobs.losses(kept, name), jobs.losses(tmp_path, name))
    weights = "preset/weights.safetensors"
    ours, theirs = (folder / name / weights for folder in (kept, tmp_path))
    assert ours.read_bytes() == theirs.read_bytes()
    assert any((kept / "run/tensorboard").rglob("events*"))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["masked_lm", "causal_rows"])
def test_workers_without_a_shared_directory(name, tmp_path, monkeypatch):
    """The first one prepares the text in the bucket, and the other reads it there."""
    jobs.write_data(tmp_path)
    recipe = jobs.make_recipe(name, tmp_path)
    (tmp_path / "r.json").write_text(json.dumps(recipe.to_json()))
    pretraining.run(recipe, tmp_path, tmp_path / name, jobs.EVERY)
    logs = [tmp_path / f"{index}.log" for index in range(2)]
    with new_bucket(monkeypatch) as bucket:
        store, place = open_store(bucket)
        for file in tmp_path.glob("*.txt"):
            store.put_file(str(file), f"{place}/text/{file.name}")
        command = ["-m", "zoo", "pretrain", "--recipe", tmp_path / "r.json"]
        command += ["--data", f"{bucket}/text", "--output", f"{bucket}/{name}"]
        command += ["--every", jobs.EVERY, "--strategy", "multi_worker"]
        run_workers([command] * 2, logs)
        (tmp_path / "kept").mkdir()
        shutil.copytree(local_path(f"{bucket}/{name}"), tmp_path / "kept" / name)
    assert f"{bucket}/{name}/preset" in logs[0].read_text()
    found, wanted = (jobs.losses(tmp_path / part, name) for part in ("kept", ""))
    np.testing.assert_allclose(found, wanted, atol=1e-5)
