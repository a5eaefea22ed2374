"""The table of CoVe: what the network reads and what is trained."""

import numpy as np
import pytest

import zoo
from benchmarks.tables import biattentive
from zoo.models.cove import CoVe, CoVeConfig


def test_words_and_vectors_are_those_of_cove(monkeypatch):
    cove, asked = CoVe(CoVeConfig(20, 4, 3, 2, num_zero=2, initializer_range=0.5)), []
    cove.tokenizer = "its tokenizer"

    def from_preset(*arguments, **options):
        asked.append((arguments, options))
        return cove

    monkeypatch.setattr(zoo, "from_preset", from_preset)
    makers = (biattentive.make_words, biattentive.make_cove)
    models = [make({"cove": "a"}, "float32") for make in makers]
    assert asked == 2 * [(("a",), {"task": None, "dtype": "float32"})]
    assert [model.tokenizer for model in models] == 2 * ["its tokenizer"]
    ids = {"word_ids": np.array([[5, 1, 7]])}
    words, both, context = (
        np.array(model(ids)["sequence_output"])[0] for model in (*models, cove)
    )
    (table,) = cove.get_layer("word_embedding").get_weights()
    np.testing.assert_array_equal(words[[0, 2]], table[[5, 7]])
    assert table[1].any() and not words[1].any()
    np.testing.assert_array_equal(both, np.concatenate([words, context], axis=1))
    assert both.shape == (3, 10)


@pytest.mark.slow
@pytest.mark.usefixtures("small_sets")
def test_only_the_network_and_the_mix_are_trained(monkeypatch, elmo, make_run):
    monkeypatch.setattr(biattentive, "free_memory", lambda: None)
    run = make_run(biattentive, given=[f"elmo={elmo}"], dtype="float32")
    model = biattentive.make_model("elmo", ["0", "1"], run.presets, 0, "float32")
    assert model.optimizer._learning_rate.peak == 1e-3
    trained = {v.path for v in model.trainable_variables}
    own = {v.path for v in model.backbone.variables}
    assert trained - own
    assert trained & own == {"scalar_mix/gamma", "scalar_mix/scalars"}
    monkeypatch.setattr(biattentive, "EPOCHS", dict.fromkeys(biattentive.SETS, 1))
    found = run.result("trec6-elmo-elmo_tiny-0", ("trec6", "elmo", 0))
    assert found["train"] == len(found["right"]) == 40 and found["parameters"] > 0
    assert found["score"] == found["right"].count("1") / 40
    assert run.stored("trec6-majority") and run.stored("trec6-linear")
