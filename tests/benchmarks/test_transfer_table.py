"""The table of transfer: which cells there are, and what they train."""

import dataclasses

import numpy as np
import pytest
import tiny
from tiny_inputs import write_sets

import zoo
from benchmarks.tables import transfer, transfer_training
from zoo.text import train_fastai_vocabulary
from zoo.training import SlantedTriangle
from zoo.training.resume import SaveWhole

TEXTS, LABELS = tiny.make_texts(40)


@pytest.fixture(autouse=True)
def sizes(monkeypatch, tmp_path):
    """Small sets."""
    for name, corpus in transfer.SETS.items():
        labelled = dataclasses.replace(corpus.labelled, train=None, test=None)
        small = {"labelled": labelled, "language_model": {"epochs": 1, "rows": 4}}
        small |= {"fit": {"epochs": 2, "batch_size": 32}, "epochs_per_group": 1}
        monkeypatch.setitem(transfer.SETS, name, dataclasses.replace(corpus, **small))
    write_sets(tmp_path)


@pytest.fixture
def run(presets, make_run):
    """A run with tiny presets."""
    return make_run(transfer, given=presets, dtype="float32")


def test_every_recipe_has_cells():
    names = transfer.cells(transfer.TABLE.run())
    cells = names.values()
    count = {name: sum(cell.data == name for cell in cells) for name in transfer.SETS}
    assert count == {
        "trec6": 3 * (8 + 2 + 2), "imdb_1000": 3 * (8 + 2), "imdb_100": 3 * (3 + 2),
        "imdb_25000": 2 + 2,
    }  # fmt: skip
    assert len(names) == sum(count.values())
    both = "ulmfit_mini_en_books+ulmfit_mini_en_books_backward"
    assert f"imdb_100-{both}-gradual-2" in names
    for corpus in transfer.SETS.values():
        for other, recipe in corpus.rates_of.values():
            assert transfer.SETS[other].rates_of.get(recipe) in (None, (other, recipe))


def test_recipes_add_one_part_each():
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


def train(monkeypatch, run, recipe, model="forward"):
    """Trains a cell; returns the model and the arguments of `fit`."""
    fits = []
    monkeypatch.setattr(
        zoo.TextClassifier, "fit", lambda self, x, y, **kw: fits.append((x, y, kw))
    )
    monkeypatch.setattr(transfer_training, "free_memory", lambda: None)
    cell = transfer.Cell("trec6", model, recipe, 1)
    rows = transfer.read_parts(run, "trec6")["train"]
    trained = transfer.train_cell(run, cell, rows, 0.25)
    ((x, y, options),) = fits
    assert [*zip(x, y, strict=True)] == rows
    return trained, options


@pytest.mark.slow
def test_the_whole_recipe_is_ulmfits(run, monkeypatch):
    model, options = train(monkeypatch, run, "gradual")
    optimizer, (callback,) = model.optimizer, options["callbacks"]
    assert isinstance(optimizer._learning_rate, SlantedTriangle)
    assert optimizer._learning_rate.peak == pytest.approx(0.25 * 4e-3)
    assert optimizer.rate_scale("rnn_0/kernel") == pytest.approx(2.6**-2)
    assert (optimizer.beta_1, optimizer.global_clipnorm) == (0.7, 25.0)
    assert callback.order == "gradual" and callback.epochs_per_group == 1
    assert (options["epochs"], options["batch_size"], options["seed"]) == (2, 32, 1)
    assert model.options["head"] == "concat_pooling" and model.sequence_length == 400
    # The language model has the vocabulary of the task, and was trained on its text.
    start = zoo.from_preset(run.presets["forward"], "causal_lm")
    pretrained = zoo.from_preset(run.models / "trec6-lm_forward-vocabulary")
    tokens = pretrained.tokenizer.vocabulary
    assert {*tokens} <= {
        *train_fastai_vocabulary(transfer.read_texts(run, "trec6"), 99, 2)
    }
    assert model.tokenizer.vocabulary == tokens
    table = start.backbone.get_layer("token_embedding").get_weights()[0]
    moved = pretrained.backbone.get_layer("token_embedding").get_weights()[0]
    token = next(t for t in tokens[9:] if t in start.tokenizer.vocabulary)
    old, new = (m.tokenizer.vocabulary.index(token) for m in (start, pretrained))
    np.testing.assert_array_equal(table[old], moved[new])
    adapted = model.backbone.get_layer("token_embedding").get_weights()[0]
    assert np.abs(adapted[new] - moved[new]).max() > 1e-5
    losses = run.stored("trec6-lm_forward-adapted")["losses"]
    assert len(losses) == 10 and losses[-1] < losses[0]


@pytest.mark.slow
def test_a_language_model_continues_after_an_interruption(run, monkeypatch, tmp_path):
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
            run.presets["forward"], TEXTS, where, epochs=1, rows=4, dtype="float32"
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
def test_the_stored_losses_are_those_of_the_language_model_in_use(run, monkeypatch):
    losses = iter((2.0, 1.0))

    def adapt(preset, texts, directory, **options):
        directory.mkdir()
        return {"losses": [next(losses)]}

    def transfer_vocabulary(preset, texts, directory):
        directory.mkdir(parents=True)

    monkeypatch.setattr(transfer, "adapt", adapt)
    monkeypatch.setattr(transfer, "transfer_vocabulary", transfer_vocabulary)
    found = []
    for deleted in (False, False, True):
        if deleted:
            (run.models / "trec6-lm_forward-adapted").rmdir()
        cell = transfer.Cell("trec6", "forward", "full", 0)
        directory = transfer.start(run, cell)
        found += run.stored(directory.name)["losses"]
    assert directory.is_dir() and found == [2.0, 2.0, 1.0]


