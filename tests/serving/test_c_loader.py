"""The program that loads a model without Python's TensorFlow, by itself."""

import json
import subprocess
import sys

import numpy as np
import pytest

from zoo.serving import c_loader, session
from zoo.serving.graph import TEXT_OPS, SavedGraph
from zoo.serving.session import Request, run_in_c_loader


def test_imports_only_the_standard_library():
    program = (
        f"import runpy, sys; runpy.run_path({c_loader.__file__!r}); "
        "print([m for m in sys.modules if m.split('.')[0] in "
        "('tensorflow', 'keras', 'zoo', 'numpy', 'google')])"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", program], capture_output=True, text=True
    )
    assert done.stdout.strip() == "[]", done.stderr


def test_text_operations_are_those_of_the_allowlist(good_version, monkeypatch):
    graph = SavedGraph(good_version)
    used = graph.operations() & TEXT_OPS
    assert used == {"CaseFoldUTF8", "TFText>WhitespaceTokenizeWithOffsetsV2"}
    report = run_in_c_loader(good_version, graph, [], timeout=60)
    assert not report.operations & TEXT_OPS
    assert {"MatMul", "StaticRegexReplace", "LookupTableFindV2"} <= report.operations
    # Without tensorflow-text the server's well-known error appears.
    monkeypatch.setattr(session, "_text_libraries", lambda: [])
    report = run_in_c_loader(good_version, graph, [], timeout=60)
    assert not report.loaded
    assert "Op type not registered" in report.error


def test_one_failing_request_does_not_stop_the_others(good_version):
    graph = SavedGraph(good_version)
    signature = graph.signatures["tokens"]
    requests = [
        Request(signature, {"token_ids": np.zeros(shape, np.int64)})
        for shape in ((1, 6), (1, 5), (2, 6))
    ]
    report = run_in_c_loader(good_version, graph, requests, timeout=60)
    assert [bool(answer.error) for answer in report.answers] == [False, True, False]
    assert report.answers[2].outputs["logits"].shape == (2, 2)
    assert report.error == ""


@pytest.mark.parametrize("job", [{"library": "missing.so"}, {"directory": "missing"}])
def test_failures_are_events(good_version, job):
    whole = {
        "library": str(session._tensorflow_library()),
        "extensions": [],
        "directory": str(good_version),
        "tag": "serve",
        "runs": [],
    }
    done = subprocess.run(
        [sys.executable, "-I", c_loader.__file__],
        input=json.dumps({**whole, **job}),
        capture_output=True,
        text=True,
    )
    assert "missing" in json.loads(done.stdout.splitlines()[-1])["error"]
    assert done.returncode == 0


def test_process_is_isolated_and_sees_no_gpu(good_version, tmp_path, monkeypatch):
    program = tmp_path / "program.py"
    program.write_text(
        "import json, os, sys\n"
        "seen = [os.environ['CUDA_VISIBLE_DEVICES'], sys.flags.isolated]\n"
        "print(json.dumps({'error': str(seen)}))\n"
    )
    monkeypatch.setattr(session, "_PROGRAM", program)
    report = run_in_c_loader(good_version, SavedGraph(good_version), [], timeout=60)
    assert report.error == "['-1', 1]"


def test_missing_packages(monkeypatch, tmp_path, good_version):
    with pytest.raises(FileNotFoundError, match="package no_such_package must be"):
        session._package_directory("no_such_package")
    monkeypatch.setattr(session, "_package_directory", lambda name: tmp_path)
    session._tensorflow_library.cache_clear()
    with pytest.raises(FileNotFoundError, match="needs libtensorflow_cc, which Tens"):
        session._tensorflow_library()
