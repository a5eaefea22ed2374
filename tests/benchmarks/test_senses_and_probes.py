"""The tables of word senses and of probes: their data, scores and rows."""

import json

import numpy as np
import pytest

import zoo

CIRCUMSTANCES = {
    "commit": "0123456789",
    "date": "2026-01-01T00:00Z",
    "versions": {"keras": "3"},
    "hardware": "a processor",
    "cpu_seconds": 60.0,
}


def test_sentences_have_their_word_once_and_all_senses():
    pytest.importorskip("sklearn")
    from benchmarks.tables import senses

    rows = senses.read_sentences()
    assert list(rows) == ["star", "bank", "play"]
    for word, sentences in rows.items():
        counts = {}
        for sense, text in sentences:
            assert text.split().count(word) == 1, text
            counts[sense] = counts.get(sense, 0) + 1
        assert [*counts.values()] == [12, 12]
        assert len({text for _, text in sentences}) == 24


def test_the_most_similar_use_counts():
    pytest.importorskip("sklearn")
    from benchmarks.tables.senses import share

    similar = np.array(
        [[1, 0.9, 0.2, 0], [0.9, 1, 0, 0], [0.2, 0, 1, 0.1], [0, 0, 0.1, 1]]
    )
    assert share(similar, ["a", "a", "b", "b"]) == 0.75
    # Of equally similar uses, each counts.
    assert share(np.ones((4, 4)), ["a", "a", "b", "b"]) == pytest.approx(1 / 3)


def test_rows_of_probes(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    from benchmarks.tables import probes

    monkeypatch.setattr(probes, "FOLDER", tmp_path)
    assert probes.table() is None
    (tmp_path / "results").mkdir()
    found = {"layers": [0.5, 0.625], "mix": 0.7, "center": 0.75, "baseline": 0.4}
    for name, layers in (("", [0.5, 0.625]), ("-random", [0.3, 0.2])):
        path = tmp_path / "results" / f"names-gpt_mini_en_books{name}.json"
        path.write_text(json.dumps({**found, "layers": layers, **CIRCUMSTANCES}))
    expected = "| names | gpt_mini_en_books | 50.0 62.5 | 70.0 (0.8) | 30.0 | 40.0 |"
    assert expected in probes.table()
    probes.draw(tmp_path / "layers.png", "layers", "score", baseline=True)
    assert (tmp_path / "layers.png").stat().st_size > 1000
    cells = probes.cells()
    assert len(cells) == 10 * 4 * 2 + 2 * 4
    assert cells["tags-elmo_mini_en_books-random"] == (
        "tags",
        "elmo_mini_en_books",
        False,
    )
    shipped = {
        name for name in zoo.list_presets() if "weights" in zoo.preset_info(name)
    }
    assert {*probes.PRESETS} == shipped | {"all_minilm_l6_v2_en"}
