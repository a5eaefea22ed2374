"""`zoo finetune` and its companions for tasks that write texts and trees."""

import json

import keras
import pytest
import tiny
from command_line import run
from tiny_translator import make_translator

import zoo
from zoo.evaluation import group_references, translation_scores
from zoo.files.whole_files import open_any
from zoo.programs.finetune import loading
from zoo.programs.finetune.labelled_rows import RowFiles, read_parts, split_off
from zoo.registry import build_backbone
from zoo.text import ParsingTokenizer, list_tokens, read_tree, train_sentencepiece

TREES = [
    "( (S (NP-SBJ (DT The) (NN cat)) (VP (VBZ sits)) (. .)) )",
    "( (S (NP-SBJ (PRP She)) (VP (VBZ sees) (NP (DT a)\n  (NN dog))) (. .)) )",
    "( (NP (-NONE- *)) )",
    "( (NP (NN Home)) )",
]


@pytest.fixture(scope="module")
def preset(tmp_path_factory):
    """Directory of a tiny translator with random weights."""
    directory = tmp_path_factory.mktemp("writers") / "preset"
    make_translator(seed=1, scale=None).save_to_preset(directory)
    return directory


@pytest.fixture(scope="module")
def pairs():
    """Sources and targets; some sources have two targets."""
    sources, targets = tiny.make_pairs(32, longest=3)
    return [*sources, *sources[:8]], [*targets, *map(str.lower, targets[:8])]


def write_pairs(path, pairs):
    path.write_text("".join(f"{a}\t{b}\n" for a, b in zip(*pairs, strict=True)))
    return path


@pytest.fixture(scope="module")
def files(pairs, tmp_path_factory):
    """Files of the sources and of the targets."""
    directory = tmp_path_factory.mktemp("bitext")
    paths = directory / "train.en.gz", directory / "train.fr"
    for path, texts in zip(paths, pairs, strict=True):
        with open_any(path, "wt") as file:
            file.writelines(f"{text}\n" for text in texts)
    return paths


@pytest.fixture(scope="module")
def trained(preset, files, tmp_path_factory):
    """Output, report and directory of a translator, by default options."""
    directory = tmp_path_factory.mktemp("trained")
    options = ("--output", directory / "m.keras", "--epochs", 2, "--token-budget", 90)
    source, target = files
    data = ("--data", source, "--target", target)
    output = run("finetune", preset, *data, *options)
    report = json.loads((directory / "m_report" / "report.json").read_text("utf-8"))
    return output, report, directory


def test_the_task_is_that_of_the_preset(trained, preset):
    output, report, directory = trained
    assert type(zoo.load_model(directory / "m.keras")) is zoo.Translator
    assert report["settings"]["task"] == "translator"
    assert "Labels for training: words " in output
    assert report["settings"]["targets"].endswith("train.fr")


@pytest.mark.slow
def test_scores_are_those_of_sacrebleu(trained, pairs):
    _, report, directory = trained
    model = zoo.load_model(directory / "m.keras")
    sources, references = group_references(*split_off(*pairs)[1])
    assert report["scored"] == {"part": "validation", "rows": len(sources)}
    assert report["data"]["validation"]["rows"] > len(sources)
    train = split_off(*pairs)[0]
    nearest = zoo.evaluation.nearest_targets(*train, sources)
    predictors = {
        "model": model.translate(sources),
        "copy of the source": sources,
        "target of the most similar source": nearest,
    }
    assert report["scores"].keys() == predictors.keys()
    for name, texts in predictors.items():
        expected = translation_scores(texts, references)
        for key in ("bleu", "chrf"):
            found = report["scores"][name][key]
            assert found["value"] == pytest.approx(expected[key])
            assert found["low"] <= found["value"] + 1e-9 <= found["high"] + 2e-9
    worst = report["errors"][0]
    row = sources.index(worst["texts"][0])
    assert worst["labels"]["true"] == " / ".join(references[row])
    assert worst["labels"]["translation"] == predictors["model"][row]
    page = (directory / "m_report" / "report.html").read_text("utf-8")
    assert "copy of the source" in page and "Largest errors" in page


def test_updates_have_a_budget_of_tokens(trained, preset, pairs):
    _, report, _ = trained
    assert report["settings"]["token budget"] == 90
    assert "batch size" not in report["settings"]
    model = zoo.from_preset(preset)
    batches = model.batches(*split_off(*pairs)[0], shuffle=True, token_budget=90)
    steps = sum(1 for _ in batches)
    assert report["updates"]["update"][-1] == 2 * steps != 4
    rates = report["updates"]["learning_rate"]
    assert rates[0] > rates[-1] == pytest.approx(0, abs=1e-6)  # planned at once


@pytest.mark.slow
def test_the_model_is_scored_and_asked(trained, files, pairs):
    _, _, directory = trained
    model = directory / "m.keras"
    data = ("--data", files[0], "--target", files[1])
    scores = json.loads(run("evaluate", model, *data).splitlines()[-1])
    names = {"loss", "crossentropy", "accuracy", "bleu", "chrf", "exact_match"}
    assert scores.keys() == names and 0 <= scores["accuracy"] <= 1
    sources, references = group_references(*pairs)
    found = zoo.load_model(model).translate(sources)
    assert scores["chrf"] == translation_scores(found, references)["chrf"]
    line = json.loads(run("predict", model, sources[0]).splitlines()[-1])
    assert line["translation"] == found[0] and line["score"] < 0


