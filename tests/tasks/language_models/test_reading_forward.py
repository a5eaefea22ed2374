"""Tasks on backbones whose first token sees no other one."""

import keras
import numpy as np
import pytest
import tiny
from tiny_tasks import make_tiny_task

from zoo.tasks import TASKS

FORWARD = {"bert": {"num_layers": 1, "causal": True}, "ulmfit": {"num_layers": 1}}
CONTEXT = "the film was good , and the music of it was very lovely !"


def make(task, family="bert", fields=(), **options):
    config = {**FORWARD[family], **dict(fields)}
    model = make_tiny_task(TASKS[task], family, config, seed=1, **options)
    for weight in model.backbone.weights:
        if weight.path.endswith("kernel"):
            weight.assign(3 * weight.value)
    return model


@pytest.mark.shown("text_classifier", "multiple_choice")
@pytest.mark.parametrize(
    ("task", "options"),
    [
        ("text_classifier", {"labels": tiny.LABELS}),
        ("text_regressor", {}),
        ("multiple_choice", {"num_choices": 2}),
        ("text_embedder", {}),
    ],
)
def test_a_vector_is_not_that_of_the_first_token(task, options):
    model = make(task, **options)
    assert model.options["pooling"] == "mean"
    texts = ["a good film", "so dull"]
    x = (texts, texts, texts[::-1]) if task == "multiple_choice" else texts
    first, second = model.predict(x, verbose=0)
    assert np.abs(first - second).max() > 1e-4
    for pooling in ("cls", "pooled")[: 1 + (task != "text_embedder")]:
        with pytest.raises(ValueError, match="Received: one that reads forward"):
            make(task, pooling=pooling, **options)


def test_a_model_that_reads_backwards_is_read_at_its_first_token():
    """The last one sees no other one."""
    model = make("text_embedder", "ulmfit", {"reverse": True}, pooling="cls")
    first, second = model.predict(["a good film", "so dull"], verbose=0)
    assert np.abs(first - second).max() > 1e-4
    with pytest.raises(ValueError, match='"last".* reads backwards. Use "cls"'):
        make("text_embedder", "ulmfit", {"reverse": True}, pooling="last")


@pytest.mark.parametrize("family", FORWARD)
def test_no_answer_has_the_score_of_the_last_token(family):
    options = {"sequence_length": 16, "stride": 4, "question_length": 4}
    model = make("question_answerer", family, **options)
    x = model.preprocessor((["how is it", "a film"], [CONTEXT, "it was dull"]))
    scores = keras.ops.convert_to_numpy(model(x))
    mask = np.asarray(x["padding_mask"]) != 0
    last = np.where(mask, np.arange(mask.shape[1]), 0).max(axis=1)
    assert len({*last.tolist()}) > 1  # rows with padding, and without
    ends = scores[np.arange(len(last)), :, last]
    np.testing.assert_allclose(scores[:, :, 0], ends, atol=1e-6)
    assert np.ptp(scores[:, 0, 0]) > 1e-4  # it depends on the text
