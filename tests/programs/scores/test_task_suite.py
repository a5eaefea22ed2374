"""The table of the tasks of the papers: files, results, and continuing after a stop."""

import json

import keras
import pytest
import tiny
from command_line import run

from zoo.data import write_squad
from zoo.programs.scores import task_suite
from zoo.programs.scores.suite_tasks import SUITE

PAIR = ("entailment", "not_entailment")
NLI = ("contradiction", "entailment", "neutral")
# Labels in the order of the outputs; those of other tasks are 0 and 1.
NAMES = {"mnli": NLI, "qnli": PAIR, "rte": PAIR, "snli": ("0", "1", "2")}
RESULT = '{"scores": {}}'


def write(folder, names, lines, header=()):
    folder.mkdir(parents=True)
    text = "".join(f"{line}\n" for line in (*header, *lines))
    for name in names:
        (folder / name).write_text(text, "utf-8")


def write_files(data, count=30):
    """Small files of every layout in the suite."""
    texts, labels = tiny.make_texts(count, seed=3)
    good = [int(label == "good") for label in labels]
    rows = [*zip(texts, good, strict=True)]
    two, mnli = ("train.tsv", "dev.tsv"), ("dev_matched.tsv", "dev_mismatched.tsv")
    glue = data / "glue"
    write(glue / "CoLA", two, [f"x\t{n}\t\t{t}" for t, n in rows])
    single = [f"{text}\t{number}" for text, number in rows]
    write(glue / "SST-2", two, single, ["sentence\tlabel"])

    def pairs(folder, names, header, values):
        lines = [f"{t}\t{t}\t{v}" for t, v in zip(texts, values, strict=True)]
        write(glue / folder, names, lines, [header])

    pairs("MRPC", two, "#1 String\t#2 String\tQuality", good)
    pairs("STS-B", two, "sentence1\tsentence2\tscore", [5.0 * n for n in good])
    pairs("QQP", two, "question1\tquestion2\tis_duplicate", good)
    names = [NLI[i % 3] for i in range(count)]
    pairs("MNLI", ("train.tsv", *mnli), "sentence1\tsentence2\tgold_label", names)
    pairs("QNLI", two, "question\tsentence\tlabel", [PAIR[n] for n in good])
    pairs("RTE", two, "sentence1\tsentence2\tlabel", [PAIR[n] for n in good])
    pairs("WNLI", two, "sentence1\tsentence2\tlabel", good)
    lines = [f"{i % 3}\t{i % 3}\t{t}\t{t}" for i, t in enumerate(texts)]
    write(data / "snli", ("train.tsv", "test.tsv"), lines)
    names = dict.fromkeys(tiny.GOOD + tiny.BAD, "I-PER")
    words = [f"{word} X X {names.get(word, 'O')}" for word in texts[0].split()]
    write(data / "conll2003", ("eng.train", "eng.testa", "eng.testb"), words)
    swag = [f"{i},a film,it,{t.replace(',', '')},b,0" for i, t in enumerate(texts)]
    header = [",sent1,sent2,ending0,ending1,label"]
    write(data / "swag", ("train.csv", "val.csv"), swag, header)
    write(data / "codah", two, [f"c\t{t}\tgood\tbad\t{n}" for t, n in rows])
    for version, unanswered in (("1.1", False), ("2.0", True)):
        questions = tiny.make_questions(20, seed=3, unanswered=unanswered)
        (data / f"squad{version}").mkdir()
        for name in ("train.json", "dev.json"):
            write_squad(data / f"squad{version}" / name, questions)


def test_files_of_every_task_are_read(tmp_path):
    write_files(tmp_path)
    for name, task in SUITE.items():
        paths = task.find(tmp_path)
        assert paths[0].name in task.train and len(paths) == 1 + len(task.tests), name
        for path in paths:
            texts, labels = task.load(path)
            kind = task.kind
            columns = texts if isinstance(texts, tuple) else (texts,)
            assert {len(column) for column in columns} == {len(labels)}
            options = kind.files.options(kind, texts, labels)
            if kind.task_name == "text_classifier":  # the order of the outputs
                assert options["labels"] == list(NAMES.get(name, ["0", "1"]))
    assert SUITE["cola"].find(tmp_path / "glue") == SUITE["cola"].find(tmp_path)
    assert SUITE["cola"].find(tmp_path / "swag") is None
    folder = tmp_path / "other/snli_1.0"
    pair = '{"gold_label": "neutral", "sentence1": "a", "sentence2": "b"}'
    names = ("snli_1.0_train.jsonl", "snli_1.0_test.jsonl")
    write(folder, names, [pair])
    assert SUITE["snli"].find(tmp_path / "other") == [folder / name for name in names]
    assert SUITE["snli"].load(folder / names[0]) == ((["a"], ["b"]), ["neutral"])


