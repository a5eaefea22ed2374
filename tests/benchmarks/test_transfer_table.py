"""The table of transfer: which cells there are, what they train, and what is shown."""

import dataclasses
import json
import pathlib

import click.testing
import keras
import numpy as np
import pytest
import tiny
from test_labelled_sets import write_sets

import zoo
from zoo.models.ulmfit import ULMFiT, ULMFiTConfig
from zoo.text import FastaiTokenizer, train_fastai_vocabulary
from zoo.training import SlantedTriangle

ROOT = pathlib.Path(__file__).parents[2]
SLOW = ("scratch", "chain_thaw")
TEXTS, LABELS = tiny.make_texts(40)


@pytest.fixture
def transfer(monkeypatch, tmp_path):
    """The module under test, with small sets and folders of its own."""
    monkeypatch.syspath_prepend(ROOT)
    from benchmarks.tables import transfer

    folder = tmp_path / "transfer"
    folder.mkdir()
    (folder / "README.md").write_text("<!-- results -->\n<!-- end of results -->\n")
    monkeypatch.setattr(transfer, "FOLDER", folder)
    for name, corpus in transfer.SETS.items():
        labelled = dataclasses.replace(corpus.labelled, train=None, test=None)
        small = {"labelled": labelled, "language_model": {"epochs": 1, "rows": 4}}
        small |= {"fit": {"epochs": 2, "batch_size": 32}, "epochs_per_group": 1}
        monkeypatch.setitem(transfer.SETS, name, dataclasses.replace(corpus, **small))
    write_sets(tmp_path)
    return transfer


@pytest.fixture(scope="module")
def presets(tmp_path_factory):
    """A tiny ULMFiT of each direction and a tiny BERT, as directories."""
    from zoo.registry import build_backbone
    from zoo.text import WordPieceTokenizer

    folder = tmp_path_factory.mktemp("presets")
    tokens = train_fastai_vocabulary(TEXTS, minimum_count=1)[:-3]
    found = {}
    for seed, direction in enumerate(("forward", "backward")):
        keras.utils.set_random_seed(seed)
        fields = {"vocabulary_size": len(tokens), "pad_id": 1, "reverse": bool(seed)}
        backbone = ULMFiT(ULMFiTConfig(**{**tiny.ULMFIT_CONFIG, **fields}))
        model = zoo.CausalLM(backbone, FastaiTokenizer(tokens))
        found[direction] = str(folder / f"lm_{direction}")
        model.save_to_preset(found[direction])
    backbone = build_backbone("bert", tiny.CONFIG)
    backbone.tokenizer = WordPieceTokenizer(tiny.VOCABULARY)
    found["bert"] = str(folder / "bert_tiny")
    backbone.save_to_preset(found["bert"])
    return found


def test_every_row_of_the_issue_has_cells(transfer):
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


def test_a_bert_has_its_own_head(transfer, presets, monkeypatch, tmp_path):
    model, options, _ = train(
        monkeypatch, transfer, presets, tmp_path, "gradual", "bert"
    )
    assert model.backbone.family == "bert" and model.options["head"] == "linear"
    assert model.optimizer.rate_scale("token_embedding/x") == pytest.approx(2.6**-3)
    assert len(options["callbacks"]) == 1 and not (tmp_path / "work").exists()


def command(transfer, presets, tmp_path, *more):
    """Runs the command; returns what it prints."""
    arguments = ["--data", tmp_path, "--work", tmp_path / "work", "--dtype", "float32"]
    for name, path in presets.items():
        arguments += [f"--{name}", path]
    run = click.testing.CliRunner().invoke
    found = run(
        transfer.main, [str(x) for x in [*arguments, *more]], catch_exceptions=False
    )
    assert found.exit_code == 0
    return found.output


