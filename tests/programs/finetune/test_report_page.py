"""The page of a report: whole, and without hostile content, for every task."""

import html.parser
import re
import sys

import numpy as np
import pytest
import tiny
from report_runs import finetune, write_table

import zoo
from zoo.data import write_conll
from zoo.evaluation import assess_classes
from zoo.programs.finetune.report import assess_model
from zoo.programs.finetune.report_page import render
from zoo.tasks.files.class_files import ClassFiles
from zoo.tasks.files.labelled_files import LabelledFiles
from zoo.visualize.plain_text import printable

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


class Page(html.parser.HTMLParser):
    """The elements and the text of a page; every element must be closed."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.text = set(), ""
        self.stack, self.ids, self.links = [], [], []
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


def test_the_page_of_plain_data(classified):
    _, report, directory, _ = classified
    text = check_page((directory / "m_report" / "report.html").read_text("utf-8"))
    for word in ("Scores", "majority", "TF-IDF", "Settings", "Confusion matrix"):
        assert word in text
    value = report["scores"]["model"]["accuracy"]["value"]
    assert f"{value:.3f}" in text


@pytest.mark.slow
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


class OneLabelFiles(LabelledFiles):
    """The report of a model that predicts the second label for every text."""

    def predict_labels(self, model, x):
        return ["always"] * len(x), None

    def assess(self, model, labels, predicted, confidence=None):
        return assess_classes(labels, predicted, model.labels, confidence)


class OneLabel:
    labels = ("never", "always", "once")
    files = OneLabelFiles()


def test_a_label_without_rows_has_no_scores(classified):
    _, report, _, _ = classified
    rows, model = (["a", "b", "c"], ["always", "once", "always"]), OneLabel()
    majority = model.files.assess(model, rows[1], ["always"] * 3)
    found = assess_model(model, rows, {"majority": majority}, 0)
    never, always, once = found["tables"]["Scores of each label"]
    no_scores = dict.fromkeys(("precision", "recall", "f1"))
    assert never == {"label": "never", **no_scores, "support": 0}
    assert once["f1"] == 0.0 and always["recall"] == 1.0
    page = render({**report, **found}, [])
    cells = re.findall(r"<td[^>]*>(.*?)</td>", page[page.index(">never<") :])
    assert cells[:4] == ["–", "–", "–", "0"]


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
    error = np.abs(np.array(true) - found)
    for name, value in (
        ("pearson", stats.pearsonr(true, found).statistic),
        ("spearman", stats.spearmanr(true, found).statistic),
        ("mean_absolute_error", error.mean()),
    ):
        assert report["scores"]["model"][name]["value"] == pytest.approx(value)
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
    measured = model.files.measure(model, words, tags)
    scores = {**model.score(words, tags), "accuracy": measured["accuracy"]}
    for name in ("f1", "precision", "recall", "accuracy"):
        found = report["scores"]["model"][name]["value"]
        assert found == pytest.approx(scores[name])
    assert report["scores"]["most frequent tag of each word"]["accuracy"]["value"] > 0.9
    assert [row["type"] for row in report["tables"]["Spans of each type"]] == ["GOOD"]
    assert len(report["tables"]["Words of each tag"]) == len(model.labels)
    for error in report["errors"]:
        assert re.search(r"\S+: \S+, not \S+", error["labels"]["wrong tags"])
    assert f"Labels for training: words {sum(map(len, words))}" in output
    check_page((tmp_path / "m_report" / "report.html").read_text("utf-8"))


def test_a_task_without_an_assessment_reports_its_scores(classified, make_task):
    class PlainFiles(ClassFiles):
        predict_labels = LabelledFiles.predict_labels

    class Plain(zoo.TextClassifier):
        files = PlainFiles()

    model = Plain(make_task().backbone, make_task().tokenizer, labels=tiny.LABELS)
    found = assess_model(model, (["good", "bad"], tiny.LABELS), {}, 0)
    assert set(found) == {"scores"} and "low" not in found["scores"]["model"]["loss"]
    _, report, directory, _ = classified
    kept = ("title", "data", "tokens", "notes", "settings", "scored")
    page = render({**{k: report[k] for k in kept}, **found}, [])
    assert "accuracy" in check_page(page)


@pytest.mark.slow
def test_without_optional_packages(preset, tmp_path, monkeypatch):
    texts, labels = tiny.make_texts(32)
    data = write_table(tmp_path / "train.tsv", texts, labels)
    for name in ("sklearn", "zoo.visualize"):
        monkeypatch.setitem(sys.modules, name, None)
    output, report = finetune(preset, data, tmp_path)
    assert "needs scikit-learn. Run `pip install scikit-learn`, or in a" in output
    assert "Pictures need matplotlib. Run `pip install" in output
    assert set(report["scores"]) == {"model", "majority"}
    assert report["pictures"] == [] and len(report["notes"]) == 1
    check_page((tmp_path / "m_report" / "report.html").read_text("utf-8"))
