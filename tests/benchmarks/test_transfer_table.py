"""The table of transfer: which cells there are, what they train, and what is shown."""

import dataclasses
import json

import numpy as np
import pytest
import tiny

import zoo
from zoo.text import train_fastai_vocabulary
from zoo.training import SlantedTriangle

SLOW = ("scratch", "chain_thaw")
TEXTS, LABELS = tiny.make_texts(40)


def test_every_recipe_has_cells(transfer):
    cells = transfer.cells()
    count = {name: sum(cell.data == name for cell in cells) for name in transfer.SETS}
    assert count == {
        "trec6": 3 * (8 + 2 + 2), "imdb_1000": 3 * (8 + 2), "imdb_100": 3 * (3 + 2),
        "imdb_25000": 2 + 2,
    }  # fmt: skip
    names = [cell.name(transfer.PRESETS) for cell in cells]
    assert len({*names}) == len(names)
    both = "ulmfit_mini_en_books+ulmfit_mini_en_books_backward"
    assert f"imdb_100-{both}-gradual-2" in names
    for corpus in transfer.SETS.values():
        for other, recipe in corpus.rates_of.values():
            assert transfer.SETS[other].rates_of.get(recipe) in (None, (other, recipe))


def test_recipes_add_one_part_each(transfer):
    steps = [
        transfer.RECIPES[n] for n in ("full", "discriminative", "triangle", "gradual")
    ]
    parts = [(r.layer_decay < 1, r.triangle, r.order is not None) for r in steps]
    assert parts == [
        (False,) * 3,
        (True, False, False),
        (True, True, False),
        (True,) * 3,
    ]
    last = transfer.RECIPES["unadapted"]
    same = dataclasses.replace(last, start="adapted", title="", errors={})
    assert same == dataclasses.replace(steps[-1], title="", errors={})


def make_cell(*fields):
    from benchmarks.tables.transfer_sets import Cell

    return Cell(*fields)


def train(monkeypatch, transfer, presets, tmp_path, recipe, model="forward"):
    """Trains a cell; returns the model, the arguments of `fit`, and the weights."""
    from benchmarks.tables import transfer_training

    fits = []
    monkeypatch.setattr(
        zoo.TextClassifier, "fit", lambda self, x, y, **kw: fits.append((x, y, kw))
    )
    monkeypatch.setattr(transfer_training, "free_memory", lambda: None)
    computation = transfer.Computation(tmp_path, tmp_path / "work", presets, "float32")
    cell = make_cell("trec6", model, recipe, 1)
    rows = computation.parts("trec6")["train"]
    trained = computation.train(cell, rows, 0.25)
    ((x, y, options),) = fits
    assert [*zip(x, y, strict=True)] == rows
    return trained, options, computation


@pytest.mark.slow
def test_the_whole_recipe_is_ulmfits(transfer, presets, monkeypatch, tmp_path):
    model, options, computation = train(
        monkeypatch, transfer, presets, tmp_path, "gradual"
    )
    optimizer, (callback,) = model.optimizer, options["callbacks"]
    assert isinstance(optimizer._learning_rate, SlantedTriangle)
    assert optimizer._learning_rate.peak == pytest.approx(0.25 * 4e-3)
    assert optimizer.rate_scale("rnn_0/kernel") == pytest.approx(2.6**-2)
    assert (optimizer.beta_1, optimizer.global_clipnorm) == (0.7, 25.0)
    assert callback.order == "gradual" and callback.epochs_per_group == 1
    assert (options["epochs"], options["batch_size"], options["seed"]) == (2, 32, 1)
    assert model.options["head"] == "concat_pooling" and model.sequence_length == 400
    # The language model has the vocabulary of the task, and was trained on its text.
    start = zoo.from_preset(presets["forward"], "causal_lm")
    pretrained = zoo.from_preset(tmp_path / "work/trec6-lm_forward-vocabulary")
    tokens = pretrained.tokenizer.vocabulary
    assert {*tokens} <= {*train_fastai_vocabulary(computation.texts("trec6"), 99, 2)}
    assert model.tokenizer.vocabulary == tokens
    table = start.backbone.get_layer("token_embedding").get_weights()[0]
    moved = pretrained.backbone.get_layer("token_embedding").get_weights()[0]
    token = next(t for t in tokens[9:] if t in start.tokenizer.vocabulary)
    old, new = (m.tokenizer.vocabulary.index(token) for m in (start, pretrained))
    np.testing.assert_array_equal(table[old], moved[new])
    adapted = model.backbone.get_layer("token_embedding").get_weights()[0]
    assert np.abs(adapted[new] - moved[new]).max() > 1e-5
    losses = json.loads(
        (transfer.FOLDER / "results/trec6-lm_forward-adapted.json").read_text()
    )["losses"]
    assert len(losses) == 10 and losses[-1] < losses[0]


