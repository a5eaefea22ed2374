"""A program that trains tasks on one device and on several logical ones.

Arguments: the file of the results, and the names of cases of the contract's table. On
JAX, the variable XLA_FLAGS says how many devices there are.
"""

import contextlib
import sys

import built_tasks
import cases
import keras
import numpy as np
import tiny

import zoo
from zoo.training import AdamW, PlannedDecay

JAX = keras.backend.backend() == "jax"
MANY = 8  # devices
ROWS = 5  # which neither 2 nor 8 devices divide
TEXTS, LABELS = tiny.make_texts(8, seed=4)
WRONG = ("mirrored", None), ("data_parallel", 99), ("one", 2)


def results(case, scope, batch_size=ROWS):
    """Losses, evaluation, predictions and weights, dict of arrays; and the task."""
    with scope:
        # Outside a graph, Keras' addition fails for the replicas without rows.
        eager = not JAX and case.task != "question_answerer"
        task = built_tasks.build_task(case, run_eagerly=eager)
        y, x = case.targets(TEXTS, LABELS), cases.columns_of(task, TEXTS[:ROWS])
        y = None if y is None else y[:ROWS]
        options = {"batch_size": batch_size, "verbose": 0}
        found = {
            "loss": task.fit(x, y, **options).history["loss"],
            "scores": task.evaluate(x, y, **options),
        }
        if task.answers_tokens:
            found["outputs"] = task.predict(x, **options)
        found["weights"] = np.concatenate([w.ravel() for w in task.get_weights()])
    return {key: np.asarray(value) for key, value in found.items()}, task


def planned_fits(traced_anew=False):
    """Weights after a second `fit`, whose plan of the rate is longer, and compilations.

    `traced_anew` is whether its step is traced with the new plan.
    """
    import jax

    case, counts = cases.TASKS[0], []
    optimizer = AdamW(PlannedDecay(1e-2), epsilon=1e-3)
    task = built_tasks.build_task(case, optimizer=optimizer, run_eagerly=False)
    x, y = TEXTS[:ROWS], case.targets(TEXTS, LABELS)[:ROWS]
    for epochs in (1, 3):
        events = []
        jax.monitoring.register_event_duration_secs_listener(
            lambda event, *_, events=events, **__: events.append(event)
        )
        task.fit(x, y, epochs=epochs, verbose=0)
        counts.append(sum("backend_compile" in event for event in events))
        if traced_anew:
            task.train_function = None
    weights = np.concatenate([w.ravel() for w in task.get_weights()])
    return weights, np.array(counts)


def split_model():
    """The share of each large array that a device has, and the results, two dicts."""
    found, task = results(cases.TASKS[0], zoo.strategy("model_parallel", MANY).scope())
    large = [v.value for v in task.weights if len(v.shape) > 1]
    shares = [v.addressable_shards[0].data.size / v.size for v in large]
    return {"shares": np.array(shares), **found}


def messages():
    """The errors of wrong strategies of JAX."""
    for name, devices in WRONG:
        try:
            zoo.strategy(name, devices)
        except ValueError as error:
            yield str(error)


def main(path, *names):
    """Writes the arrays of all cases, by number of devices, case and name."""
    several = len(names) > 1
    counts = (MANY, 2) if several else (2,)
    size = ROWS if several else ROWS - 1  # then the last batch has a row
    scopes = {
        n: zoo.strategy("data_parallel" if JAX else "mirrored", n) for n in counts
    }
    found = {}
    for case in cases.TASKS:
        for count in (1, *counts) if case.name in names else ():
            scope = scopes[count].scope() if count > 1 else contextlib.nullcontext()
            arrays, _ = results(case, scope, size)
            found |= {f"{count}/{case.name}/{k}": v for k, v in arrays.items()}
    if JAX and several:
        found |= {f"split/{key}": value for key, value in split_model().items()}
    if JAX:
        found["messages"] = np.array([*messages()])
        found["plan/kept"], found["plan/compilations"] = planned_fits()
        found["plan/traced_anew"], _ = planned_fits(True)
    np.savez(path, **found)


if __name__ == "__main__":
    main(*sys.argv[1:])
