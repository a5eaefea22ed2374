"""Answers of models as columns of tables, of any format and size."""

import csv
import gzip
import json

import numpy as np
import pytest
import tiny
from command_line import run
from tiny_bert import tiny_bert

import zoo
from zoo.tasks.files import table_answers

TEXTS = ["a good film", 'the "bad" one,\nwith a line break', "", "good; bad"] * 3
COLUMNS = {"id": [str(number) for number in range(12)], "text": TEXTS}
COLUMNS["label"] = ["old"] * 12


@pytest.fixture(scope="module")
def model():
    backbone = tiny_bert()
    return zoo.TextClassifier(backbone, backbone.tokenizer, labels=tiny.LABELS)


def write(path, columns=COLUMNS):
    """Writes a table of str by its suffix."""
    rows = list(zip(*columns.values(), strict=True))
    suffix = path.name.removesuffix(".gz").rpartition(".")[2]
    opener = gzip.open if path.suffix == ".gz" else open
    if suffix == "parquet":
        pyarrow = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        parquet.write_table(pyarrow.table(columns), path)
        return path
    with opener(path, "wt", encoding="utf-8", newline="") as file:
        if suffix == "jsonl":
            named = (dict(zip(columns, row, strict=True)) for row in rows)
            file.writelines(json.dumps(row) + "\n" for row in named)
        else:
            writer = csv.writer(file, delimiter="\t" if suffix == "tsv" else ",")
            writer.writerows([[*columns], *rows])
    return path


def read(path):
    """The columns of a table, dict of lists."""
    if path.suffix == ".parquet":
        from pyarrow import parquet

        return parquet.read_table(path).to_pydict()
    with open(path, encoding="utf-8", newline="") as file:
        if path.suffix == ".jsonl":
            rows = [json.loads(line) for line in file]
        else:
            rows = [
                *csv.DictReader(file, delimiter="\t" if path.suffix == ".tsv" else ",")
            ]
    return {name: [row[name] for row in rows] for name in rows[0]}


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


def test_a_stopped_call_continues(model, tmp_path, monkeypatch):
    data, output = write(tmp_path / "a.csv"), tmp_path / "out.csv"
    monkeypatch.setattr(table_answers, "ROWS_IN_BLOCK", 5)
    answer, blocks = model.answer, []

    def stopping(x, batch_size=None):
        blocks.append(len(x))
        if len(blocks) == 2:
            raise KeyboardInterrupt
        return answer(x, batch_size)

    monkeypatch.setattr(model, "answer", stopping)
    with pytest.raises(KeyboardInterrupt):
        model.answer_file(data, output, verbose=0)
    assert not output.exists() and blocks == [5, 5]
    model.answer_file(data, output, verbose=0)
    assert blocks == [5, 5, 5, 2]
    assert read(output)["predicted_label"] == answer(TEXTS)["label"].tolist()
    # The answers of other texts are not mixed up.
    blocks.clear()
    with pytest.raises(KeyboardInterrupt):
        model.answer_file(data, output, verbose=0)
    other = write(tmp_path / "a.csv", {**COLUMNS, "text": TEXTS[::-1]})
    with pytest.raises(ValueError, match="answers of other texts or of another model"):
        model.answer_file(other, output, verbose=0)


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
