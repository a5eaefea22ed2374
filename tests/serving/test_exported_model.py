"""Answers of exports: batches, rows, bad input, and what the process imports."""

import concurrent.futures
import csv
import json
import re
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf
from command_line import run
from places import ROOT

from zoo.files.written_part import WrittenPart
from zoo.serving import ExportedModel, Signature, ask, session, write_version
from zoo.serving.answer_rows import plain_rows
from zoo.serving.changes import facts_file
from zoo.tasks.files.exported_task import ExportedTask

TEXTS = ["good film", "", "bad film and a longer text", "Ünknown", "good", "a\ud800b"]


def expected(classifier, texts):
    """What TensorFlow in Python answers."""
    texts = [text.replace("\ud800", "\ufffd") for text in texts]
    found = {k: v.numpy() for k, v in classifier.classify(tf.constant(texts)).items()}
    return {**found, "label": [label.decode() for label in found["label"]]}


@pytest.mark.parametrize("kind", [list, np.array, tuple])
def test_texts_are_answered_in_batches(classifier, good_version, kind):
    texts = (TEXTS,) if kind is tuple else kind(TEXTS)
    found = ask(good_version.parent, texts, batch_size=2)
    wanted = expected(classifier, TEXTS)
    np.testing.assert_allclose(found["logits"], wanted["logits"], atol=1e-6)
    assert found["label"].tolist() == wanted["label"]


def test_one_process_answers_all_texts(classifier, good_version, monkeypatch):
    with ExportedModel(good_version) as model:
        assert model.columns == ("text",)
        assert model.answer([])["logits"].shape == (0, 2)
        monkeypatch.setattr(session, "_PROGRAM", "none")  # no second one can start
        for text in TEXTS[:3] * 2:
            found = model.answer([text])
            assert found["label"].tolist() == expected(classifier, [text])["label"]
    with pytest.raises(ValueError, match="no answer from .*ended with code 2"):
        model.answer(["good"])
    model.close()
    model.close()


def test_a_failed_request_does_not_end_the_process(good_version):
    with ExportedModel(good_version, "tokens") as model:
        with pytest.raises(ValueError, match="no answer from .*requested shape"):
            model.request({"token_ids": np.zeros((1, 5), "int64")})
        found = model.request({"token_ids": np.zeros((2, 6), "int64")})
        assert found["logits"].shape == (2, 2)
        with pytest.raises(ValueError, match=r"takes \['token_ids'\]. .*: \['text'\]"):
            model.request({"text": ["good"]})
        with pytest.raises(ValueError, match="must take strings only. .*: 'tokens'"):
            model.answer(["good"])


def test_a_request_that_does_not_end_is_stopped(tmp_path):
    class Endless(tf.Module):
        def __call__(self, text):
            loop = tf.while_loop(lambda n: n > -1, lambda n: [n * 0], [tf.size(text)])
            return {"n": loop[0] + tf.strings.length(text)}

    spec = {"text": tf.TensorSpec([None], tf.string)}
    signature, module = Signature(Endless(), spec, {"text": ["a"]}), Endless()
    write_version(tmp_path, {"serving_default": signature}, [module], check=False)
    with pytest.raises(ValueError, match="no answer within 3 s: loading or a request"):
        ask(tmp_path, ["a"], timeout=3)


@pytest.mark.parametrize(
    "texts, error, message",
    [
        ("good", TypeError, r"must be a list of strings, .* Received: 'good'"),
        (["good", None], TypeError, "Received: None"),
        ([float("nan")], TypeError, "Received: nan"),
        ([["good"]], TypeError, r"Received: \['good'\]"),
        (np.array("good"), TypeError, "Received: array"),
        (iter(["good"]), TypeError, "Received: <list_iterator"),
        ((), ValueError, r"a text for each of \['text'\] .* 0 columns"),
        ((["good"], ["bad"]), ValueError, r"2 columns of the lengths \[1, 1\]"),
    ],
)
def test_wrong_texts(opened, texts, error, message):
    with pytest.raises(error, match=message):
        opened.answer(texts)


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), "a", None])
def test_wrong_timeouts(good_version, timeout):
    with pytest.raises(ValueError, match="`timeout` must be a positive number"):
        ask(good_version, ["good"], timeout=timeout)


