"""Programs that run as the workers of one job, on this machine."""

import json
import os
import pathlib
import socket
import subprocess
import sys

from places import ROOT

SECONDS = 1200  # for a job, on a busy machine


def free_ports(count):
    """Ports that are free."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [server.getsockname()[1] for server in sockets]
    for server in sockets:
        server.close()
    return ports


def start_workers(commands, logs):
    """Starts each command of Python as a worker of one job; their output is in `logs`.

    A command is a list that begins with a program, beside whose file are its modules,
    or with `-m`.
    """
    addresses, started = [f"127.0.0.1:{port}" for port in free_ports(len(logs))], []
    for index, (command, log) in enumerate(zip(commands, logs, strict=True)):
        folders = ROOT, ROOT / "tests", pathlib.Path(command[0]).parent
        task = {"type": "worker", "index": index}
        variables = {
            "PYTHONPATH": os.pathsep.join(map(str, folders)),
            # As on a machine of its own.
            "ZOO_HOME": str(pathlib.Path(log).with_suffix(".home")),
            "TF_CONFIG": json.dumps({"cluster": {"worker": addresses}, "task": task}),
        }
        with open(log, "wb") as file:
            started.append(
                subprocess.Popen(
                    [sys.executable, *map(str, command)],
                    env={**os.environ, **variables},
                    stdout=file,
                    stderr=subprocess.STDOUT,
                )
            )
    return started


def run_workers(commands, logs):
    """As `start_workers`, and waits until all workers have ended well."""
    workers = start_workers(commands, logs)
    try:
        for worker, log in zip(workers, logs, strict=True):
            assert worker.wait(SECONDS) == 0, log.read_text()[-3000:]
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
