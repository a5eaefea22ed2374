"""Vectors of many texts: in memory, into a file, and continued after a stop."""

import gzip
import json
import os
import pathlib

import numpy as np
import pytest
import tiny
from command_line import run
from disk import full_disk

import zoo
from zoo.programs.vectors import text_vectors

TEXTS, _ = tiny.make_texts(23, seed=6)


@pytest.fixture(scope="module")
def embedder(preset):
    return zoo.from_preset(preset, task="text_embedder")


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(text_vectors, "TEXTS_IN_BLOCK", 5)


def embed(*arguments, **options):
    return zoo.embed(*arguments, verbose=0, **options)


def interrupted(count):
    """The first texts, and then Ctrl-C."""
    yield from TEXTS[:count]
    raise KeyboardInterrupt


def stop(count, embedder, output):
    """Writes the vectors of the first texts, until Ctrl-C."""
    with pytest.raises(KeyboardInterrupt):
        embed(interrupted(count), embedder, output=output)
    assert not output.exists()


@pytest.mark.usefixtures("eagerly")
def test_vectors_are_those_of_the_embedder(preset, embedder):
    found = embed(TEXTS, embedder)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, embedder.predict(TEXTS, verbose=0), atol=1e-6)
    options = {"layers": [-2, -1], "pooling": "max"}
    model = zoo.from_preset(preset, task="text_embedder", **options)
    found = embed(iter(TEXTS), preset, **options, batch_size=3)
    np.testing.assert_allclose(found, model.predict(TEXTS, verbose=0), atol=1e-6)
    assert embed([], embedder).shape == (0, 16)


def test_long_texts_make_small_blocks(embedder, monkeypatch):
    monkeypatch.setattr(text_vectors, "CHARACTERS_IN_BLOCK", 60)
    sizes = [len(block) for block in text_vectors._blocks(iter(TEXTS))]
    assert sum(sizes) == len(TEXTS) and max(sizes) < 5
    assert [*text_vectors._blocks(iter(["a" * 99, "b"]))] == [["a" * 99], ["b"]]


def test_lines_of_files(embedder, tmp_path):
    (tmp_path / "a.txt").write_bytes("\ufeffgood film\r\n\nbad\u2028film".encode())
    with gzip.open(tmp_path / "b.txt.gz", "wt") as file:
        file.write("the plot\n")
    paths = [tmp_path / "a.txt", tmp_path / "b.txt.gz"]
    texts = ["good film", "", "bad\u2028film", "the plot"]
    expected = embed(texts, embedder)
    np.testing.assert_array_equal(embed(paths, embedder), expected)
    found = embed(paths[0], embedder, output=tmp_path / "v.npy")
    np.testing.assert_allclose(found, expected[:3], atol=1e-6)
    assert [p.name for p in tmp_path.glob("v.npy*")] == ["v.npy"]


