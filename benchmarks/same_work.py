"""Checks that the peers of a workload do the same work."""

import math

from benchmarks.worker import OURS


def check_shape(name, shape, expected):
    """Raises ValueError if an output has another shape than expected."""
    if shape != expected:
        raise ValueError(
            f"The output of {name!r} must have shape {expected}. Received: {shape}."
        )


def differing_rows(ours, theirs):
    """The number of rows whose lengths differ. A peer may have the first rows only."""
    if theirs.get("lengths") is None:
        return 0
    pairs = zip(theirs["lengths"], ours["lengths"], strict=False)
    return sum(their != our for their, our in pairs)


def apart(ours, theirs):
    """The largest difference of two results, None if there is nothing to compare.

    It is infinity if one is not a number, or their sizes differ.
    """
    pair = [facts.get("result") for facts in (ours, theirs)]
    if ours is theirs or None in pair:
        return None
    if len(pair[0]) != len(pair[1]):
        return math.inf
    distances = [abs(our - their) for our, their in zip(*pair, strict=True)]
    return math.inf if any(map(math.isnan, distances)) else max(distances)


def new_tokens(counts, new):
    """An array (B, new) of the numbers of the new tokens of texts.

    Raises:
        ValueError: if a text does not have `new` tokens, its end included.
    """
    import numpy as np

    found = sorted({*counts} - {new, new - 1})
    if found:
        raise ValueError(
            f"Each text must have {new} new tokens, of which the last may be its end. "
            f"Received: {', '.join(map(str, found))} tokens."
        )
    return np.tile(np.array(counts)[:, None], new)


def check_same_work(facts):
    """Raises ValueError if peers differ in tokens of a text, parameters or results.

    Args:
        facts: dict of peer to its facts, see `benchmarks.peers.facts_of`.
    """
    ours = facts[OURS]
    for name, theirs in facts.items():
        lengths = theirs.get("lengths") or []
        differing = differing_rows(ours, theirs)
        allowed = theirs.get("may_differ", 0) * len(lengths)
        if differing > allowed or len(lengths) > len(ours["lengths"] or []):
            raise ValueError(
                "Peers must read the same tokens. Received: "
                f"{sum(ours['lengths'][: len(lengths)])} from {OURS!r} and "
                f"{sum(lengths)} from {name!r}; {differing} rows differ."
            )
        if theirs["parameters"] not in (None, ours["parameters"]):
            raise ValueError(
                "Peers must have the same number of parameters. Received: "
                f"{ours['parameters']} in {OURS!r}, {theirs['parameters']} in {name!r}."
            )
        distance = apart(ours, theirs)
        if distance is not None and not distance <= theirs["near"]:
            raise ValueError(
                f"The result of {name!r} must be within {theirs['near']} of ours. "
                f"Received: {distance:.2g} apart, of {len(theirs['result'])} numbers."
            )
