"""The report of `zoo finetune`, on tiny models and hostile data."""

import builtins
import html.parser
import json
import re

import click.testing
import numpy as np
import pytest
import tiny

import zoo
from zoo.cli import main
from zoo.data import write_conll
from zoo.programs import finetuning
from zoo.programs.data_summary import data_lines, describe_data, printable
from zoo.programs.report_page import render
from zoo.registry import build_backbone
from zoo.text import WordPieceTokenizer

HOSTILE = [
    "<script>alert(1)</script>",
    "good \x1b[31m film \x08\x07",
    '"><img src=x onerror=alert(1)>',
    "a very long film " * 400,
    "🎬 👩\u200d🎤 film",
    "\u202eright to left\u202c שלום",
    "'; -- & &amp; </body>",
]
ELEMENTS = {
    *("html", "head", "meta", "title", "style", "body", "main", "section"),
    *("h1", "h2", "h3", "p", "ul", "ol", "li", "b", "em", "div", "figure"),
    *("table", "thead", "tbody", "tr", "th", "td", "details", "summary"),
    *("svg", "g", "defs", "path", "use", "text", "image", "rect", "clippath"),
    *("tspan",),
}
EMPTY = {"meta", "image", "use", "path", "rect", "br"}


@pytest.fixture(scope="module")
def preset(tmp_path_factory):
    """Directory of a tiny backbone with its tokenizer."""
    import keras

    directory = tmp_path_factory.mktemp("report") / "preset"
    keras.utils.set_random_seed(1)
    backbone = build_backbone("bert", tiny.CONFIG)
    backbone.tokenizer = WordPieceTokenizer(tiny.VOCABULARY)
    backbone.save_to_preset(directory)
    return directory


def finetune(preset, data, directory, *options, code=0):
    """Runs the command; returns its output and the report, a dict."""
    arguments = ["finetune", preset, "--data", data, "--output", directory / "m.keras"]
    arguments += ["--epochs", 2, "--learning-rate", 0.01, "--batch-size", 8, *options]
    result = click.testing.CliRunner().invoke(main, [str(a) for a in arguments])
    assert result.exit_code == code, (result.output, result.exception)
    found = directory / "m_report" / "report.json"
    return result.output, json.loads(found.read_text("utf-8")) if not code else None


def write_table(path, *columns, header="text\tlabel"):
    rows = ["\t".join(row) for row in zip(*columns, strict=True)]
    path.write_text("\n".join([header, *rows]) + "\n", "utf-8")
    return path


