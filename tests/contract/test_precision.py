"""Every task trains with all weights in 16 or in 64 bits."""

import cases
import keras
import numpy as np
import pytest
import tiny

from zoo.training import Adagrad, AdamW, WarmupLinearDecay

TEXTS, LABELS = tiny.make_texts(8, seed=4)
OTHERS = [pytest.param(p, marks=pytest.mark.slow) for p in ("float16", "float64")]
OPTIMIZERS = {
    "adamw": lambda: AdamW(WarmupLinearDecay(3e-3, 1, 50), epsilon=1e-3),
    "adagrad": lambda: Adagrad(0.02),
}


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["bfloat16", *OTHERS])
def test_a_whole_policy_trains(case, build_task, policy):
    check(case, build_task, policy, "adamw")


@pytest.mark.parametrize("policy", ["bfloat16", OTHERS[1]])
def test_adagrad_trains_too(build_task, policy):
    check(cases.TASKS[0], build_task, policy, "adagrad")


def check(case, build_task, policy, optimizer):
    options = {"optimizer": OPTIMIZERS[optimizer]()}
    task = build_task(case, dtype=policy, smallest=False, **options)
    x, y = cases.columns_of(task, TEXTS), case.targets(TEXTS, LABELS)
    (batch,) = task.batches(x, y, batch_size=8)
    x, y, weight = keras.utils.unpack_x_y_sample_weight(batch)
    task.preprocessor = None
    losses = [
        task.train_on_batch(x, y, weight, return_dict=True)["loss"] for _ in range(6)
    ]
    assert np.isfinite(losses).all() and losses[-1] < losses[0]
    assert policy in {variable.dtype for variable in task.trainable_variables}
