"""A training run that is stopped goes on as if it had not been."""

import csv
import zipfile

import keras
import numpy as np
import pytest
import tensorflow as tf
import tiny

from zoo.data import pair_batches, read_records, unmask, write_records
from zoo.data.files.corpus import tokenize_documents
from zoo.registry import build_backbone
from zoo.tasks import MaskedLM
from zoo.training import AdamW, WarmupLinearDecay, train_steps
from zoo.training.resume import FINISHED_MEMBER, SaveWhole


class BeforeStep(keras.callbacks.Callback):
    """Calls a function of the model before a step."""

    def __init__(self, step, function):
        super().__init__()
        self.left, self.function = step, function

    def on_train_batch_begin(self, batch, logs=None):
        if not self.left:
            self.function(self.model)
        self.left -= 1


def stop(model):
    """Ends the run, as a power cut does."""
    raise KeyboardInterrupt


def make_infinite(model):
    weight = model.trainable_weights[-1]
    weight.assign(weight * np.inf)


@pytest.fixture(scope="module")
def files(tokenizer, tmp_path_factory):
    """Records of pairs of tiny texts."""
    texts = tiny.make_texts(60)[0]
    documents = [texts[i : i + 6] for i in range(0, 60, 6)]
    pairs = pair_batches(tokenize_documents(documents, tokenizer), tokenizer, 16)
    folder = tmp_path_factory.mktemp("records")
    return write_records(pairs, folder / "examples", shards=2)


@pytest.fixture
def run(files, tokenizer, tmp_path):
    """Function of a directory's name: trains 6 steps, 2 between checkpoints."""

    def train(name, callbacks=(), sizes=None, **options):
        keras.utils.set_random_seed(4)
        # Dropout, so that the state of the random numbers counts.
        config = {**tiny.CONFIG, "num_layers": 1, "dropout": 0.2}
        backbone = build_backbone("bert", config)
        model = MaskedLM(backbone, tokenizer, sequence_length=16)
        optimizer = AdamW(WarmupLinearDecay(1e-2, 2, 6), **options)
        model.compile(optimizer, run_eagerly=True)

        def example(step, batch):
            return model.make_example(unmask(batch), (7, step))

        def batches(start):
            return read_records(files, 4, 7, start).enumerate(start).map(example)

        return train_steps(model, batches, 6, tmp_path / name, 2, callbacks, sizes)

    return train


def assert_same(model, other, optimizer=True):
    pairs = [(model, other), (model.optimizer, other.optimizer)]
    for mine, yours in pairs if optimizer else pairs[:1]:
        for ours, theirs in zip(mine.variables, yours.variables, strict=True):
            np.testing.assert_array_equal(ours, theirs, err_msg=ours.path)


def read_log(directory):
    with open(directory / "log.csv", newline="") as file:
        return list(csv.DictReader(file))


def test_a_checkpoint_is_loaded_in_the_strategy_of_the_model(
    two_replicas, tmp_path, monkeypatch
):
    def load(model, path):
        assert tf.distribute.get_strategy() is two_replicas
        raise KeyboardInterrupt

    monkeypatch.setattr("keras.Sequential.load_weights", load)
    with two_replicas.scope():
        model = make_dense()
    (tmp_path / "checkpoint.keras").touch()
    with pytest.raises(KeyboardInterrupt):
        train_steps(model, None, 6, tmp_path, every=2)


def test_a_stopped_run_ends_as_an_undisturbed_one(run, tmp_path):
    whole = run("whole")
    for step in (3, 1):  # in the second stretch, then in the third
        with pytest.raises(KeyboardInterrupt):
            run("parts", [BeforeStep(step, stop)])
    parts = run("parts")
    assert int(parts.optimizer.iterations) == 6
    assert_same(whole, parts)
    logs = [read_log(tmp_path / name) for name in ("whole", "parts")]
    assert [row["epoch"] for row in logs[0]] == ["0", "1", "2"]
    assert logs[0] == logs[1]
    left = sorted(path.name for path in (tmp_path / "parts").iterdir())
    assert left == ["checkpoint.keras", "log.csv"]


@pytest.mark.slow
def test_updates_that_were_left_out_are_counted(run, tmp_path):
    """As with float16, where an update without finite gradients is left out."""
    with pytest.raises(KeyboardInterrupt):
        run("parts", [BeforeStep(4, stop)])
    path = tmp_path / "parts" / "checkpoint.keras"
    model = keras.saving.load_model(path)
    model.optimizer.iterations.assign(3)
    left_out = SaveWhole(path, 2)
    left_out.set_model(model)
    left_out.on_epoch_end(1)
    assert int(run("parts").optimizer.iterations) == 5
    assert [row["epoch"] for row in read_log(tmp_path / "parts")] == ["0", "1", "2"]
    with pytest.raises(ValueError, match="every=4 for .* with 2. Give every=2, on"):
        train_steps(model, None, 8, tmp_path / "parts", every=4)


