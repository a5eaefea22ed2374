"""Bad input: a clear error or a defined answer; nothing executed, nothing left."""

import json
import pickle
import zipfile

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


class Bomb:
    """Leaves a file behind if it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (self.path, "w"))


@pytest.fixture
def hugging_face(tmp_path):
    """Directory of Hugging Face's layout, without weights yet."""
    directory = tmp_path / "hugging_face"
    directory.mkdir()
    config = {
        "model_type": "bert", "vocab_size": 64, "hidden_size": 16,
        "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32,
    }  # fmt: skip
    (directory / "config.json").write_text(json.dumps(config))
    (directory / "vocab.txt").write_text("\n".join(tiny.VOCABULARY))
    return directory


def test_pickle_with_code_is_not_executed(hugging_face, tmp_path):
    trace = tmp_path / "executed"
    with zipfile.ZipFile(hugging_face / "pytorch_model.bin", "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps({"x": Bomb(str(trace))}))
    with pytest.raises(ValueError, match="refused"):
        zoo.from_preset(hugging_face)
    assert not trace.exists()


def test_bare_pickle_is_not_executed(hugging_face, tmp_path):
    trace = tmp_path / "executed"
    (hugging_face / "pytorch_model.bin").write_bytes(pickle.dumps(Bomb(str(trace))))
    with pytest.raises(ValueError, match="pytorch_model.bin"):
        zoo.from_preset(hugging_face)
    assert not trace.exists()


@pytest.mark.parametrize("content", [b"", b"\x00" * 100, b"not a tensor file"])
def test_truncated_safetensors(hugging_face, content):
    (hugging_face / "model.safetensors").write_bytes(content)
    with pytest.raises(ValueError, match="model.safetensors"):
        zoo.from_preset(hugging_face)


def test_failed_preset_leaves_nothing(classifier, tmp_path, monkeypatch):
    monkeypatch.setattr("zoo.presets.records.sha256", _fail)
    with pytest.raises(ValueError, match="planted"):
        classifier.save_to_preset(tmp_path / "preset")
    assert not list(tmp_path.iterdir())


def _fail(*_):
    raise ValueError("planted")


@pytest.mark.parametrize(
    "preset, error, message",
    [
        ("no_such_preset", KeyError, "No preset is called 'no_such_preset'"),
        ("./nowhere", FileNotFoundError, "must exist. Received: './nowhere'"),
        ("s3://a/b", ValueError, "begins with hf:// or kaggle://. Received: 's3:"),
    ],
)
def test_unknown_presets(preset, error, message):
    with pytest.raises(error, match=message):
        zoo.from_preset(preset)


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
