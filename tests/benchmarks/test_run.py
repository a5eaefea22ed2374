"""The runner of benchmarks: turns, arithmetic, what it refuses, and what it skips."""

import csv
import gzip
import re
import types

import pytest
from places import ROOT

from benchmarks import circumstances, run, worker
from benchmarks.text_to_label import read_texts

TINY = """
import os
import types

def make(log, name, items=2, **facts):
    def call():
        with open(log, "a") as file:
            file.write(name)
        print("chatter of a library")
        return types.SimpleNamespace(shape=(items, 3))
    facts = {"items": items, "lengths": [4, 5][:items], "parameters": 7,
             "shape": [items, 3], "versions": {}, "note": "", **facts}
    return call, facts

def absent(log):
    import no_such_library

def dead(log):
    raise SystemExit(3)

def itself(log):
    from benchmarks.worker import Measured
    _, facts = make(log, "i", lengths=None, parameters=None)
    return lambda: Measured((2, 3), 3.5, 1e6), facts

PEERS = {
    "zoo": lambda log: make(log, os.environ.get("LETTER", "z")),
    "itself": itself,
    "absent": absent,
    "other": lambda log: make(log, "o", items=1),
    "dead": dead,
    "shape": lambda log: make(log, "s", shape=[2, 4]),
}
"""


@pytest.fixture
def tiny(monkeypatch, tmp_path):
    """Function of peers' names: measures a workload of the test's own."""
    package = tmp_path / "benchmarks"
    package.mkdir()
    for name in ("__init__.py", "worker.py"):
        (package / name).write_text((ROOT / "benchmarks" / name).read_text())
    (package / "tiny.py").write_text(TINY)
    monkeypatch.setattr(run, "ROOT", tmp_path)
    monkeypatch.setattr(run, "PAUSE", 0)

    def measure(*names, variants=()):
        log = tmp_path / "log"
        log.write_text("")
        options = {"log": str(log), "threads": 1}
        measured = run.measure("tiny", names, options, 1, 2, variants)
        return measured, log.read_text()

    return measure


def facts(seconds, **changes):
    return {
        "items": 4,
        "lengths": [3, 3, 2, 2],
        "parameters": 7,
        "versions": {"a": "1", "b": "2"},
        "note": "",
        "peak_mib": 12.6,
        "seconds": seconds,
        **changes,
    }


def test_peers_take_turns_and_an_absent_one_is_skipped(tiny):
    measured, log = tiny("zoo", "absent", "other", "itself")
    assert log == "zozozo"
    assert measured["absent"] == {"skipped": "no_such_library is not installed"}
    assert [len(measured[name]["seconds"]) for name in ("zoo", "other")] == [2, 2]
    assert all(1 < measured[name]["peak_mib"] < 1000 for name in ("zoo", "other"))
    assert measured["itself"]["seconds"] == [3.5, 3.5]
    assert measured["itself"]["peak_mib"] == 1e6


def test_another_checkout_takes_turns_with_this_one(tiny, tmp_path):
    before = tmp_path / "before" / "benchmarks"
    before.mkdir(parents=True)
    for file in (tmp_path / "benchmarks").iterdir():
        (before / file.name).write_text(file.read_text().replace('"z"', '"b"'))
    measured, log = tiny("zoo", variants=[{"label": "b", "root": before.parent}])
    assert log == "zbzbzb" and list(measured) == ["zoo", "b"]


def test_a_variable_of_the_environment_makes_a_peer(tiny):
    options = run.parse(["lstm_step", "--environment", "LETTER=v=w", "--against", "d"])
    before, variant = run.variants_of(options)
    assert before == {"label": "before", "root": "d"}
    assert variant == {"label": "LETTER=v=w", "environment": {"LETTER": "v=w"}}
    measured, log = tiny("zoo", variants=[variant])
    assert log == "zv=w" * 3 and list(measured) == ["zoo", "LETTER=v=w"]


def test_a_peer_that_dies_or_has_another_shape_stops_the_run(tiny):
    with pytest.raises(RuntimeError, match="nothing from 'dead'.* ended with code 3"):
        tiny("zoo", "dead")
    with pytest.raises(ValueError, match=r"'shape' must have shape \[2, 4\]. .*2, 3"):
        tiny("zoo", "shape")


def test_our_own_imports_are_never_skipped():
    def fail():
        raise ModuleNotFoundError("No module named 'x'", name="x")

    workload = types.SimpleNamespace(PEERS={"zoo": fail, "peer": fail})
    reason = {"skipped": "x is not installed"}
    assert worker.build(workload, "peer", {}) == (None, reason)
    with pytest.raises(ModuleNotFoundError):
        worker.build(workload, "zoo", {})


