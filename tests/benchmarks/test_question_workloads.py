"""The workloads of questions and of vectors, at tiny sizes."""

import importlib

import numpy as np
import pytest
import tiny

from zoo.data import Answer, Question, write_squad

SIZES = (2, 16, 2, 32)


@pytest.fixture(autouse=True)
def benchmarks():
    """Makes `benchmarks` importable, which it is from the checkout only."""


@pytest.fixture
def workload(monkeypatch):
    """Function of a name: the module, whose model is tiny."""

    def find(name):
        module = importlib.import_module(f"benchmarks.{name}")
        monkeypatch.setattr(module, "limit_tensorflow", lambda threads: None)
        monkeypatch.setattr(module, "SIZES", SIZES)
        return module

    return find


@pytest.fixture
def files(tmp_path):
    """The data and the vocabulary of both workloads."""
    texts, _ = tiny.make_texts(9, seed=2, longest=20)
    rows = [
        Question(str(i), "how is it", text, (Answer(text.split()[0], 0),))
        for i, text in enumerate(texts)
    ]
    (tmp_path / "squad1.1").mkdir()
    write_squad(tmp_path / "squad1.1/dev.json", rows)
    (tmp_path / "glue/SST-2").mkdir(parents=True)
    lines = "".join(f"{text}\t1\n" for text in texts)
    (tmp_path / "glue/SST-2/train.tsv").write_text(f"sentence\tlabel\n{lines}")
    (tmp_path / "vocab.txt").write_text("\n".join(tiny.VOCABULARY))
    return tmp_path, tmp_path / "vocab.txt", 2


def test_the_best_span_is_that_of_all_spans(workload):
    module = workload("question_answers")
    draw = np.random.default_rng(0)
    for _ in range(20):
        begins, ends = draw.normal(size=(2, 19))
        inside = np.arange(19) >= 7
        spans = [
            (begins[i] + ends[j], i, j)
            for i in range(7, 19)
            for j in range(i, min(19, i + module.LONGEST))
        ]
        assert module.best_span(begins, ends, inside) == max(spans)[1:]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["question_answers", "sentence_embedding"])
def test_both_peers_have_the_same_result(workload, files, name):
    for package in ("torch", "transformers", "sentence_transformers"):
        pytest.importorskip(package)
    module = workload(name)
    found = [make(*files) for make in module.PEERS.values()]
    (call, ours), (their_call, theirs) = found
    assert ours["items"] == 9 and ours["lengths"] == theirs["lengths"]
    assert ours["parameters"] == theirs["parameters"]
    np.testing.assert_allclose(ours["result"], theirs["result"], atol=1e-5)
    np.testing.assert_allclose(call(), their_call(), atol=1e-5)
