"""What users give to the methods of a task: it works, or the error tells why not."""

import inspect

import keras
import numpy as np
import pytest
import tensorflow as tf
from light_fits import Batches, generator
from three_texts import LABELS, TAGS, TEXTS, WORDS

from zoo.tasks import TASKS

METHODS = "fit evaluate predict train_on_batch test_on_batch predict_on_batch".split()


@pytest.mark.parametrize("name", METHODS)
def test_arguments_are_those_of_keras_in_its_order(name):
    wanted = inspect.signature(getattr(keras.Model, name)).parameters.values()
    wanted = [(p.name, p.default) for p in wanted if p.kind == p.POSITIONAL_OR_KEYWORD]
    if name == "fit":
        wanted[wanted.index(("epochs", 1))] = ("epochs", None)  # those of the preset
    compared = []
    for kind in TASKS.values():
        found = inspect.signature(getattr(kind, name)).parameters.values()
        if any(p.kind == p.VAR_POSITIONAL for p in found):
            continue  # it passes all of them to Keras
        positional = [p for p in found if p.kind == p.POSITIONAL_OR_KEYWORD]
        assert [(p.name, p.default) for p in positional] == wanted, kind
        beside = {p.name for p in found if p.kind == p.KEYWORD_ONLY}
        assert beside == ({"seed", "token_budget"} if name == "fit" else set())
        compared.append(kind)
    assert compared


@pytest.mark.slow
def test_fit_takes_all_arguments_by_position(classifier, tagger):
    arguments = (2, 3, 0, [], 0.34, None, False, None, None, 1, None, None, 1, 2)
    history = classifier.fit(TEXTS, LABELS, *arguments, seed=1)
    assert history.epoch == [1, 2] and len(history.history["val_loss"]) == 1
    assert "val_loss" in tagger.fit(WORDS, TAGS, *arguments).history
    logs = classifier.evaluate(TEXTS, LABELS, 2, 0, None, None, None, True)
    assert set(logs) == {"loss", "accuracy"}
    assert classifier.predict(TEXTS, 2, 0, None, []).shape == (3, 2)
    logs = classifier.train_on_batch(TEXTS, LABELS, None, {"good": 2.0}, True)
    assert set(logs) == {"loss", "accuracy"}


def test_labels_are_missing(classifier):
    x, ids = TEXTS, {"token_ids": np.ones((3, 4), "int32")}
    dataset = tf.data.Dataset.from_tensors(["a"])
    for call, message in (
        (lambda m: m.fit(x), "`fit`"),
        (lambda m: m.evaluate(x), "`evaluate`"),
        (lambda m: m.train_on_batch(x), "`train_on_batch`"),
        (lambda m: m.test_on_batch(x, None, np.ones(3)), "`test_on_batch` without"),
        (lambda m: m.fit(x, LABELS, validation_data=x), "`validation_data`"),
        (lambda m: m.fit(x, LABELS, validation_data=(x,)), "`validation_data` without"),
        (lambda m: m.fit(ids), "Received: `fit` without labels"),
        (lambda m: m.fit(dataset), "pairs `.texts, labels.`"),
    ):
        with pytest.raises(ValueError, match=f"TextClassifier needs labels.*{message}"):
            call(classifier)


@pytest.mark.parametrize("name", ["text_regressor", "text_embedder"])
def test_labels_of_other_tasks_are_missing(models, tagger, name):
    for model in (models(name), tagger):
        with pytest.raises(ValueError, match="needs labels. Received: `evaluate`"):
            model.evaluate(TEXTS)
    with pytest.raises(ValueError, match="needs labels. Received: `score`"):
        tagger.score(WORDS, None)


