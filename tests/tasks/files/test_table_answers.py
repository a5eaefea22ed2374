"""Answers of models as columns of tables, of any format and size."""

import datetime
import json

import numpy as np
import pytest
import tiny
from command_line import run
from tiny_bert import tiny_bert
from written_tables import COLUMNS, TEXTS, read, write

import zoo
from zoo.data import write_table
from zoo.data.files import table_writing


@pytest.mark.parametrize(
    "name", ["a.csv", "a.csv.gz", "a.jsonl", "a.jsonl.gz", "a.tsv", "a.parquet"]
)
@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet", "tsv"])
def test_all_columns_are_kept(model, name, suffix, tmp_path):
    data, output = write(tmp_path / name), tmp_path / f"out.{suffix}"
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
    assert model.answer_file(data, output, verbose=0) == 12
    found = read(output)
    assert [*found] == [*COLUMNS, "predicted_label", "score"]
    assert {name: found[name] for name in COLUMNS} == COLUMNS
    answers = model.answer(TEXTS)
    assert found["predicted_label"] == answers["label"].tolist()
    scores = np.array(found["score"], "float32")
    np.testing.assert_allclose(scores, answers["score"], rtol=1e-5)
    assert {path.name for path in tmp_path.iterdir()} == {name, output.name}


DAY = datetime.date(2020, 1, 31)
# The columns of a table, its suffix, that of the output, and the columns of the output.
WRITTEN_VALUES = {
    "CR": ({"text": ["a\rb", "c\r\nd"]}, "jsonl", "csv", None),
    "CR in TSV": ({"text": ["a\rb", "c\r\nd"]}, "jsonl", "tsv", None),
    "tabs and quotes": ({"text": ['a\t"b"', '"']}, "csv", "tsv", None),
    "names of answers": (
        {"text": ["a"], "label": ["x"], "predicted_label": ["y"], "score": ["1"]},
        "csv",
        "jsonl",
        ["predicted_predicted_label", "predicted_score"],
    ),
    "dates": ({"text": ["a"], "day": [DAY]}, "parquet", "jsonl", None),
    "dates in Parquet": ({"text": ["a"], "day": [DAY]}, "parquet", "parquet", None),
    "numbers and nothing": (
        {"text": ["a", "b"], "n": [None, 1.5]},
        "jsonl",
        "parquet",
        None,
    ),
}


@pytest.mark.parametrize("case", WRITTEN_VALUES)
def test_values_are_written_as_they_are(case, model, tmp_path):
    columns, suffix, written, names = WRITTEN_VALUES[case]
    if "parquet" in (suffix, written):
        pytest.importorskip("pyarrow")
    data, output = write(tmp_path / f"a.{suffix}", columns), tmp_path / f"out.{written}"
    model.answer_file(data, output, verbose=0)
    found = read(output)
    assert [*found][len(columns) :] == (names or ["label", "score"])
    if case == "dates":
        columns = {**columns, "day": ["2020-01-31"]}
    assert {name: found[name] for name in columns} == columns


def test_parquet_has_the_types_of_all_rows(tmp_path, monkeypatch):
    """Also if the first rows have no labels, or only whole numbers."""
    pytest.importorskip("pyarrow")
    monkeypatch.setattr(table_writing, "ROWS_IN_BLOCK", 2)
    rows = [[1, []], [2, []], [0.5, ["a"]]]
    write_table(tmp_path / "a.parquet", ["n", "labels"], lambda: iter(rows))
    assert read(tmp_path / "a.parquet") == {
        "n": [1, 2, 0.5],
        "labels": [[], [], ["a"]],
    }
    with pytest.raises(ValueError, match="must have one type. .* Write .jsonl or .csv"):
        write_table(tmp_path / "a.parquet", ["n"], lambda: iter([[1]] * 2 + [["a"]]))


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_a_format_without_repeated_names(suffix, model, tmp_path):
    pytest.importorskip("pyarrow")
    (tmp_path / "a.csv").write_text("text,x,x\na,1,2\n")
    with pytest.raises(ValueError, match=r"different names. Received: \['x'\]"):
        model.answer_file(tmp_path / "a.csv", tmp_path / f"o.{suffix}", verbose=0)
    model.answer_file(tmp_path / "a.csv", tmp_path / "o.csv", verbose=0)
    first, row = (tmp_path / "o.csv").read_text().splitlines()
    assert first == "text,x,x,label,score" and row.startswith("a,1,2,")


