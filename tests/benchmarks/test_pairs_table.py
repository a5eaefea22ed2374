"""The table of pairs: its baseline of before, and its cells."""

import dataclasses

import numpy as np
import pytest
import tiny
from tiny_inputs import make_bert

from benchmarks.tables import pairs


def test_the_baseline_of_before_learns_labels_numbers_and_choices():
    words = tiny.GOOD + tiny.BAD
    rows = [((a, b), str(a == b)) for a in words for b in words]
    rows += 9 * [row for row in rows if row[1] == "True"]
    x = [pair for pair, _ in rows]
    assert pairs.plain_tfidf(rows, x) == [label for _, label in rows]
    numbers = [(pair, float(label == "True")) for pair, label in rows]
    found = pairs.plain_tfidf(numbers, x)
    assert np.corrcoef(found, [y for _, y in numbers])[0, 1] > 0.9
    choices = [((word, "no", word), 1) for word in words] * 5
    assert pairs.plain_tfidf(choices, [choices[0][0]]) == [1]


@pytest.mark.usefixtures("eagerly")
def test_a_cell_has_a_score(make_run, monkeypatch, tmp_path):
    make_bert().save_to_preset(tmp_path / "bert_tiny")
    x, y = tiny.make_texts(16)
    rows = [((text, text), label) for text, label in zip(x, y, strict=True)]
    task = dataclasses.replace(
        pairs.SETS["mrpc"],
        read=lambda data, part: rows,
        train=None,
        options={"labels": tiny.LABELS, "pair": True},
    )
    monkeypatch.setitem(pairs.SETS, "mrpc", task)
    run = make_run(pairs, given=[f"preset={tmp_path / 'bert_tiny'}"])
    names = [name for name in pairs.cells(run) if name.startswith("mrpc")]
    assert names[:3] == ["mrpc-majority", "mrpc-plain", "mrpc-TF-IDF"]
    assert "mrpc-separate-2" in names and len(names) == 9
    for name in (*names[:3], "mrpc-separate-0"):
        found = run.result(name, pairs.cells(run)[name])
        assert found["train"] == found["test"] == 16 and 0 <= found["score"] <= 1
    assert "| MRPC | 16 | accuracy | " in run.render()["results"]
    assert len([name for name in pairs.cells(run) if name.startswith("codah")]) == 6
