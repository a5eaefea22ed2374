"""The process of one peer: builds it once and runs it whenever it is told to.

    python -m benchmarks.worker WORKLOAD PEER OPTIONS

Speaks JSON lines. First come the peer's facts, or why it is skipped; then, for every
line that it reads, the seconds that one call took and the shape of what it returned.
"""

import importlib
import json
import os
import sys
import time

OURS = "zoo"


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
        answer = {"seconds": seconds, "shape": list(output.shape)}
        print(json.dumps(answer), file=answers)


if __name__ == "__main__":
    main(sys.argv[1:])
