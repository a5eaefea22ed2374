"""Tasks on tiny BERTs that no test trains."""

import keras
import pytest
import tiny


@pytest.fixture(scope="module")
def models(tokenizer):
    """Function of a task's name: the task on a tiny BERT, one for all tests."""
    from tiny_tasks import make_tiny_task

    from zoo.tasks import TASKS

    options = {
        "text_classifier": {"labels": tiny.LABELS, "head_dropout": 0.0},
        "token_classifier": {"labels": tiny.TAGS, "head_dropout": 0.0},
    }
    found = {}

    def make(name):
        if name not in found:
            config = {"causal": name == "causal_lm"}
            given = {"tokenizer": tokenizer, **options.get(name, {})}
            found[name] = make_tiny_task(TASKS[name], config=config, seed=5, **given)
            found[name].compile(keras.optimizers.SGD(0.0), run_eagerly=True)
        return found[name]

    return make


@pytest.fixture(scope="module")
def classifier(models):
    return models("text_classifier")


@pytest.fixture(scope="module")
def tagger(models):
    return models("token_classifier")
