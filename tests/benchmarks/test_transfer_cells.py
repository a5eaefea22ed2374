"""The table of ULMFiT's recipe: which cells are computed, and what is shown."""

import json

import click.testing
import numpy as np
import pytest
import tiny

import zoo

TEXTS, LABELS = tiny.make_texts(40)


def make_cell(*fields):
    from benchmarks.tables.transfer_sets import Cell

    return Cell(*fields)


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


@pytest.mark.slow
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
    with pytest.raises(ValueError, match="{'dtype': 'float32'} in .*full-0.json"):
        command(transfer, presets, tmp_path, "--cells", names, "--dtype", "bfloat16")


@pytest.mark.slow
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
    assert " to " in text.split("| both | ")[1].split("|")[0]  # an interval
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
        "100.0 (70.1 to 100.0)"
    )


def test_readme_shows_the_results():
    from benchmarks.table import insert
    from benchmarks.tables import transfer

    if not (transfer.FOLDER / "results").is_dir():
        pytest.skip("Nothing was computed yet.")
    text = (transfer.FOLDER / "README.md").read_text("utf-8")
    assert insert(text, transfer.tables()) == text
