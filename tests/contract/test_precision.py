"""Every task trains with all weights in 16 or in 64 bits as it does in 32."""

import cases
import keras
import numpy as np
import pytest
import tiny

from zoo.training import Adagrad, AdamW, WarmupLinearDecay

TEXTS, LABELS = tiny.make_texts(8, seed=4)
OTHERS = [pytest.param(p, marks=pytest.mark.slow) for p in ("float16", "float64")]
# The largest difference of a loss to that in float32, as a fraction of what training
# lowers it by. Over all tasks it is at most 0.06, 0.006 and 5e-6.
BOUNDS = {"bfloat16": 0.2, "float16": 0.02, "float64": 5e-5}
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
    expected, losses = [], []
    tasks = {
        dtype: build_task(
            case, dtype=dtype, smallest=False, optimizer=OPTIMIZERS[optimizer]()
        )
        for dtype in ("float32", policy)
    }
    tasks[policy].set_weights(tasks["float32"].get_weights())
    for task, found in zip(tasks.values(), (expected, losses), strict=True):
        x, y = cases.columns_of(task, TEXTS), case.targets(TEXTS, LABELS)
        (batch,) = task.batches(x, y, batch_size=8)
        batch = keras.utils.unpack_x_y_sample_weight(batch)
        task.preprocessor = None
        for _ in range(6):
            found += [task.train_on_batch(*batch, return_dict=True)["loss"]]
    atol = BOUNDS[policy] * (expected[0] - expected[-1])
    assert atol > 0
    np.testing.assert_allclose(losses, expected, rtol=0, atol=atol)
    assert policy in {variable.dtype for variable in task.trainable_variables}