@pytest.mark.shown("causal_lm")
@pytest.mark.parametrize("name", ["masked_lm", "causal_lm"])
def test_a_task_that_makes_its_targets_takes_none(models, name):
    model, message = models(name), "makes its own targets. Received: `y` or"
    dataset = tf.data.Dataset.from_tensors((TEXTS, LABELS))
    for call in (
        lambda: model.fit(TEXTS, LABELS),
        lambda: model.evaluate(TEXTS, sample_weight=np.ones(3)),
        lambda: model.fit(TEXTS, validation_data=(TEXTS, LABELS)),
        lambda: model.fit(dataset),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    with pytest.raises(ValueError, match="`class_weight` needs a task with one label"):
        model.fit(TEXTS, class_weight={0: 1.0})
    for held_out in (TEXTS, (TEXTS,), np.array(TEXTS)):
        history = model.fit(TEXTS, validation_data=held_out, verbose=0).history
        assert np.isfinite(history["val_loss"]).all()
    if name == "causal_lm":
        with pytest.raises(ValueError, match=message):
            model.train_on_batch(TEXTS, LABELS)
        assert np.isfinite(model.train_on_batch(TEXTS)).all()


def made(x):
    """A value, or what a function makes of it: a new one for every call."""
    return x() if callable(x) else x


NOT_TAKEN = [
    ("a text", r"Received: one string. Put it in a list: `\[text\]`"),
    (b"a text", "Received: one string"),
    (None, "Received: None. Put the texts in a list"),
    (3, "Received: 3. Put the texts in a list"),
    (np.float32(0.5), r"Received: np.float32\(0.5\)"),
    (np.array("a text"), "Received: array"),
    ({"a text"}, r"Received: a set. Use `list\(texts\)`"),
    (dict.fromkeys(TEXTS).values(), r"Received: a dict_values. Use `list"),
    (lambda: iter(TEXTS), "Received: a list_iterator. Use `list"),
    ([1, 2], "Received: a list of ints"),
    ([[1, 2], [3]], "Received: a list of lists"),
    ([{"text": "a"}], "Received: a list of dicts"),
    ((), "Received: a tuple without columns"),
]


@pytest.mark.parametrize("x, message", NOT_TAKEN)
def test_what_is_no_batch_is_refused_by_every_method(models, x, message):
    classifier, tagger = models("text_classifier"), models("token_classifier")
    masked = models("masked_lm")
    calls = [classifier.predict, classifier.answer, tagger.tag, classifier.evaluate]
    calls += [classifier.predict_on_batch, classifier.train_on_batch, masked.answer]
    calls += [
        classifier.fit,
        lambda x: classifier.fit(TEXTS, LABELS, validation_data=(x,)),
    ]
    calls += [] if isinstance(x, (str, bytes)) else [masked.fill_mask]
    for call in calls:
        with pytest.raises(TypeError, match=f"Methods such as .fit.*{message}"):
            call(made(x))


@pytest.mark.filterwarnings("ignore:Your input ran out of data")
def test_generators_of_token_ids_are_read_from_the_start(classifier):
    x = classifier.preprocessor((tf.constant(TEXTS),))
    batches = [({k: v[i : i + 1] for k, v in x.items()},) for i in range(3)]
    expected = classifier.predict(TEXTS, verbose=0)
    outputs = classifier.predict(generator(batches), verbose=0)
    np.testing.assert_allclose(outputs, expected, atol=1e-5)
    assert classifier.predict(Batches(batches[:1] * 2), verbose=0).shape == (2, 2)
    y = np.array([1, 0, 1])
    pairs = [(batch[0], y[i : i + 1]) for i, batch in enumerate(batches)]
    held_out = generator(pairs)
    history = classifier.fit(TEXTS, LABELS, validation_data=held_out, verbose=0).history
    loss = classifier.evaluate(TEXTS, LABELS, verbose=0)[0]
    assert history["val_loss"][0] == pytest.approx(loss, rel=1e-5)


@pytest.mark.usefixtures("eagerly")
def test_tables_and_dicts_name_the_columns(classifier, tagger):
    pandas = pytest.importorskip("pandas")
    expected = classifier.predict(TEXTS, verbose=0)
    named = {"text": TEXTS}
    for x in (named, pandas.DataFrame(named), pandas.DataFrame({"review": TEXTS})):
        np.testing.assert_allclose(classifier.predict(x, verbose=0), expected)
    pair = {"text_pair": TEXTS[::-1], "text": TEXTS}
    expected = classifier.predict((TEXTS, TEXTS[::-1]), verbose=0)
    dataset = tf.data.Dataset.from_tensor_slices(pair).batch(2)
    for x in (pair, pandas.DataFrame(pair), dataset):
        outputs = classifier.predict(x, verbose=0)
        np.testing.assert_allclose(outputs, expected, atol=1e-5)
    labelled = {"text": TEXTS, "label": LABELS}
    message = r"`text`, `text_pair` \(`text_pair` is optional\). Received: \['text', 'l"
    for x in (labelled, pandas.DataFrame(labelled)):
        with pytest.raises(ValueError, match=message):
            classifier.fit(x, LABELS)
    for x in ({"review": TEXTS}, {"text_pair": TEXTS}):
        with pytest.raises(ValueError, match="must have the names `text`"):
            classifier.predict(x)
    with pytest.raises(ValueError, match="must have the names `text`. Received"):
        tagger.tag(pair)
    assert tagger.tag({"text": WORDS}) == tagger.tag((WORDS,)) == tagger.tag(TEXTS)


@pytest.mark.parametrize("name", ["token_classifier", "causal_lm"])
def test_tasks_of_one_column_take_no_pairs(models, name):
    model, y = models(name), TAGS if name == "token_classifier" else None
    message = "takes the column `text`. Received: 2 columns. Use one"
    dataset = tf.data.Dataset.from_tensors(((TEXTS, TEXTS),))
    for call in (
        lambda: model.answer((TEXTS, TEXTS)),
        lambda: model.fit((TEXTS, TEXTS), y),
        lambda: model.batches(dataset),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_a_pair_is_a_row_of_two_segments(models, make_task):
    model = make_task(compile={"run_eagerly": True})
    model.fit(TEXTS, LABELS, verbose=0)
    x = model.preprocessor((tf.constant(TEXTS), tf.constant(TEXTS)))
    assert x["segment_ids"].numpy().max() == 1
    expected = model(x, training=False)
    outputs = model.predict((TEXTS, TEXTS), verbose=0)
    np.testing.assert_allclose(outputs, expected, atol=1e-5)
    assert not model.pair and "the other way round" in type(model).__doc__


@pytest.mark.parametrize(
    "name, methods",
    [
        ("token_classifier", "`answer` or `tag`"),
        ("causal_lm", "`generate` or `answer`"),
        ("masked_lm", "`fill_mask` or `answer`"),
    ],
)
def test_predict_names_the_methods_that_take_text(models, name, methods):
    message = "`predict` cannot return outputs of texts of different lengths.*Use "
    for x in (TEXTS, tf.data.Dataset.from_tensors(TEXTS)):
        with pytest.raises(TypeError, match=message + methods):
            models(name).predict(x)


@pytest.mark.usefixtures("eagerly")
def test_an_empty_list_has_no_answers(models, classifier, tagger):
    for empty in ([], ([],), np.array([]), tf.constant([], tf.string)):
        outputs = classifier.predict(empty, verbose=0)
        assert outputs.shape == (0, 2) and outputs.dtype == np.float32
        assert classifier.answer(empty)["label"].shape == (0,)
        assert tagger.tag(empty) == list(tagger.files.answer_rows(tagger, empty)) == []
    masked = models("masked_lm")
    assert masked.fill_mask([]) == []
    shapes = {key: value.shape for key, value in masked.answer([]).items()}
    assert shapes == {"tokens": (0, 5), "scores": (0, 5)}
    assert models("causal_lm").answer([])["perplexity"].shape == (0,)
    assert classifier.predict_on_batch([]).shape == (0, 2)
    assert classifier.predict(([], []), verbose=0).shape == (0, 2)
    for call in (classifier.fit, classifier.evaluate, classifier.train_on_batch):
        with pytest.raises(ValueError, match="needs at least one text. Received: 0"):
            call([], [])
    with pytest.raises(ValueError, match="`validation_data` needs at least one text"):
        classifier.fit(TEXTS, LABELS, validation_data=([], []))


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("text_classifier", {"pooling": "compare"}),
        ("text_classifier", {"head": "biattentive"}),
        ("text_regressor", {"pooling": "compare"}),
        ("multiple_choice", {"pooling": "compare", "num_choices": 2}),
        ("text_embedder", {"pooling": "max"}),
        ("text_embedder", {"pooling": "last"}),
    ],
)
def test_an_empty_list_has_no_answers_with_any_head(make_task, name, options):
    model = make_task(name, fields={"num_layers": 1}, **options)
    x = ([], [], []) if name == "multiple_choice" else []
    outputs = model.predict(x, verbose=0)
    assert outputs.shape[0] == 0 and outputs.shape[1] >= 1
    assert all(np.asarray(value).shape[0] == 0 for value in model.answer(x).values())


