"""One small text classifier, exported once, and helpers to export faulty models."""

import shutil

import keras
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_text as tf_text

from zoo.serving import Signature, diagnose, wire, write_version

TEXTS = ("good film", "", "bad and Ünknown 🙂")


class Tokenizer(tf.Module):
    """Lower case, words, ids: operations of tensorflow-text and a lookup table."""

    def __init__(self):
        super().__init__()
        words = tf.constant(["good", "bad", "film"])
        ids = tf.constant([1, 2, 3], tf.int64)
        initializer = tf.lookup.KeyValueTensorInitializer(words, ids)
        self.table = tf.lookup.StaticHashTable(initializer, default_value=4)
        self.words = tf_text.WhitespaceTokenizer()

    def __call__(self, text):
        words = self.words.tokenize(tf_text.case_fold_utf8(text))
        return self.table.lookup(words).to_tensor(shape=[None, 6])


class Classifier:
    """A tokenizer and a Keras model, with the signatures of an export."""

    def __init__(self):
        self.tokenizer = Tokenizer()
        token_ids = keras.Input((6,), dtype="int64")
        embedded = keras.layers.Embedding(5, 4)(token_ids)
        outputs = keras.layers.Dense(2)(keras.layers.Flatten()(embedded))
        self.model = keras.Model(token_ids, outputs)
        self.track = [self.model, self.tokenizer]

    def classify(self, text):
        logits = self.model(self.tokenizer(text))
        labels = tf.constant(["negative", "positive"])
        return {"logits": logits, "label": tf.gather(labels, tf.argmax(logits, -1))}

    def signatures(self):
        return {
            "serving_default": Signature(
                self.classify,
                {"text": tf.TensorSpec([None], tf.string)},
                {"text": np.array(TEXTS)},
            ),
            "tokens": Signature(
                lambda token_ids: {"logits": self.model(token_ids)},
                [tf.TensorSpec([None, 6], tf.int64, name="token_ids")],
                {"token_ids": np.array([[1, 3, 0, 0, 0, 0]])},
            ),
        }


@pytest.fixture(scope="session")
def classifier():
    return Classifier()


@pytest.fixture(scope="session")
def good_version(classifier, tmp_path_factory):
    """Version 1 of the classifier; tests must not change it."""
    base_dir = tmp_path_factory.mktemp("serving") / "clf"
    return write_version(
        base_dir,
        classifier.signatures(),
        classifier.track,
        extra_files={"labels.txt": "negative\npositive\n"},
    )


@pytest.fixture
def version_copy(good_version, tmp_path):
    """A version of the classifier that the test may damage."""
    return shutil.copytree(good_version, tmp_path / "1")


@pytest.fixture
def save_function(tmp_path):
    """Save a function of one input, as anybody might, and return the directory."""

    def save(function, spec, module=None, jit_compile=None):
        module = module or tf.Module()
        module.serve = tf.function(
            function, input_signature=[spec], jit_compile=jit_compile
        )
        directory = tmp_path / "1"
        tf.saved_model.save(module, str(directory), signatures=module.serve)
        return directory

    return save


@pytest.fixture
def edit_graph():
    """Apply a function to the graph in a saved_model.pb."""

    def edit(directory, change):
        path = directory / "saved_model.pb"
        saved_model = wire.SavedModel.FromString(path.read_bytes())
        change(saved_model.meta_graphs[0])
        path.write_bytes(saved_model.SerializeToString())
        return directory

    return edit


@pytest.fixture
def failures():
    """Diagnose a directory; returns dict from failed check to reason."""

    def examine(directory, **options):
        findings = diagnose(directory, **options)
        return {
            finding.check: finding.reason for finding in findings if not finding.passed
        }

    return examine
