"""Several workers against one: tokens per second, and the bytes that they exchange.

    python -m benchmarks.scaling [MODEL ...]

Every worker is a process with one thread on a core of its own. A step of one worker has
32 rows of 128 tokens, one of two workers twice as many. One worker and two take turns.
The bytes are those that the loopback device of this machine has sent, for one step and
one worker. The bytes on paper are those of a ring: each worker sends the gradients
2 (N - 1) / N times, in float32.

A second table is on paper, for more devices: the share of the speed that so many single
devices would have together. It assumes that all bytes are exchanged after the
computation, and that each device sends `BANDWIDTH` bytes a second. The time of a step
is that of one worker here, and for BERT base that of a GPU at 40 % of 312 TFLOP/s.
"""

import itertools
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import time

import click

import zoo
from benchmarks.circumstances import ROOT, circumstances
from benchmarks.files import write_whole

ROWS, LENGTH = 32, 128
MODELS = {
    "BERT mini": ("bert_mini_en_uncased_books", "masked_lm"),
    "GPT mini": ("gpt_mini_en_books", "causal_lm"),
}
WORDS = "the cat sat on a mat and saw the old man of the house by the sea".split()
BANDWIDTH = {"1.25 GB/s": 1.25e9, "25 GB/s": 25e9}  # Ethernet, InfiniBand
LOOPBACK = pathlib.Path("/sys/class/net/lo/statistics/tx_bytes")
THREADS = {
    name: "1"
    for name in ("OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS")
}


def work(model, workers, steps):
    """Trains as a worker, and prints seconds and bytes of the steps as JSON."""
    import random

    import keras
    import tensorflow as tf

    preset, task = MODELS[model]
    ends = []  # of steps: seconds, and bytes sent so far
    note = keras.callbacks.LambdaCallback(
        on_train_batch_end=lambda batch, logs: ends.append(
            (time.perf_counter(), int(LOOPBACK.read_text()))
        )
    )
    draw = random.Random(0)
    texts = [" ".join(draw.choices(WORDS, k=LENGTH)) for _ in range(ROWS * workers)]
    with zoo.strategy("multi_worker" if workers > 1 else "one").scope():
        built = zoo.from_preset(preset, task=task, sequence_length=LENGTH)
        batch = next(iter(built.batches(texts, batch_size=len(texts), shuffle=False)))
        options = tf.data.Options()
        shard = tf.data.experimental.AutoShardPolicy.DATA
        options.experimental_distribute.auto_shard_policy = shard
        data = tf.data.Dataset.from_tensors(batch).repeat().with_options(options)
        built.fit(data, steps_per_epoch=steps + 2, verbose=0, callbacks=[note])
        begin, end = ends[1], ends[-1]
    seconds, sent = (last - first for first, last in zip(begin, end, strict=True))
    weights = sum(w.shape.num_elements() for w in built.trainable_variables)
    print(json.dumps({"seconds": seconds, "sent": sent, "weights": weights}))


def run(model, workers, steps):
    """Runs workers at the same time; the output of the first one."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(workers)]
    addresses = [f"127.0.0.1:{server.getsockname()[1]}" for server in sockets]
    for server in sockets:
        server.close()
    started = []
    cores = sorted(os.sched_getaffinity(0))
    for index in range(workers):
        task = {"type": "worker", "index": index}
        cluster = json.dumps({"cluster": {"worker": addresses}, "task": task})
        variables = {**os.environ, **THREADS, "TF_CPP_MIN_LOG_LEVEL": "3"}
        if workers > 1:
            variables["TF_CONFIG"] = cluster
        command = ["taskset", "-c", str(cores[index]), sys.executable, "-m"]
        command += ["benchmarks.scaling", model, "--steps", str(steps)]
        command += ["--work", str(workers)]
        started.append(
            subprocess.Popen(
                command, env=variables, cwd=ROOT, stdout=subprocess.PIPE, text=True
            )
        )
    outputs = [process.communicate()[0] for process in started]
    if any(process.returncode for process in started):
        raise RuntimeError(f"A worker has failed: {outputs}.")
    return json.loads(outputs[0].splitlines()[-1])


def measure(model, steps, rounds):
    """One worker and two in turns; a row of the table, a dict."""
    runs = [(run(model, 1, steps), run(model, 2, steps)) for _ in range(rounds)]
    one, two = (statistics.median(pair[i]["seconds"] for pair in runs) for i in (0, 1))
    gradients = 4 * runs[0][0]["weights"]
    sent = statistics.median(pair[1]["sent"] for pair in runs) / steps / 2
    return {
        "model": model,
        "tokens/s, 1 worker": ROWS * LENGTH * steps / one,
        "tokens/s, 2 workers": 2 * ROWS * LENGTH * steps / two,
        "ratio": 2 * one / two,
        "MB sent": sent / 1e6,
        "MB on paper": gradients / 1e6,
        "seconds of a step": one / steps,
    }


def on_paper(rows):
    """The rows of the second table, list of dicts; `rows` are those of the first."""
    base = zoo.training_memory("bert_base_en_uncased", 64, 512, "masked_lm")
    steps = {r["model"]: (r["seconds of a step"], 1e6 * r["MB on paper"]) for r in rows}
    steps["BERT base, 64 x 512, GPU"] = base.flops / (0.4 * 312e12), 4 * base.trained
    found = []
    for model, (seconds, gradients) in steps.items():
        shares = {}
        for devices, speed in itertools.product((8, 64, 512), BANDWIDTH):
            sent = 2 * (devices - 1) / devices * gradients / BANDWIDTH[speed]
            shares[f"{devices}, {speed}"] = f"{seconds / (seconds + sent):.0%}"
        found.append({"model": model, **shares})
    return found


def render(rows):
    """A table in Markdown, a str."""
    lines = [rows[0].keys(), ["---", *["--:"] * (len(rows[0]) - 1)]]
    lines += [
        [f"{v:,.4g}" if isinstance(v, float) else v for v in r.values()] for r in rows
    ]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


@click.command()
@click.argument("models", nargs=-1)
@click.option("--steps", default=6, help="Of each run, after two others.")
@click.option("--rounds", default=3, help="Runs of one worker and of two.")
@click.option("--paper", is_flag=True, help="Only the second table, of stored results.")
@click.option("--work", "workers", type=int, hidden=True)
def main(models, steps, rounds, paper, workers):
    """Prints both tables, and writes the first one to `results/scaling.json`."""
    if workers:
        work(*models, workers, steps)
        return
    output = pathlib.Path(__file__).with_name("results") / "scaling.json"
    if paper:
        print(render(on_paper(json.loads(output.read_text())["rows"])))
        return
    rows = [measure(model, steps, rounds) for model in models or MODELS]
    print(render(rows))
    print(render(on_paper(rows)))
    content = {"rows": rows, **circumstances(1)}
    write_whole(output, json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
