"""The same rows learn equally well, whatever holds them."""

import warnings

import light_fits as fits
import numpy as np
import pytest
import tensorflow as tf
import tiny
from light_fits import NUMBERS, RATE, SIZE, TEXTS, Seen, formula, make, pairs, slices
from tiny_tasks import make_tiny_task

from zoo.data import read_ahead
from zoo.tasks import TextClassifier
from zoo.training import WarmupLinearDecay

EPOCHS = 3
ROWS_OF_EPOCHS = [row for _, row in pairs(TEXTS, NUMBERS, SIZE)] * EPOCHS
RAN_OUT = "ignore:Your input ran out of data"
UNKNOWN = "`fit` must know how many batches an epoch has.*Give `steps_per_epoch`"


def generated(batches):
    """A dataset of batches; those of an iterator can be read only once."""
    spec = slices(TEXTS, NUMBERS, SIZE).element_spec
    return tf.data.Dataset.from_generator(lambda: batches, output_signature=spec)


def steps(texts, size):
    return {"steps_per_epoch": -(-len(texts) // size)}


# What holds rows, and further arguments of `fit`.
HOLDERS = {
    "slices": lambda x, y, n: ((slices(x, y, n),), {}),
    "generated": lambda x, y, n: ((generated(pairs(x, y, n)),), {}),
    "generated, steps": lambda x, y, n: ((generated(pairs(x, y, n)),), steps(x, n)),
    "only once": lambda x, y, n: ((generated(iter(pairs(x, y, n))),), {}),
    "filtered": lambda x, y, n: ((slices(x, y, n).filter(lambda x, y: True),), {}),
    "repeated, steps": lambda x, y, n: ((slices(x, y, n).repeat(),), steps(x, n)),
    "a generator": lambda x, y, n: ((fits.generator(pairs(x, y, n)),), {}),
    "a generator, steps": lambda x, y, n: (
        (fits.generator(pairs(x, y, n)),),
        steps(x, n),
    ),
    "a generator of rows": lambda x, y, n: (
        (fits.generator(zip(x, y, strict=True)),),
        {"batch_size": n},
    ),
    "streams": lambda x, y, n: ((fits.Stream(x), fits.Stream(y)), {"batch_size": n}),
    "a PyDataset": lambda x, y, n: (
        (fits.Batches(pairs(x, y, n)),),
        {"shuffle": False},
    ),
    "validated": lambda x, y, n: (
        (generated(pairs(x, y, n)),),
        {"validation_data": fits.generator(pairs(x[:4], y[:4], 2))},
    ),
}


@pytest.mark.parametrize("name", HOLDERS)
def test_the_same_rows_make_the_same_updates(name, tokenizer):
    model = make(tokenizer)
    seen = Seen(model)
    data, options = HOLDERS[name](TEXTS, NUMBERS, SIZE)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        if name == "validated":  # Keras says so of held-out rows of unknown number
            warnings.filterwarnings("ignore", "Your input ran out of data")
        history = model.fit(*data, epochs=EPOCHS, verbose=0, **options)
    assert seen.rates == formula(9) and seen.labels == ROWS_OF_EPOCHS
    held_out = history.history.get("val_loss", range(EPOCHS))
    assert len(held_out) == EPOCHS and np.isfinite(held_out).all()


@pytest.mark.parametrize("kind", ["dataset", "generator"])
def test_token_ids_of_unknown_number_are_counted_too(kind, tokenizer):
    model = make(tokenizer)
    seen = Seen(model)
    known = model.batches(slices(TEXTS, NUMBERS, SIZE))
    data = known.filter(lambda x, y: True)
    if kind == "generator":
        data = fits.generator(known)
    model.fit(data, epochs=EPOCHS, verbose=0)
    assert seen.rates == formula(9) and seen.labels == ROWS_OF_EPOCHS


@pytest.mark.filterwarnings(RAN_OUT)
@pytest.mark.parametrize("name", ["generated", "only once", "a generator"])
def test_too_many_batches_are_not_counted_but_read(name, tokenizer, monkeypatch):
    monkeypatch.setattr(read_ahead, "MOST_BATCHES", 2)
    model = make(tokenizer)
    seen = Seen(model)
    data, options = HOLDERS[name](TEXTS, NUMBERS, SIZE)
    with pytest.warns(UserWarning, match=UNKNOWN):
        model.fit(*data, epochs=2 if name == "generated" else 1, verbose=0, **options)
    warm = [float(WarmupLinearDecay(RATE, 50)(step)) for step in range(3)]
    assert seen.rates == (warm + formula(6)[3:] if name == "generated" else warm)
    assert seen.labels[:3] == ROWS_OF_EPOCHS[:3]


class Endless(fits.Batches):
    """A PyDataset whose batches do not end."""

    num_batches = None

    def __getitem__(self, index):
        return super().__getitem__(0)


@pytest.mark.parametrize("kind", ["repeated", "tokens", "endless"])
def test_data_without_end_need_a_number_of_steps(kind, tokenizer):
    model = make(tokenizer)
    data = slices(TEXTS, NUMBERS, SIZE).repeat()
    if kind == "tokens":
        data = model.batches(data)
    if kind == "endless":
        data = Endless([(TEXTS[:SIZE], NUMBERS[:SIZE])])
    with pytest.warns(UserWarning, match=f"{UNKNOWN.replace('.*', '.*without end. ')}"):
        model.fit(data, verbose=0, callbacks=[fits.StopAfter(1)])
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        model.fit(data, steps_per_epoch=2, verbose=0)


def test_every_epoch_reads_a_dataset_anew(tokenizer):
    model = make(tokenizer)
    seen = Seen(model)
    numbers = tf.data.Dataset.from_tensor_slices((TEXTS, NUMBERS)).shuffle(24, seed=3)
    data = numbers.filter(lambda x, y: True).batch(SIZE)
    model.fit(data, epochs=2, verbose=0)
    first, second = seen.labels[:3], seen.labels[3:]
    assert first != second and sorted(sum(first, [])) == sorted(sum(second, []))


def test_epochs_of_another_length_have_as_many_batches(tokenizer):
    """The second pass has fewer batches, the third one has more."""
    passes, model = iter([3, 2, 4, 4, 4]), make(tokenizer)
    seen = Seen(model)

    def batches():
        for _ in range(next(passes)):
            yield TEXTS[:SIZE], NUMBERS[:SIZE]

    spec = slices(TEXTS, NUMBERS, SIZE).element_spec
    data = tf.data.Dataset.from_generator(batches, output_signature=spec)
    model.fit(data, epochs=3, verbose=0)
    assert seen.rates == formula(9)


# Learning ---------------------------------------------------------------------------


def draw_reviews(count, seed):
    """Reviews with one word that tells the label, and their class numbers."""
    texts, labels = tiny.make_texts(count, seed, longest=9)
    return texts, [tiny.LABELS.index(label) for label in labels]


@pytest.fixture(scope="module")
def accuracy():
    """Function of what holds rows: the mean accuracy of three seeds, held-out rows."""
    held_out = draw_reviews(500, seed=6)
    config = {"num_layers": 1, "initializer_range": 0.1}

    def mean(hold):
        found = []
        for seed in range(3):
            options = {"config": config, "seed": seed, "pooling": "mean"}
            model = make_tiny_task(TextClassifier, **options)
            model.compile(learning_rate=RATE)
            data, options = hold(*draw_reviews(960, seed=5), 16)
            model.fit(*data, epochs=1, verbose=0, seed=seed, **options)
            found.append(model.evaluate(*held_out, verbose=0)[1])
        return np.mean(found)

    return mean


@pytest.fixture(scope="module")
def accuracy_of_lists(accuracy):
    return accuracy(lambda x, y, size: ((x, y), {"batch_size": size}))


@pytest.mark.slow
@pytest.mark.parametrize("name", HOLDERS)
def test_the_same_rows_learn_equally_well(name, accuracy, accuracy_of_lists):
    assert 0.9 < accuracy_of_lists
    assert abs(accuracy(HOLDERS[name]) - accuracy_of_lists) <= 0.02