@pytest.mark.slow
def test_a_language_model_continues_after_an_interruption(
    transfer, presets, monkeypatch, tmp_path
):
    from benchmarks.tables import transfer_training
    from zoo.training.resume import SaveWhole

    monkeypatch.setattr(transfer_training, "free_memory", lambda: None)
    write, fit, starts = SaveWhole.on_epoch_end, zoo.CausalLM.fit, []

    def noted(self, *args, **options):
        starts.append(options["initial_epoch"])
        return fit(self, *args, **options)

    def stopped(self, epoch, logs=None):
        write(self, epoch, logs)
        if epoch == 2:
            raise KeyboardInterrupt

    def adapt(name):
        where = tmp_path / name
        found = transfer_training.adapt(
            presets["forward"], TEXTS, where, epochs=1, rows=4, dtype="float32"
        )
        (table,) = zoo.from_preset(where).get_layer("token_embedding").get_weights()
        return found["losses"], table

    monkeypatch.setattr(zoo.CausalLM, "fit", noted)
    expected = adapt("whole")
    monkeypatch.setattr(SaveWhole, "on_epoch_end", stopped)
    with pytest.raises(KeyboardInterrupt):
        adapt("stopped")
    monkeypatch.setattr(SaveWhole, "on_epoch_end", write)
    found = adapt("stopped")
    assert starts == [0, 0, 3] and len(found[0]) == 10
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)
    assert not [*tmp_path.glob("*-training")]


@pytest.mark.slow
def test_the_stored_losses_are_those_of_the_language_model_in_use(
    transfer, presets, monkeypatch, tmp_path
):
    losses = iter((2.0, 1.0))

    def adapt(preset, texts, directory, **options):
        directory.mkdir()
        return {"losses": [next(losses)]}

    def transfer_vocabulary(preset, texts, directory):
        directory.mkdir(parents=True)

    monkeypatch.setattr(transfer, "adapt", adapt)
    monkeypatch.setattr(transfer, "transfer_vocabulary", transfer_vocabulary)
    computation = transfer.Computation(tmp_path, tmp_path / "work", presets)
    found = []
    for deleted in (False, False, True):
        if deleted:
            (tmp_path / "work/trec6-lm_forward-adapted").rmdir()
        directory = computation.start(make_cell("trec6", "forward", "full", 0))
        path = transfer.FOLDER / f"results/{directory.name}.json"
        found += json.loads(path.read_text())["losses"]
    assert directory.is_dir() and found == [2.0, 2.0, 1.0]


@pytest.mark.slow
@pytest.mark.parametrize(
    "recipe", [*(pytest.param(n, marks=pytest.mark.slow) for n in SLOW), "unadapted"]
)
def test_other_recipes(transfer, presets, monkeypatch, tmp_path, recipe):
    model, options, _ = train(monkeypatch, transfer, presets, tmp_path, recipe)
    pretrained = zoo.from_preset(tmp_path / "work/trec6-lm_forward-vocabulary")
    same = [
        np.array_equal(*(m.backbone.get_layer("rnn_0").get_weights()[0] for m in pair))
        for pair in [(model, pretrained)]
    ]
    assert same == [recipe == "unadapted"]
    exists = (tmp_path / "work/trec6-lm_forward-adapted").exists()
    assert exists == (recipe == "chain_thaw")
    triangle = isinstance(model.optimizer._learning_rate, SlantedTriangle)
    assert triangle == (recipe == "unadapted")
    scale = model.optimizer.rate_scale("rnn_0/kernel")
    assert (scale < 1) == (recipe == "unadapted")
    orders = [callback.order for callback in options["callbacks"]]
    assert orders == {"scratch": [], "unadapted": ["gradual"]}.get(recipe, [recipe])


@pytest.mark.slow
def test_a_bert_has_its_own_head(transfer, presets, monkeypatch, tmp_path):
    model, options, _ = train(
        monkeypatch, transfer, presets, tmp_path, "gradual", "bert"
    )
    assert model.backbone.family == "bert" and model.options["head"] == "linear"
    assert model.optimizer.rate_scale("token_embedding/x") == pytest.approx(2.6**-3)
    assert len(options["callbacks"]) == 1 and not (tmp_path / "work").exists()
