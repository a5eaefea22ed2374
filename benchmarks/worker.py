"""The process of one peer: builds it once and runs it whenever it is told to.

    python -m benchmarks.worker WORKLOAD PEER OPTIONS

Speaks JSON lines. First come the peer's facts, or why it is skipped; then, for every
line that it reads, the seconds that one call took, the shape of what it returned, and
the most memory that the process ever held.
"""

import importlib
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
    """What a call returns, instead of an array, that did its own measuring.

    Args:
        shape: iterable of int, of the output.
        seconds: float, or None for the whole time of the call.
        peak_mib: float, or None for this process's.
    """

    shape: tuple
    seconds: float | None = None
    peak_mib: float | None = None


def peak_mib(usage=None):
    """The largest resident memory, in MiB.

    Args:
        usage: of the `resource` module, or None for this process until now.
    """
    status = pathlib.Path("/proc/self/status")
    if usage is None and status.exists():
        # On Linux a new process' `ru_maxrss` begins with its parent's.
        line = re.search(r"VmHWM:\s+(\d+) kB", status.read_text())
        return int(line[1]) / 1024
    usage = usage or resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_maxrss / UNITS_OF_MEMORY


def build(workload, peer, options):
    """Builds a peer.

    Args:
        workload: module whose `PEERS` maps names to functions of the options.
        peer: str, one of these names.
        options: dict.

    Returns:
        call and facts: a function without arguments that returns an array, and a dict
        that JSON can hold. If a library that the peer needs is not installed, None
        and {"skipped": reason}; our own must be.
    """
    try:
        return workload.PEERS[peer](**options)
    except ModuleNotFoundError as error:
        if peer == OURS:
            raise
        return None, {"skipped": f"{error.name} is not installed"}


def main(arguments):
    """Serves calls until standard input ends."""
    workload, peer, options = arguments
    # Libraries print to standard output, which is taken for answers here.
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
