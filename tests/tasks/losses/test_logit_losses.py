"""Losses and metrics of Keras by name, as functions and as objects, on our outputs."""

import functools
import warnings

import keras
import numpy as np
import pytest
import tiny

SPARSE = keras.losses.SparseCategoricalCrossentropy
FORMS = {
    "name": "sparse_categorical_crossentropy",
    "short name": "crossentropy",
    "name of a class": "SparseCategoricalCrossentropy",
    "function": keras.losses.sparse_categorical_crossentropy,
    "class": SPARSE,
    "partial": functools.partial(keras.losses.sparse_categorical_crossentropy, axis=-1),
    "object": SPARSE(from_logits=True),
    "config": keras.saving.serialize_keras_object(SPARSE(from_logits=True)),
    "of rows": "categorical_crossentropy",
    "object of rows": keras.losses.CategoricalCrossentropy(from_logits=True),
    "divergence": "kld",
    "divergence as an object": keras.losses.KLDivergence(),
}
TEXTS = ["a good film", "so dull", "the plot was not good at all"]
QUESTIONS = TEXTS, [f"good {text}" for text in TEXTS]
DATA = {
    "text_classifier": (TEXTS, ["good", "bad", "good"]),
    "token_classifier": (TEXTS, tiny.make_tags(TEXTS)),
    "multiple_choice": ((TEXTS, *[TEXTS[::-1]] * 4), [0, 3, 1]),
    "question_answerer": (QUESTIONS, np.array([[0, 4], [-1, -1], [0, 4]])),
    "masked_lm": (TEXTS, None),
    "causal_lm": (TEXTS, None),
}
EAGER = {"optimizer": "sgd", "run_eagerly": True}


def loss_of(model, data, **options):
    model.compile(**EAGER, **options)
    return model.evaluate(*data, verbose=0, return_dict=True)["loss"]


@pytest.mark.parametrize("name", DATA)
def test_a_crossentropy_takes_logits(models, name):
    model = models(name)
    expected = loss_of(model, DATA[name])
    forms = FORMS if name == "text_classifier" else ("name", "object", "of rows")
    for form in forms:
        found = loss_of(model, DATA[name], loss=FORMS[form])
        assert found == pytest.approx(expected, rel=1e-5), form


def test_other_losses_of_classes(classifier):
    """Class numbers as rows of 0 and 1, beside sigmoids or a softmax of the logits."""
    texts, labels = DATA["text_classifier"]
    logits = classifier.predict(texts, verbose=0).astype("float64")
    truth = np.eye(2)[[tiny.LABELS.index(label) for label in labels]]
    chance = 1 / (1 + np.exp(-logits))
    both = truth * chance + (1 - truth) * (1 - chance)
    shares = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    focal = -np.log(both) * (1 - both) ** 2
    expected = {
        "bce": -np.log(both).mean(),
        "binary_crossentropy": -np.log(both).mean(),
        "binary_focal_crossentropy": focal.mean(),
        "mse": ((truth - shares) ** 2).mean(),
        "categorical_hinge": np.maximum(
            (logits * (1 - truth)).max(1) - (logits * truth).sum(1) + 1, 0
        ).mean(),
    }
    for name, value in expected.items():
        found = loss_of(classifier, DATA["text_classifier"], loss=name)
        assert found == pytest.approx(value, rel=1e-4), name
    loss = keras.losses.BinaryFocalCrossentropy(gamma=3, from_logits=True)
    found = loss_of(classifier, DATA["text_classifier"], loss=loss)
    assert found == pytest.approx((focal * (1 - both)).mean(), rel=1e-4)


def test_rows_of_targets_stay(classifier):
    """Targets of token ids may be one row of probabilities for each text."""
    x = classifier.preprocessor((np.array(TEXTS),))
    rows = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]], "float32")
    for loss in ("categorical_crossentropy", "kld"):
        classifier.compile(**EAGER, loss=loss, metrics=["categorical_accuracy"])
        found = classifier.evaluate(x, rows, verbose=0, return_dict=True)
        y = DATA["text_classifier"]
        expected = classifier.evaluate(*y, verbose=0, return_dict=True)
        assert found == pytest.approx(expected, rel=1e-5)


@pytest.mark.usefixtures("eagerly")
@pytest.mark.parametrize("name", ["text_classifier", "token_classifier"])
def test_training_by_name_is_the_default(make_task, name):
    results = []
    options = {"labels": tiny.TAGS if name == "token_classifier" else tiny.LABELS}
    for loss in (None, "sparse_categorical_crossentropy", "categorical_crossentropy"):
        model = make_task(name, **options)
        model.compile(keras.optimizers.SGD(0.5), loss=loss)
        model.fit(*DATA[name], epochs=2, verbose=0)
        results.append(np.concatenate([w.ravel() for w in model.get_weights()]))
    for found in results[1:]:
        np.testing.assert_allclose(found, results[0], atol=1e-5)


def of_probabilities(kind, **options):
    """A loss that says that outputs are probabilities, in a form."""
    loss = getattr(keras.losses, kind)(from_logits=False, **options)
    return loss, keras.saving.serialize_keras_object(loss)


