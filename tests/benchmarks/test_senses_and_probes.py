"""The tables of word senses and of probes: their data, scores and pictures."""

import numpy as np
import pytest

import zoo
from benchmarks.tables import probes, senses


def test_sentences_have_their_word_once_and_all_senses():
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
    similar = np.array(
        [[1, 0.9, 0.2, 0], [0.9, 1, 0, 0], [0.2, 0, 1, 0.1], [0, 0, 0.1, 1]]
    )
    assert senses.share(similar, ["a", "a", "b", "b"]) == 0.75
    # Of equally similar uses, each counts.
    assert senses.share(np.ones((4, 4)), ["a", "a", "b", "b"]) == pytest.approx(1 / 3)


def test_probes_draw_their_results(make_run):
    run, found = make_run(probes), {"layers": [0.5, 0.625], "baseline": 0.4}
    run.stored("names-gpt_mini_en_books", lambda: found)
    probes.draw(run, "layers", "score", baseline=True)
    assert (run.folder / "layers.png").stat().st_size > 1000
    cells = probes.cells(run)
    assert len(cells) == 10 * 4 * 2 + 2 * 4
    assert cells["tags-elmo_mini_en_books-random"][-1] is False
    shipped = {
        name for name in zoo.list_presets() if "weights" in zoo.preset_info(name)
    }
    assert {*probes.PRESETS} == shipped | {"all_minilm_l6_v2_en"}