@pytest.mark.parametrize(
    "x, message",
    [
        ([None, "a"], "Received: None of type NoneType in row 0"),
        (["a", None], "Received: None of type NoneType in row 1"),
        (np.array(["a", None], object), "Received: None"),
        ((TEXTS, [1, 2, 3]), "Received: 1 of type int in row 0"),
        (lambda: (TEXTS, tf.constant([1, 2, 3])), "Received: EagerTensor. Use `list"),
        (("good film", "so dull"), r"one string. Put it in a list: `\[text\]`"),
        ([("a", "b")], r"Received: a list of tuples. Use `tuple\(map\(list, zip"),
        (WORDS, r'Received: a list of lists.*`" ".join\(words\)` for words'),
        (["a", ["b"]], "Received: a list of lists"),
        (["a", 3], "Received: 3 of type int in row 1"),
        (np.array(["a", np.nan], object), "Received: nan of type float in row 1"),
        (np.array([["a", "b"]]), r"an array of shape \(1, 2\). Give two columns"),
        (np.array([["a"], ["b"]]), r"one dimension. Received: .*\(2, 1\)"),
        (lambda: tf.constant([["a"]]), r"one dimension. Received: .*\(1, 1\)"),
    ],
)
def test_what_is_no_column_is_refused(models, classifier, x, message):
    calls = classifier.predict, classifier.answer, models("causal_lm").answer
    for call in (*calls, classifier.fit, classifier.evaluate):
        with pytest.raises(TypeError, match=message):
            call(made(x))


@pytest.mark.slow
def test_a_dataset_is_read_without_a_warning(classifier, caplog):
    dataset = tf.data.Dataset.from_tensors((TEXTS, LABELS))
    classifier.evaluate(dataset, verbose=0)
    assert not [record for record in caplog.records if "AutoGraph" in record.message]


def test_a_fit_that_fails_leaves_the_columns(make_task, texts):
    model = make_task(pair=True)
    for wrong in (["good", "no label"], ["good"]):
        with pytest.raises(ValueError, match="must hold labels|same length"):
            model.fit(texts[:2], wrong, verbose=0)
    assert model.pair
