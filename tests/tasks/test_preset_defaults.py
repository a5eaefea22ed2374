"""The defaults of a preset: rates, epochs, and options of the head."""

import numpy as np
import pytest
import tiny

import zoo
from zoo.layers import quantized_layers

# Presets ------------------------------------------------------------------------

DEFAULTS = {"learning_rate": 0.02, "epochs": 2, "pooling": "cls", "head_multiplier": 5}


@pytest.fixture
def preset(make_backbone, tokenizer, tmp_path):
    """A preset of a backbone, with values for fine-tuning."""
    backbone = make_backbone(num_layers=1, dropout=0.1)
    backbone.tokenizer = tokenizer
    backbone.defaults = DEFAULTS
    backbone.save_to_preset(tmp_path / "preset")
    return tmp_path / "preset"


@pytest.mark.slow
def test_a_task_made_by_hand_is_trained_as_one_from_a_preset(preset, texts, labels):
    models = [zoo.from_preset(preset, "text_classifier", labels=tiny.LABELS, seed=3)]
    backbone = zoo.from_preset(preset, None, seed=3)
    models.append(zoo.TextClassifier(backbone, backbone.tokenizer, tiny.LABELS))
    for model in models:
        model.run_eagerly = True
        model.history = model.fit(texts, labels, batch_size=8, verbose=0)
        assert len(model.history.epoch) == 2 and int(model.optimizer.iterations) == 6
        assert model.options["pooling"] == "cls" and model.new_heads == ("classifier",)
        optimizer = model.optimizer
        assert optimizer._learning_rate.peak == 0.02
        assert optimizer.rate_scale("classifier/kernel") == 5.0
        assert optimizer.rate_scale("pooler/kernel") == 1.0
    configs = [model.optimizer.get_config() for model in models]
    assert configs[0] == configs[1]
    for name, *pair in zip(
        [v.path for v in models[0].weights],
        *(model.get_weights() for model in models),
        strict=True,
    ):
        np.testing.assert_array_equal(*pair, err_msg=name)


def test_a_rate_of_the_user_replaces_that_of_the_preset(preset):
    options = {"labels": tiny.LABELS, "learning_rate": 2e-5}
    model = zoo.from_preset(preset, "text_classifier", **options)
    assert model.optimizer._learning_rate.peak == 2e-5
    model.compile(learning_rate=1e-3)
    assert model.optimizer._learning_rate.peak == 1e-3
    model.compile()
    assert model.optimizer._learning_rate.peak == 0.02
    for task in (None, "auto"):
        with pytest.raises(ValueError, match="`learning_rate` needs a task.*preset"):
            zoo.from_preset(preset, task, learning_rate=1e-3)
    with pytest.raises(ValueError, match="must be a positive number. Received: 0"):
        zoo.from_preset(preset, "text_classifier", learning_rate=0)


def test_epochs_are_those_of_the_preset_or_one(preset, texts, labels):
    options = {"labels": tiny.LABELS, "head_dropout": 0.0}
    model = zoo.from_preset(preset, "text_classifier", **options)
    model.run_eagerly = True
    for options, epochs in (({}, 2), ({"epochs": 3}, 3), ({"steps_per_epoch": 2}, 1)):
        found = model.fit(texts, labels, verbose=0, **options)
        assert len(found.epoch) == epochs
    model.backbone.defaults = {}
    assert len(model.fit(texts, labels, verbose=0).epoch) == 1


def test_values_for_one_task_win(preset, texts, labels):
    backbone = zoo.from_preset(preset, None)
    backbone.defaults["tasks"] = {
        "text_classifier": {"epochs": 3, "pooling": "mean", "head_multiplier": 7},
        "token_classifier": {"learning_rate": 0.5},
    }
    tokenizer = backbone.tokenizer
    model = zoo.TextClassifier(backbone, tokenizer, tiny.LABELS)
    tagger = zoo.TokenClassifier(backbone, tokenizer, tiny.LABELS)
    assert model.optimizer._learning_rate.peak == 0.02
    assert tagger.optimizer._learning_rate.peak == tagger.default_learning_rate == 0.5
    assert model.options["pooling"] == "mean"
    rates = [m.optimizer.head_multiplier for m in (model, tagger)]
    assert rates == [7, 5]
    model.run_eagerly = True
    assert len(model.fit(texts, labels, verbose=0).epoch) == 3


def test_only_a_head_with_new_weights_learns_faster(preset, texts, labels, tmp_path):
    model = zoo.from_preset(preset, "text_classifier", labels=tiny.LABELS)
    assert model.optimizer.head_multiplier == 5
    model.save_to_preset(tmp_path / "trained")
    model.save(tmp_path / "model.keras")
    loaded = zoo.load_model(tmp_path / "model.keras")
    assert loaded.optimizer.get_config() == model.optimizer.get_config()
    loaded.compile()  # its head is no longer new
    again = zoo.from_preset(tmp_path / "trained")
    assert again.backbone.defaults == model.backbone.defaults == DEFAULTS
    for known in (loaded, again):
        assert known.new_heads == () and known.optimizer.head_multiplier == 1.0
    other = zoo.from_preset(tmp_path / "trained", labels=["a", "b", "c"])
    assert other.new_heads == ("classifier",) and other.optimizer.head_multiplier == 5
    with pytest.warns(UserWarning, match="same labels in another order.*'bad', 'good'"):
        other = zoo.from_preset(tmp_path / "trained", labels=["good", "bad"])
    assert other.new_heads == ("classifier",)


def test_a_preset_with_wrong_defaults_is_not_written(make_backbone, tmp_path):
    backbone = make_backbone(num_layers=1)
    backbone.defaults["epochs"] = 0
    with pytest.raises(ValueError, match="`defaults.epochs` must be a positive int"):
        backbone.save_to_preset(tmp_path / "preset")
    assert not (tmp_path / "preset").exists()
    assert make_backbone(num_layers=1).defaults == {}  # each has its own


def test_another_width_of_the_pooled_vector_is_a_new_head(preset, tmp_path):
    model = zoo.from_preset(preset, "text_classifier", labels=tiny.LABELS)
    model.save_to_preset(tmp_path / "saved")
    assert zoo.from_preset(tmp_path / "saved", pooling="mean").new_heads == ()
    found = zoo.from_preset(tmp_path / "saved", pooling="compare")
    assert found.new_heads == ("classifier",)


@pytest.mark.slow
@pytest.mark.usefixtures("eagerly")
def test_a_new_head_on_an_int8_preset_is_trainable(preset, texts, tmp_path):
    model = zoo.from_preset(preset, "text_classifier", labels=tiny.LABELS)
    model.quantize("int8")
    model.save_to_preset(tmp_path / "saved")
    same = zoo.from_preset(tmp_path / "saved")
    assert same.new_heads == () and quantized_layers(same) == quantized_layers(model)
    np.testing.assert_array_equal(*(m.predict(texts, verbose=0) for m in (same, model)))
    other = zoo.from_preset(tmp_path / "saved", labels=["a", "b", "c"])
    head = other.get_layer("classifier")
    assert other.new_heads == ("classifier",) and quantized_layers(other)
    assert "classifier" not in quantized_layers(other)
    assert {weight.path for weight in head.trainable_weights} == {
        "classifier/kernel",
        "classifier/bias",
    }
