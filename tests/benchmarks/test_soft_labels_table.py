"""The table of soft labels: what each arm is trained on."""

import dataclasses

import numpy as np
import pytest
from tiny_inputs import write_sets

from benchmarks.tables import soft_labels


class Stub:
    """A model that always says "1"."""

    labels, task_name = ("0", "1"), "text_classifier"

    def predict(self, x, verbose):
        return np.tile([[0.0, 1.0]], (len(x), 1))


def test_every_arm_has_its_texts_and_labels(make_run, monkeypatch, tmp_path):
    write_sets(tmp_path)
    small, fits = dataclasses.replace(soft_labels.LABELLED, train=10), []

    def fit(run, role, x, y, seed):
        fits.append((role, x, y, seed))
        return Stub()

    monkeypatch.setattr(soft_labels, "LABELLED", small)
    monkeypatch.setattr(soft_labels, "UNLABELLED", 12)
    monkeypatch.setattr(soft_labels, "fit", fit)
    shares = {"soft_labels": lambda model, x: np.full((len(x), 2), 0.5, "float32")}
    monkeypatch.setattr(soft_labels, "zoo", type("zoo", (), shares))
    run = make_run(soft_labels)
    cells = soft_labels.TABLE.cells(run)
    assert len(cells) == 13 and cells["distilled-2"] == ("distilled", 2)
    share = np.mean([y == "1" for _, y in small.load(tmp_path)["test"]])
    for arm in ("student", "teacher", "distilled"):
        found = run.result(f"{arm}-1", (arm, 1))
        assert found["score"] == pytest.approx(share) and found["train"] == 10
        assert found["soft"] == 12 * (arm == "distilled")
    assert [(role, len(x), seed) for role, x, _, seed in fits] == [
        ("student", 10, 1),
        ("teacher", 10, 1),  # once for both arms
        ("student", 22, 1),
    ]
    (_, x, y, _), (_, both, soft, _) = fits[1:]
    assert both[:10] == x and not {*x} & {*both[10:]}
    assert soft[:10].argmax(-1).tolist() == [*map(int, y)]
    assert (soft[10:] == 0.5).all()
    linear = run.result("linear", ("linear", None))
    assert linear["options"] == {} and 0 <= linear["score"] <= 1
    table = run.render()["results"]
    assert "| student, 10 labels and the teacher's 12 soft labels |" in table
