"""Pretraining whose text and output are in a bucket, continued on another machine."""

import shutil

import jobs
import keras
import numpy as np
import pytest
from eager import without_graphs

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