def test_columns_of_parquet_are_checked_before_the_work(model, tmp_path):
    pytest.importorskip("pyarrow")
    (tmp_path / "a.jsonl").write_text('{"text": "a", "n": 1}\n{"text": "b", "n": "x"}')
    with pytest.raises(ValueError, match="must have one type"):
        model.answer_file(tmp_path / "a.jsonl", tmp_path / "o.parquet", verbose=0)
    assert [*tmp_path.iterdir()] == [tmp_path / "a.jsonl"]


def test_other_tasks(tmp_path):
    backbone = tiny_bert()
    tokenizer = backbone.tokenizer
    data = write(tmp_path / "a.jsonl")
    sets = zoo.TextClassifier(
        backbone, tokenizer, labels=tiny.LABELS, multi_label=True, threshold=0.0
    )
    tagger = zoo.TokenClassifier(backbone, tokenizer, labels=tiny.TAGS)
    embedder = zoo.TextEmbedder(backbone, tokenizer)
    for model, names in (
        (sets, ["labels", "scores"]),
        (tagger, ["words", "tags", "scores", "begins", "ends"]),
        (embedder, ["embedding"]),
    ):
        model.answer_file(data, tmp_path / "out.jsonl", verbose=0)
        found = read(tmp_path / "out.jsonl")
        assert [*found][3:] == names and len(found[names[0]]) == 12
    sets.answer_file(data, tmp_path / "out.csv", verbose=0)
    assert {*json.loads(read(tmp_path / "out.csv")["labels"][0])} == {*tiny.LABELS}
    pairs = write(tmp_path / "p.csv", {"text1": ["a"] * 2, "text2": ["good"] * 2})
    paired = zoo.TextClassifier(backbone, tokenizer, labels=tiny.LABELS, pair=True)
    paired.answer_file(pairs, tmp_path / "p_out.csv", verbose=0)
    wanted = paired.answer((["a"] * 2, ["good"] * 2))["label"].tolist()
    assert read(tmp_path / "p_out.csv")["label"] == wanted
    questioner = zoo.QuestionAnswerer(backbone, tokenizer, sequence_length=32)
    asked = {"question": ["how"] * 2, "context": ["a good film"] * 2}
    data = write(tmp_path / "q.csv", asked)
    questioner.answer_file(data, tmp_path / "q_out.csv", verbose=0)
    assert [*read(tmp_path / "q_out.csv")][2:] == ["text", "score", "begin", "end"]


@pytest.mark.parametrize(
    "content, options, message",
    [
        (
            "a,b\nx,y\n",
            {},
            "1 columns of texts. Received: 0 of them. Its",
        ),
        ("a,b\nx,y\n", {"text_column": "c"}, "`text_column` must be one column of"),
        ("text,b\nx\n", {}, "as many columns as the first, 2. Received: 1 in line 2"),
        ('text,b\n"x"y,z\n', {}, "in the row that begins in line 2"),
        ("", {}, "must have rows"),
    ],
)
def test_wrong_tables(model, content, options, message, tmp_path):
    (tmp_path / "a.csv").write_text(content)
    with pytest.raises(ValueError, match=message):
        model.answer_file(
            tmp_path / "a.csv", tmp_path / "out.csv", verbose=0, **options
        )
    assert not (tmp_path / "out.csv").exists()


def test_wrong_texts_and_names(model, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": 3}\n')
    with pytest.raises(ValueError, match="must be a string. Received: 3 in line 1"):
        model.answer_file(tmp_path / "a.jsonl", tmp_path / "out.csv", verbose=0)
    (tmp_path / "b.jsonl").write_text('{"text": "a"}\n[1]\n')
    with pytest.raises(ValueError, match="one JSON object per line.* list in line 2"):
        model.answer_file(tmp_path / "b.jsonl", tmp_path / "out.csv", verbose=0)
    with pytest.raises(ValueError, match="The output must end in .csv"):
        model.answer_file(tmp_path / "a.jsonl", tmp_path / "out.txt", verbose=0)
    with pytest.raises(FileNotFoundError, match="No such file"):
        model.answer_file(tmp_path / "no.csv", tmp_path / "out.csv", verbose=0)


def test_an_empty_table_has_no_answers(model, tmp_path):
    (tmp_path / "a.csv").write_text("id,text\n")
    assert model.answer_file(tmp_path / "a.csv", tmp_path / "b.csv", verbose=0) == 0
    assert (tmp_path / "b.csv").read_text() == "id,text\n"


@pytest.mark.slow
def test_the_command_answers_a_table(model, tmp_path):
    model.save(tmp_path / "m.keras")
    data, output = write(tmp_path / "a.csv"), tmp_path / "out.csv"
    printed = run("predict", tmp_path / "m.keras", "--data", data, "--output", output)
    assert printed.strip().endswith(f"{output}: 12 answers")
    assert read(output)["predicted_label"] == model.answer(TEXTS)["label"].tolist()
