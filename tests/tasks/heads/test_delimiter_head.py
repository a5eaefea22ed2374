"""GPT's tasks: texts between special tokens, and the loss of the language model."""

import keras
import numpy as np
import pytest
import tensorflow as tf
import tiny
from tiny_gpt import tiny_byte_tokenizer
from tiny_tasks import make_tiny_task

from zoo.registry import build_backbone
from zoo.tasks import MultipleChoice, TextClassifier, TextRegressor

TEXTS, LABELS = tiny.make_texts(16)
START, DELIMITER, CLASSIFY = (tiny.GPT_CONFIG["vocabulary_size"] + i for i in range(3))


def make(task=TextClassifier, family="gpt", **options):
    options = {"tokenizer": tiny_byte_tokenizer(), "head_dropout": 0.0, **options}
    return make_tiny_task(task, family, {"vocabulary_size": 400}, **options)


def rows_of(model, *columns):
    """The ids of each sequence of the first row of texts, without padding."""
    x = model.preprocessor(tuple(tf.constant([column]) for column in columns))
    ids, mask = (x[name].numpy()[0] for name in ("token_ids", "padding_mask"))
    width = ids.shape[-1]
    pairs = zip(ids.reshape(-1, width), mask.reshape(-1, width), strict=True)
    return [row[: own.sum()].tolist() for row, own in pairs]


def test_texts_stand_between_special_tokens():
    tokenizer = tiny_byte_tokenizer()
    texts = "a film", "good", "bad bad"
    first, second, third = (tokenizer(text).numpy().tolist() for text in texts)
    assert rows_of(make(), texts[0]) == [[START, *first, CLASSIFY]]
    pair = [START, *first, DELIMITER, *second, CLASSIFY]
    assert rows_of(make(), *texts[:2]) == [pair]
    turned = [START, *second, DELIMITER, *first, CLASSIFY]
    assert rows_of(make(TextRegressor, pair=True), *texts[:2]) == [pair, turned]
    last = [START, *first, DELIMITER, *third, CLASSIFY]
    assert rows_of(make(MultipleChoice, num_choices=2), *texts) == [pair, last]


def naive_vector(model, ids):
    """The vector of the last token, with one table of words and special tokens."""
    backbone = model.backbone
    table = backbone.named_layers["token_embedding"].embeddings
    special = model.get_layer("special_embedding").embeddings
    joined = np.concatenate([table, special])
    config = {**tiny.GPT_CONFIG, "vocabulary_size": len(joined)}
    whole = build_backbone("gpt", config)
    for variable in whole.variables:
        found = [v for v in backbone.variables if v.path == variable.path]
        same = found and found[0].shape == variable.shape
        variable.assign(found[0] if same else joined)
    return whole(np.array([ids]))["sequence_output"].numpy()[0], whole


@pytest.mark.usefixtures("eagerly")
@pytest.mark.parametrize("lm_weight", [pytest.param(0.0, marks=pytest.mark.slow), 0.5])
def test_the_outputs_are_those_of_one_table(lm_weight):
    model = make(lm_weight=lm_weight)
    (ids,) = rows_of(model, "a good film")
    sequence, _ = naive_vector(model, ids)
    dense = model.get_layer("classifier")
    expected = sequence[-1] @ dense.kernel.numpy() + dense.bias.numpy()
    found = model.predict(["a good film", "bad " * 9], verbose=0)
    np.testing.assert_allclose(found[0], expected, atol=1e-5)
    regressor = make(TextRegressor, pair=True, lm_weight=lm_weight)
    columns = ["a film"], ["so good"]
    both = rows_of(regressor, "a film", "so good")
    total = sum(naive_vector(regressor, ids)[0][-1] for ids in both)
    dense = regressor.get_layer("classifier")
    found = regressor.predict(columns, verbose=0)
    np.testing.assert_allclose(
        found[0], total @ dense.kernel.numpy() + dense.bias.numpy(), atol=1e-5
    )
    np.testing.assert_allclose(found, regressor.predict(columns[::-1], verbose=0))


