"""Texts, targets and weights of other packages: columns, tables and streams."""

import collections

import keras
import numpy as np
import pytest
import tensorflow as tf
import tiny
from tiny_tasks import make_tiny_task

from zoo.tasks import TASKS, TextClassifier

TEXTS, LABELS = ["good film", "so dull", "a plot"], ["good", "bad", "good"]
WEIGHTS = [1.0, 0.5, 2.0]
EAGER = {"run_eagerly": True}


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


class Stream:
    """Like an `IterableDataset` of Hugging Face, or a column of it."""

    def __init__(self, rows):
        self.rows = rows

    def __iter__(self):
        return iter(self.rows)


class Batches(keras.utils.PyDataset):
    """One batch, and what Keras calls at the ends of an epoch."""

    def __init__(self, batch):
        super().__init__()
        self.batch, self.ends = batch, 0

    def __len__(self):
        return 1

    def __getitem__(self, index):
        return self.batch

    def on_epoch_end(self):
        self.ends += 1


def generator(rows):
    yield from rows


def package(name, make):
    """A test parameter of a package that may be missing: `make(module, values)`."""
    return lambda values: make(pytest.importorskip(name), values)


def hugging_face(datasets, values):
    return datasets.Dataset.from_dict({"column": values})["column"]


COLUMNS = {
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


@pytest.fixture(scope="module")
def classifier():
    model = make_tiny_task(TextClassifier, config={"num_layers": 1}, seed=5)
    model.compile(**EAGER)
    return model


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


@pytest.mark.parametrize("name", ["Column", "Arrow"])
def test_every_method_takes_columns(name, classifier):
    x, y, weights = map(COLUMNS[name], (TEXTS, LABELS, WEIGHTS))
    expected = classifier.answer(TEXTS)["scores"]
    np.testing.assert_array_equal(classifier.answer(x)["scores"], expected)
    expected = classifier.test_on_batch(TEXTS, LABELS, WEIGHTS)
    assert classifier.test_on_batch(x, y, weights) == expected
    options = {"validation_split": 0.4, "sample_weight": weights, "verbose": 0}
    history = classifier.fit(x, y, validation_data=None, **options).history
    assert np.isfinite(history["val_loss"]).all()
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


def streams(kind, x, y, weights):
    """Texts, targets and weights as a stream, and the arguments that stand for them."""
    batch, rows = (x, y, weights), list(zip(x, y, weights, strict=True))
    return {
        "batches": lambda: (generator([batch]),),
        "arrays": lambda: (generator([tuple(map(np.array, batch))]),),
        "rows": lambda: (generator(rows),),
        "PyDataset": lambda: (Batches(batch),),
        "columns": lambda: tuple(map(Stream, batch)),
        "generators": lambda: tuple(map(generator, batch)),
        "a stream and lists": lambda: (Stream(x), y, weights),
        "a stream of tuples": lambda: (Stream(rows),),
        "a stream of Columns": lambda: (Stream([tuple(map(Column, batch))]),),
    }[kind]()


@pytest.mark.filterwarnings("ignore:Your input ran out of data")
@pytest.mark.parametrize(
    "kind",
    [
        *("batches", "arrays", "rows", "PyDataset", "columns", "generators"),
        *("a stream and lists", "a stream of tuples", "a stream of Columns"),
    ],
)
def test_streams_work_like_datasets(kind, classifier):
    x, *others = streams(kind, TEXTS, LABELS, WEIGHTS)
    names = ("y", "sample_weight")[: len(others)]
    expected = logs(classifier, TEXTS, LABELS, sample_weight=WEIGHTS)
    assert logs(
        classifier, x, **dict(zip(names, others, strict=True))
    ) == pytest.approx(expected, rel=1e-5)
    x, *_ = streams(kind, TEXTS, LABELS, WEIGHTS)
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
    data = Batches((TEXTS, LABELS))
    classifier.fit(data, epochs=2, verbose=0)
    assert data.ends == 2


@pytest.mark.filterwarnings("ignore:Your input ran out of data")
def test_targets_of_other_tasks_are_streams_too(make_task):
    tagger = make_task("token_classifier", labels=tiny.TAGS, compile=EAGER)
    tags = [["B-GOOD", "O"], ["O", "O"], ["O", "O"]]
    expected = logs(tagger, TEXTS, tags)
    for y in (tags, [" ".join(row) for row in tags]):
        assert logs(tagger, generator([(TEXTS, y)])) == pytest.approx(
            expected, rel=1e-5
        )
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
    "arguments, message",
    [
        (
            (generator([(TEXTS, LABELS)]), LABELS),
            "A stream of tuples holds its own tar",
        ),
        ((Stream(TEXTS), LABELS[:2]), "same length. Received: streams of which one"),
        ((TEXTS, generator(LABELS)), "`y` must be a list or an array.*Received: <gen"),
        ((TEXTS, LABELS, generator(WEIGHTS)), "`sample_weight` must be a list or an"),
        ((generator([TEXTS]),), "TextClassifier needs labels"),
        (
            (generator([TEXTS]), LABELS),
            r"`y` must be a list or an array.*Received: 'good'",
        ),
        ((generator([(["a", None], [0, 1])]),), "Received: None of type NoneType"),
    ],
)
def test_errors_of_streams(classifier, arguments, message):
    x, *others = arguments
    names = ("y", "sample_weight")[: len(others)]
    options = dict(zip(names, others, strict=True))
    for method in (classifier.fit, classifier.evaluate):
        with pytest.raises((ValueError, TypeError), match=message):
            method(x, verbose=0, **options)
        if not isinstance(x, list):
            break  # it has been read


def test_every_task_takes_a_column_and_a_stream_of_texts():
    """The door is one: no task reads or checks what users give in another way."""
    names = "fit", "evaluate", "predict", "batches", "text_columns"
    for kind in TASKS.values():
        assert not {*names} & {*vars(kind)}