def test_cells_are_computed_once(transfer, presets, monkeypatch, tmp_path):
    trained = []

    def fake(self, cell, rows, factor):
        trained.append((cell, len(rows), factor))
        return FakeModel(factor)

    class FakeModel:
        labels = ("0", "1")

        def __init__(self, factor):
            self.factor = factor

        def predict(self, texts, **options):
            return np.eye(2)[[int(self.factor == 4.0)] * len(texts)]

        def save_to_preset(self, directory):
            directory.mkdir(parents=True)

    monkeypatch.setattr(transfer.Computation, "train", fake)
    monkeypatch.setattr(transfer.Computation, "start", lambda self, cell: None)
    names = "trec6-lm_forward-full-*"
    listed = command(transfer, presets, tmp_path, "--list", "--cells", names)
    assert listed.splitlines() == [f"missing {names[:-1]}{s}" for s in range(3)]
    command(transfer, presets, tmp_path, "--cells", names)
    assert [(n, f) for _, n, f in trained[:2]] == [(36, 1.0), (36, 4.0)]
    best = {found: 0 for found in (1.0, 4.0)}
    for factor in best:
        path = transfer.FOLDER / f"results/{names[:-1]}0-rate_{factor:g}.json"
        best[factor] = json.loads(path.read_text())["score"]
    factor = max(best, key=best.get)
    assert [(c.seed, n, f) for c, n, f in trained[2:]] == [
        (seed, 40, factor) for seed in range(3)
    ]
    assert "missing" not in command(
        transfer, presets, tmp_path, "--list", "--cells", names
    )
    text = (transfer.FOLDER / "README.md").read_text()
    assert "TREC-6:" in text and "| full fine-tuning | forward | " in text
    assert " | 3 | 93.1 |" in text and "| TF-IDF |" in text
    del trained[:]
    (transfer.FOLDER / f"results/{names[:-1]}1.json").unlink()
    command(transfer, presets, tmp_path, "--cells", names)
    assert [cell.seed for cell, _, _ in trained] == [1]


@pytest.mark.parametrize(
    "cell, searched",
    [
        (("trec6", "forward", "triangle", 2), ("trec6-lm_forward-triangle", 4.0)),
        (("trec6", "both", "gradual", 2), ("trec6-lm_forward-gradual", 4.0)),
        (("trec6", "bert", "full", 2), ("trec6-bert_tiny-full", 4.0)),
        (
            ("imdb_1000", "forward", "triangle", 2),
            ("imdb_1000-lm_forward-gradual", 1.0),
        ),
        (
            ("imdb_1000", "forward", "last_layer", 2),
            ("imdb_1000-lm_forward-full", 4.0),
        ),
        (
            ("imdb_100", "forward", "scratch", 2),
            ("imdb_1000-lm_forward-scratch", 0.0625),
        ),
        (
            ("imdb_25000", "backward", "gradual", 0),
            ("imdb_1000-lm_forward-gradual", 4.0),
        ),
    ],
)
def test_which_rates_are_tried(transfer, presets, tmp_path, cell, searched):
    computation = transfer.Computation(tmp_path, tmp_path / "work", presets)
    computation.start = lambda cell: None
    stem, best = searched
    tried = []

    def search(cell, factor):
        tried.append(f"{cell.name(presets)}-{factor:g}")
        return {"score": float(factor == best)}

    computation.search = search
    assert computation.factor(make_cell(*cell)) == best
    factors = (0.0625, 0.25, 1) if cell[2] == "scratch" else (1, 4)
    assert tried == [f"{stem}-0-{factor:g}" for factor in factors]


@pytest.mark.slow
def test_an_ensemble_is_trained_and_shown(transfer, presets, tmp_path):
    command(transfer, presets, tmp_path, "--cells", "imdb_25000-*-gradual-0")
    text = (transfer.FOLDER / "README.md").read_text()
    for model in ("forward", "backward", "both"):
        assert f"ULMFiT | {model} | " in text
    assert " to " in text.split("| both | ")[1].split("|")[0]  # a bootstrap interval
    stem = "lm_forward+lm_backward"
    path = transfer.FOLDER / f"results/imdb_25000-{stem}-gradual-0.json"
    found = json.loads(path.read_text())
    assert (
        len(found["right"]) == 40 and found["score"] == found["right"].count("1") / 40
    )
    members = [
        zoo.from_preset(path)
        for path in sorted((tmp_path / "work").glob("classifier-*"))
    ]
    assert [m.backbone.reverse for m in members] == [True, False]
    x, y = zip(
        *transfer.SETS["imdb_25000"].labelled.load(tmp_path)["test"], strict=True
    )
    shares = zoo.TextEnsemble(members).predict(list(x)).argmax(-1)
    assert np.mean([str(n) == label for n, label in zip(shares, y, strict=True)]) == (
        pytest.approx(found["score"])
    )


def test_the_accuracy_has_an_interval(transfer):
    results = [{"score": s, "right": "01"} for s in (1.0, 0.5, 0.5)]
    assert transfer.accuracy(results) == "66.7 ± 71.7"
    assert transfer.accuracy([{"right": "1" * 9, "score": 1}]) == (
        "100.0 (100.0 to 100.0)"
    )


def test_readme_shows_the_results(monkeypatch):
    monkeypatch.syspath_prepend(ROOT)
    from benchmarks.table import insert
    from benchmarks.tables import transfer

    if not (transfer.FOLDER / "results").is_dir():
        pytest.skip("Nothing was computed yet.")
    text = (transfer.FOLDER / "README.md").read_text("utf-8")
    assert insert(text, transfer.tables()) == text
