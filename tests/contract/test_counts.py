"""Numbers that count rows, steps and epochs: every task checks them before any work."""

import cases
import numpy as np
import pytest
import tiny

TEXTS, LABELS = tiny.make_texts(8, seed=4)
WRONG = {
    "batch_size": (0, -1, 1.5, "8", True, float("nan")),
    "epochs": (-1, 1.5, "x", float("nan"), True),
    "initial_epoch": (-1, 0.5, None),
    "steps_per_epoch": (0, -1, 1.5, "x"),
    "validation_steps": (0, 1.5),
    "validation_batch_size": (0, 1.5),
    "validation_freq": (0, 1.5, None),
    "token_budget": (0, -1, float("nan"), 1.5, "x"),
    "seed": (-1, None, 1.5, "x", 2**64),
    "validation_split": (float("nan"), -0.1, 1.0, 2, "0.1", True, [0.1]),
}
# Arguments of fit, and of other methods; the methods of `text_methods` take batches.
METHODS = {
    "evaluate": ("batch_size", "steps"),
    "predict": ("batch_size", "steps"),
    "answer": ("batch_size",),
}
WRONG["steps"] = WRONG["steps_per_epoch"]


def message(name):
    if name == "validation_split":
        return r"`validation_split` must be a number in \[0, 1\).*Received"
    return f"`{name}` must be (an integer|at most)"


@pytest.mark.shown("text_classifier", "causal_lm", "token_classifier-", "translator")
def test_counts_of_fit_are_checked(case, build_task):
    task = build_task(case)
    x, y = cases.columns_of(task, TEXTS), case.targets(TEXTS, LABELS)
    for name in WRONG.keys() - {"steps"}:
        for value in WRONG[name]:
            with pytest.raises(ValueError, match=message(name)):
                task.fit(x, y, verbose=0, **{name: value})
    assert int(task.optimizer.iterations) == 0


@pytest.mark.shown("text_classifier", "causal_lm", "token_classifier-", "translator")
def test_counts_of_other_methods_are_checked(case, build_task):
    task = build_task(case)
    x, y = cases.columns_of(task, TEXTS), case.targets(TEXTS, LABELS)
    # A BERT does not generate; the other two take no batches.
    others = {"generate", "fill_mask", "answer_question"}
    own = {name: ("batch_size",) for name in {*task.text_methods} - others}
    for method, names in ({**own, **METHODS}).items():
        data = (x, y) if method == "evaluate" else (x,)
        for name in names:
            for value in WRONG[name]:
                if method == "predict" and not task.answers_tokens:
                    continue
                with pytest.raises(ValueError, match=message(name)):
                    getattr(task, method)(*data, **{name: value})


def test_integers_of_numpy_are_integers(make_task):
    model = make_task(compile={"run_eagerly": True})
    texts, labels = TEXTS, LABELS
    history = model.fit(
        texts,
        labels,
        np.int64(4),
        epochs=np.int32(2),
        initial_epoch=np.int8(0),
        validation_split=np.float32(0.25),
        validation_freq=np.int64(1),
        seed=np.uint8(3),
        verbose=0,
    )
    assert len(history.history["val_loss"]) == 2
    budget = np.int64(40)
    model.fit(
        texts, labels, steps_per_epoch=np.int64(2), token_budget=budget, verbose=0
    )
    assert model.predict(texts, np.int16(3), verbose=0).shape == (8, 2)
    assert len(model.answer(texts, np.int16(3))["label"]) == 8


@pytest.mark.parametrize("name", ["batch_size", "epochs", "validation_split"])
def test_counts_are_checked_for_token_ids_too(name, make_task):
    model = make_task()
    x = model.preprocessor((TEXTS,))
    y = np.zeros(8, int)
    for value in WRONG[name]:
        with pytest.raises(ValueError, match=message(name)):
            model.fit(x, y, verbose=0, **{name: value})
