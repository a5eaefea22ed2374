"""A target that equals a label, by its name or as a number, is this label."""

import json

import command_line
import numpy as np
import pandas
import pytest
import tensorflow as tf
import tiny
from label_datasets import labels_of_dataset
from sklearn.utils.class_weight import compute_class_weight

from zoo.data import read_labelled
from zoo.evaluation import convert_tags, span_scores
from zoo.tasks import TokenClassifier
from zoo.tasks.inputs.label_values import as_labels, label_names, spelling
from zoo.tasks.inputs.targets import class_weights, label_ids

# Labels, targets, and the class numbers of the targets.
EQUAL = {
    "floats": ([1.0, 0.0], [1.0, 0.0], [0, 1]),
    "ints of floats": ([1.0, 0.0], [1, 0], [0, 1]),
    "floats of ints": ([1, 0], [1.0, 0.0], [0, 1]),
    "ints of booleans": ([True, False], [1, 0], [0, 1]),
    "booleans": ([True, False], [True, False], [0, 1]),
    "booleans of ints": (["1", "0"], [True, False], [0, 1]),
    "lower case": (["true", "false"], [True, False], [0, 1]),
    "some are numbers": (["1", "2", "3+"], [1, 2], [0, 1]),
    "class numbers that agree": (["0", "1", "2+"], [0, 1, 2], [0, 1, 2]),
    "all are numbers": (["2", "1"], [1, 2], [1, 0]),
    "no class numbers": ([-1, 1], [-1, 1], [0, 1]),
    "leading zeros": (["01", "02", "03"], [1, 2], [0, 1]),
    "exponents": (["1e0", "2e0"], [1, 2], [0, 1]),
    "fractions": ([0.5, 0.1], np.array([0.1, 0.5], "float32"), [1, 0]),
    "half floats": ([0.5, 0.1], np.array([0.1, 0.5], "float16"), [1, 0]),
    "large ints": ([2**53, 2**53 + 1], [2**53 + 1, 2**53], [1, 0]),
    "a count": (3, [2, 0], [2, 0]),
    "names of a count": (3, ["2", "0"], [2, 0]),
    "other names": (["no", "yes"], [1, 0], [1, 0]),
    "other numbers": ([5, 7], [0, 1], [0, 1]),
    "names of other types": ([1.0, 0.0], ["1", "0"], [0, 1]),
    "names of booleans": (["1", "0"], ["True", "false"], [0, 1]),
    "names that differ in their spelling": (["1", "1.0"], ["1.0", "1"], [1, 0]),
    "names": (["no", "yes", "perhaps"], ["yes", "perhaps", "no"], [1, 2, 0]),
    "bytes": (["no", "yes", "perhaps"], [b"yes", b"perhaps", b"no"], [1, 2, 0]),
    "class numbers": (["no", "yes", "so"], np.array([1, 2, 0], "uint8"), [1, 2, 0]),
    "floats of class numbers": (["no", "yes", "so"], [1.0, 2.0, 0.0], [1, 2, 0]),
    "booleans of names": (["bad", "good"], [True, False], [1, 0]),
    "booleans as names": (["True", "False"], [True, False], [0, 1]),
    "names of ints": (["1", "0"], [1, 0], [0, 1]),
    "negative": (["-1", "0", "1", "10"], [-1, 0, 1, 10], [0, 1, 2, 3]),
}
# Labels, targets, and the error.
DIFFERENT = {
    "both readings": (
        ["1", "2", "3+"],
        [0, 1, 2],
        r"unknown, '1', '2'.*'1', '2', '3\+'",
    ),
    "one batch": (["1", "2", "3+"], [0], "As labels, .* unknown. .*class numbers, .*1"),
    "swapped": (["2", "1"], [0, 1], "be clear about labels and class numbers"),
    "mixed": ([5, 7], [5, 0], r"labels of the model. Received: \['0'\]"),
    "several": (["True", "1"], [1], "1, which equals 'True' and '1'"),
    "several names": (["1", "1.0"], ["True"], "'True', which equals '1' and '1.0'"),
    "too large": (["a", "b"], [1e30], r"in \[0, 2\). Received: 1e\+30"),
    "uint64": (["a", "b"], np.array([2**64 - 2], "uint64"), r"in \[0, 2\)"),
    "2^32": (["a", "b"], np.array([2**32]), r"in \[0, 2\)"),
    "negative": (["no", "yes"], [0, -1], r"in \[0, 2\). Received: -1"),
    "too many": (["no", "yes"], [0, 2], r"in \[0, 2\). Received: 2"),
    "fraction": (["no", "yes"], [0.0, 0.5], "class numbers. Received: 0.5.*text_regr"),
    "fraction of names": (["1", "0"], [0.5], "class numbers. Received: 0.5"),
    "unknown number": (["1", "0"], [7], r"labels of the model. Received: \['7'\]"),
    "unknown": (["no", "yes"], ["yes", "so", "x"], r"\['so', 'x'\].*\['no', 'yes'"),
    "rounded": ([2**53 + 1, 5], np.array([2.0**53]), "labels of the model"),
    "dates": (["a", "b"], np.array(["2020-01-01"], "M8[D]"), r"Received: datetime64"),
}