class Page(html.parser.HTMLParser):
    """The elements and the text of a page; every element must be closed."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.stack, self.ids, self.text, self.links = (
            set(),
            [],
            [],
            "",
            [],
        )
        self.feed(text)
        assert not self.stack

    def handle_starttag(self, tag, attributes):
        self.elements.add(tag)
        self.ids += [value for name, value in attributes if name == "id"]
        assert not [name for name, _ in attributes if name.startswith("on")]
        links = ("src", "href", "xlink:href")
        self.links += [value for name, value in attributes if name in links]
        if tag not in EMPTY or self.get_starttag_text().endswith("/>"):
            if not self.get_starttag_text().endswith("/>"):
                self.stack.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)

    def handle_endtag(self, tag):
        if tag not in EMPTY:
            assert self.stack.pop() == tag

    def handle_data(self, data):
        if self.stack and self.stack[-1] != "style":
            self.text += data


def check_page(text):
    """The page is well formed, loads nothing and runs nothing; returns its text."""
    page = Page(text)
    assert page.elements <= ELEMENTS, page.elements - ELEMENTS
    assert len(set(page.ids)) == len(page.ids)
    for link in page.links:
        assert link.startswith(("#", "data:image/png;base64,")), link
        assert not link.startswith("#") or link[1:] in page.ids
    if any(link.startswith("data:") for link in page.links):
        assert "img-src data:" in text  # else the policy of the page hides it
    assert not re.search(r"url\((?!#)", text) and "@import" not in text
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\x80-\x9f]", text)
    return page.text


@pytest.fixture(scope="module")
def classified(preset, tmp_path_factory):
    """Output, report and directory of a classifier on a separate validation file."""
    directory = tmp_path_factory.mktemp("classified")
    texts, labels = tiny.make_texts(48)
    train = write_table(directory / "train.tsv", texts, labels)
    others, truth = tiny.make_texts(40, seed=1)
    truth = ["bad" if i % 4 == 0 else label for i, label in enumerate(truth)]
    valid = write_table(directory / "valid.tsv", others, truth)
    output, report = finetune(preset, train, directory, "--valid", valid)
    return output, report, directory, (others, truth)


@pytest.mark.slow
def test_scores_are_those_of_scikit_learn(classified):
    metrics = pytest.importorskip("sklearn.metrics")
    _, report, directory, (texts, truth) = classified
    model = zoo.load_model(directory / "m.keras")
    answers = model.answer(texts)
    found = answers["label"].tolist()
    scores = report["scores"]["model"]
    assert scores["accuracy"]["value"] == metrics.accuracy_score(truth, found)
    f1 = metrics.f1_score(truth, found, average="macro")
    assert scores["macro_f1"]["value"] == pytest.approx(f1)
    matrix = metrics.confusion_matrix(truth, found, labels=tiny.LABELS)
    assert report["confusion"] == {"labels": tiny.LABELS, "matrix": matrix.tolist()}
    labels = tiny.make_texts(48)[1]
    majority = max(set(labels), key=labels.count)
    share = report["scores"]["majority"]["accuracy"]["value"]
    assert share == truth.count(majority) / len(truth)
    wrong = [i for i in range(len(truth)) if truth[i] != found[i]]
    wrong.sort(key=lambda i: -answers["score"][i])
    assert [error["texts"] for error in report["errors"]] == [
        [texts[i]] for i in wrong[:20]
    ]
    assert report["errors"][0]["labels"] == {
        "true": truth[wrong[0]],
        "predicted": found[wrong[0]],
    }
    difference = report["differences"]["majority"]["accuracy"]["value"]
    assert difference == pytest.approx(scores["accuracy"]["value"] - share)


def test_the_report_says_what_was_read_and_set(classified):
    output, report, directory, (_, truth) = classified
    counts = report["data"]["validation"]["counts"]
    assert counts == {label: truth.count(label) for label in counts}
    assert report["data"]["training"]["rows"] == 48
    settings = report["settings"]
    assert settings["data"] == str(directory / "train.tsv")
    assert settings["epochs"] == 2 and settings["batch size"] == 8
    assert settings["zoo"] == zoo.__version__ and settings["learning rate"] == 0.01
    lengths = report["tokens"]
    assert lengths["texts"] == 88 and lengths["longer"] == 0
    assert f"longest {lengths['longest']}. 0 of 88 texts" in output
    assert "48 rows for training, 40 rows for validation." in output
    names = ["loss", "accuracy", "learning_rate", "confusion"]
    assert set(report["pictures"]) == {
        f"{n}.{s}" for n in names for s in ("svg", "png")
    }
    for name in report["pictures"]:
        assert (directory / "m_report" / name).stat().st_size > 1000


def test_curves_are_means_over_updates(classified):
    _, report, _, _ = classified
    updates, history = report["updates"], report["history"]
    assert updates["update"] == list(range(1, 13))
    for epoch in range(2):  # batches of equal size
        part = updates["loss"][6 * epoch : 6 * (epoch + 1)]
        assert np.mean(part) == pytest.approx(history["loss"][epoch], abs=1e-5)
    rates = updates["learning_rate"]
    assert max(rates) <= 0.01 and rates[-1] == pytest.approx(0, abs=1e-6)


def test_no_control_characters_without_a_terminal(classified):
    output, _, _, _ = classified
    assert not re.search("[\x00-\x09\x0b-\x1f]", output)
    epochs = [line for line in output.splitlines() if line.startswith("epoch")]
    assert len(epochs) == 2
    assert re.fullmatch(
        r"epoch 1 of 2: accuracy [\d.]+, loss [\d.]+, validation accuracy [\d.]+, "
        r"validation loss [\d.]+, [\d.]+ s",
        epochs[0],
    )


def test_a_terminal_gets_the_bar_of_keras(make_task, monkeypatch):
    verbose = []
    model = make_task()

    def fit(*_, **options):
        verbose.append(options["verbose"])
        return type("History", (), {"history": {}})

    monkeypatch.setattr(model, "fit", fit)
    parts = {"training": (["a"], ["bad"]), "validation": (["a"], ["bad"])}
    for terminal in (True, False):
        monkeypatch.setattr("sys.stdout.isatty", lambda t=terminal: t, raising=False)
        sizes = {"batch_size": 8, "token_budget": None}
        finetuning.fit(model, parts, 1, sizes, 0, print)
    assert verbose == [1, 0]


def test_the_page_of_plain_data(classified):
    _, report, directory, _ = classified
    text = check_page((directory / "m_report" / "report.html").read_text("utf-8"))
    for word in ("Scores", "majority", "TF-IDF", "Settings", "Confusion matrix"):
        assert word in text
    value = report["scores"]["model"]["accuracy"]["value"]
    assert f"{value:.3f}" in text


@pytest.mark.filterwarnings("ignore:.*with an empty text")
def test_hostile_texts_and_labels(preset, tmp_path):
    texts = [f"{text} {i}" for i in range(6) for text in HOSTILE] + [""] * 6
    strange = ["<b>", "$\\x$", "a,b", "שלום", "🎬", "_", "__", "</script>", "\x1b[2J"]
    labels = [strange[i % len(strange)] for i in range(len(texts))]
    data = write_table(tmp_path / "train.tsv", texts, labels)
    output, report = finetune(preset, data, tmp_path, "--valid", data)
    assert not re.search("[\x00-\x09\x0b-\x1f]", output)
    page = (tmp_path / "m_report" / "report.html").read_text("utf-8")
    text = check_page(page)
    assert "<script" not in page and "</b>]" not in page
    shown = [error["texts"][0] for error in report["errors"]]
    assert len(shown) == 20 and all(len(one) < 340 for one in shown)
    long = [one for one in shown if one.startswith("a very")]
    assert all(re.search(r"… \(6,80\d characters\)$", one) for one in long)
    assert report["data"]["training"]["rows"] == 48
    assert set(report["confusion"]["labels"]) == set(strange)
    assert "of 96 texts are longer than 32 tokens" in output and "&lt;b&gt;" in page
    assert "\u202e" in text or not any("\u202e" in one for one in shown)


def test_error_texts_of_every_kind_are_escaped(classified):
    _, report, _, _ = classified
    texts = [printable(text, 300) for text in [*HOSTILE, ""]]
    errors = [
        {"texts": [text], "labels": {"true": text}, "error": 0.5} for text in texts
    ]
    page = render({**report, "errors": errors, "title": HOSTILE[0]}, [])
    text = check_page(page)
    for one in texts:
        assert one in text
    assert "(6,800 characters)" in text and "(empty)" in text


@pytest.mark.slow
def test_77_labels(preset, tmp_path):
    labels = [f"intent number {i % 77}" for i in range(154)]
    texts = [f"film {i} {label}" for i, label in enumerate(labels)]
    labels[-1] = "once"
    data = write_table(tmp_path / "train.tsv", texts, labels)
    output, report = finetune(preset, data, tmp_path, "--valid", data, "--epochs", 1)
    assert "78 labels for training:" in output
    assert output.count("intent number") < 12  # the most frequent and the rarest
    assert "Labels that occur once for training: intent number 76, once." in output
    page = (tmp_path / "m_report" / "report.html").read_text("utf-8")
    check_page(page)
    assert '<figure class="confusion large">' in page
    assert "<details><summary>78 rows</summary>" in page
    matrix = np.array(report["confusion"]["matrix"])
    assert matrix.shape == (78, 78) and matrix.sum() == 154
    first = report["most_confused"][0]
    np.fill_diagonal(matrix, 0)
    assert first["rows"] == matrix.max() and len(report["most_confused"]) <= 20


def test_one_label_is_an_error(preset, tmp_path):
    data = write_table(tmp_path / "train.tsv", ["a film", "a plot"], ["x", "x"])
    output, _ = finetune(preset, data, tmp_path, "--valid", data, code=1)
    assert "1 labels for training: x: 2 (100.0 %)." in output
    assert "`labels` must be two or more different names" in output
    assert not (tmp_path / "m_report").exists()


@pytest.mark.slow
def test_validation_with_one_label_and_an_unknown_label(preset, tmp_path):
    texts, labels = tiny.make_texts(16)
    data = write_table(tmp_path / "train.tsv", texts, labels)
    valid = write_table(tmp_path / "valid.tsv", ["good"], ["good"])
    output, report = finetune(preset, data, tmp_path, "--valid", valid)
    assert "Labels without a row for validation: bad." in output
    assert report["data"]["validation"] == {"rows": 1, "counts": {"good": 1}}
    valid = write_table(tmp_path / "valid.tsv", ["good"], ["new"])
    output, _ = finetune(preset, data, tmp_path, "--valid", valid, code=1)
    assert "Labels without a row for training: new." in output
    assert "labels of the model. Received: ['new']" in output
    assert "epoch" not in output


@pytest.mark.slow
def test_pairs_and_regressors(preset, tmp_path):
    stats = pytest.importorskip("scipy.stats")
    texts, labels = tiny.make_texts(40)
    numbers = [("1.5" if label == "good" else "-2") for label in labels]
    columns = (texts, texts[::-1], numbers)
    header = "text\ttext_pair\tlabel"
    data = write_table(tmp_path / "train.tsv", *columns, header=header)
    task = ("--task", "text_regressor", "--valid", data)
    output, report = finetune(preset, data, tmp_path, *task)
    assert "Labels for training: smallest -2, mean " in output
    true, found = report["points"]
    assert true == [float(number) for number in numbers]
    scores = report["scores"]["model"]
    assert scores["pearson"]["value"] == pytest.approx(
        stats.pearsonr(true, found).statistic
    )
    assert scores["spearman"]["value"] == pytest.approx(
        stats.spearmanr(true, found).statistic
    )
    error = np.abs(np.array(true) - found)
    assert scores["mean_absolute_error"]["value"] == pytest.approx(error.mean())
    assert len(report["errors"][0]["texts"]) == 2
    assert report["errors"][0]["error"] == pytest.approx(error.max())
    assert {"mean", "TF-IDF with ridge regression"} < set(report["scores"])
    assert "scatter.png" in report["pictures"] and "confusion" not in report
    check_page((tmp_path / "m_report" / "report.html").read_text("utf-8"))


@pytest.mark.slow
def test_taggers(preset, tmp_path):
    texts, _ = tiny.make_texts(40)
    words, tags = [text.split() for text in texts], tiny.make_tags(texts)
    words[0][0] = "<script>"
    write_conll(tmp_path / "train.conll", words, tags)
    data = tmp_path / "train.conll"
    options = ("--task", "token_classifier", "--scheme", "IOB2", "--valid", data)
    output, report = finetune(preset, data, tmp_path, *options)
    model = zoo.load_model(tmp_path / "m.keras")
    scores = model.score(words, tags)
    own = report["scores"]["model"]
    for name in ("f1", "precision", "recall"):
        assert own[name]["value"] == pytest.approx(scores[name])
    assert own["accuracy"]["value"] == pytest.approx(
        model.measure(words, tags)["accuracy"]
    )
    assert report["scores"]["most frequent tag of each word"]["accuracy"]["value"] > 0.9
    assert [row["type"] for row in report["tables"]["Spans of each type"]] == ["GOOD"]
    assert len(report["tables"]["Words of each tag"]) == len(model.labels)
    for error in report["errors"]:
        assert re.search(r"\S+: \S+, not \S+", error["labels"]["wrong tags"])
    assert f"Labels for training: words {sum(map(len, words))}" in output
    check_page((tmp_path / "m_report" / "report.html").read_text("utf-8"))


def test_a_task_without_an_assessment_reports_its_scores(classified, make_task):
    from zoo.programs.report import assess_model

    class Plain(zoo.TextClassifier):
        predict_labels = zoo.tasks.Task.predict_labels

    model = Plain(make_task().backbone, make_task().tokenizer, labels=tiny.LABELS)
    found = assess_model(model, (["good", "bad"], tiny.LABELS), {}, 0)
    assert set(found) == {"scores"} and "low" not in found["scores"]["model"]["loss"]
    _, report, directory, _ = classified
    kept = ("title", "data", "tokens", "notes", "settings", "scored")
    page = render({**{k: report[k] for k in kept}, **found}, [])
    assert "accuracy" in check_page(page)


def refuse(monkeypatch, *packages):
    import_any = builtins.__import__

    def no(name, *arguments, **options):
        if name.startswith(packages):
            raise ImportError(name)
        return import_any(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", no)


@pytest.mark.slow
def test_without_optional_packages(preset, tmp_path, monkeypatch):
    texts, labels = tiny.make_texts(32)
    data = write_table(tmp_path / "train.tsv", texts, labels)
    refuse(monkeypatch, "sklearn", "zoo.visualize")
    output, report = finetune(preset, data, tmp_path)
    assert "needs scikit-learn. Run `pip install 'keras-context-zoo[eval]'`." in output
    assert "Pictures need matplotlib. Run `pip install" in output
    assert set(report["scores"]) == {"model", "majority"}
    assert report["pictures"] == [] and len(report["notes"]) == 1
    check_page((tmp_path / "m_report" / "report.html").read_text("utf-8"))


def test_the_directory_is_checked_before_the_training(preset, tmp_path):
    texts, labels = tiny.make_texts(32)
    data = write_table(tmp_path / "train.tsv", texts, labels)
    output, _ = finetune(preset, data, tmp_path, "--report", data, code=1)
    assert "The report must be a directory. Received:" in output
    assert "rows for training" not in output


def test_large_numbers_of_labels_and_rare_ones():
    labels = ["x"] * 3 + ["y"] + ["\x08"] * 2
    data = describe_data(zoo.TextClassifier, {"training": (None, labels)})
    assert data == {"training": {"rows": 6, "counts": {"x": 3, "\x08": 2, "y": 1}}}
    assert data_lines(data) == [
        "6 rows for training.",
        "3 labels for training: x: 3 (50.0 %); \ufffd: 2 (33.3 %); y: 1 (16.7 %).",
        "Labels that occur once for training: y.",
    ]


def test_printable():
    assert printable("a\tb\nc\x00\ud800") == "a b c\ufffd\ufffd"
    assert printable("x" * 1200, 5) == "xxxxx… (1,200 characters)"
    assert printable("👩\u200d🎤\u00a0é") == "👩\u200d🎤\u00a0é"
