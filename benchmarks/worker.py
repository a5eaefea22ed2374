"""The process of one peer. It makes the peer once and runs it on request.

    python -m benchmarks.worker WORKLOAD PEER OPTIONS

It writes lines of JSON. The first line has the facts of the peer, or the reason why it
is skipped. Then it calls the peer for every line of standard input. It writes the
seconds of the call, the shape of the output, and the peak memory of the process.
"""

import importlib
import inspect
import json
import os
import pathlib
import re
import resource
import sys
import time
from typing import NamedTuple

OURS = "zoo"
UNITS_OF_MEMORY = 2**20 if sys.platform == "darwin" else 2**10  # per MiB


class Measured(NamedTuple):
    """The return value of a call that measures itself.

    Args:
        shape: iterable of int, of the output.
        seconds: float, or None for the whole time of the call.
        peak_mib: float, or None for the peak memory of this process.
    """

    shape: tuple
    seconds: float | None = None
    peak_mib: float | None = None


def peak_mib(usage=None):
    """The largest resident memory, in MiB.

    Args:
        usage: a usage of the `resource` module, or None for this process until now.
    """
    status = pathlib.Path("/proc/self/status")
    if usage is None and status.exists():
        # On Linux, `ru_maxrss` of a new process starts at that of its parent.
        line = re.search(r"VmHWM:\s+(\d+) kB", status.read_text())
        return int(line[1]) / 1024
    usage = usage or resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_maxrss / UNITS_OF_MEMORY


def build(workload, peer, options):
    """Makes a peer.

    Args:
        workload: module whose `PEERS` maps names to functions of the options.
        peer: str, one of these names.
        options: dict. The peer gets those that are its arguments.

    Returns:
        call, a function without arguments that returns an array, and facts, a dict of
        plain values. If a library of the peer is not installed, None and
        {"skipped": reason}. For our own peer, the error is raised.
    """
    try:
        make = workload.PEERS[peer]
        names = inspect.signature(make).parameters.keys() & options.keys()
        return make(**{name: options[name] for name in names})
    except ModuleNotFoundError as error:
        if peer == OURS:
            raise
        return None, {"skipped": f"{error.name} is not installed"}


def main(arguments):
    """Answers calls until standard input ends."""
    workload, peer, options = arguments
    # Libraries print to standard output, so the answers go to a copy of it.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    workload = importlib.import_module(f"benchmarks.{workload}")
    call, facts = build(workload, peer, json.loads(options))
    print(json.dumps(facts), file=answers)
    for _ in sys.stdin if call else ():
        start = time.perf_counter()
        output = call()
        seconds = time.perf_counter() - start
        answer = {
            "seconds": getattr(output, "seconds", None) or seconds,
            "shape": list(output.shape),
            "peak_mib": getattr(output, "peak_mib", None) or peak_mib(),
        }
        print(json.dumps(answer), file=answers)


if __name__ == "__main__":
    main(sys.argv[1:])
