"""`zoo evaluate` and `zoo.assess`: scores with intervals, tables and comparisons."""

import json

import keras
import numpy as np
import pytest
import tiny
from command_line import run
from report_runs import write_table
from tiny_translator import make_translator

import zoo
from zoo.data import write_conll, write_squad
from zoo.programs.scores.model_scores import join_tables
from zoo.registry import build_backbone
from zoo.text import ParsingTokenizer, list_tokens, read_tree, train_sentencepiece

TEXTS, LABELS = tiny.make_texts(24)
SETS = ["good|bad", "", *LABELS[2:]]
NUMBERS = [f"{len(text) / 9:.2f}" for text in TEXTS]
TREES = [
    "( (S (NP-SBJ (DT The) (NN cat)) (VP (VBZ sits)) (. .)) )",
    "( (NP (NN Home)) )",
]


def write_tags(directory):
    path = directory / "rows.conll"
    write_conll(path, [text.split() for text in TEXTS], tiny.make_tags(TEXTS))
    return path


def write_questions(directory):
    write_squad(directory / "rows.json", tiny.make_questions(12))
    return directory / "rows.json"


def write_choices(directory):
    header = "prompt\tchoice_0\tchoice_1\tlabel"
    numbers = [str(int(label == "good")) for label in LABELS]
    rows = (TEXTS, TEXTS[::-1], [*TEXTS[1:], TEXTS[0]], numbers)
    return write_table(directory / "rows.tsv", *rows, header=header)


def write_pairs(directory):
    pairs = tiny.make_pairs(6, longest=3)
    path = directory / "rows.tsv"
    path.write_text("".join(f"{a}\t{b}\n" for a, b in zip(*pairs, strict=True)))
    return path


def write_trees(directory):
    (directory / "rows.mrg").write_text("\n".join(TREES))
    return directory / "rows.mrg"


def table_writer(*columns, header="text\tlabel"):
    return lambda directory: write_table(
        directory / "rows.tsv", *columns, header=header
    )


def make_parser(preset, seed):
    trees = [read_tree(tree, clean=True) for tree in TREES]
    model = train_sentencepiece(["The cat sits .", "She sees a dog .", "Home"] * 3, 320)
    tokenizer = ParsingTokenizer(model, list_tokens(trees))
    sizes = {
        "vocabulary_size": tokenizer.vocabulary_size,
        "target_vocabulary_size": tokenizer.target_vocabulary_size,
    }
    keras.utils.set_random_seed(seed)
    backbone = build_backbone("transformer", {**tiny.TRANSFORMER_CONFIG, **sizes})
    return zoo.Parser(backbone, tokenizer, sequence_length=16)


def maker(task, **options):
    """A function that makes a task with random weights; labels alternate."""

    def make(preset, seed):
        names = options.get("labels", [])
        order = {"labels": names[:: (-1) ** seed]} if names else {}
        return zoo.from_preset(preset, task, seed=seed, **{**options, **order})

    return make


def make_ensemble(preset, seed):
    make = maker("text_classifier", labels=tiny.LABELS)
    members = [make(preset, seed), make(preset, seed + 1)]
    return zoo.TextEnsemble(members) if seed == 1 else members[0]


# The models, their file, the first score, and the title of a table.
CASES = {
    "classifier": (
        maker("text_classifier", labels=tiny.LABELS),
        table_writer(TEXTS, LABELS),
        "accuracy",
        "Scores of each label",
    ),
    "pairs": (
        maker("text_classifier", labels=tiny.LABELS, pair=True),
        table_writer(TEXTS, TEXTS[::-1], LABELS, header="sentence1\tsentence2\tlabel"),
        "accuracy",
        "Scores of each label",
    ),
    "sets": (
        maker("text_classifier", labels=tiny.LABELS, multi_label=True, separator="|"),
        table_writer(TEXTS, SETS),
        "micro_f1",
        "Scores of each label",
    ),
    "ensemble": (
        make_ensemble,
        table_writer(TEXTS, LABELS),
        "accuracy",
        "Scores of each label",
    ),
    "regressor": (
        maker("text_regressor"),
        table_writer(TEXTS, NUMBERS, header="text\tscore"),
        "pearson",
        None,
    ),
    "tagger": (
        maker("token_classifier", labels=tiny.TAGS, scheme="IOB2"),
        write_tags,
        "f1",
        "Spans of each type",
    ),
    "tags of words": (
        maker("token_classifier", labels=tiny.TAGS, decoder="crf"),
        write_tags,
        "accuracy",
        "Words of each tag",
    ),
    "choices": (
        maker("multiple_choice", num_choices=2),
        write_choices,
        "accuracy",
        "Scores of each label",
    ),
    "questions": (maker("question_answerer"), write_questions, "f1", None),
    "translator": (
        lambda preset, seed: make_translator(seed),
        write_pairs,
        "bleu",
        None,
    ),
    "parser": (make_parser, write_trees, "f1", None),
}