def test_arithmetic():
    rows = run.summarize(
        {
            "zoo": facts([0.3, 0.1, 0.2], result=[1.0, 2.0]),
            "peer": facts([0.5, 0.9, 0.6]),
            "part": facts([0.4, 0.4, 0.1], items=2, lengths=[3, 3]),
            "inexact": facts([0.2], lengths=[3, 3, 2, 9], note="slow"),
            "near": facts([0.2], result=[1.0, 2.25], note="it"),
            "bound": facts([0.1], lengths=None, parameters=None, note="best"),
            "gone": {"skipped": "because"},
        }
    )
    rows = {row["peer"]: row for row in rows}
    assert rows["zoo"]["median_s"] == 0.2 and rows["zoo"]["minimum_s"] == 0.1
    assert rows["zoo"]["items_per_s"] == 20 and rows["zoo"]["ratio"] == 1
    assert rows["zoo"]["note"] == ""
    assert rows["peer"]["ratio"] == 3
    assert rows["part"]["ratio"] == 4 and rows["part"]["tokens"] == 6
    assert rows["part"]["seconds"] == "0.4000 0.4000 0.1000"
    assert rows["part"]["versions"] == "a=1 b=2"
    assert rows["part"]["peak_mib"] == 13 and rows["part"]["note"] == ""
    assert rows["inexact"]["note"] == "slow, 1 rows of another length"
    assert rows["near"]["note"] == "it, 2.5e-01 from our result"
    assert rows["bound"]["tokens"] == rows["bound"]["parameters"] == ""
    assert rows["bound"]["ratio"] == 0.5 and rows["bound"]["note"] == "best"
    assert rows["gone"]["skipped"] == "because" and rows["gone"]["ratio"] == ""


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"lengths": [3, 3, 2, 3]}, "same tokens. Received: 10 from 'zoo' and 11 from"),
        ({"lengths": [3, 2, 3, 2]}, "same tokens"),
        ({"lengths": [3, 3, 2, 2, 2]}, "10 from 'zoo' and 12 from 'peer'"),
        ({"lengths": [3, 3, 3, 3], "may_differ": 0.25}, "2 rows differ"),
        ({"parameters": 8}, "number of parameters. Received: 7 in 'zoo', 8 in 'peer'"),
        ({"result": [1.0, 2.2]}, "within 0.1 of ours. Received: 0.2 apart, of 2 num"),
        ({"result": [1.0, float("nan")]}, "Received: inf apart"),
        ({"result": [1.0]}, "Received: inf apart, of 1 numbers"),
    ],
)
def test_peers_that_do_other_work_are_refused(changes, message):
    run.check_same_work({"zoo": facts([]), "peer": facts([])})
    run.check_same_work({"zoo": facts([]), "peer": facts([], items=1, lengths=[3])})
    inexact = facts([], lengths=[3, 3, 2, 9], may_differ=0.25)
    bound = facts([], lengths=None, parameters=None)
    run.check_same_work({"zoo": facts([]), "inexact": inexact, "bound": bound})
    ours = facts([], result=[1.0, 2.0])
    near = facts([], result=[1.0, 2.05], near=0.1)
    run.check_same_work({"zoo": ours, "near": near, "none": facts([])})
    with pytest.raises(ValueError, match=message):
        run.check_same_work({"zoo": ours, "peer": {**near, **changes}})


def test_command_prints_a_table_and_writes_a_csv(monkeypatch, tmp_path, capsys):
    measured = {"zoo": facts([0.2]), "peer": facts([0.5]), "gone": {"skipped": "why"}}
    asked, output = [], tmp_path / "results"

    def measure(*arguments):
        asked.append(arguments)
        return measured

    monkeypatch.setattr(run, "measure", measure)
    command = f"text_to_label finetune_step_bfloat16 --threads 3 --data {tmp_path}"
    run.main([*command.split(), "--vocabulary", "v.txt", "--output", str(output)])
    (first, _, given, *others), (second, _, fixed, *_) = asked
    assert (first, second) == ("text_to_label", "finetune_step")
    assert given["threads"] == 3 and others == [2, 5, []]
    assert fixed == {"dtype": "bfloat16", "threads": 3}
    table = capsys.readouterr().out
    assert "skipped: why" in table and "2.50" in table
    assert "speed relative to the peer  peak MiB  note" in table
    with open(output / "text_to_label.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["ratio"] for row in rows] == ["1.0", "2.5", ""]
    for column in ("workload", "hardware", "python", "commit", "date", "threads"):
        assert all(row[column] for row in rows), column
    assert sorted(path.name for path in output.iterdir()) == [
        "finetune_step_bfloat16.csv",
        "text_to_label.csv",
    ]


def test_one_core_is_one(monkeypatch):
    monkeypatch.setattr(circumstances, "cores", lambda: 1)
    assert ", 1 core, " in circumstances.hardware()
    assert circumstances.counted(2, "worker") == "2 workers"


REFUSED = {
    "nothing": "one of text_to_label, dense_forward_float32, .*. Received: nothing.",
    "text_to_label --vocabulary v": "text_to_label needs --data.",
    "": "text_to_label needs --data.",
    "lstm_step --environment LETTER": "must have a `=`. Received: .'LETTER'.",
}


@pytest.mark.parametrize("arguments", REFUSED)
def test_what_a_workload_needs_must_be_given(capsys, arguments):
    assert run.parse(["dense_forward_float32"]).data is None
    assert run.parse(["cold_start", "--vocabulary", "v"]).data is None
    with pytest.raises(SystemExit):
        run.parse(arguments.split())
    assert re.search(REFUSED[arguments], capsys.readouterr().err)


@pytest.mark.parametrize("name", ["dev.tsv", "dev.tsv.gz"])
def test_sentences_are_read(name, tmp_path):
    content = 'sentence\tlabel\nso "good \t1\nbad\t0\n'.encode()
    directory = tmp_path / "glue" / "SST-2"
    directory.mkdir(parents=True)
    with pytest.raises(FileNotFoundError, match=r"dev.tsv or dev.tsv.gz"):
        read_texts(tmp_path)
    content = gzip.compress(content) if name.endswith(".gz") else content
    (directory / name).write_bytes(content)
    assert read_texts(tmp_path) == ['so "good ', "bad"]