@pytest.mark.parametrize("case", EQUAL)
def test_targets_that_equal_a_label(case, tmp_path):
    labels, y, expected = EQUAL[case]
    names = tuple(label_names(labels))
    values = np.asarray(y)
    objects = pandas.Series([*values], dtype=object)
    for form in (y, values, values[:, None], objects, tf.constant(y)):
        found = label_ids(form, names)
        assert found.tolist() == expected and found.dtype == np.int64
    assert labels_of_dataset(y, names) == expected
    weights = class_weights(dict(zip([*values], (2.0, 3.0), strict=False)), names)
    assert [weights[number] for number in expected[:2]] == [2.0, 3.0]
    if {*map(spelling, map(str, values))} <= {*map(spelling, names)}:
        rows = "".join(f"a\t{value!s}\n" for value in values)
        (tmp_path / "rows.tsv").write_text(f"text\tlabel\n{rows}", "utf-8")
        read = read_labelled(tmp_path / "rows.tsv")[1]
        assert label_ids(read, names).tolist() == expected
        found = as_labels(read, names)
        assert [names.index(label) for label in found] == expected


@pytest.mark.parametrize("case", DIFFERENT)
def test_targets_that_are_no_label_or_several(case):
    labels, y, message = DIFFERENT[case]
    names = tuple(label_names(labels))
    with pytest.raises(ValueError, match=f"`y` must .*{message}"):
        label_ids(y, names)
    if case != "dates":
        errors = tf.errors.InvalidArgumentError
        with pytest.raises(errors, match=f"`y` must .*{message}"):
            labels_of_dataset(y, names)
    with pytest.raises(ValueError, match="`class_weight` must"):
        class_weights(dict.fromkeys(np.asarray(y).tolist(), 1.0), names)


@pytest.mark.usefixtures("eagerly")
def test_scores_agree_with_answers(make_task, texts, labels, tmp_path):
    """Of an untrained model, in arrays, datasets and a file of the command line."""
    model = make_task(labels=[1.0, 0.0])
    truth = [float(label == "good") for label in labels]
    found = [float(label) for label in model.answer(texts)["label"]]
    share = np.mean(np.equal(found, truth))
    assert share != 0.5 and model.labels == ("1.0", "0.0")
    forms = truth, [*map(int, truth)], [*map(bool, truth)], [*map(str, truth)]
    for y in (*forms, [str(int(number)) for number in truth]):
        for x in ((texts, y), (tf.data.Dataset.from_tensors((texts, y)),)):
            scores = model.evaluate(*x, verbose=0, return_dict=True)
            assert scores["accuracy"] == pytest.approx(share)
        predicted, _ = model.files.predict_labels(model, texts)
        values = model.files.assess(model, y, predicted).values()
        assert values["accuracy"] == pytest.approx(share)
    rows = [
        f"{text}\t{number:.0f}\n" for text, number in zip(texts, truth, strict=True)
    ]
    (tmp_path / "rows.tsv").write_text("".join(["text\tlabel\n", *rows]), "utf-8")
    model.save(tmp_path / "m.keras")
    output = command_line.run(
        "evaluate", tmp_path / "m.keras", "--data", tmp_path / "rows.tsv"
    )
    assert json.loads(output.splitlines()[-1])["accuracy"] == pytest.approx(share)


@pytest.mark.usefixtures("eagerly")
def test_tags_may_be_numbers(make_task):
    tagger = make_task("token_classifier", labels=[1.0, 0.0])
    texts, y = ["a good film", "bad"], [[0, 1, 0], [1]]
    found = [[float(word["tag"]) for word in row] for row in tagger.tag(texts)]
    share = np.mean(np.equal(sum(found, []), sum(y, [])))
    rows = tf.data.Dataset.from_tensors((texts, ["0 1.0 0", "1"]))
    for x in ((texts, y), (texts, ["0 1 0.0", "1"]), (rows,)):
        scores = tagger.evaluate(*x, verbose=0, return_dict=True)
        assert scores["accuracy"] == pytest.approx(share)
    predicted, _ = tagger.files.predict_labels(tagger, texts)
    values = tagger.files.assess(tagger, [["0", "1", "0"], ["1"]], predicted).values()
    assert values["accuracy"] == pytest.approx(share)
    numbers = tf.data.Dataset.from_tensors((texts[:1], [[0, 1, 0]]))
    with pytest.raises(ValueError, match="`y` of a dataset must hold .*: int32"):
        tagger.evaluate(numbers, verbose=0)