@pytest.mark.usefixtures("eagerly")
def test_a_stopped_suite_continues(preset, tmp_path, monkeypatch):
    write_files(tmp_path / "data")
    command = ["evaluate-suite", preset, "--data", tmp_path / "data"]
    command += ["--output", tmp_path / "run", "--epochs", 1, "--rows", 16]
    chosen = ["--task", "sst2"]
    measure, calls = task_suite.measure, []

    def stop(preset, task, paths, seed, **options):
        calls.append((task.title, seed))
        if len(calls) == 2:
            raise KeyboardInterrupt
        return measure(preset, task, paths, seed, **options)

    monkeypatch.setattr(task_suite, "measure", stop)
    run(*command, *chosen, "--seeds", 2, code=1)
    table = (tmp_path / "run/README.md").read_text("utf-8")
    assert "| SST-2 | 16 | accuracy | " in table and " ± " not in table
    output = run(*command, *chosen, "--seeds", 2)
    assert calls == [("SST-2", 0), ("SST-2", 1), ("SST-2", 1)]
    table = (tmp_path / "run/README.md").read_text("utf-8")
    assert "| SST-2 | 16 | accuracy | " in table
    assert table.count(" ± ") == 1 and "(TF-IDF with logistic regression)" in table
    assert "| SST-2 |" in output and "epochs 1, rows 16" in table
    found = json.loads((tmp_path / "run/sst2-0.json").read_text("utf-8"))
    assert found["train"] == 16 and found["test"] == 30 and found["seconds"] > 0
    assert {*found["baselines"]} == {"majority", "TF-IDF with logistic regression"}
    other = [*command, *chosen, "--learning-rate", 0.1]
    assert "Give another directory" in run(*other, code=1)


@pytest.mark.usefixtures("eagerly")
def test_a_function_trains_models_of_some_seeds(preset, tmp_path):
    write_files(tmp_path / "data")
    calls = []

    def fit(model, texts, labels, *, epochs, batch_size, seed, verbose):
        calls.append((model.task_name, len(texts), epochs, batch_size, seed))

    paths = preset, tmp_path / "data", tmp_path / "run"
    options = {"rows": 16, "epochs": 2, "echo": lambda line: None}
    chosen = {"tasks": ["sst2", "cola"], "seeds": iter([3, 5])}
    found = task_suite.evaluate_suite(*paths, **chosen, fit=fit, **options)
    names = ("text_classifier", 16, 2, 32)
    assert calls == [(*names, seed) for seed in (3, 5)] * 2
    assert [*map(len, found.values())] == [2, 2] and {*found} == {"sst2", "cola"}
    one = {"tasks": ["cola"], "seeds": [5]}
    again = task_suite.evaluate_suite(*paths, **one, fit=fit, **options)
    assert again == {"cola": found["cola"][1:]} and len(calls) == 4
    with pytest.raises(ValueError, match="Give another directory"):
        task_suite.evaluate_suite(*paths, **one, **options)
    with (tmp_path / "data/glue/CoLA/dev.tsv").open("a") as file:
        file.write("x\t1\t\tone more row\n")
    with pytest.raises(ValueError, match="contents of dev.tsv than .*cola-3.json"):
        task_suite.evaluate_suite(*paths, **one, fit=fit, **options)


def test_the_weights_of_a_directory_are_a_setting(tmp_path, monkeypatch):
    """An older record has no checksum, and the path as it was given."""
    monkeypatch.chdir(tmp_path)
    preset, record = tmp_path / "preset", tmp_path / "run" / "settings.json"
    preset.mkdir()
    record.parent.mkdir()
    (record.parent / "sst2-0.json").write_text(RESULT)
    (preset / "preset.json").write_text("{}")
    (preset / "weights").write_text("weights")

    def check(preset, output=record.parent):
        output.mkdir(exist_ok=True)
        task_suite._check_settings(output, preset, "data", None, {})

    check("preset")
    check(preset)
    (preset / "weights").write_text("others!")
    with pytest.raises(ValueError, match="Give another directory"):
        check(preset)
    record.write_text(json.dumps({"preset": "preset", "data": str(tmp_path / "data")}))
    check("preset")
    (preset / "weights").write_text("weights")
    with pytest.raises(ValueError, match="Give another directory"):
        check("preset")
    check("others", output := tmp_path / "other")
    (output / "sst2-0.json").write_text(RESULT)
    (tmp_path / "others").mkdir()  # now a directory has the name of the preset
    with pytest.raises(ValueError, match="Give another directory"):
        check("others", output)


@pytest.mark.usefixtures("eagerly")
def test_a_diverged_model_is_not_scored_but_others_are(preset, tmp_path):
    tasks = []

    def fit(model, texts, labels, **options):
        tasks.append(model.backbone)
        found = keras.callbacks.History()
        found.history = {"loss": [float("inf") if len(tasks) == 1 else 1.0]}
        return found

    write_files(tmp_path)
    options = {"rows": 4, "fit": fit, "echo": lambda line: None}
    arguments = preset, tmp_path, tmp_path / "run", ["cola", "sst2"]
    with pytest.raises(FloatingPointError, match="cola-0: .*be finite.*Received: inf"):
        task_suite.evaluate_suite(*arguments, **options)
    assert not (tmp_path / "run/cola-0.json").exists() and len(tasks) == 2
    assert "| SST-2 |" in (tmp_path / "run/README.md").read_text("utf-8")
    found = task_suite.evaluate_suite(*arguments, **options)
    assert len(tasks) == 3 and {*found} == {"cola", "sst2"}