@pytest.mark.shown("22")
@pytest.mark.parametrize("count", [0, 15, 22])
def test_a_stopped_program_continues(embedder, tmp_path, monkeypatch, count):
    output = tmp_path / "v.npy"
    stop(count, embedder, output)
    with (tmp_path / "v.npy.part").open("ab") as file:
        file.write(b"a block that was not finished")
    read, predict = [], type(embedder).predict
    monkeypatch.setattr(
        type(embedder),
        "predict",
        lambda self, x, *rest, **options: (
            read.extend(x) or predict(self, x, *rest, **options)
        ),
    )
    found = embed(iter(TEXTS), embedder, output=output)
    assert read == TEXTS[count // 5 * 5 :]
    np.testing.assert_allclose(found, embedder.predict(TEXTS, verbose=0), atol=1e-6)
    np.testing.assert_array_equal(np.load(output), found)
    assert [path.name for path in tmp_path.iterdir()] == ["v.npy"]


def test_the_vectors_before_a_full_disk_are_kept(embedder, tmp_path):
    output = tmp_path / "v.npy"
    size = 128 + 5 * 16 * 4 + 100  # the header, a block, and a part of the next one
    with full_disk(size), pytest.raises(OSError, match="part keeps the vec") as caught:
        embed(TEXTS, embedder, output=output)
    assert "Nothing was written" not in str(caught.value)
    record = json.loads((tmp_path / "v.npy.part.json").read_text())
    assert record["rows"] == 5 and not output.exists()
    assert embed(TEXTS, embedder, output=output).shape == (23, 16)


def test_only_the_same_texts_and_model_continue(preset, embedder, tmp_path):
    output = tmp_path / "v.npy"
    stop(12, embedder, output)
    other = zoo.from_preset(preset, task="text_embedder", pooling="cls")
    for texts, model in (
        (["x", *TEXTS[1:]], embedder),
        (TEXTS[:3], embedder),
        (TEXTS, other),
    ):
        with pytest.raises(ValueError, match="other texts or of another.* 10 vectors"):
            embed(texts, model, output=output)
    assert embed(TEXTS, embedder, output=output).shape == (23, 16)


def test_vectors_without_their_name_are_not_lost(embedder, tmp_path, monkeypatch):
    """The last step is to rename the file, which may be refused."""
    output = tmp_path / "v.npy"
    with monkeypatch.context() as patch:
        replace = os.replace
        patch.setattr(
            os,
            "replace",
            lambda source, target: (
                replace(source, tmp_path / "a" / "b")
                if target == output
                else replace(source, target)
            ),
        )
        with pytest.raises(FileNotFoundError):
            embed(TEXTS, embedder, output=output)
    monkeypatch.setattr(type(embedder), "predict", None)
    assert embed(TEXTS, embedder, output=output).shape == (23, 16)
    assert [path.name for path in tmp_path.iterdir()] == ["v.npy"]


def test_two_programs_do_not_write_one_file(embedder, tmp_path):
    output = tmp_path / "v.npy"

    def interrupted():
        yield from TEXTS[:7]
        embed(TEXTS[:7] + ["other"] * 5, embedder, output=output)

    with pytest.raises(ValueError, match="Only one program.*v.npy.part"):
        embed(interrupted(), embedder, output=output)


def test_nothing_makes_an_empty_file(embedder, tmp_path):
    found = embed([], embedder, output=tmp_path / "v.npy")
    assert found.shape == (0, 16) and np.load(tmp_path / "v.npy").shape == (0, 16)


TABLE = r"Received: a table, .*column of its te"
TAKEN = "must be a file. Received: .*v.npy, a dir"
WRONG = {
    "one string": ("a text", {}, TypeError, r"one string. Use `\[text\]`"),
    "a number": (["a", 1], {}, TypeError, "Every text must be a string. Received: 1"),
    "suffix": (["a"], {"output": "v.csv"}, ValueError, "end in .npy. Received: 'v.csv"),
    "options": (["a"], {"pooling": "max"}, ValueError, "a TextEmbedder and .'pooling'"),
    "no file": (pathlib.Path("none.txt"), {}, FileNotFoundError, "none.txt"),
    "a directory": (["a"], {"output": "v.npy"}, ValueError, TAKEN),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments(name, embedder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "v.npy").mkdir()
    texts, options, error, message = WRONG[name]
    with pytest.raises(error, match=message):
        embed(texts, embedder, **options)


def test_a_column_of_a_table_is_read(embedder):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"text": ["a", "b", "c"]})
    for texts in (table, {"text": ["a"]}):
        for function in (embed, zoo.embed_words):
            with pytest.raises(TypeError, match=TABLE):
                function(texts, embedder)
    assert embed(table["text"], embedder).shape == (3, 16)


@pytest.mark.slow
def test_the_command(preset, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("\n".join(TEXTS))
    options = ["--layer", "-1", "--layer", "0", "--pooling", "last", "--normalize"]
    output = run("embed", preset, path, "--output", tmp_path / "v.npy", *options)
    assert "v.npy: 23 vectors of 32 numbers" in output
    expected = embed(TEXTS, preset, [-1, 0], "last", normalize=True)
    np.testing.assert_allclose(np.load(tmp_path / "v.npy"), expected, atol=1e-6)


def test_a_part_that_lost_its_vectors_does_not_continue(embedder, tmp_path):
    """A stop in a second start may leave the record of the first one."""
    output = tmp_path / "new" / "v.npy"
    part, record = (output.with_name(f"v.npy.part{end}") for end in ("", ".json"))
    stop(12, embedder, output)
    part.unlink()
    stop(3, embedder, output)
    assert not record.exists()
    stop(12, embedder, output)
    part.write_bytes(part.read_bytes()[:-4])
    with pytest.raises(ValueError, match="or is damaged. Received: 10 vectors"):
        embed(TEXTS, embedder, output=output)
    record.unlink()
    found = embed(TEXTS, embedder, output=output)
    np.testing.assert_allclose(found, embedder.predict(TEXTS, verbose=0), atol=1e-6)
