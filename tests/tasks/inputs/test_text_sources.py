"""Texts, targets and weights of other packages: columns, tables and streams."""

import collections

import numpy as np
import pytest
import tensorflow as tf
import tiny
from light_fits import EAGER, Batches, Stream, generator
from three_texts import LABELS, TAGS, TEXTS

from zoo.tasks import TASKS

WEIGHTS = [1.0, 0.5, 2.0]


class Column(collections.abc.Sequence):
    """Like a column of Hugging Face's datasets: rows, and nothing of an array."""

    def __init__(self, values):
        self.values = values

    def __len__(self):
        return len(self.values)

    def __getitem__(self, index):
        return self.values[index]


class Arrow:
    """Like an array of Arrow, whose `to_numpy` raises an error for strings."""

    def __init__(self, values):
        self.values = values

    def __len__(self):
        return len(self.values)

    def __getitem__(self, index):
        return self

    def to_pylist(self):
        return list(self.values)

    def to_numpy(self):
        raise ValueError("zero_copy_only was True")


class Table:
    """Like a table of Arrow or a dataset of Hugging Face."""

    def __init__(self, columns):
        self.columns, self.column_names = list(columns.values()), list(columns)

    def __len__(self):
        return len(self.columns[0])

    def __getitem__(self, name):
        return Column(self.columns[self.column_names.index(name)])


def package(name, make):
    """A test parameter of a package that may be missing: `make(module, values)`."""
    return lambda values: make(pytest.importorskip(name), values)


def hugging_face(datasets, values):
    return datasets.Dataset.from_dict({"column": values})["column"]


def string_array(values):
    return np.array(values, STRINGS if isinstance(values[0], str) else None)


STRINGS = np.dtypes.StringDType()
COLUMNS = {
    "objects": lambda values: np.array(values, object),
    "strings": string_array,
    "Column": Column,
    "Arrow": Arrow,
    "deque": collections.deque,
    "tuple": tuple,
    "pandas": package("pandas", lambda pandas, values: pandas.Series(values)),
    "polars": package("polars", lambda polars, values: polars.Series(values)),
    "arrow": package("pyarrow", lambda arrow, values: arrow.array(values)),
    "chunks": package("pyarrow", lambda arrow, values: arrow.chunked_array([values])),
    "datasets": package("datasets", hugging_face),
}
TABLES = {
    "Table": Table,
    "pandas": package("pandas", lambda pandas, columns: pandas.DataFrame(columns)),
    "polars": package("polars", lambda polars, columns: polars.DataFrame(columns)),
    "arrow": package("pyarrow", lambda arrow, columns: arrow.table(columns)),
    "datasets": package("datasets", lambda d, columns: d.Dataset.from_dict(columns)),
}


def logs(model, *data, **options):
    return model.evaluate(*data, verbose=0, return_dict=True, **options)


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_work_like_lists(name, classifier):
    make = COLUMNS[name]
    x, y, weights = map(make, (TEXTS, LABELS, WEIGHTS))
    x = (x,) if name == "tuple" else x
    expected = logs(classifier, TEXTS, LABELS, sample_weight=WEIGHTS)
    assert logs(classifier, x, y, sample_weight=weights) == expected
    pair = make(TEXTS), make(TEXTS[::-1])
    expected = classifier.predict((TEXTS, TEXTS[::-1]), verbose=0)
    np.testing.assert_array_equal(classifier.predict(pair, verbose=0), expected)


@pytest.mark.parametrize("name", ["Column", "Arrow", "tuple"])
def test_every_method_takes_columns(name, classifier):
    x, y, weights = map(COLUMNS[name], (TEXTS, LABELS, WEIGHTS))
    x = (x,) if name == "tuple" else x
    expected = classifier.answer(TEXTS)["scores"]
    np.testing.assert_array_equal(classifier.answer(x)["scores"], expected)
    expected = classifier.test_on_batch(TEXTS, LABELS, WEIGHTS)
    assert classifier.test_on_batch(x, y, weights) == expected
    options = {"validation_split": 0.4, "sample_weight": weights, "verbose": 0}
    history = classifier.fit(x, y, validation_data=None, **options).history
    assert np.isfinite(history["val_loss"]).all() and not classifier.pair
    held_out = (x, y, weights)
    history = classifier.fit(x, y, validation_data=held_out, verbose=0).history
    expected = logs(classifier, TEXTS, LABELS, sample_weight=WEIGHTS)["loss"]
    assert history["val_loss"] == [pytest.approx(expected, rel=1e-5)]


@pytest.mark.parametrize("name", TABLES)
def test_tables_have_named_columns(name, classifier):
    expected = classifier.predict((TEXTS, TEXTS[::-1]), verbose=0)
    table = TABLES[name]({"text_pair": TEXTS[::-1], "text": TEXTS})
    np.testing.assert_array_equal(classifier.predict(table, verbose=0), expected)
    assert logs(classifier, table, LABELS) == logs(
        classifier, (TEXTS, TEXTS[::-1]), LABELS
    )
    one = TABLES[name]({"review": TEXTS})
    expected = classifier.predict(TEXTS, verbose=0)
    np.testing.assert_array_equal(classifier.predict(one, verbose=0), expected)
    with pytest.raises(ValueError, match=r"Received: \['text', 'label'\]. Select the"):
        classifier.fit(TABLES[name]({"text": TEXTS, "label": LABELS}), LABELS)
    with pytest.raises(TypeError, match=r"a dict of tables \['train'\]. Choose one"):
        classifier.predict({"train": table})


