"""Pairs whose texts are read alone and compared, by backbones without segments."""

import keras
import numpy as np
import pytest
import tensorflow as tf
import tiny

import zoo
from zoo.family import FAMILIES
from zoo.registry import build_backbone
from zoo.tasks import MultipleChoice, TextClassifier, TextRegressor
from zoo.text import CharacterTokenizer, WordPieceTokenizer

BACKBONES = {
    "bert": (tiny.CONFIG, lambda: WordPieceTokenizer(tiny.VOCABULARY)),
    "elmo": (tiny.ELMO_CONFIG, lambda: CharacterTokenizer(12, tiny.WORDS)),
    "ulmfit": (tiny.ULMFIT_CONFIG, lambda: WordPieceTokenizer(tiny.VOCABULARY)),
}
TEXTS, LABELS = tiny.make_texts(48, longest=6)
OTHERS, _ = tiny.make_texts(48, seed=1, longest=9)
# Pairs with empty texts, alone or beside others.
EDGES = ["a good film", "", "the " * 25 + "end", ""], ["", "fine", "dull", ""]

pytestmark = pytest.mark.usefixtures("eagerly")


def make(family="elmo", kind=TextRegressor, **options):
    """A task for pairs, which compares their texts."""
    keras.utils.set_random_seed(0)
    config, tokenizer = BACKBONES[family]
    if kind is not MultipleChoice:
        options = {"pair": True, **options}
    model = kind(build_backbone(family, config), tokenizer(), **options)
    model.compile(keras.optimizers.Adam(1e-2))
    return model


@pytest.fixture(scope="module")
def model():
    return make()


def test_the_features_are_those_of_the_texts_alone(model):
    found = model.predict((TEXTS[:3], OTHERS[:3]), verbose=0)
    kernel, bias = model.get_layer("classifier").get_weights()
    for row in range(3):
        sums = []
        for text in (TEXTS[row], OTHERS[row]):
            x = model.preprocessor((tf.constant([text]),))
            vectors = np.asarray(model.backbone(x)["sequence_output"])[0]
            sums.append(vectors[np.asarray(x["padding_mask"])[0] == 1].sum(0))
        m, u, v = (
            total / np.sqrt(np.mean(total**2)) for total in (sum(sums), *sums)
        )  # fmt: skip
        features = np.concatenate([m, np.abs(u - v), u * v])
        np.testing.assert_allclose(found[row], features @ kernel + bias, atol=1e-5)


def test_it_is_the_default_for_pairs_without_segments(model):
    assert model.options["pooling"] == "compare"
    assert make(pair=False).options["pooling"] == "mean"
    known = make("ulmfit").options
    assert (known["head"], known["pooling"]) == ("linear", "compare")
    assert make("ulmfit", pair=False).options["head"] == "concat_pooling"
    assert make("bert").options["pooling"] == "pooled"
    assert make(kind=MultipleChoice).options["pooling"] == "mean"
    assert model.default_head_multiplier == FAMILIES["elmo"].head_multiplier
    backbone = build_backbone("elmo", tiny.ELMO_CONFIG)
    backbone.defaults = {"pooling": "compare"}
    # A preset's default for pairs, which other texts cannot have.
    assert TextRegressor(backbone).options["pooling"] == "mean"
    backbone.defaults = {"pooling": "mean"}  # a preset's own wins
    assert TextRegressor(backbone, pair=True).options["pooling"] == "mean"
    assert MultipleChoice(backbone).options["pooling"] == "mean"


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


@pytest.mark.parametrize(
    "family", ["elmo", pytest.param("ulmfit", marks=pytest.mark.slow)]
)
def test_a_file_and_a_preset_hold_it(family, tmp_path):
    model = make(family, TextClassifier, labels=tiny.LABELS)
    expected = model.predict(EDGES, verbose=0)
    model.save(tmp_path / "model.keras")
    model.save_to_preset(tmp_path / "preset")
    for path, load in (("model.keras", zoo.load_model), ("preset", zoo.from_preset)):
        loaded = load(tmp_path / path)
        assert loaded.options == model.options and loaded.pair
        np.testing.assert_allclose(loaded.predict(EDGES, verbose=0), expected)
    assert zoo.from_preset(tmp_path / "preset").new_heads == ()
    for pooling in ("mean", "compare"):
        other = zoo.from_preset(
            tmp_path / "preset", pooling=pooling, pair=pooling == "compare"
        )
        assert other.new_heads == (("classifier",) if pooling == "mean" else ())


def test_neighbours_and_padding_do_not_change_an_answer(model):
    together = model.predict(EDGES, verbose=0)
    assert np.isfinite(together).all()
    for number, row in enumerate(zip(*EDGES, strict=True)):
        alone = model.predict(tuple([text] for text in row), verbose=0)
        np.testing.assert_allclose(alone[0], together[number], atol=1e-5)


@pytest.mark.slow
def test_an_export_answers_the_same(model, tmp_path):
    expected = model.answer(EDGES)["value"]
    version = model.export(tmp_path / "export")
    served = tf.saved_model.load(version).signatures["serving_default"]
    found = served(text=tf.constant(EDGES[0]), text_pair=tf.constant(EDGES[1]))
    np.testing.assert_allclose(found["value"], expected, atol=1e-5)
    failed = [found for found in zoo.serving.diagnose(version) if not found.passed]
    assert not failed, zoo.serving.format_findings(failed)


def test_what_it_does_not_take_is_an_error(model):
    with pytest.raises(ValueError, match="no segments. Received: pair=False. Set `pa"):
        make(pair=False, pooling="compare")
    with pytest.raises(ValueError, match="needs a backbone with segments. Rec"):
        make(kind=MultipleChoice, pooling="compare")
    for call in (model.predict, model.answer, lambda x: model.fit(x, [0] * 48)):
        with pytest.raises(ValueError, match='`pooling="compare"` and `pair=True` tak'):
            call(TEXTS)


@pytest.mark.parametrize("options", [{}, {"pair": True, "pooling": "mean"}])
def test_to_learn_a_pair_as_one_text_gives_a_warning(model, options):
    joined = TextRegressor(model.backbone, model.tokenizer, **options)
    segments = make("bert", pair=False)
    with pytest.warns(UserWarning, match="two texts of a pair as one text") as found:
        joined.fit(EDGES, [0, 1, 2, 3], verbose=0)
        for quiet in (model, segments, joined):
            quiet.check_columns(2, training=True)
    (warning,) = [row for row in found if "as one text" in str(row.message)]
    assert warning.filename == __file__
