"""Compares a block of the Transformer with an LSTM on rows of several lengths.

python -m benchmarks.tables lengths
"""

import functools

from benchmarks.peers import median_seconds
from benchmarks.tables.runner import Table
from benchmarks.tables.stored_results import markdown

LENGTHS = (16, 64, 256, 1024, 4096)
TOKENS = 4096  # in all rows together
WIDTH, HEADS, INNER = 512, 8, 2048
TURNS = 7


def block_operations(length):
    """Operations of a block for each token: projections, inner layer, attention."""
    return 2 * (4 * WIDTH * WIDTH + 2 * WIDTH * INNER + 2 * length * WIDTH)


def lstm_operations(length):
    """Operations of an LSTM for each token."""
    return 2 * 8 * WIDTH * WIDTH


def make_layers():
    """The two layers by name, as functions of vectors (B, L, D)."""
    import tensorflow as tf

    from zoo.layers import LSTM, TransformerBlock

    block, lstm = TransformerBlock(HEADS, INNER, stddev=None), LSTM(WIDTH)
    signature = [tf.TensorSpec((None, None, WIDTH))]
    run = {"block": block, "LSTM": lambda x: lstm(x)[0]}
    for layer in run.values():
        layer(tf.zeros((1, 2, WIDTH)))
    return {name: tf.function(layer, signature) for name, layer in run.items()}


def measure(run):
    """Seconds of each layer at each length, the median of some turns.

    Returns:
        dict of "seconds" to a dict of name to list of float.
    """
    import tensorflow as tf

    layers, seconds = make_layers(), {}
    for length in LENGTHS:
        x = tf.random.normal((TOKENS // length, length, WIDTH), seed=7)
        calls = {name: functools.partial(layer, x) for name, layer in layers.items()}
        for name, median in median_seconds(calls, TURNS).items():
            seconds.setdefault(name, []).append(median)
    return {"seconds": seconds}


def table(run):
    """The table in Markdown, or None without a result."""
    rows, found = [], run.stored("lengths")
    if not found:
        return None
    times = zip(*(found["seconds"][name] for name in ("block", "LSTM")), strict=True)
    for length, (block, lstm) in zip(LENGTHS, times, strict=True):
        operations = block_operations(length), lstm_operations(length)
        cells = [f"{count / 1e6:.1f}" for count in operations]
        cells += [f"{TOKENS / t / 1e3:.0f}" for t in (block, lstm)]
        rows.append([length, *cells, f"{lstm / block:.2f}", 1, length])
    layers, heads = ("block", "LSTM"), ["length"]
    heads += [f"{name}, MFLOP per token" for name in layers]
    heads += [f"{name}, thousand tokens/s" for name in layers]
    heads.append("speed of the block relative to the LSTM")
    heads += [f"{name}, steps" for name in layers]
    return markdown(heads, rows, [found])


TABLE = Table(
    "lengths",
    cells=lambda run: {"lengths": ()},
    compute=measure,
    tables={"results": table},
    needs=(),
)