@pytest.mark.usefixtures("eagerly")
@pytest.mark.parametrize("scheme", ["BIOES", "BILOU"])
def test_tags_of_a_scheme_with_ends(make_task, scheme):
    texts, _ = tiny.make_texts(24)
    tags = [convert_tags(row, scheme) for row in tiny.make_tags(texts)]
    labels = sorted({tag for row in tags for tag in row})
    found = TokenClassifier.files.options(TokenClassifier, texts, tags)
    assert found == {"labels": labels, "scheme": scheme}
    tagger = make_task("token_classifier", decoder="crf", labels=labels, scheme=scheme)
    found = [[word["tag"] for word in row] for row in tagger.tag(texts)]
    assert all(convert_tags(row, scheme) == row for row in found)
    assert any("O" != tag for row in found for tag in row)
    assert tagger.score(texts, tags) == span_scores(tags, found)
    with pytest.raises(ValueError, match="Every label must be O.*Received: 'I'"):
        make_task("token_classifier", labels=[*labels, "I"], scheme=scheme)


@pytest.mark.parametrize(
    "labels",
    [2.5, True, None, 1, -1, 10**8, "ab", ["b\ud800", "a"], ["a", "a"], [None, "a"]]
    + [[np.nan, 1], {"a": 0, "b": 1}, ["a", ["b"]], np.zeros((2, 2)), np.array(1.5)],
    ids=lambda labels: str(labels).encode("ascii", "replace").decode(),
)
def test_labels_that_have_no_names(labels):
    with pytest.raises(ValueError, match="two or more different names, or their num"):
        label_names(labels)


def test_labels_of_other_types():
    for count in (3, np.int64(3), np.array(3), tf.constant(3)):
        assert label_names(count) == ["0", "1", "2"]
    forms = list, np.array, pandas.Index, lambda names: [b"a", *names[1:]]
    for names in [form(["a", "b"]) for form in forms]:
        assert label_names(names) == ["a", "b"]
    assert label_names(np.array([1.5, 0.1], "float32")) == ["1.5", "0.1"]


@pytest.mark.parametrize(
    "weights, expected",
    [
        ([2, 3], {0: 2.0, 1: 3.0}),
        (np.array([2.0, 3.0]), {0: 2.0, 1: 3.0}),
        (pandas.Series({"b": 3.0, "a": 2.0}), {0: 2.0, 1: 3.0}),
        ({"b": 3.0}, {0: 1.0, 1: 3.0}),
        ("balanced", {0: 4 / (2 * 3), 1: 4 / (2 * 1)}),
    ],
    ids=["list", "array", "series", "dict", "balanced"],
)
def test_forms_of_class_weights(weights, expected):
    y = ["a", "a", "b", "a"]
    numbers = label_ids(y, ("a", "b"))
    assert class_weights(weights, ("a", "b"), numbers) == pytest.approx(expected)


def test_balanced_weights_are_those_of_scikit_learn():
    y = np.array(["a", "c", "a", "a", "c", "a"])
    expected = compute_class_weight("balanced", classes=np.unique(y), y=y)
    names = "a", "b", "c"  # no row has "b"
    found = class_weights("balanced", names, label_ids(y, names))
    assert [found[0], found[2]] == pytest.approx(expected.tolist()) and found[1] == 1


@pytest.mark.parametrize(
    "weights, message",
    [
        ({"ugly": 1.0}, r"hold labels.*\['ugly'\]"),
        ({2: 1.0}, r"be in \[0, 2\). Received: 2"),
        ({None: 1.0}, "have a label"),
        ({"good": -1.0}, "hold finite numbers of at least 0"),
        ({"good": 2.0, 1: 3.0}, r"one weight for a class. Received: \['good', 1\]"),
        ([1.0, 2.0, 3.0], r"for each of the 2 labels.* shape \(3,\)"),
        ([[1.0, 2.0]], r"shape \(1, 2\)"),
        ([1.0, -2.0], "finite numbers of at least 0. Received: -2.0"),
        ([1.0, None], "finite numbers of at least 0. Received: None"),
        ("balance", "or 'balanced' .* Received: 'balance'"),
        (3.0, "Received: 3.0"),
        ({1.0}, "be a dict of labels"),
    ],
)
def test_class_weights_that_do_not_fit(classifier, weights, message):
    for call in (classifier.fit, classifier.train_on_batch):
        with pytest.raises(ValueError, match=f"`class_weight` must.*{message}"):
            call(["good film", "dull"], tiny.LABELS, class_weight=weights)


def test_balanced_weights_need_labels_in_arrays(classifier):
    rows = tf.data.Dataset.from_tensors((["good film", "dull"], tiny.LABELS))
    with pytest.raises(ValueError, match="'balanced' for arrays of text"):
        classifier.fit(rows, class_weight="balanced")