@pytest.mark.slow
@pytest.mark.parametrize("recipe", ["scratch", "chain_thaw", "unadapted"])
def test_other_recipes(run, monkeypatch, recipe):
    model, options = train(monkeypatch, run, recipe)
    pretrained = zoo.from_preset(run.models / "trec6-lm_forward-vocabulary")
    layers = (m.backbone.get_layer("rnn_0") for m in (model, pretrained))
    kernels = [layer.get_weights()[0] for layer in layers]
    assert np.array_equal(*kernels) == (recipe == "unadapted")
    exists = (run.models / "trec6-lm_forward-adapted").exists()
    assert exists == (recipe == "chain_thaw")
    triangle = isinstance(model.optimizer._learning_rate, SlantedTriangle)
    assert triangle == (recipe == "unadapted")
    scale = model.optimizer.rate_scale("rnn_0/kernel")
    assert (scale < 1) == (recipe == "unadapted")
    orders = [callback.order for callback in options["callbacks"]]
    assert orders == {"scratch": [], "unadapted": ["gradual"]}.get(recipe, [recipe])


@pytest.mark.slow
def test_a_bert_has_its_own_head(run, monkeypatch):
    model, options = train(monkeypatch, run, "gradual", "bert")
    assert model.backbone.family == "bert" and model.options["head"] == "linear"
    assert model.optimizer.rate_scale("token_embedding/x") == pytest.approx(2.6**-3)
    assert len(options["callbacks"]) == 1 and not run.work.exists()


# A cell, the cell whose rates are tried, and the rate that is the best of them.
SEARCHES = [
    ("trec6-forward-triangle-2", "trec6-lm_forward-triangle", 4.0),
    ("trec6-both-gradual-2", "trec6-lm_forward-gradual", 4.0),
    ("trec6-bert-full-2", "trec6-bert_tiny-full", 4.0),
    ("imdb_1000-forward-triangle-2", "imdb_1000-lm_forward-gradual", 1.0),
    ("imdb_1000-forward-last_layer-2", "imdb_1000-lm_forward-full", 4.0),
    ("imdb_100-forward-scratch-2", "imdb_1000-lm_forward-scratch", 0.0625),
    ("imdb_25000-backward-gradual-0", "imdb_1000-lm_forward-gradual", 4.0),
]


@pytest.mark.slow
@pytest.mark.parametrize(("cell", "stem", "best"), SEARCHES)
def test_which_rates_are_tried(run, monkeypatch, cell, stem, best):
    tried = []

    def search(run, cell, factor):
        tried.append(f"{cell.name(run.presets)}-{factor:g}")
        return {"score": float(factor == best)}

    monkeypatch.setattr(transfer, "start", lambda run, cell: None)
    monkeypatch.setattr(transfer, "search", search)
    assert transfer.best_factor(run, transfer.Cell(*cell.split("-"))) == best
    factors = (0.0625, 0.25, 1) if "scratch" in cell else (1, 4)
    assert tried == [f"{stem}-0-{factor:g}" for factor in factors]


@pytest.mark.slow
def test_a_cell_has_the_best_rate(presets, command, monkeypatch, make_run):
    trained = []

    class FakeModel:
        labels = ("0", "1")

        def __init__(self, factor):
            self.factor = factor

        def predict(self, texts, **options):
            return np.eye(2)[[int(self.factor == 4.0)] * len(texts)]

    def train_cell(run, cell, rows, factor):
        trained.append((cell.seed, len(rows), factor))
        return FakeModel(factor)

    monkeypatch.setattr(transfer, "train_cell", train_cell)
    monkeypatch.setattr(transfer, "start", lambda run, cell: None)
    given = ["transfer", *(f"--preset={preset}" for preset in presets)]
    command(*given, "--cells=trec6-lm_forward-full-*")
    assert trained[:2] == [(0, 36, 1.0), (0, 36, 4.0)]
    run, stem = make_run(transfer), "trec6-lm_forward-full-0-rate_"
    scores = {f: run.stored(f"{stem}{f:g}")["score"] for f in (1.0, 4.0)}
    factor = max(scores, key=scores.get)
    assert trained[2:] == [(seed, 40, factor) for seed in range(3)]
    text = (run.folder / "README.md").read_text()
    assert "TREC-6:" in text and "| full fine-tuning | forward | " in text
    assert " | 3 | 93.1 |" in text and "| TF-IDF |" in text


@pytest.mark.slow
def test_an_ensemble_is_trained_and_shown(presets, command, run):
    given = ["--dtype=float32", *(f"--preset={preset}" for preset in presets)]
    command("transfer", *given, "--cells=imdb_25000-*-gradual-0")
    text = (run.folder / "README.md").read_text()
    for model in ("forward", "backward", "both"):
        assert f"ULMFiT | {model} | " in text
    assert " to " in text.split("| both | ")[1].split("|")[0]  # an interval
    found = run.stored("imdb_25000-lm_forward+lm_backward-gradual-0")
    right = found["right"]
    assert len(right) == 40 and found["score"] == right.count("1") / 40
    paths = sorted(run.models.glob("classifier-*"))
    members = [zoo.from_preset(path) for path in paths]
    assert [m.backbone.reverse for m in members] == [True, False]
    x, y = zip(*transfer.read_parts(run, "imdb_25000")["test"], strict=True)
    shares = zoo.TextEnsemble(members).predict(list(x)).argmax(-1)
    assert np.mean([str(n) == label for n, label in zip(shares, y, strict=True)]) == (
        pytest.approx(found["score"])
    )
