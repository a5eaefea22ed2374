"""The commands, from files to files, on a tiny preset."""

import errno
import json
import re
from unittest import mock

import pytest
import tiny
from click.testing import CliRunner
from command_line import run
from tiny_bert import tiny_bert

import zoo
from zoo.checkpoint import read_vectors
from zoo.commands.main import main
from zoo.data import as_numbers
from zoo.programs.finetune import labelled_rows


@pytest.fixture(scope="module")
def preset(tmp_path_factory):
    """Directory of a tiny backbone with its tokenizer."""
    directory = tmp_path_factory.mktemp("cli") / "preset"
    tiny_bert().save_to_preset(directory)
    return directory


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A TSV file with a header."""
    texts, labels = tiny.make_texts(64)
    path = tmp_path_factory.mktemp("cli") / "train.tsv"
    lines = [f"{text}\t{label}" for text, label in zip(texts, labels, strict=True)]
    path.write_text("\n".join(["text\tlabel", *lines]))
    return path


@pytest.fixture(scope="module")
def model(preset, table, tmp_path_factory):
    """A fine-tuned .keras file."""
    path = tmp_path_factory.mktemp("cli") / "model.keras"
    command = ("finetune", preset, "--data", table, "--output", path)
    run(*command, "--epochs", 12, "--learning-rate", 0.01, "--batch-size", 8)
    return path


def test_finetuned_model_evaluates_and_predicts(model, table):
    scores = json.loads(run("evaluate", model, "--data", table).splitlines()[-1])
    assert scores["accuracy"] > 0.9
    lines = run("predict", model, "a good film", "a bad film").splitlines()
    assert [json.loads(line)["label"] for line in lines] == ["good", "bad"]
    lines = run("predict", model, stdin="\ufeffa great film\r\n\n").splitlines()
    assert len(lines) == 2
    found, alone = map(json.loads, (lines[0], run("predict", model, "a great film")))
    assert found["scores"] == pytest.approx(alone["scores"], abs=1e-6)
    lines = run("predict", model, "--pair", "a good\tfilm").splitlines()
    assert set(json.loads(lines[0])) == {"label", "score", "scores", "labels"}
    output = run("predict", model, "good", "--page", table.parent / "a.html", code=1)
    assert "A page needs answers that are parts of a text. Received: --page" in output
    output = run("predict", model, "good", "--page", table.parent / "a.png", code=1)
    assert "The page must end in .html" in output
    files = ("--data", table, "--output", table.parent / "answers.json")
    output = run("predict", model, *files, code=1)
    assert "Only questions in a file of SQuAD are answered as a file" in output


@pytest.mark.slow
def test_the_best_epoch_is_kept(preset, table, tmp_path):
    """The report scores the weights of the best epoch."""
    path = tmp_path / "model.keras"
    command = ("finetune", preset, "--data", table, "--valid", table, "--output", path)
    command += ("--epochs", 6, "--batch-size", 8, "--learning-rate", 0.01)
    output = run(*command)
    (kept,) = re.findall(r"kept epoch (\d) of \d, score (\S+)", output)
    report = json.loads((tmp_path / "model_report" / "report.json").read_text())
    assert report["settings"]["kept epoch"] == int(kept[0])
    score = report["scores"]["model"]["accuracy"]["value"]
    assert score == pytest.approx(float(kept[1]), abs=1e-3)
    history = report["history"]["val_accuracy"]
    assert score == pytest.approx(max(history)) and score > min(history)
    assert int(kept[0]) == len(history) - history[::-1].index(max(history))
    texts = ["a good film", "a bad film"]
    assert zoo.load_model(path).predict(texts, verbose=0).shape == (2, 2)
    output = run(*command, "--keep-best", "--recipe", "ulmfit", code=2)
    assert "--keep-best cannot be given with --recipe" in output


@pytest.mark.slow
def test_finetune_passes_options_to_the_task(preset, table, tmp_path):
    command = ("finetune", preset, "--data", table, "--output", tmp_path / "a.keras")
    command += ("--report", tmp_path / "report", "--epochs", 1)
    run(*command, "--option", "head=concat_pooling", "--option", "head_dropout=0.0")
    found = zoo.load_model(tmp_path / "a.keras").options
    assert found["head"] == "concat_pooling" and found["head_dropout"] == 0.0
    rule = "must be NAME=VALUE, with a name that is no option of this command."
    for wrong in ("head", "seed=1", "a b=1"):
        output = run(*command, "--option", wrong, code=1)
        assert f"{rule} Received: {wrong!r}" in output
    output = run(*command, "--option", "hed=linear", code=1)
    assert "Received: 'hed'. Did you mean 'head'?" in output


def test_rows_for_validation_are_never_none(tmp_path):
    for count in range(2, 9):
        texts = [f"text {row}" for row in range(count)]
        train, valid = labelled_rows.split_off(texts, list(range(count)))
        assert train[0] and valid[0] and sorted(train[1] + valid[1]) == [*range(count)]
    with pytest.raises(ValueError, match="Received: 1 rows"):
        labelled_rows.split_off(["a"], [0])
    row = "\t".join(["1", "do", "_", "AUX", *"_" * 6])
    (tmp_path / "a.conllu").write_text(row)
    found = zoo.TokenClassifier.files.read(tmp_path / "a.conllu")
    assert found == ([["do"]], [["AUX"]])


def test_documents_are_read_if_the_task_has_them(preset, tmp_path):
    path = tmp_path / "a.conll"
    path.write_text("the O\n\nfilm B-X\n")
    words = ("--data", path, "--test", path, "--task", "token_classifier")
    output = run("probe", preset, *words, "--documents", code=1)
    assert "must have lines such as -DOCSTART-" in " ".join(output.split())
    data = ("--data", path, "--output", tmp_path / "model.keras", "--documents")
    output = run("finetune", preset, *data, "--task", "text_regressor", code=1)
    assert "Only a task that tags words has `documents`" in " ".join(output.split())
    path.write_text("the O\n\tB-X\nfilm B-X\n")
    output = " ".join(run("probe", preset, *words, code=1).split())
    assert "has 1 line without a word: 2." in output and "--skip-empty" in output
    with pytest.warns(UserWarning, match="1 line without a word: 2. They are sk"):
        run("probe", preset, *words, "--skip-empty-words")


@pytest.mark.parametrize("label", ["nan", "inf", "-inf", "1e39", "good", "1,5"])
def test_targets_of_a_regressor_are_finite_numbers(preset, label, tmp_path):
    path = tmp_path / "train.tsv"
    path.write_text(f"text\tscore\na film\t0.5\na plot\t-1e3\nan end\t{label}\n")
    task = ("--task", "text_regressor", "--output", tmp_path / "model.keras")
    output = run("finetune", preset, "--data", path, *task, code=1)
    message = f"Every label of {path} must be a finite number. Received: '{label}'"
    assert f"Error: {message} in line 4." in output
    assert not (tmp_path / "model.keras").exists()
    with pytest.raises(ValueError, match="of the data must be .* in row 2"):
        as_numbers(["0.5", label])


@pytest.mark.slow
def test_columns_are_options(preset, model, tmp_path):
    columns = ("--text-column", "Satz", "--label-column", "Art")
    path = tmp_path / "train.csv"
    path.write_text("Satz,Art,Ort\n" + "a good film,good,x\na bad film,bad,y\n" * 4)
    common = ("--data", path)
    output = run("evaluate", model, *common, code=1)
    assert "--text-column NAME --label-column NAME" in output
    scores = json.loads(run("evaluate", model, *common, *columns).splitlines()[-1])
    assert scores["accuracy"] == 1
    output = tmp_path / "model.keras"
    options = ("--valid", path, "--epochs", 1, "--output", output)
    run("finetune", preset, *common, *columns, *options)
    assert zoo.load_model(output).labels == ("bad", "good")


def test_columns_of_tags_are_numbers(tmp_path):
    path = tmp_path / "a.conll"
    path.write_text("1 do AUX _\n2 go VERB _\n")
    found = zoo.TokenClassifier.files.read(path, text_column="1", label_column=-2)
    assert found == ([["do", "go"]], [["AUX", "VERB"]])
    with pytest.raises(ValueError, match="must be numbers from 0. Received: 'word'"):
        zoo.TokenClassifier.files.read(path, text_column="word")
    with pytest.raises(ValueError, match="words of one text. Received: pair_column=1"):
        zoo.TokenClassifier.files.read(path, pair_column=1)


@pytest.mark.slow
def test_export_and_doctor(model, tmp_path):
    assert run("export", model, tmp_path / "served").strip().endswith("/1")
    assert "checks passed" in run("doctor", tmp_path / "served")
    task = ("--task", "text_embedder")
    output = run("export", model, tmp_path / "other", *task, code=1)
    assert "its own, 'text_classifier'. Received: 'text_embedder' for" in output


def test_fill_mask_convert_and_doctor_of_nothing(preset, tmp_path):
    output = run("doctor", tmp_path, code=1)
    assert output.startswith("Error: ") and "Traceback" not in output
    with pytest.warns(UserWarning, match="no masked_lm_head"):
        output = run("fill-mask", preset, "a [MASK] film", "-k", 2)
    assert output.splitlines()[0] == "a [MASK] film"
    run("convert", preset, tmp_path / "half", "--half")
    record = json.loads((tmp_path / "half" / "preset.json").read_text())
    assert record["weights"]["dtype"] == "float16"
    assert "is not empty" in run("convert", preset, tmp_path / "half", code=1)


@pytest.mark.usefixtures("eagerly")
def test_pretrain_writes_a_preset_and_resumes(tmp_path):
    tiny.write_corpus(tmp_path / "corpus.txt")
    recipe = tiny.recipe({"next_sentence": True}, ema=0.9)
    (tmp_path / "recipe.json").write_text(json.dumps(recipe))
    common = ["bert", "--data", tmp_path, "--recipe", tmp_path / "recipe.json"]
    common += ["--output", tmp_path / "run", "--every", 2, "--tensorboard"]
    run("pretrain", *common)
    model = zoo.from_preset(tmp_path / "run" / "preset")
    assert isinstance(model, zoo.MaskedLM) and model.options["next_sentence"]
    report = json.loads((tmp_path / "run" / "report.json").read_text())
    assert report["valid"]["perplexity"] > 1
    assert 0 <= report["valid"]["next_sentence_accuracy"] <= 1
    assert 0 < report["tokens"] < sum(a * b * c for a, b, c in recipe["stages"])
    log = (tmp_path / "run" / "log.csv").read_text()
    assert "tokens_per_s" in log.splitlines()[0]
    assert list((tmp_path / "run" / "tensorboard").rglob("events*"))
    weights = (tmp_path / "run" / "preset" / "weights.safetensors").read_bytes()
    run("pretrain", *common)  # nothing left to do
    assert (tmp_path / "run" / "log.csv").read_text() == log
    again = (tmp_path / "run" / "preset" / "weights.safetensors").read_bytes()
    assert again == weights  # averaged, as after the first run
    output = run("pretrain", *common, "--seed", 3, code=1)
    assert "another recipe, which differs in seed" in output


def test_list_and_info():
    assert "bert_mini_en_uncased_books" in run("list", "--family", "bert")
    assert json.loads(run("info", "bert_mini_en_uncased_books"))["family"] == "bert"


def test_vectors(tmp_path):
    tiny.write_corpus(tmp_path / "a.txt")
    output = tmp_path / "vectors.txt"
    options = ("--embedding-dim", 4, "--epochs", 2, "--output", output)
    printed = run("vectors", tmp_path / "a.txt", *options).split("\n")
    assert printed[:3] == ["epoch 1 of 2", "epoch 2 of 2", str(output)]
    words, vectors = read_vectors(output)
    assert "the" in words and vectors.shape == (len(words), 4)
    missing = run("vectors", tmp_path / "none.txt", *options, code=1)
    assert "No such file" in missing
    for wrong in (tmp_path / "a.txt", tmp_path, tmp_path / "v.bin"):  # before the work
        refused = run("vectors", tmp_path / "a.txt", "--output", wrong, code=1)
        assert "must " in refused and "epoch" not in refused


@pytest.mark.slow
def test_a_learning_rate_is_found_first(preset, table, tmp_path):
    options = ("--data", table, "--output", tmp_path / "model.keras", "--epochs", 1)
    output = run("finetune", preset, *options, "--learning-rate", "auto")
    found = re.search(r"^learning rate (\S+)$", output, re.MULTILINE)
    model = zoo.load_model(tmp_path / "model.keras")
    peak = model.optimizer._learning_rate.peak
    assert f"{peak:.2g}" == found[1] and 1e-8 < peak < 1
    for rate in ("fast", "0"):
        output = run("finetune", preset, *options, "--learning-rate", rate, code=2)
        assert "`learning_rate` must be a number from 1e-12 to 1,000" in output


def test_rows_of_one_context_are_split(tmp_path):
    for number in range(40):  # of some contexts, the hash chooses the validation
        rows = ["q1", "q2", "q3"], [f"context {number}"] * 3
        train, valid = labelled_rows.split_off(rows, [1, 2, 3], column=1)
        assert (train[1], valid[1]) == ([1, 2], [3])


def test_pictures_have_a_format(preset, tmp_path):
    (tmp_path / "a.txt").write_text("a film\n")
    command = ["senses", preset, "film", tmp_path / "a.txt", "--output", "uses"]
    assert "must end in .svg, .png or .pdf. Received: uses" in run(*command, code=2)


@pytest.mark.slow
def test_a_classifier_of_pairs_predicts_pairs(preset, tmp_path):
    rows = [f"a good film\ta {x} film\t{x}" for x in ("good", "bad")] * 8
    (tmp_path / "pairs.tsv").write_text("\n".join(["text\ttext_pair\tlabel", *rows]))
    path = tmp_path / "pairs.keras"
    run("finetune", preset, "--data", tmp_path / "pairs.tsv", "--output", path,
        "--epochs", 1)  # fmt: skip
    pair = "a good film\ta bad film"
    assert run("predict", path, pair) == run("predict", path, pair, "--pair")
    assert "must have 2 texts" in run("predict", path, "a good film", code=1)


def test_models_that_a_command_does_not_take(preset, model, tmp_path, monkeypatch):
    zoo.from_preset(preset, None).save(tmp_path / "backbone.keras")
    output = run("predict", tmp_path / "backbone.keras", "a film", code=1)
    assert "The model must have a task" in output
    output = run("convert", model, tmp_path / "b", code=1)
    assert "must be a directory. Received" in output and "is a file" in output
    options = ["--to", "hugging_face", "--half"]
    output = run("convert", preset, tmp_path / "b", *options, code=1)
    assert "`dtype` must be \"float32\" for the layout 'hugging_face'" in output
    diverged = FloatingPointError("The loss is nan after update 3.")
    monkeypatch.setattr("zoo.from_preset", mock.Mock(side_effect=diverged))
    output = run("convert", preset, tmp_path / "b", code=1)
    assert output == "Error: The loss is nan after update 3.\n"


def test_a_closed_pipe_is_no_error(monkeypatch):
    broken = mock.Mock(side_effect=BrokenPipeError(errno.EPIPE, "Broken pipe"))
    monkeypatch.setattr("zoo.presets.list_presets", broken)
    result = CliRunner().invoke(main, ["list"])
    assert "Error" not in result.output
