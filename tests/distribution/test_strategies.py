"""Strategies by name, clusters from the environment, and workers that are not there."""

import json
import socket
import types

import pytest
import tensorflow as tf
import tiny
from command_line import run
from workers import free_ports

import zoo
from zoo import pretraining
from zoo.distribution import chief_first, is_chief
from zoo.distribution.clusters import addresses_of, find_cluster
from zoo.distribution.strategies import choose
from zoo.distribution.workers import wait_for_workers
from zoo.files import whole_files
from zoo.files.whole_files import replacing, rewriting, write_json
from zoo.pretraining import Recipe

TWO = ["10.0.0.1:2222", "10.0.0.2:2222"]
FIRST = {"type": "worker", "index": 0}
SLURM = {
    "SLURM_PROCID": "2",
    "SLURM_STEP_NUM_TASKS": "3",
    "SLURM_STEP_NODELIST": "node[01-02]",
    "SLURM_STEP_TASKS_PER_NODE": "2,1",
}


@pytest.fixture(autouse=True)
def no_cluster(monkeypatch):
    for name in ("TF_CONFIG", "TPU_NAME", *SLURM):
        monkeypatch.delenv(name, raising=False)


def config(cluster, task):
    return json.dumps({"cluster": cluster, "task": task})


@pytest.mark.parametrize(
    "name, devices, message",
    [
        ("eight_gpus", None, "`strategy` must be one of 'auto', 'one', 'mirrored'"),
        ("mirrored", 0, "devices"),
        ("mirrored", 2.5, "devices"),
        ("one", 2, "Strategy one has one device. Received: devices=2"),
        ("mirrored", 99, "`devices` must be at most 2, the number of logical CPUs"),
        ("multi_worker", 2, "has all GPUs of each machine. Received: devices=2"),
        ("multi_worker", None, "needs the variable TF_CONFIG, or several tasks of Sl"),
        ("tpu", None, "Strategy tpu needs a TPU"),
        ("data_parallel", 2, "Received: data_parallel. Use mirrored."),
    ],
)
def test_wrong_strategies(two_replicas, name, devices, message):
    with pytest.raises(ValueError, match=message):
        zoo.strategy(name, devices)


@pytest.mark.parametrize(
    "text, message",
    [
        ("{", "must be JSON. Received: '{'"),
        ("[]", 'must have "cluster", a dict of lists of addresses'),
        (config([], FIRST), 'must have "cluster"'),
        (config({"worker": []}, FIRST), 'have "HOST:PORT" for every "worker"'),
        (config({"worker": ["a"]}, FIRST), 'have "HOST:PORT" for every "worker"'),
        (config({"ps": TWO}, FIRST), "must have a chief or worker"),
        (config({"worker": TWO[:1] * 2}, FIRST), "name every address once"),
        (json.dumps({"cluster": {"worker": TWO}}), 'have "task", a dict'),
        (config({"worker": TWO}, {"type": "worker"}), 'have "task", a dict'),
        (config({"worker": TWO}, {"type": "x", "index": 0}), 'type of "cluster"'),
        (config({"worker": TWO}, {"type": "worker", "index": 2}), "from 0 to 1, as th"),
        (config({"worker": TWO}, {"type": "worker", "index": -1}), "from 0 to 1"),
        (config({"worker": TWO}, {"type": "worker", "index": "a"}), "from 0 to 1"),
    ],
)
def test_wrong_clusters(monkeypatch, text, message):
    monkeypatch.setenv("TF_CONFIG", text)
    for name in ("auto", "multi_worker"):
        with pytest.raises(ValueError, match=message):
            zoo.strategy(name)


def test_clusters_of_the_environment(monkeypatch):
    assert find_cluster() is None and choose() == "one"
    monkeypatch.setenv("TF_CONFIG", config({"worker": TWO}, {**FIRST, "index": 1}))
    assert addresses_of(find_cluster()) == {("worker", i): TWO[i] for i in range(2)}
    assert find_cluster().task_id == 1 and choose() == "multi_worker"
    monkeypatch.setenv("TF_CONFIG", config({"worker": TWO[:1]}, FIRST))
    assert choose() == "one"  # a cluster of one machine
    monkeypatch.delenv("TF_CONFIG")
    for name, value in SLURM.items():
        monkeypatch.setenv(name, value)
    found, hosts = find_cluster(), ["node01:8888", "node01:8889", "node02:8888"]
    assert [*addresses_of(found).values()] == hosts
    assert (found.task_type, found.task_id) == ("worker", 2)
    assert choose() == "multi_worker"
    monkeypatch.delenv("SLURM_PROCID")
    with pytest.raises(ValueError, match="must set SLURM_PROCID. Received: none"):
        find_cluster()
    monkeypatch.setenv("SLURM_STEP_NUM_TASKS", "many")
    with pytest.raises(ValueError, match="must be a whole number. Received: 'many'"):
        find_cluster()


