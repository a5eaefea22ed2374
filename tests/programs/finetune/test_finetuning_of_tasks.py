"""`zoo finetune` for each task: training, scores, answers and pages."""

import json

import pytest
import tiny
from command_line import run
from report_runs import write_table

import zoo
from zoo.data import write_conll, write_squad


@pytest.mark.slow
def test_a_tagger_is_trained_scored_and_asked(preset, tmp_path):
    texts, _ = tiny.make_texts(64)
    words, tags = [text.split() for text in texts], tiny.make_tags(texts)
    write_conll(tmp_path / "train.conll", words, tags)
    data = ("--data", tmp_path / "train.conll")
    model = tmp_path / "tagger.keras"
    options = ("--task", "token_classifier", "--decoder", "crf", "--epochs", 12)
    options += ("--learning-rate", 0.01, "--batch-size", 8, "--output", model)
    run("finetune", preset, *data, *options)
    scores = json.loads(run("evaluate", model, *data).splitlines()[-1])
    assert scores["accuracy"] > 0.95 and scores["f1"] > 0.9
    page = tmp_path / "a.html"
    lines = run("predict", model, "a good film", "bad", "--page", page).splitlines()
    assert "<title>tagger.keras</title>" in page.read_text()
    assert ">good<small>GOOD</small></mark> film" in page.read_text()
    first, second = map(json.loads, lines)
    good = {"text": "good", "begin": 2, "end": 6, "label": "GOOD"}
    assert first["entities"][0].items() >= good.items()
    assert first["words"] == ["a", "good", "film"] and second["words"] == ["bad"]
    assert first["tags"] == ["O", "B-GOOD", "O"] and first["ends"] == [1, 6, 11]


@pytest.mark.slow
def test_a_network_for_pairs_is_trained_scored_and_asked(preset, tmp_path):
    texts, labels = tiny.make_texts(48)
    columns, header = (texts, texts[::-1], labels), "sentence1\tsentence2\tlabel"
    table = write_table(tmp_path / "pairs.tsv", *columns, header=header)
    model = tmp_path / "model.keras"
    options = ("--option", "head=biattentive", "--option", "head_dim=8", "--epochs", 2)
    run("finetune", preset, "--data", table, "--output", model, *options)
    scores = json.loads(run("evaluate", model, "--data", table).splitlines()[-1])
    assert 0 <= scores["accuracy"] <= 1
    lines = run("predict", model, "--pair", "a good\tfilm").splitlines()
    assert set(json.loads(lines[0])) == {"label", "score", "scores", "labels"}
    output = run("predict", model, "a good film", code=1)
    assert "must have 2 texts, separated by tabs. Received" in output


@pytest.mark.slow
def test_a_regressor_is_trained_and_scored(preset, tmp_path):
    path, model = tmp_path / "train.tsv", tmp_path / "model.keras"
    path.write_text("text\tscore\n" + "a film\t 0.5\na plot\t-1e3\n" * 4)
    options = ("--task", "text_regressor", "--epochs", 1, "--output", model)
    run("finetune", preset, "--data", path, *options)
    scores = json.loads(run("evaluate", model, "--data", path).splitlines()[-1])
    assert 0 < scores["mean_absolute_error"] < 1e3