def test_threads_share_a_process(opened):
    texts = ["good " * count for count in range(16)]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda text: opened.answer([text])["logits"][0], texts))
    np.testing.assert_allclose(found, opened.answer(texts)["logits"], atol=1e-6)


@pytest.mark.parametrize("size", [0, -1, 2.5, "a", True])
def test_wrong_batch_sizes(opened, size):
    with pytest.raises(ValueError, match="`batch_size` must be an integer from 1"):
        opened.answer(["good"], size)


@pytest.fixture(scope="module")
def opened(good_version):
    with ExportedModel(good_version) as model:
        yield model


class Splitter(tf.Module):
    """Answers the words of a text, as many as the longest text of a batch has."""

    def __call__(self, first, second):
        words = tf.strings.split(tf.strings.join([second, first], " "))
        lengths = tf.cast(words.row_lengths(), tf.int32)
        ends = tf.range(tf.reduce_max(lengths))[None] + tf.zeros_like(lengths)[:, None]
        padded = tf.where(ends < lengths[:, None], ends, -1)
        return {"words": words.to_tensor(""), "ends": padded, "count": lengths}

    def export(self, directory, **facts):
        names = ("second", "first")
        specs = {name: tf.TensorSpec([None], tf.string) for name in names}
        signature = Signature(self, specs, dict.fromkeys(names, ["a"]))
        signatures, files = {"serving_default": signature}, facts_file(**facts)
        write_version(directory, signatures, [self], check=False, extra_files=files)


@pytest.fixture(scope="module")
def splitters(tmp_path_factory):
    """Directories of the same export, with and without the facts of a task."""
    root, splitter = tmp_path_factory.mktemp("splitters"), Splitter()
    facts = {"columns": ["second", "first"], "answers": ["words", "ends"]}
    splitter.export(root / "known", **facts, table=["words"], padded=["words", "ends"])
    splitter.export(root / "unknown")
    return root


def test_rows_have_no_padding_and_columns_their_order(splitters, tmp_path):
    pairs = ["c\ta b", "\t", "x y z\t"]
    lines = run("predict", splitters / "known", *pairs, "--batch-size", 1).splitlines()
    rows = [
        {"words": ["c", "a", "b"], "ends": [0, 1, 2]},
        {"words": [], "ends": []},
        {"words": ["x", "y", "z"], "ends": [0, 1, 2]},
    ]
    assert list(map(json.loads, lines)) == rows
    columns = tuple(map(list, zip(*(pair.split("\t") for pair in pairs), strict=True)))
    words = ask(splitters / "known", columns, batch_size=1)["words"]
    assert words.tolist() == [["c", "a", "b"], ["", "", ""], ["x", "y", "z"]]
    data, output = tmp_path / "in.tsv", tmp_path / "out.jsonl"
    data.write_text("first\tsecond\n1\t2 3\n", "utf-8")
    printed = run("predict", splitters / "known", "--data", data, "--output", output)
    assert printed == f"{output}: 1 answers\n"
    found = json.loads(output.read_text("utf-8"))
    assert found == {"first": "1", "second": "2 3", "words": ["2", "3", "1"]}


def test_exports_of_others(splitters, good_version, tmp_path):
    """Their inputs are sorted, and outputs of several batches must have one width."""
    unknown = splitters / "unknown"
    (line,) = run("predict", unknown, "first\tsecond").splitlines()
    assert json.loads(line)["words"] == ["second", "first"]
    texts = ["a b", ""], ["c", ""]
    assert ask(unknown, texts)["words"].tolist() == [["c", "a", "b"], ["", "", ""]]
    with pytest.raises(
        ValueError, match=r"rows of one shape. .*'ends' .*\(1, 0\) for 1"
    ):
        ask(unknown, texts, batch_size=1)
    facts = unknown / "1" / "assets.extra" / "model.json"
    for text in (
        '{"columns": 3}',
        '{"padded": ["count", "x"]}',
        "{",
        "[" * 9999,
    ):
        facts.write_text(text)
        model = ExportedModel(unknown)
        assert model.columns == ("first", "second") and model.padded == ()


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["a", "--signature", "none"], "has the signatures .* Received: 'none'"),
        (["a", "--signature", "tokens"], "must take strings only"),
        (["a", "--pair"], "`--pair` needs a task that reads pairs"),
        (["a", "--page", "page.html"], "A page needs answers that are parts"),
        (["--data", "in.csv", "--output", "in.csv"], "must not be a file to read"),
        (["--data", "in.csv", "--output", "out.json"], "The output must end in .csv"),
        (
            ["--data", "in.csv", "--output", "o.csv", "--pair-column", "b"],
            "needs a column of first",
        ),
        (["--data", "in.csv", "--output", "o.csv", "--text-column", "c"], "one column"),
    ],
)
def test_wrong_commands(good_version, arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.csv").write_text("text,b\na,b\n")
    output = run("predict", good_version.parent, *arguments, code=1)
    assert re.search(message, output) and output.count("\n") == 1, output
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]


