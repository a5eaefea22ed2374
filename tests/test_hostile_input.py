"""Bad input: a clear error or a defined answer; nothing executed, nothing left."""

import json

import numpy as np
import pytest
import tensorflow as tf
import tiny

import zoo
from zoo.registry import build_backbone
from zoo.text import SentencePieceTokenizer, WordPieceTokenizer
from zoo.text.contents import without_paths


@pytest.fixture(scope="module")
def classifier():
    backbone = build_backbone("bert", tiny.CONFIG)
    tokenizer = WordPieceTokenizer(tiny.VOCABULARY)
    model = zoo.TextClassifier(backbone, tokenizer, labels=tiny.LABELS)
    model.compile("adam")
    model.truncation_reported = True
    return model


@pytest.mark.parametrize("name", tiny.WEIRD)
def test_any_text_gets_a_finite_answer(classifier, name):
    logits = classifier.predict([tiny.WEIRD[name]], verbose=0)
    assert logits.shape == (1, 2) and np.isfinite(logits).all()


def test_texts_do_not_disturb_each_other(classifier):
    together = classifier.predict(list(tiny.WEIRD.values()), verbose=0)
    alone = [classifier.predict([text], verbose=0)[0] for text in tiny.WEIRD.values()]
    np.testing.assert_allclose(together, alone, atol=1e-5)


@pytest.mark.parametrize("label", [2, -1, "fine", None, 0.5])
def test_labels_out_of_range(classifier, label):
    with pytest.raises(ValueError, match="`y` must"):
        classifier.fit(["a film"], [label], verbose=0)


@pytest.mark.usefixtures("eagerly")
def test_bad_labels_in_a_dataset_stop_the_run(classifier):
    data = tf.data.Dataset.from_tensor_slices((["a film"], ["fine"])).batch(1)
    with pytest.raises(tf.errors.InvalidArgumentError, match="must hold labels"):
        classifier.fit(data, verbose=0)


def test_a_preset_names_no_file_of_the_user(classifier, tmp_path):
    (tmp_path / "secret.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nsecret\n")
    classifier.save_to_preset(tmp_path / "preset")
    record = json.loads((tmp_path / "preset" / "preset.json").read_text())
    arguments = {"vocabulary": str(tmp_path / "secret.txt"), "lowercase": True}
    record["tokenizer"] |= {"arguments": arguments, "files": {}}
    (tmp_path / "preset" / "preset.json").write_text(json.dumps(record))
    with pytest.raises(
        ValueError, match="`vocabulary` must hold the entries. Received"
    ):
        zoo.from_preset(tmp_path / "preset")
    with pytest.raises(ValueError, match="`model` must hold base64"):
        SentencePieceTokenizer.from_config({"model": str(tmp_path / "secret.model")})


def test_a_path_is_not_a_model():
    with pytest.raises(ValueError, match="`model` must hold base64. Received: '/a.m"):
        without_paths({"model": "/a.model"}, {"model": "text.model"})