@pytest.mark.slow
def test_questions_are_learned_scored_and_asked(preset, tmp_path):
    rows = tiny.make_questions(200, 1, "how")
    write_squad(tmp_path / "train.json", rows)
    data, model = ("--data", tmp_path / "train.json"), tmp_path / "qa.keras"
    options = ("--epochs", 8, "--learning-rate", 0.01, "--report", tmp_path / "report")
    options += ("--task", "question_answerer", "--output", model)
    output = run("finetune", preset, *data, *options)
    assert "labels for training: answer: 1" in output
    assert "no answer, validation: f1" in output
    scores = json.loads(run("evaluate", model, *data).splitlines()[-1])
    assert scores["exact"] > 0.9 and scores["f1"] > 0.9
    (line,) = run("predict", model, "how\tthe film was lovely").splitlines()
    found = json.loads(line)
    assert found["text"] == "lovely" and (found["begin"], found["end"]) == (13, 19)
    for wrong in ("how", "how\ta\tb"):
        output = run("predict", model, wrong, code=1)
        assert "must have 2 texts, separated by tabs. Received: 'how" in output
    assert run("predict", model, stdin="") == ""
    page = tmp_path / "a.html"
    run("predict", model, "how\tthe film was lovely", "--page", page)
    assert ">lovely</mark></p>" in page.read_text()
    answers = tmp_path / "answers.json"
    output = run("predict", model, *data, "--output", data[1], code=1)
    assert "`--output` must not be a file to read" in output
    run("predict", model, *data, "--output", answers)
    expected = zoo.load_model(model).answer(rows)["text"].tolist()
    assert json.loads(answers.read_text()) == {
        row.id: text for row, text in zip(rows, expected, strict=True)
    }
    for wrong in (data, ("--output", answers), (*data, "--output", answers, "how\ta")):
        output = run("predict", model, *wrong, code=1)
        assert "`--data` needs `--output`, and no other" in output


@pytest.mark.slow
def test_a_threshold_is_chosen_or_given(preset, tmp_path):
    """The threshold for no answer is found on the validation data."""
    rows = tiny.make_questions(60, 1, "how", unanswered=True)
    write_squad(tmp_path / "train.json", rows)
    command = ("finetune", preset, "--task", "question_answerer", "--epochs", 1)
    command += ("--data", tmp_path / "train.json", "--output", tmp_path / "a.keras")
    output = run(*command)
    report = json.loads((tmp_path / "a_report" / "report.json").read_text())
    threshold = report["settings"]["null threshold"]
    assert zoo.load_model(tmp_path / "a.keras").options["null_threshold"] == threshold
    assert f"Chosen on the validation data: null threshold {threshold:.3g}." in output
    assert any("null threshold" in note for note in report["notes"])
    output = run(*command, "--option", "null_threshold=-1000.0")
    given = zoo.load_model(tmp_path / "a.keras").options["null_threshold"]
    assert given == -1000.0 and "Chosen on" not in output


@pytest.mark.slow
def test_choices_are_learned_scored_and_asked(preset, tmp_path):
    texts, labels = tiny.make_texts(120, 2)
    table, model = tmp_path / "choices.tsv", tmp_path / "choice.keras"
    lines = ["prompt\tchoice_0\tchoice_1\tchoice_2\tlabel"]
    for number, (text, label) in enumerate(zip(texts, labels, strict=True)):
        good, bad = tiny.GOOD[number % 5], tiny.BAD[number % 5]
        choices = [good, bad, bad] if label == "good" else [bad, good, bad]
        lines.append("\t".join([text, *choices, str(choices.index(good))]))
    table.write_text("\n".join(lines))
    command = ("finetune", preset, "--task", "multiple_choice", "--data", table)
    command += ("--output", model, "--epochs", 5, "--learning-rate", 0.003)
    output = run(*command, "--keep-last")
    assert "TF-IDF with logistic regression, validation: accuracy 1.000" in output
    assert "most frequent number, validation: accuracy" in output
    scores = json.loads(run("evaluate", model, "--data", table).splitlines()[-1])
    assert scores["accuracy"] > 0.9
    (line,) = run("predict", model, "the film\tbad\tpoor\tlovely").splitlines()
    assert json.loads(line)["choice"] == 2
    output = run(*command, "--text-column", "prompt", code=1)
    assert "columns of choices have fixed names" in output


def test_a_task_of_one_column_has_no_pairs(preset, tmp_path):
    tagger = zoo.from_preset(preset, "token_classifier", labels=["O", "B-X"])
    tagger.save(tmp_path / "tagger.keras")
    output = run("predict", tmp_path / "tagger.keras", "--pair", "a\tb", code=1)
    assert "`--pair` needs a task that reads pairs of texts. Received" in output