def test_commands_of_one_machine_name_the_cluster(monkeypatch):
    monkeypatch.setenv("TF_CONFIG", config({"worker": TWO}, FIRST))
    model = "bert_mini_en_uncased_distilled"
    output = run("predict", model, "text", "--strategy", "auto", code=1)
    assert "runs on one machine. Received: strategy multi_worker" in output
    output = run("predict", model, "text", "--strategy", "multi_worker", code=2)
    assert "multi_worker" in output
    output = run("predict", model, "text", "--devices", "0", code=2)
    assert "devices" in output


def test_an_export_has_no_strategy(tmp_path):
    (tmp_path / "1").mkdir()
    (tmp_path / "1" / "saved_model.pb").touch()
    output = run("predict", tmp_path, "text", "--strategy", "one", code=1)
    assert "by the C library on the CPU. Received: strategy one" in output


def test_workers_wait_for_each_other(monkeypatch):
    """Until all take connections; the error names those that do not."""
    own, absent = free_ports(2)
    with socket.create_server(("127.0.0.1", 0)) as present:
        port = present.getsockname()[1]
        addresses = [f"127.0.0.1:{number}" for number in (own, port, absent)]
        monkeypatch.setenv("TF_CONFIG", config({"worker": addresses[:2]}, FIRST))
        wait_for_workers(find_cluster(), 5)
        monkeypatch.setenv("TF_CONFIG", config({"worker": addresses}, FIRST))
        message = rf"within 0.5 seconds. Received: no answer of worker 2 .*:{absent}\)"
        with pytest.raises(ValueError, match=message):
            wait_for_workers(find_cluster(), 0.5)
        used = [addresses[1], addresses[0]]
        monkeypatch.setenv("TF_CONFIG", config({"worker": used}, FIRST))
        with pytest.raises(OSError, match=f"Port {port} of this worker cannot be"):
            wait_for_workers(find_cluster(), 5)


def test_one_process_is_the_chief(two_replicas):
    assert is_chief()
    with two_replicas.scope():
        assert is_chief()
        assert chief_first(tf.distribute.get_strategy) is two_replicas


def test_processes_of_jax_prepare_no_files(monkeypatch):
    processes = types.SimpleNamespace(num_processes=2)
    monkeypatch.setattr("keras.distribution.distribution", lambda: processes)
    with pytest.raises(ValueError, match="one process only. Received: 2 processes"):
        chief_first(max, 1, 2)


def test_a_process_that_does_not_write_leaves_nothing(tmp_path, monkeypatch):
    """What it writes and reads within its own block is there until the end."""
    monkeypatch.setattr(whole_files.THIS_PROCESS, "writes", False)
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "a.txt").write_text("first")
    with rewriting(kept) as temporary:
        with replacing(temporary) as inner:
            inner.mkdir()
            write_json(inner / "a.txt", "second")
        assert json.loads((temporary / "a.txt").read_text()) == "second"
    write_json(tmp_path / "b.json", {})
    assert (kept / "a.txt").read_text() == "first"
    assert [*tmp_path.iterdir()] == [kept]
    assert not whole_files.THIS_PROCESS.writes
    monkeypatch.setattr(whole_files.THIS_PROCESS, "writes", True)
    with rewriting(kept) as temporary:
        temporary.mkdir()
        write_json(temporary / "b.txt", 1)
    assert [path.name for path in kept.iterdir()] == ["b.txt"]


def test_workers_need_a_directory_that_they_share(tmp_path, monkeypatch):
    tiny.write_corpus(tmp_path / "a.txt")
    recipe = Recipe(**tiny.recipe())
    monkeypatch.setattr(whole_files.THIS_PROCESS, "writes", False)
    with pytest.raises(FileNotFoundError, match="does not see recipe.json, which the"):
        pretraining.run(recipe, tmp_path, tmp_path / "run", every=2)