@pytest.mark.usefixtures("eagerly")
def test_the_loss_of_the_language_model_is_a_mean_of_means():
    """Over the tokens of a row, then over rows, with words and special tokens."""
    texts = ["a good film", "bad"]
    model = make(lm_weight=0.25)
    (batch,) = model.batches(texts, ["good", "bad"])
    x, y = batch
    model(x, training=True)
    (added,) = model.losses
    means = []
    for row, mask in zip(
        x["token_ids"].numpy(), x["padding_mask"].numpy(), strict=True
    ):
        ids = row[: mask.sum()]
        sequence, whole = naive_vector(model, ids)
        table = whole.named_layers["token_embedding"].embeddings.numpy()
        logits = sequence[:-1].astype("float64") @ table.T
        scores = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
        means.append(-scores[np.arange(len(ids) - 1), ids[1:]].mean())
    np.testing.assert_allclose(float(added), 0.25 * np.mean(means), rtol=1e-5)
    model(x, training=False)
    assert model.losses == []
    plain = make(lm_weight=0.0)
    plain(x, training=True)
    assert plain.losses == []
    logs = model.train_on_batch(x, y, return_dict=True)
    alone = plain.train_on_batch(x, y, return_dict=True)
    np.testing.assert_allclose(logs["loss"], alone["loss"] + float(added), rtol=1e-5)


@pytest.mark.slow
def test_two_replicas_add_the_loss_of_all_rows(two_replicas):
    found = []
    for scope in (tf.distribute.get_strategy().scope, two_replicas.scope):
        with scope():
            model = make()
            model.compile(keras.optimizers.SGD(0.1))
        # The last batch has one row, so one replica has none.
        logs = model.fit(
            TEXTS[:4], LABELS[:4], batch_size=3, epochs=2, verbose=0, shuffle=False
        )
        found.append([np.array(logs.history["loss"]), *model.get_weights()])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)


@pytest.mark.slow
@pytest.mark.usefixtures("eagerly")
def test_choices_are_compared_with_each_other():
    model = make(MultipleChoice, num_choices=3)
    columns = TEXTS[:4], TEXTS[4:8], TEXTS[8:12], TEXTS[12:16]
    found = model.answer(columns)
    np.testing.assert_allclose(found["scores"].sum(-1), 1, atol=1e-6)
    assert found["choice"].tolist() == found["scores"].argmax(-1).tolist()
    turned = model.answer((columns[0], columns[2], columns[1], columns[3]))["scores"]
    np.testing.assert_allclose(turned[:, [1, 0, 2]], found["scores"], atol=1e-5)
    alone = model.answer(tuple(column[:1] for column in columns))["scores"]
    np.testing.assert_allclose(alone[0], found["scores"][0], atol=1e-5)
    assert model.answer(([], [], [], []))["choice"].shape == (0,)


def test_all_choices_of_a_text_have_the_same_dropout():
    model = make(MultipleChoice, num_choices=2, head_dropout=0.5, lm_weight=0.0)
    columns = tuple(map(tf.constant, (["a"] * 8, ["good"] * 8, ["good"] * 8)))
    logits = model(model.preprocessor(columns), training=True).numpy()
    np.testing.assert_allclose(logits[:, 0], logits[:, 1], atol=1e-6)
    assert np.ptp(logits[:, 0]) > 1e-3


def test_long_texts_lose_tokens_of_the_longer_one():
    model = make(sequence_length=8)
    long = tf.constant(["good " * 20]), tf.constant(["bad"])
    ids = model.preprocessor(long)["token_ids"].numpy()[0].tolist()
    assert len(ids) == 8 and ids[0] == START and ids[-1] == CLASSIFY
    assert DELIMITER in ids


def test_rows_that_do_not_fit_raise():
    model = make(MultipleChoice, num_choices=2)
    with pytest.raises(ValueError, match="takes the columns"):
        model.predict((["a"], ["b"]), verbose=0)
    with pytest.raises(ValueError, match=r"Received: \['2'\]"):
        model.fit((["a"], ["b"], ["c"]), [2], verbose=0)
