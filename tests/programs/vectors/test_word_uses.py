"""The uses of words in texts: places, vectors, neighbours, groups, and the command."""

import dataclasses

import numpy as np
import pytest
from click.testing import CliRunner
from command_line import run

import zoo
from zoo.commands.main import main
from zoo.programs.vectors.layer_vectors import word_vectors

TEXTS = ["The film was good.", "A bad plot, a good FILM!", "no use here", "film film"]


@pytest.fixture
def uses(bert):
    return zoo.find_uses(bert, ["film", "good"], TEXTS, [0, -1])


def test_uses_have_their_places_and_vectors(bert, uses):
    found = list(zip(uses.words, uses.places.tolist(), strict=True))
    assert found == [
        ("film", 1), ("good", 3), ("good", 5), ("film", 6), ("film", 0), ("film", 1)
    ]  # fmt: skip
    assert uses.excerpt(3, 2) == "a good [FILM] !"
    assert uses.excerpt(0) == "The [film] was good ."
    split = ["A", "bad", "plot", ",", "a", "good", "FILM", "!"]
    expected, _ = word_vectors(bert, [split], [0, -1])
    np.testing.assert_allclose(uses.vectors[2], expected[5].reshape(-1), atol=1e-5)
    every, _ = word_vectors(bert, [split])
    np.testing.assert_allclose(every[:, [0, -1]], expected, atol=1e-6)
    limited = zoo.find_uses(bert, "film", iter(TEXTS), limit=2)
    assert len(limited) == 2 and limited.sentences[1] == split


def test_words_of_any_script_are_found(bert):
    texts = ["यह हिन्दी है।", "a cafe\u0301, “well-known”!", "FILM, film"]
    uses = zoo.find_uses(bert, ["हिन्दी", "cafe\u0301", "well-known"], texts)
    assert uses.sentences[2] == ["a", "cafe\u0301", ",", "“", "well-known", "”", "!"]
    assert uses.places.tolist() == [1, 1, 4]
    assert len(zoo.find_uses(bert, ["Film", "film"], texts)) == 2


def test_neighbours_are_in_other_texts(uses):
    similar = uses.similarities()
    np.testing.assert_allclose(np.diag(similar), 1, atol=1e-5)
    found = uses.neighbours(4, 10)
    assert [use["use"] for use in found] == sorted(
        range(4), key=lambda other: -similar[4, other]
    )
    assert found[0]["similarity"] == pytest.approx(similar[4].take(range(4)).max())
    assert found[0]["text"] == uses.excerpt(found[0]["use"])


def test_groups_have_similar_uses(uses):
    vectors = np.array([[1, 0], [2, 0.1], [0, 1], [0.1, 3], [0, 5], [3, 0]], "float32")
    found = dataclasses.replace(uses, vectors=vectors).groups(2)
    assert sorted(map(sorted, found)) == [[0, 1, 5], [2, 3, 4]]
    equal = dataclasses.replace(uses, vectors=np.ones((6, 2), "float32"))
    assert [*map(len, equal.groups(2))] == [6]
    with pytest.raises(ValueError, match="Received: 6 vectors for 7 groups"):
        uses.groups(7)


def test_what_cannot_be_found(bert):
    for words in ("plots", "two words", "good.", []):
        with pytest.raises(ValueError, match="in the texts.* without punctuation at"):
            zoo.find_uses(bert, words, TEXTS)
    with pytest.raises(TypeError, match="Received: one string"):
        zoo.find_uses(bert, "film", "a film")
    with pytest.raises(ValueError, match="Options are used only"):
        zoo.find_uses(bert, "film", TEXTS, dtype="float32")
    with pytest.raises(ValueError, match="layers must be numbers in"):
        zoo.find_uses(bert, "film", TEXTS, [9])


def test_the_command_shows_groups(preset, tmp_path):
    path = tmp_path / "texts.txt"
    path.write_text("\n".join([*TEXTS[:-1], f"{TEXTS[-1]} \x1b[2J"]))
    command = ["senses", preset, "film", path, "--output", tmp_path / "map.svg"]
    result = CliRunner().invoke(main, list(map(str, command)), color=True)
    assert result.exit_code == 0, result.output
    assert "group 1: " in result.output and " of 4 uses" in result.output
    assert "  The [film] was good ." in result.output
    assert "\ufffd[2J" in result.output and "\x1b" not in result.output
    picture = (tmp_path / "map.svg").read_text()
    assert "group 2" in picture and "direction 1" in picture


def test_a_word_may_occur_once(preset, tmp_path):
    path = tmp_path / "texts.txt"
    path.write_text("\n".join(TEXTS))
    assert "group 1: 1 of 1 uses" in run("senses", preset, "plot", path)
    output = run("senses", preset, "a", tmp_path, code=1)
    assert "is a directory. Give its files." in output