WRONG = {
    "text_classifier": [
        *of_probabilities("SparseCategoricalCrossentropy"),
        *of_probabilities("CategoricalCrossentropy"),
        *of_probabilities("BinaryCrossentropy"),
        *of_probabilities("BinaryFocalCrossentropy"),
        *of_probabilities("CategoricalFocalCrossentropy"),
        functools.partial(keras.losses.binary_crossentropy, from_logits=False),
        "ctc",
        keras.losses.Circle(),
    ],
    "token_classifier": of_probabilities("SparseCategoricalCrossentropy"),
    "causal_lm": of_probabilities("SparseCategoricalCrossentropy"),
    "question_answerer": of_probabilities("SparseCategoricalCrossentropy"),
    "text_regressor": [
        *("bce", "categorical_crossentropy", "ce", "kld", "poisson", "dice"),
        "cosine_similarity",
        SPARSE(from_logits=True),
        *of_probabilities("BinaryCrossentropy"),
    ],
    "text_embedder": ["bce", "kld", "circle", "categorical_crossentropy"],
}


@pytest.mark.parametrize("name", WRONG)
def test_losses_of_probabilities(models, name):
    model = models(name)
    for loss in WRONG[name]:
        for nest in (loss, [loss]):
            with pytest.raises(ValueError, match="`loss` must fit the outputs .*Rec"):
                model.compile("sgd", nest)
    with pytest.raises(ValueError, match="with from_logits=False. Use `from_logits=Tr"):
        models("text_classifier").compile("sgd", SPARSE())


def test_outputs_that_no_loss_of_keras_fits(make_task):
    model = make_task("token_classifier", labels=tiny.TAGS, decoder="crf")
    for loss in ("sparse_categorical_crossentropy", "mse", SPARSE(from_logits=True)):
        with pytest.raises(ValueError, match="which are potentials.*Leave it out"):
            model.compile("sgd", loss)


def test_losses_that_fit_numbers(models):
    for loss in ("mse", "huber", keras.losses.BinaryCrossentropy(from_logits=True)):
        found = loss_of(models("text_regressor"), (TEXTS, [0.0, 1.0, 0.0]), loss=loss)
        assert np.isfinite(found)
    vectors = np.ones((3, 16))
    found = loss_of(models("text_embedder"), (TEXTS, vectors), loss="cosine_similarity")
    assert -1 <= found <= 1


@pytest.mark.parametrize("name", ["text_classifier", "token_classifier"])
def test_metrics_of_classes(models, name):
    model, data = models(name), DATA[name]
    model.compile(**EAGER)
    scores = model.evaluate(*data, verbose=0, return_dict=True)
    metrics = {
        "sparse_categorical_crossentropy": scores["loss"],
        "crossentropy": scores["loss"],
        keras.losses.categorical_crossentropy: scores["loss"],
        "kl_divergence": scores["loss"],
        keras.metrics.CategoricalCrossentropy("a", from_logits=True): scores["loss"],
        "accuracy": scores["accuracy"],
        "sparse_categorical_accuracy": scores["accuracy"],
        "categorical_accuracy": scores["accuracy"],
        keras.metrics.CategoricalAccuracy("b"): scores["accuracy"],
        keras.metrics.SparseTopKCategoricalAccuracy(1, "c"): scores["accuracy"],
    }
    model.compile(**EAGER, weighted_metrics=list(metrics))
    found = model.evaluate(*data, verbose=0)[1:]
    assert found == pytest.approx(list(metrics.values()), rel=1e-5)


@pytest.mark.parametrize("argument", ["metrics", "weighted_metrics"])
def test_metrics_of_probabilities(models, argument):
    wrong = ["AUC", "Precision", keras.metrics.Recall(), keras.metrics.F1Score()]
    wrong += [keras.metrics.SparseCategoricalCrossentropy(), keras.metrics.Accuracy()]
    message = "`metrics` must fit the outputs of Text.* Received"
    for metric in wrong:
        with pytest.raises(ValueError, match=message):
            models("text_classifier").compile("sgd", **{argument: [metric]})
    for metric in ("bce", "kl_divergence", "categorical_accuracy"):
        with pytest.raises(ValueError, match=message):
            models("text_regressor").compile("sgd", **{argument: [metric]})


def test_files_keep_losses_and_metrics(classifier):
    data = DATA["text_classifier"]
    for loss in ("bce", keras.losses.CategoricalCrossentropy(from_logits=True)):
        classifier.compile(**EAGER, loss=loss, metrics=["categorical_crossentropy"])
        expected = classifier.evaluate(*data, verbose=0, return_dict=True)
        config = classifier.get_compile_config()
        classifier.compile(**EAGER)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            classifier.compile_from_config(config)
        found = classifier.evaluate(*data, verbose=0, return_dict=True)
        assert found == pytest.approx(expected)


def test_files_of_earlier_versions_load(classifier):
    """They may have a loss of probabilities, which was not checked."""
    data = DATA["text_classifier"]
    expected = loss_of(classifier, data)
    config = classifier.get_compile_config()
    config["loss"] = keras.saving.serialize_keras_object(SPARSE())
    with pytest.warns(UserWarning, match="with from_logits=False.*defaults are used"):
        classifier.compile_from_config(config)
    found = classifier.evaluate(*data, verbose=0, return_dict=True)
    assert found["loss"] == pytest.approx(expected) and "accuracy" in found