def make_dense():
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    return model


def test_an_older_checkpoint_does_not_say_its_interval(tmp_path):
    model = make_dense()
    model.save(tmp_path / "checkpoint.keras")
    with zipfile.ZipFile(tmp_path / "checkpoint.keras", "a") as file:
        file.writestr(FINISHED_MEMBER, "6")
    found = train_steps(make_dense(), None, 6, tmp_path, every=3)
    np.testing.assert_array_equal(found.get_weights()[0], model.get_weights()[0])
    with pytest.raises(ValueError, match="steps=8, finished=6. Give every=2, on the"):
        train_steps(model, None, 8, tmp_path, every=4)


@pytest.mark.slow
def test_a_line_of_the_log_without_its_checkpoint_is_written_again(
    run, tmp_path, monkeypatch
):
    run("whole")
    with pytest.raises(KeyboardInterrupt):
        run("parts", [BeforeStep(2, stop)])

    def killed(self, epoch, logs=None):
        with open(tmp_path / "parts" / "log.csv", "a") as file:
            file.write("2,0.1")  # half a line
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(SaveWhole, "on_epoch_end", killed)
        with pytest.raises(KeyboardInterrupt):
            run("parts")
    assert "2,0.1" in (tmp_path / "parts" / "log.csv").read_text()
    run("parts")
    assert read_log(tmp_path / "parts") == read_log(tmp_path / "whole")


@pytest.mark.slow
def test_accumulated_gradients_count_as_one_update(run):
    whole = run("whole", gradient_accumulation_steps=2)
    with pytest.raises(KeyboardInterrupt):
        run("parts", [BeforeStep(3, stop)], gradient_accumulation_steps=2)
    parts = run("parts", gradient_accumulation_steps=2)
    assert int(parts.optimizer.iterations) == int(whole.optimizer.iterations) == 3
    assert_same(whole, parts)


@pytest.mark.slow
def test_averaged_weights_are_the_model_at_the_end_only(run, tmp_path):
    options = {"use_ema": True, "ema_momentum": 0.5}
    averaged = run("averaged", **options)
    raw = keras.saving.load_model(tmp_path / "averaged" / "checkpoint.keras")
    assert_same(run("plain"), raw, optimizer=False)  # averaging changes no update
    pairs = zip(averaged.get_weights(), raw.get_weights(), strict=True)
    assert not all(np.array_equal(*pair) for pair in pairs)
    with pytest.raises(KeyboardInterrupt):
        run("parts", [BeforeStep(3, stop)], **options)
    assert_same(averaged, run("parts", **options))
    # A finished run is not repeated.
    assert_same(averaged, run("averaged", [BeforeStep(0, stop)], **options))


@pytest.mark.parametrize(
    "step, update", [(4, 5), pytest.param(3, 4, marks=pytest.mark.slow)]
)
def test_a_run_stops_before_it_saves_what_is_not_finite(run, tmp_path, step, update):
    checkpoint = tmp_path / "broken" / "checkpoint.keras"
    message = f"after update {update}. .*checkpoint"
    with pytest.raises(FloatingPointError, match=message):
        run("broken", [BeforeStep(step, make_infinite)])
    saved = keras.saving.load_model(checkpoint)
    assert int(saved.optimizer.iterations) == (step // 2) * 2
    assert all(np.isfinite(v.numpy()).all() for v in saved.variables)


def test_weights_that_are_not_finite_are_not_saved(tmp_path):
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.layers[0].kernel.assign([[np.nan]])
    save = SaveWhole(tmp_path / "a.keras")
    save.set_model(model)
    with pytest.raises(FloatingPointError, match="kernel is not finite"):
        save.on_epoch_end(0)
    assert not (tmp_path / "a.keras").exists()
    # Checkpoints come at the end, too.
    with pytest.raises(ValueError, match="`every` must divide `steps`. .*every=4"):
        train_steps(None, None, 6, tmp_path, every=4)


def test_the_log_holds_tokens_per_second_and_hours_left(run, tmp_path, capsys):
    run("timed", sizes=[64] * 6)
    rows = read_log(tmp_path / "timed")
    assert all(float(row["tokens_per_s"]) > 0 for row in rows)
    hours = [float(row["hours_left"]) for row in rows]
    assert hours[0] > hours[-1] == 0
    assert "tokens_per_s" in capsys.readouterr().out
