"""Tasks on tiny BERTs that no test trains."""

import keras
import pytest
import tiny


@pytest.fixture(scope="module")
def models(tokenizer):
    """Function of a task's name: the task on a tiny BERT, one for all tests."""
    from zoo.registry import build_backbone
    from zoo.tasks import TASKS

    options = {
        "text_classifier": {"labels": tiny.LABELS, "head_dropout": 0.0},
        "token_classifier": {"labels": tiny.TAGS, "head_dropout": 0.0},
    }
    found = {}

    def make(name):
        if name not in found:
            keras.utils.set_random_seed(5)
            config = {**tiny.CONFIG, "causal": name == "causal_lm"}
            backbone = build_backbone("bert", config)
            found[name] = TASKS[name](backbone, tokenizer, **options.get(name, {}))
            found[name].compile(keras.optimizers.SGD(0.0), run_eagerly=True)
        return found[name]

    return make


@pytest.fixture(scope="module")
def classifier(models):
    return models("text_classifier")


@pytest.fixture(scope="module")
def tagger(models):
    return models("token_classifier")