@pytest.fixture(autouse=True)
def _no_graphs(eagerly):
    """Runs all tests without graphs."""


@pytest.mark.shown("classifier", "tagger")
@pytest.mark.parametrize("name", CASES)
def test_two_models_of_every_task(preset, tmp_path, name):
    """Both have the scores that they have alone, and the same rows in the bootstrap."""
    make, write, first_score, title = CASES[name]
    data, report, paths = write(tmp_path), tmp_path / "report", []
    for seed in (1, 2):
        paths.append(tmp_path / f"{seed}.keras")
        make(preset, seed).save(paths[-1])
    common = ("--data", data, "--compare")
    output = run("evaluate", paths[0], *common, paths[1], "--report", report)
    found = json.loads(output.splitlines()[-1])
    content = json.loads((report / "report.json").read_text("utf-8"))
    scores = [key for key in found["intervals"]]
    assert scores[0] == first_score and content["tables"].keys() == (
        {title} | ({"Words of each tag"} if name == "tagger" else set())
        if title
        else set()
    )
    assert "compared precision" in output if title else "compared prec" not in output
    for path, part in zip(paths, (found, found["compared"]), strict=True):
        model = zoo.load_model(path)
        rows = model.files.read(data)
        measured = model.files.measure(model, *rows)
        known = {k: v for k, v in part.items() if isinstance(v, float)}
        assert measured == pytest.approx(known, rel=1e-5, nan_ok=True)
        assert zoo.assess(model, *rows).values().keys() == {*scores}
    for key in scores:
        difference = found["differences"][key]
        value = found[key] - found["compared"][key]
        assert difference["value"] == pytest.approx(value, abs=1e-9)
        assert difference["low"] <= value + 1e-9 and value <= difference["high"] + 1e-9
        for part in (found, found["compared"]):
            low, high = part["intervals"][key]
            assert low <= part[key] + 1e-9 <= high + 2e-9
    assert any(row["value"] for row in found["differences"].values())
    assert "There are no baselines" in (report / "report.html").read_text("utf-8")
    same = json.loads(run("evaluate", paths[0], *common, paths[0]).splitlines()[-1])
    zero = {"value": 0.0, "low": 0.0, "high": 0.0}
    assert same["differences"] == dict.fromkeys(scores, zero)


@pytest.fixture(scope="module")
def models(preset, tmp_path_factory):
    """A directory with `.keras` files of different tasks and labels."""
    directory = tmp_path_factory.mktemp("models")
    made = {
        "one": ("text_classifier", {"labels": tiny.LABELS}),
        "more": ("text_classifier", {"labels": [*tiny.LABELS, "a\x1bnew"]}),
        "others": ("text_classifier", {"labels": ["x", "y"]}),
        "sets": ("text_classifier", {"labels": tiny.LABELS, "multi_label": True}),
        "pairs": ("text_classifier", {"pair": True, "pooling": "compare"}),
        "number": ("text_regressor", {}),
        "two": ("multiple_choice", {"num_choices": 2}),
        "three": ("multiple_choice", {"num_choices": 3}),
        "spans": ("token_classifier", {"labels": tiny.TAGS, "scheme": "IOB2"}),
        "vectors": ("text_embedder", {}),
    }
    for name, (task, options) in made.items():
        model = zoo.from_preset(preset, task, seed=1, **options)
        model.save(directory / f"{name}.keras")
    table_writer(TEXTS, LABELS)(directory)
    (directory / "one.tsv").write_text("text\tlabel\ngood\tgood\n")
    (directory / "empty.tsv").write_text("")
    (directory / "header.tsv").write_text("text\tlabel\n")
    (directory / "new.tsv").write_text("text\tlabel\na\tgood\nb\ta\x1bnew\n")
    (directory / "choices.tsv").write_text(
        "prompt\tchoice_0\tchoice_1\tlabel\na\tb\tc\t0"
    )
    (directory / "header_choices.tsv").write_text("prompt\tchoice_0\tchoice_1\tlabel\n")
    (directory / "empty.conll").write_text("")
    (directory / "none.conll").write_text("a O\nfilm O\n")
    return directory