@pytest.mark.slow
def test_the_model_is_exported(trained, tmp_path):
    _, _, directory = trained
    version = run("export", directory / "m.keras", tmp_path / "served").strip()
    assert version.endswith("/1")


def test_two_files_are_as_one(pairs, files, tmp_path):
    source, target = files
    few = tuple(side[:9] for side in pairs)
    data, kind = write_pairs(tmp_path / "few.tsv", few), zoo.Translator
    labels, parts = read_parts(kind, RowFiles(source, data, target))
    assert labels == pairs[1]
    assert parts == {"training": pairs, "validation": few}
    labels, parts = read_parts(kind, RowFiles(data, source, None, target))
    assert labels == few[1]
    assert parts == {"training": few, "validation": pairs}
    _, parts = read_parts(kind, RowFiles(source, target=target))
    assert (parts["training"], parts["validation"]) == tuple(split_off(*pairs))


@pytest.mark.parametrize(
    ("saved", "chosen"),
    [
        (None, zoo.TextClassifier),
        (zoo.MaskedLM, zoo.TextClassifier),
        (zoo.TokenClassifier, zoo.TokenClassifier),
    ],
)
def test_a_preset_may_have_no_task_for_rows(monkeypatch, saved, chosen):
    monkeypatch.setattr(loading.registry, "saved_task", lambda preset: saved)
    assert loading.default_task("any") is chosen


def test_pairs_without_a_text_are_left_out(tmp_path):
    (tmp_path / "a.tsv").write_text("a\tb\nc\t\n \td\n")
    read = zoo.Translator.files.read
    with pytest.warns(UserWarning, match="pairs with an empty text: 2. They are left"):
        assert read(tmp_path / "a.tsv") == (["a"], ["b"])
        assert read(tmp_path / "a.tsv", "1", label_column=0) == (["b"], ["a"])


TARGET = "--target", "two.fr"
CASES = {
    "a.tsv": ("a\tb\nc\n", (), "at least 2 columns, separated by tabs. Received: 1 in"),
    "empty.tsv": ("", (), "There must be a pair of texts. Received: none in"),
    "short.en": ("a\n", TARGET, "must have the same number of lines."),
    "names.tsv": ("a\tb\n", ("--text-column", "en"), "numbers from 0. Received: 'en'"),
    "pair.tsv": ("a\tb\n", ("--pair-column", "1"), "pair_column='1'"),
    "mixed.en": ("a\nb\n", (*TARGET, "--label-column", 1), "two files without columns"),
    "other.tsv": (
        "text\tlabel\na\tx\nb\ty\n",
        (*TARGET, "--task", "text_classifier"),
        "Only a task that writes texts has its targets in a second file.",
    ),
    "valid.tsv": ("a\tb\n", ("--valid-target", "two.fr"), "needs `--valid`"),
    "sizes.tsv": (
        "a\tb\n",
        ("--token-budget", 9, "--batch-size", 9),
        "`token_budget` must be positive, without `batch_size`",
    ),
    "search.tsv": (
        "a\tb\n",
        ("--token-budget", 9, "--learning-rate", "auto"),
        "without the search for a learning rate",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_mistakes_are_one_line(preset, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    content, options, message = CASES[name]
    (tmp_path / name).write_text(content)
    (tmp_path / "two.fr").write_text("x\ny\n")
    common = ("--data", name, "--output", "m.keras")
    output = run("finetune", preset, *common, *options, code=1)
    (line,) = output.splitlines()
    assert line.startswith("Error: ") and message in line
    assert not (tmp_path / "m.keras").exists()


@pytest.mark.slow
def test_parsers_read_brackets(tmp_path):
    trees = [read_tree(tree, clean=True) for tree in TREES if "NONE" not in tree]
    sentences = ["The cat sits .", "She sees a dog .", "Home"]
    model = train_sentencepiece(sentences * 3, 320)
    tokenizer = ParsingTokenizer(model, list_tokens(trees))
    config = {
        **tiny.TRANSFORMER_CONFIG,
        "vocabulary_size": tokenizer.vocabulary_size,
        "target_vocabulary_size": tokenizer.target_vocabulary_size,
    }
    keras.utils.set_random_seed(1)
    backbone = build_backbone("transformer", config)
    parser = zoo.Parser(backbone, tokenizer, sequence_length=32)
    parser.save_to_preset(tmp_path / "preset")
    data = tmp_path / "a.mrg"
    data.write_text("\n".join(TREES))
    assert zoo.Parser.files.read(data)[0] == sentences
    options = ("--valid", data, "--output", tmp_path / "m.keras", "--epochs", 1)
    output = run("finetune", tmp_path / "preset", "--data", data, *options)
    assert "Labels for training: words 10." in output
    report = json.loads((tmp_path / "m_report" / "report.json").read_text("utf-8"))
    assert report["settings"]["task"] == "parser"
    assert report["scores"].keys() == {"model", "right branching"}
    found = report["scores"]["right branching"]
    assert found["tagging_accuracy"]["value"] == 1 and found["errors"]["value"] == 0
    assert 0 < found["f1"]["value"] < 1 and len(report["errors"][0]["texts"]) == 1
    assert read_tree(report["errors"][0]["labels"]["true"]) in trees
    data.write_text("( (NP (-NONE- *)) )")
    with pytest.raises(ValueError, match="A tree must have a word. Received: none"):
        zoo.Parser.files.read(data)
    with pytest.raises(ValueError, match="A file of trees has no columns"):
        zoo.Parser.files.read(data, text_column=1)