def test_an_ensemble_is_not_trained(tmp_path):
    write_files(tmp_path)
    (tmp_path / "ensemble.json").write_text('{"format": 1, "members": 2}')
    task = SUITE["sst2"]
    with pytest.raises(ValueError, match="must be one model. .*which is an ensemble"):
        task_suite.measure(tmp_path, task, task.find(tmp_path))


def test_given_options_and_rare_labels(preset, tmp_path):
    """Options count more than what follows from the data, which is of all rows."""
    write_files(tmp_path)
    words = ["a X X I-PER", "b X X B-PER", "", *["c X X O", ""] * 40]
    (tmp_path / "conll2003/eng.train").write_text("".join(f"{w}\n" for w in words))
    calls = []

    def fit(model, texts, labels, **options):
        calls.append((model.options, len(texts)))

    task = SUITE["conll2003"]
    found = task_suite.measure(preset, task, task.find(tmp_path), rows=2, fit=fit)
    assert calls[0][0]["labels"] == ["B-PER", "I-PER", "O"] and calls[0][1] == 2
    assert found["train"] == 2 and "f1" in found["scores"]["eng.testb"]
    task = SUITE["squad2.0"]
    options = {"rows": 12, "sequence_length": 16, "fit": fit, "null_threshold": 5.0}
    task_suite.measure(preset, task, task.find(tmp_path), **options)
    assert calls[1][0]["null_threshold"] == 5.0


def test_a_table_shows_every_score():
    found = {
        "title": "MNLI",
        "metric": "accuracy",
        "scores": {"a.tsv": {"accuracy": 0.5, "f1": 0.25}, "b.tsv": {"accuracy": 1.0}},
        "baselines": {},
        "train": 3,
        "seconds": 1.0,
        "test_seconds": 1.0,
    }
    table = task_suite.format_table({"mnli": [found]})
    assert "| other scores |" in table and "| 50.0 | 1 |" in table
    assert table.endswith("| 0.0 | f1 25.0; b.tsv: accuracy 100.0 |")


def test_wrong_arguments(preset, tmp_path):
    (tmp_path / "data/CoLA").mkdir(parents=True)
    command = ["evaluate-suite", preset, "--data", tmp_path / "data"]
    command += ["--output", tmp_path / "run"]
    output = run(*command, code=1)
    assert "put train.tsv, dev.tsv in a directory CoLA" in " ".join(output.split())
    assert "'x' is not one of 'sst2'" in run(*command, "--task", "x", code=2)
    with pytest.raises(ValueError, match=r"Received: \['qnl'\]"):
        task_suite.evaluate_suite(preset, tmp_path, tmp_path / "run", "qnl")
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_every_task_is_learned_and_scored(preset, tmp_path):
    write_files(tmp_path / "data")
    options = {"epochs": 1, "rows": 20, "dtype": "float32"}
    results = task_suite.evaluate_suite(
        preset, tmp_path / "data", tmp_path / "run", echo=lambda line: None, **options
    )
    assert list(results) == list(SUITE)
    for name, (found,) in results.items():
        assert len(found["scores"]) == len(SUITE[name].tests)
        for scores in (*found["scores"].values(), *found["baselines"].values()):
            assert SUITE[name].metric in scores, name


@pytest.mark.parametrize(
    ("task", "file", "line", "message"),
    [
        ("snli", "snli/test.tsv", "9\t9\ta\tb", "9"),
        ("sst2", "glue/SST-2/dev.tsv", "bad", "bad"),
        ("rte", "glue/RTE/dev.tsv", "a\tb\t1", "must be among .*Received: .'1'"),
        ("rte", "glue/RTE/train.tsv", "a\tb\t1", "must be among .*Received: .'1'"),
        ("stsb", "glue/STS-B/dev.tsv", "a\tb\tnan", "must be finite"),
        ("rte", "glue/RTE/dev.tsv", None, "must have a label. Received: dev.tsv"),
    ],
)
def test_labels_are_checked_before_the_training(
    preset, tmp_path, monkeypatch, task, file, line, message
):
    write_files(tmp_path / "data")
    path = tmp_path / "data" / file
    with path.open("a") as opened:
        opened.write(f"{line}\n")
    if line is None:
        path.write_text("sentence1\tsentence2\na\tb\n")
    monkeypatch.setattr(task_suite, "fit_model", None)
    with pytest.raises(ValueError, match=message):
        task_suite.evaluate_suite(preset, tmp_path / "data", tmp_path / "r", [task])


def test_comparisons_are_no_results_of_the_suite(tmp_path):
    result = {"scores": {"dev.tsv": {"accuracy": 1.0}}, "baselines": {}, "train": 4,
              "seconds": 1, "test_seconds": 0.5}  # fmt: skip
    for name, content in (
        ("sst2-67349-comparison", {"task": "sst2", "examples": 67349}),
        ("sst2-67349-preset-0.001-0", {"dev": []}),
        ("sst2-0", result),
    ):
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    assert task_suite.collect(tmp_path) == {"sst2": [result]}