PROGRAM = """
import json, sys, click.testing
from zoo.commands.main import main
result = click.testing.CliRunner().invoke(main, sys.argv[1:])
heavy = [name for name in ("tensorflow", "keras", "jax") if name in sys.modules]
print(json.dumps([heavy, result.output]))
"""


def test_the_command_needs_neither_keras_nor_tensorflow(good_version, tmp_path):
    (tmp_path / "in.csv").write_text("id,text\n1,good film\n2,\n")
    table = ["--data", tmp_path / "in.csv", "--output", tmp_path / "out.csv"]
    for arguments in (["good film"], table):
        command = [PROGRAM, "predict", good_version.parent, *arguments]
        done = subprocess.run(
            [sys.executable, "-c", *map(str, command)],
            cwd=ROOT,
            capture_output=True,
            check=True,
        )
        heavy, output = json.loads(done.stdout)
        assert heavy == []
        if arguments == table:
            assert output == f"{tmp_path / 'out.csv'}: 2 answers\n"
        else:
            assert json.loads(output)["label"] in ("negative", "positive")
    header, *rows = (tmp_path / "out.csv").read_text().splitlines()
    assert header == "id,text,label,logits" and len(rows) == 2


def answers_in(path):
    """The labels and logits of a table of answers."""
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [(row["label"], json.loads(row["logits"])) for row in rows]


def test_a_stopped_table_is_continued_with_the_same_version_only(
    version_copy, tmp_path
):
    data, output = tmp_path / "in.csv", tmp_path / "out.csv"
    data.write_text("text\n" + "good film\n" * 3)
    run("predict", version_copy, "--data", data, "--output", output)
    whole = answers_in(output)
    with ExportedTask(version_copy) as task:
        part = WrittenPart(output, "answers", task.fingerprint(), iter([]))
        row = {"label": "stored", "logits": [0.0, 1.0]}
        part.add([repr(("good film",))], json.dumps(row).encode() + b"\n")
    stored = [path.read_bytes() for path in (part.path, part.record)]
    run("predict", version_copy, "--data", data, "--output", output)
    first, *others = answers_in(output)
    assert first[0] == "stored"
    assert [label for label, _ in others] == [label for label, _ in whole[1:]]
    for (_, logits), (_, wanted) in zip(others, whole[1:], strict=True):
        # Fewer texts in a batch may round otherwise.
        np.testing.assert_allclose(logits, wanted, atol=1e-6)
    part.path.write_bytes(stored[0])
    part.record.write_bytes(stored[1])
    (version_copy / "assets" / "other").write_text("another version")
    output = run("predict", version_copy, "--data", data, "--output", output, code=1)
    assert "has answers of other texts or of another model" in output


def test_rows_of_answers():
    names = np.array([["b", "a"], ["", ""]], object)
    scores = np.array([[0.9, 0.7], [0, 0]])
    answers = {"scores": scores, "labels": names, "all": scores}
    rows = list(plain_rows(answers, ["labels", "scores"], ["labels", "scores"]))
    assert rows[0] == {"labels": ["b", "a"], "scores": [0.9, 0.7]}
    assert rows[1] == {"labels": [], "scores": []}
    assert list(plain_rows(answers))[1]["labels"] == ["", ""]