BATCH = TEXTS, LABELS, WEIGHTS
ROWS = list(zip(*BATCH, strict=True))
# Functions that make a stream of texts, targets and weights, or one of each.
STREAMS = {
    "batches": lambda: generator([BATCH]),
    "arrays": lambda: generator([tuple(map(np.array, BATCH))]),
    "rows": lambda: generator(ROWS),
    "PyDataset": lambda: Batches([BATCH]),
    "columns": lambda: tuple(map(Stream, BATCH)),
    "generators": lambda: tuple(map(generator, BATCH)),
    "a stream and lists": lambda: (Stream(TEXTS), LABELS, WEIGHTS),
    "a stream of tuples": lambda: Stream(ROWS),
    "a stream of Columns": lambda: Stream([tuple(map(Column, BATCH))]),
}


def arguments_of(data):
    """The arguments of a method of Keras: `x`, and maybe targets and weights."""
    columns = data if isinstance(data, tuple) else (data,)
    return dict(zip(("x", "y", "sample_weight"), columns, strict=False))


@pytest.mark.filterwarnings("ignore:Your input ran out of data")
@pytest.mark.parametrize("make", STREAMS.values(), ids=STREAMS)
def test_streams_work_like_datasets(make, classifier):
    expected = logs(classifier, TEXTS, LABELS, sample_weight=WEIGHTS)
    found = logs(classifier, **arguments_of(make()))
    assert found == pytest.approx(expected, rel=1e-5)
    x = arguments_of(make())["x"]
    expected = classifier.predict(TEXTS, verbose=0)
    np.testing.assert_allclose(classifier.predict(x, verbose=0), expected, atol=1e-5)


@pytest.mark.filterwarnings("ignore:Your input ran out of data")
def test_rows_of_named_columns_and_of_pairs(classifier):
    pairs = list(zip(TEXTS, TEXTS[::-1], strict=True))
    expected = classifier.predict((TEXTS, TEXTS[::-1]), verbose=0)
    for x in (
        Stream([{"text_pair": b, "text": a} for a, b in pairs]),
        generator([((TEXTS, TEXTS[::-1]),)]),
        generator([(pair,) for pair in pairs]),
        (Stream(TEXTS), Stream(TEXTS[::-1])),
    ):
        outputs = classifier.predict(x, verbose=0)
        np.testing.assert_allclose(outputs, expected, atol=1e-5)


def test_a_py_dataset_hears_of_its_epochs(classifier):
    data = Batches([(TEXTS, LABELS)])
    classifier.fit(data, epochs=2, verbose=0)
    assert data.ends == 2


@pytest.mark.filterwarnings("ignore:Your input ran out of data")
def test_targets_of_words_are_streams_too(make_task):
    tagger = make_task("token_classifier", labels=tiny.TAGS, compile=EAGER)
    expected = logs(tagger, TEXTS, TAGS)
    for y in (TAGS, [" ".join(row) for row in TAGS]):
        found = logs(tagger, generator([(TEXTS, y)]))
        assert found == pytest.approx(expected, rel=1e-5)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Your input ran out of data")
def test_targets_of_other_tasks_are_streams_too(make_task):
    answerer = make_task("question_answerer", compile=EAGER)
    texts, answers = (TEXTS, TEXTS), [[("good", 0)], [], [("a", 0)]]
    expected = logs(answerer, texts, answers)
    for y in (answers, np.array([[0, 4], [-1, -1], [0, 1]])):
        found = logs(answerer, generator([(texts, y)]))
        assert found == pytest.approx(expected, rel=1e-5)
    masked = make_task("masked_lm", compile=EAGER)
    assert "loss" in masked.fit(generator([TEXTS]), verbose=0).history
    regressor = make_task("text_regressor", compile=EAGER)
    y = [1, 0, 1], [0.5] * 3  # of two types
    found = logs(regressor, generator([(TEXTS, part) for part in y]))
    assert found == pytest.approx(logs(regressor, TEXTS * 2, [*y[0], *y[1]]), rel=1e-5)
    with pytest.raises(tf.errors.InvalidArgumentError, match="must hold numbers"):
        regressor.fit(generator([(TEXTS, y[0]), (TEXTS, ["a"] * 3)]), verbose=0)


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: (generator([BATCH]), LABELS), "A stream of tuples holds its own tar"),
        (lambda: (Stream(TEXTS), LABELS[:2]), "length. Received: streams of which one"),
        (lambda: (TEXTS, generator(LABELS)), "`y` must be a list or an .*Received: <g"),
        (lambda: (TEXTS, LABELS, generator(WEIGHTS)), "`sample_weight` must be a list"),
        (lambda: generator([TEXTS]), "TextClassifier needs labels"),
        (lambda: (generator([TEXTS]), LABELS), "`y` must be a list or.*ceived: 'good'"),
        (lambda: generator([(["a", None], [0, 1])]), "Received: None of type NoneType"),
    ],
)
def test_errors_of_streams(classifier, make, message):
    for method in (classifier.fit, classifier.evaluate):
        with pytest.raises((ValueError, TypeError), match=message):
            method(verbose=0, **arguments_of(make()))


def test_every_task_takes_a_column_and_a_stream_of_texts():
    """The door is one: no task reads or checks what users give in another way."""
    names = "fit", "evaluate", "predict", "batches", "text_columns"
    for kind in TASKS.values():
        assert not {*names} & {*vars(kind)}
