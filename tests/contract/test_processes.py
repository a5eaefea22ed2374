"""Promises that need another process: one for each promise, all families in it."""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import cases
import fresh
import jax_forward
import numpy as np
import pytest
from pages import GUIDES, name, needs_missing, table_rows

HERE = pathlib.Path(__file__).parent
OTHER_PYTHON = os.environ.get("ZOO_OTHER_PYTHON")


def run(program, *arguments, python=sys.executable, **environment):
    path = [str(HERE.parents[1]), str(HERE.parent), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [python, str(HERE / program), *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path), **environment},
        capture_output=True,
        text=True,
        timeout=1800,
    )
    assert done.returncode == 0, done.stderr[-3000:]


FEW = [case for case in cases.TASKS if case.name in ("causal_lm", "pair_ranker")]


@pytest.mark.parametrize(
    "tasks",
    [
        pytest.param(FEW, id="few"),
        pytest.param(cases.TASKS, id="every", marks=pytest.mark.slow),
    ],
)
def test_a_fresh_process_loads_tasks(tasks, build_task, tmp_path):
    expected = {}
    for case in tasks:
        task = build_task(case)
        task.save(tmp_path / f"{case.name}.keras")
        for key, value in fresh.answers(task).items():
            expected[f"{case.name}/{key}"] = value
    files = [tmp_path / f"{case.name}.keras" for case in tasks]
    run("fresh.py", tmp_path / "results.npz", *files)
    results = np.load(tmp_path / "results.npz")
    assert set(results) == set(expected)
    for key, value in expected.items():
        if value.dtype == object:
            assert results[key].tolist() == value.tolist()
        else:
            np.testing.assert_allclose(results[key], value, atol=1e-6, err_msg=key)


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(["bert_without_pooler"], id="few"),
        pytest.param(
            # The module of a user's family needs TensorFlow for its task.
            [family.name for family in cases.FAMILIES if family.family != "bag"],
            id="every",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_jax_computes_the_same_without_tensorflow(names, build, tmp_path):
    if importlib.util.find_spec("jax") is None:
        pytest.skip("JAX is not installed: `pip install .[jax]`.")
    stored = {
        f"{family.name}/{variable.path}": np.asarray(variable)
        for family in cases.FAMILIES
        if family.name in names
        for variable in build(family).weights
    }
    np.savez(tmp_path / "stored.npz", **stored)
    files = (tmp_path / "stored.npz", tmp_path / "results.npz")
    run("jax_forward.py", *files, KERAS_BACKEND="jax")
    results, expected = np.load(files[1]), jax_forward.run(stored)
    assert set(results) == set(expected)
    for key, value in expected.items():
        np.testing.assert_allclose(results[key], value, atol=2e-5, err_msg=key)


MESSAGES = [
    "strategies one, data_parallel, model_parallel. Received: mirrored. Use data_para",
    "`devices` must be at most 8, the number of CPU devices of JAX",
    "Strategy one has one device. Received: devices=2. Use data_parallel.",
]
DEVICES = [
    pytest.param(["text_classifier"], id="few"),
    pytest.param(
        [case.name for case in cases.TASKS], id="every", marks=pytest.mark.slow
    ),
]


@pytest.mark.parametrize("names", DEVICES)
def test_devices_of_jax_train_as_one(names, tmp_path):
    """Two and eight; a second `fit` compiles nothing; a model is split over eight."""
    if importlib.util.find_spec("jax") is None:
        pytest.skip("JAX is not installed: `pip install .[jax]`.")
    flags = "--xla_force_host_platform_device_count=8"
    results = train_on_devices(names, tmp_path, KERAS_BACKEND="jax", XLA_FLAGS=flags)
    messages = results["messages"].tolist()
    for found, expected in zip(messages, MESSAGES, strict=True):
        assert expected in found
    first, second = results["plan/compilations"]
    assert first > 0 and second == 0
    kept, anew = results["plan/kept"], results["plan/traced_anew"]
    np.testing.assert_allclose(kept, anew, atol=1e-6)
    if len(names) > 1:
        assert results["split/shares"].max() == 1 / 8
        for key in ("loss", "scores", "outputs", "weights"):
            expected = results[f"1/text_classifier/{key}"]
            np.testing.assert_allclose(results[f"split/{key}"], expected, atol=1e-5)


@pytest.mark.slow
def test_eight_replicas_train_as_one(tmp_path):
    train_on_devices([case.name for case in cases.TASKS], tmp_path)


def train_on_devices(names, tmp_path, **environment):
    """The arrays of `devices.py`, which are those of one device on several, too."""
    run("devices.py", tmp_path / "results.npz", *names, **environment)
    results = dict(np.load(tmp_path / "results.npz"))
    counts = {key.split("/")[0] for key in results} - {"1", "split", "messages", "plan"}
    assert counts == ({"2", "8"} if len(names) > 1 else {"2"})
    for key, expected in results.items():
        for count in counts if key.startswith("1/") else ():
            found = results[count + key.removeprefix("1")]
            np.testing.assert_allclose(found, expected, 1e-5, 1e-5, err_msg=key)
    return results


@pytest.mark.slow
def test_families_convert_as_the_guide_says(tmp_path):
    """With the converters of LiteRT and ONNX; both runtimes compute the logits."""
    if missing := needs_missing("mobile"):
        pytest.skip(f"`pip install .[mobile]`: {', '.join(missing)} is missing.")
    (guide,) = (page for page in GUIDES if name(page) == "mobile")
    rows = [cells for cells, _ in table_rows(guide)][2:]
    path = tmp_path / "results.json"
    families = [family for family, *_ in rows]
    run("converted.py", path, *families, TF_ENABLE_ONEDNN_OPTS="0")
    results = json.loads(path.read_text())
    assert results.keys() == {*families} and "bert" in results
    for family, *claims in rows:
        for claim, result in zip(claims, results[family], strict=True):
            if claim == "yes":
                assert result == "", family
            else:
                reason = claim.removeprefix("no: `")
                assert reason != claim and reason in result, family


@pytest.mark.slow
@pytest.mark.skipif(
    OTHER_PYTHON is None, reason="set ZOO_OTHER_PYTHON, a Python with other packages"
)
@pytest.mark.parametrize("writer, reader", [(0, 1), (1, 0)], ids=["read", "written"])
def test_another_tensorflow_gives_the_same_answers(writer, reader, tmp_path):
    """`.ci/run` has an environment for each release of TensorFlow."""
    pythons, results = (sys.executable, OTHER_PYTHON), []
    for number in (writer, reader):
        path = tmp_path / f"{number}.npz"
        run("exchange.py", tmp_path / "files", path, python=pythons[number])
        results.append(dict(np.load(path)))
    expected, found = results
    assert found.pop("tensorflow") != expected.pop("tensorflow")
    assert found.keys() == expected.keys()
    for key, value in expected.items():
        if value.dtype.kind == "f":
            np.testing.assert_allclose(found[key], value, 1e-5, 1e-6, err_msg=key)
        else:
            np.testing.assert_array_equal(found[key], value, err_msg=key)
