"""The workloads of AWD-LSTMs, at tiny sizes: equal work of zoo and fastai."""

import contextlib
import gzip
import importlib
import json

import numpy as np
import pytest

BFLOAT16 = pytest.param(
    "bfloat16", marks=[pytest.mark.half_precision, pytest.mark.slow]
)
STEP = {"ROWS": 4, "LENGTH": 9, "VOCABULARY": 60, "EMBEDDING": 6, "WIDTH": 10}
CLASSIFIER = {"embedding_dim": 6, "lstm_dim": 10, "num_layers": 2}


@pytest.fixture(autouse=True)
def benchmarks(monkeypatch):
    """Makes `benchmarks` importable, which it is from the checkout only."""
    for name in ("awd_lstm_step", "awd_lstm_classify"):
        module = importlib.import_module(f"benchmarks.{name}")
        # TensorFlow has run already, when its threads cannot be set any more.
        monkeypatch.setattr(module, "limit_tensorflow", lambda threads: None)


@pytest.fixture
def step(monkeypatch):
    """The workload of a training step, with a tiny model."""
    from benchmarks import awd_lstm_step

    for name, size in STEP.items():
        monkeypatch.setattr(awd_lstm_step, name, size)
    return awd_lstm_step


@pytest.fixture
def classify(monkeypatch, tmp_path):
    """The workload of texts, with a tiny model and short texts, prepared once."""
    from benchmarks import awd_lstm_classify as workload

    sizes = {"COUNT": 5, "FOR_VOCABULARY": 30, "MEDIAN": 60, "SIZES": CLASSIFIER}
    for name, size in sizes.items():
        monkeypatch.setattr(workload, name, size)

    @contextlib.contextmanager
    def prepared(data):
        if not (tmp_path / "texts.json").exists():
            workload.prepare(data or "", tmp_path)
        yield tmp_path, json.loads((tmp_path / "texts.json").read_text("utf-8"))

    monkeypatch.setattr(workload, "prepared", prepared)
    return workload


@pytest.mark.slow
@pytest.mark.parametrize(
    "dtype",
    ["float32", BFLOAT16],
)
def test_a_step_begins_where_it_is_described(step, dtype):
    call, facts = step.make_zoo(1, dtype)
    # Of 60 tokens, with weights near 0.
    assert facts["result"][0] == pytest.approx(np.log(60), abs=0.1)
    parameters = 61 * 6 + 4 * 10 * (6 + 10 + 1 + 10 + 10 + 1) + 4 * 6 * (10 + 6 + 1)
    assert facts["parameters"] == parameters - 6 + 60
    losses = [float(call()) for _ in range(12)]
    assert facts["shape"] == [] and facts["lengths"] == [9] * 4
    assert losses[-1] < losses[0] - 0.05


@pytest.mark.parametrize(
    "dtype",
    ["float32", BFLOAT16],
)
def test_a_step_of_fastai_is_the_same(step, dtype):
    pytest.importorskip("fastai")
    from benchmarks.same_work import check_same_work

    _, ours = step.make_zoo(1, dtype)
    call, theirs = step.make_fastai(1, dtype)
    if "skipped" in theirs:
        pytest.skip(theirs["skipped"])
    check_same_work({"zoo": ours, "fastai": theirs})
    assert theirs["near"] == {"float32": 1e-4, "bfloat16": 0.02}[dtype]
    losses = [float(call()) for _ in range(12)]
    assert list(call().shape) == theirs["shape"] == ours["shape"]
    assert losses[-1] < losses[0] - 0.05


@pytest.mark.slow
def test_texts_are_classified(classify):
    call, facts = classify.make_zoo(None, 1)
    assert facts["items"] == 5 and min(facts["lengths"]) > 5
    assert list(call().shape) == facts["shape"] == [5, 2]
    np.testing.assert_allclose(call()[:, 1], facts["result"], atol=1e-6)
    assert np.ptp(facts["result"]) > 1e-3  # the texts have an influence


def test_fastai_gives_the_same_probabilities(classify):
    for name in ("fastai", "spacy"):
        pytest.importorskip(name)
    from benchmarks.same_work import check_same_work

    _, ours = classify.make_zoo(None, 1)
    call, batched = classify.make_fastai(None, 1)
    single, singly = classify.make_fastai_predict(None, 1)
    check_same_work({"zoo": ours, "fastai": batched, "fastai_predict": singly})
    assert call().shape == (5, 2) and "texts differ in a batch" in batched["note"]
    np.testing.assert_allclose(single()[:, 1], ours["result"], atol=1e-4)


def test_texts_are_those_of_imdb_if_there_are_any(classify, tmp_path):
    from benchmarks.tables.labelled_sets import choose

    (tmp_path / "imdb").mkdir()
    for part in ("train", "test"):
        with gzip.open(tmp_path / f"imdb/{part}.tsv.gz", "wt", encoding="utf-8") as f:
            f.writelines(f"{i % 2}\t{part} {i}\ttab\n" for i in range(9))
    found = classify.read_texts(tmp_path, "train", 3)
    assert found == [f"train {i}\ttab" for i in range(3)]
    rows = [(f"test {i}\ttab", "") for i in range(9)]
    assert classify.read_texts(tmp_path, "test", 4) == [x for x, _ in choose(rows, 4)]


def test_random_texts_are_the_same_in_every_run(classify):
    texts = classify.read_texts(None, "test", 40)
    assert texts == classify.read_texts(None, "test", 40)
    assert texts[:5] != classify.read_texts(None, "train", 5)
    lengths = [len(text.split()) for text in texts]
    assert 40 < np.median(lengths) < 90 and "<br />" in " ".join(texts)


@pytest.mark.parametrize("name", ["awd_lstm_step", "awd_lstm_classify"])
def test_fastai_is_skipped_before_anything_is_prepared(monkeypatch, name):
    from benchmarks import peers, worker

    workload = importlib.import_module(f"benchmarks.{name}")
    monkeypatch.setattr(peers.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(workload, "prepared", None, raising=False)
    options = {"threads": 1} | (
        {"dtype": "float32"} if name == "awd_lstm_step" else {"data": None}
    )
    _, facts = worker.build(workload, "fastai", options)
    assert facts == {"skipped": "fastai is not installed"}