FORMS = "must have the same task, and labels of the same form. Received: one.keras, "
ERRORS = {
    "empty file": ("one", "empty.tsv", (), "empty.tsv"),
    "header": ("one", "header.tsv", (), "must have rows with labels. Received: only a"),
    "no tags": ("spans", "empty.conll", (), "Received: none in empty.conll"),
    "no choices": ("two", "header_choices.tsv", (), "header_choices.tsv"),
    "unknown label": ("one", "new.tsv", (), "Received: ['a\\x1bnew']. The labels are"),
    "unknown to the other": ("more", "new.tsv", "one", "one.keras cannot be scored on"),
    "other labels": ("one", "rows.tsv", "others", "The labels are ['x', 'y']"),
    "sets": ("one", "rows.tsv", "sets", "text_classifier (labels, scores)"),
    "task": ("one", "rows.tsv", "number", "and number.keras, text_regressor"),
    "form": ("one", "rows.tsv", "number", FORMS),
    "pairs": ("one", "rows.tsv", "pairs", "pairs.keras cannot be scored on these rows"),
    "choices": ("two", "choices.tsv", "three", "three.keras cannot be scored"),
    "no rows": ("vectors", "rows.tsv", (), "trained on labelled rows: "),
    "no labels": ("one", "rows.tsv", "vectors", "Received: 'text_embedder'"),
    "no file": ("one", "rows.tsv", "gone", "No such file: gone.keras."),
}


@pytest.mark.parametrize("name", ERRORS)
def test_what_cannot_be_scored_is_one_line(models, monkeypatch, tmp_path, name):
    monkeypatch.chdir(models)
    model, data, compare, message = ERRORS[name]
    options = ("--compare", f"{compare}.keras") if compare else ()
    options += ("--report", tmp_path / "report")
    output = run("evaluate", f"{model}.keras", "--data", data, *options, code=1)
    (line,) = output.splitlines()
    assert line.startswith("Error: ") and message in line
    assert not (tmp_path / "report").exists()


def test_few_rows_and_other_labels(models, monkeypatch, tmp_path):
    monkeypatch.chdir(models)
    output = run(
        "evaluate", "one.keras", "--data", "one.tsv", "--compare", "more.keras"
    )
    assert "Labels that only more.keras has: a\ufffdnew." in output
    assert "\na\ufffdnew" in output and "\x1b" not in output
    assert "So means over labels, such as macro F1, are over other labels." in output
    found = json.loads(output.splitlines()[-1])
    assert found["accuracy"] in (0.0, 1.0) and found["intervals"]["macro_f1"][0] in (
        0,
        1,
    )
    report = ("--report", tmp_path / "report")
    output = run("evaluate", "spans.keras", "--data", "none.conll", *report)
    assert json.loads(output.splitlines()[-1])["recall"] == 0.0
    assert (tmp_path / "report" / "confusion.svg").exists()
    output = run(
        "evaluate", "one.keras", "--data", "one.tsv", "--report", "one.tsv", code=1
    )
    assert "must be a directory" in output


def test_tables_are_joined():
    row = {"type": "X", "f1": 0.5, "support": 2}
    other = {"type": "Y", "f1": 0.25, "support": 0}
    assert join_tables([], []) == []
    assert join_tables([row], [other]) == [
        {**row, "compared f1": None},
        {"type": "Y", "f1": None, "support": None, "compared f1": 0.25},
    ]


def test_python(make_task):
    """Arrays are labels too; label numbers that equal names are these labels."""
    model = make_task(labels=["0", "1"])
    numbers = np.array([int(label == "good") for label in LABELS])
    found = zoo.assess(model, np.array(TEXTS), numbers)
    names = zoo.assess(model, TEXTS, [str(number) for number in numbers])
    assert found.values() == names.values() and found.size == 24
    with pytest.raises(TypeError, match="`model` must be a task. Received: Functional"):
        zoo.assess(keras.Model(model.inputs, model.outputs), TEXTS, LABELS)
    with pytest.raises(
        ValueError, match="must be one that is trained on labelled rows"
    ):
        zoo.assess(make_task("text_embedder"), TEXTS, LABELS)
    with pytest.raises(ValueError, match="same length, and must not be empty"):
        zoo.assess(model, TEXTS, numbers[:3])
