"""An empty list of texts has no answers, whatever the head of the model is."""

import numpy as np
import pytest
import tiny


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("text_classifier", {"pooling": "compare"}),
        ("text_classifier", {"head": "biattentive"}),
        ("text_regressor", {"pooling": "compare"}),
        ("multiple_choice", {"pooling": "compare"}),
        ("text_embedder", {"pooling": "max"}),
        ("text_embedder", {"pooling": "last"}),
    ],
)
def test_predictions_have_no_rows(make_task, name, options):
    if name == "multiple_choice":
        options = {"num_choices": 2, **options}
    model = make_task(name, fields={"num_layers": 1}, **options)
    x = ([], [], []) if name == "multiple_choice" else []
    outputs = model.predict(x, verbose=0)
    assert outputs.shape[0] == 0 and outputs.shape[1] >= 1
    answer = model.answer(x)
    assert all(np.asarray(value).shape[0] == 0 for value in answer.values())
    assert "label" not in answer or model.labels == tuple(tiny.LABELS)
