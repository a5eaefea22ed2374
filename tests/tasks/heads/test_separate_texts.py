"""Pairs whose texts are read alone and compared, by backbones without segments."""

import keras
import numpy as np
import pytest
import tensorflow as tf
import tiny
from tiny_tasks import make_tiny_task

import zoo
from zoo.family import FAMILIES
from zoo.layers import ComparedTexts
from zoo.registry import build_backbone
from zoo.tasks import MultipleChoice, TextRegressor

TEXTS, LABELS = tiny.make_texts(48, longest=6)
OTHERS, _ = tiny.make_texts(48, seed=1, longest=9)

pytestmark = pytest.mark.usefixtures("eagerly")


def make(family="elmo", kind=TextRegressor, **options):
    """A task for pairs, which compares their texts."""
    if kind is not MultipleChoice:
        options = {"pair": True, **options}
    model = make_tiny_task(kind, family, **options)
    kernel = model.get_layer("classifier").kernel  # which is 0 at first
    kernel.assign(keras.random.normal(kernel.shape, seed=0))
    model.compile(keras.optimizers.Adam(1e-2))
    return model


@pytest.fixture(scope="module")
def model():
    return make()


@pytest.mark.parametrize("family, pooling", [("elmo", None), ("bert", "separate")])
def test_the_features_are_those_of_the_texts_alone(family, pooling):
    model = make(family, pooling=pooling)
    found = model.predict((TEXTS[:3], OTHERS[:3]), verbose=0)
    kernel, bias = model.get_layer("classifier").get_weights()
    for row in range(3):
        texts = []
        for text in (TEXTS[row], OTHERS[row]):
            x = model.preprocessor((tf.constant([text]),))
            texts += [model.backbone(x)["sequence_output"], x["padding_mask"]]
        if pooling == "separate":
            features = np.asarray(ComparedTexts()(*texts))[0]
        else:
            texts = [np.asarray(part)[0] for part in texts]
            sums = [texts[i][texts[i + 1] == 1].sum(0) for i in (0, 2)]
            m, u, v = (
                total / np.sqrt(np.mean(total**2)) for total in (sum(sums), *sums)
            )  # fmt: skip
            features = np.concatenate([m, np.abs(u - v), u * v])
        np.testing.assert_allclose(found[row], features @ kernel + bias, atol=1e-4)


def test_it_is_the_default_for_pairs_without_segments(model):
    assert model.default_head_multiplier == FAMILIES["elmo"].head_multiplier
    backbone = build_backbone("elmo", tiny.ELMO_CONFIG)
    backbone.defaults = {"pooling": "compare"}
    # A preset's default for pairs, which other texts cannot have.
    assert TextRegressor(backbone).options["pooling"] == "mean"
    backbone.defaults = {"pooling": "mean"}  # a preset's own wins
    assert TextRegressor(backbone, pair=True).options["pooling"] == "mean"
    assert MultipleChoice(backbone).options["pooling"] == "mean"
    backbone = make("bert").backbone
    backbone.defaults = {"pooling": "cls", "pair_pooling": "separate"}
    assert TextRegressor(backbone, pair=True).options["pooling"] == "separate"
    for other in (TextRegressor(backbone), MultipleChoice(backbone)):
        assert other.options["pooling"] == "cls"


def test_a_batch_of_a_budget_has_the_tokens_of_both_texts(model):
    x = (TEXTS, OTHERS)
    batches = [x for x, _ in model.batches(x, [0] * 48, token_budget=80)]
    sizes = [
        sum(x[prefix + "padding_mask"].shape.num_elements() for prefix in ("", "pair_"))
        for x in batches
    ]
    assert 40 < max(sizes) <= 80 and len(sizes) > 1


def test_both_texts_train_the_backbone(model):
    ((x, y),) = model.batches((TEXTS[:4], OTHERS[:4]), [0, 1, 2, 3], batch_size=4)
    for empty in (True, False):  # the second text; then the first one
        one = {k: v * int(k.startswith("pair_") != empty) for k, v in x.items()}
        with tf.GradientTape() as tape:
            loss = model.compute_loss(x, y, model(one, training=True))
        gradients = tape.gradient(loss, [v.value for v in model.trainable_weights])
        for gradient in gradients:
            assert np.abs(tf.convert_to_tensor(gradient)).max() > 0


def test_another_pooling_of_a_preset_has_a_new_head(model, tmp_path):
    model.save_to_preset(tmp_path / "preset")
    for pooling in ("mean", "separate", "compare"):
        options = {"pooling": pooling, "pair": pooling != "mean"}
        found = zoo.from_preset(tmp_path / "preset", **options).new_heads
        assert found == (() if pooling == "compare" else ("classifier",))


def test_what_it_does_not_take_is_an_error(model):
    for call in (model.predict, model.answer, lambda x: model.fit(x, [0] * 48)):
        with pytest.raises(ValueError, match='`pooling="compare"` and `pair=True` tak'):
            call(TEXTS)


@pytest.mark.parametrize("options", [{}, {"pair": True, "pooling": "mean"}])
def test_to_learn_a_pair_as_one_text_gives_a_warning(model, options):
    joined = TextRegressor(model.backbone, model.tokenizer, **options)
    segments = make("bert", pair=False)
    with pytest.warns(UserWarning, match="two texts of a pair as one text") as found:
        joined.fit((TEXTS[:4], OTHERS[:4]), [0, 1, 2, 3], verbose=0)
        for quiet in (model, segments, joined):
            quiet.check_columns(2, training=True)
    (warning,) = [row for row in found if "as one text" in str(row.message)]
    assert warning.filename == __file__
