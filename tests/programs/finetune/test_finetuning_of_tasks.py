"""`zoo finetune` for each task: training, scores, answers and pages."""

import json

import pytest
import tiny
from command_line import run

import zoo


@pytest.mark.slow
def test_a_tagger_is_trained_scored_and_asked(preset, tmp_path):
    from zoo.data import write_conll

    texts, _ = tiny.make_texts(64)
    words, tags = [text.split() for text in texts], tiny.make_tags(texts)
    write_conll(tmp_path / "train.conll", words, tags)
    data = ("--data", tmp_path / "train.conll")
    model = tmp_path / "tagger.keras"
    run(
        "finetune", preset, *data, "--output", model, "--task", "token_classifier",
        "--decoder", "crf", "--epochs", 12,
        "--learning-rate", 0.01, "--batch-size", 8,
    )  # fmt: skip
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
    rows = zip(texts, reversed(texts), labels, strict=True)
    lines = ["\t".join(row) for row in rows]
    table = tmp_path / "pairs.tsv"
    table.write_text("\n".join(["sentence1\tsentence2\tlabel", *lines]))
    model = tmp_path / "model.keras"
    run(
        "finetune", preset, "--data", table, "--output", model, "--epochs", 2,
        "--option", "head=biattentive", "--option", "head_dim=8",
    )  # fmt: skip
    scores = json.loads(run("evaluate", model, "--data", table).splitlines()[-1])
    assert 0 <= scores["accuracy"] <= 1
    lines = run("predict", model, "--pair", "a good\tfilm").splitlines()
    assert set(json.loads(lines[0])) == {"label", "score", "scores", "labels"}
    output = run("predict", model, "a good film", code=1)
    assert "must have 2 texts, separated by tabs. Received" in output


@pytest.mark.slow
def test_a_regressor_is_trained_and_scored(preset, tmp_path):
    path = tmp_path / "train.tsv"
    path.write_text("text\tscore\n" + "a film\t 0.5\na plot\t-1e3\n" * 4)
    output = tmp_path / "model.keras"
    common = ("--data", path)
    options = ("--task", "text_regressor", "--epochs", 1, "--output", output)
    run("finetune", preset, *common, *options)
    scores = json.loads(run("evaluate", output, *common).splitlines()[-1])
    assert 0 < scores["mean_absolute_error"] < 1e3


@pytest.mark.slow
def test_questions_are_learned_scored_and_asked(preset, tmp_path):
    from zoo.data import Answer, Question, write_squad

    contexts, _ = tiny.make_texts(200, 1, 20)
    rows = []
    for number, context in enumerate(contexts):
        (word,) = {*tiny.GOOD, *tiny.BAD} & {*context.split()}
        begin = f" {context} ".index(f" {word} ")
        rows.append(Question(str(number), "how", context, (Answer(word, begin),)))
    write_squad(tmp_path / "train.json", rows)
    data, model = ("--data", tmp_path / "train.json"), tmp_path / "qa.keras"
    options = ("--epochs", 8, "--learning-rate", 0.01, "--report", tmp_path / "report")
    output = run(
        "finetune", preset, "--task", "question_answerer", *data, "--output", model,
        *options,
    )  # fmt: skip
    assert (
        "labels for training: answer: 1" in output
        and "no answer, validation: f1" in output
    )
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
    import zoo
    from zoo.data import Answer, Question, write_squad

    texts, _ = tiny.make_texts(60, 1, 12)
    rows = [
        Question(str(i), "how", text, (Answer(text.split()[0], 0),) if i % 2 else ())
        for i, text in enumerate(texts)
    ]
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
    output = run(
        "finetune", preset, "--task", "multiple_choice", "--data", table,
        "--output", model, "--epochs", 5, "--learning-rate", 0.003,
    )  # fmt: skip
    assert "TF-IDF with logistic regression, validation: accuracy 1.000" in output
    assert "most frequent number, validation: accuracy" in output
    scores = json.loads(run("evaluate", model, "--data", table).splitlines()[-1])
    assert scores["accuracy"] > 0.9
    (line,) = run("predict", model, "the film\tbad\tpoor\tlovely").splitlines()
    assert json.loads(line)["choice"] == 2
    columns = ("--text-column", "prompt", "--output", model)
    output = run(
        "finetune", preset, "--task", "multiple_choice", "--data", table, *columns,
        code=1,
    )  # fmt: skip
    assert "columns of choices have fixed names" in output


def test_a_task_of_one_column_has_no_pairs(preset, tmp_path):
    tagger = zoo.from_preset(preset, "token_classifier", labels=["O", "B-X"])
    tagger.save(tmp_path / "tagger.keras")
    output = run("predict", tmp_path / "tagger.keras", "--pair", "a\tb", code=1)
    assert "`--pair` needs a task that reads pairs of texts. Received" in output
