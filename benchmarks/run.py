"""Measures the workloads with zoo and other libraries.

    python -m benchmarks.run [WORKLOAD ...] --data DIR --vocabulary FILE

Every peer has its own process. The peers take turns, A B C A B C ..., so that other
load on the machine affects all of them. Compare times within one run only. With
`--against CHECKOUT` and `--environment NAME=VALUE`, the only other peers are the `zoo`
of another checkout, and this one with a variable of the environment.
"""

import argparse
import csv
import importlib
import io
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

from benchmarks.circumstances import circumstances, cores
from benchmarks.files import write_whole
from benchmarks.same_work import apart, check_same_work, check_shape, differing_rows
from benchmarks.worker import OURS

ROOT = pathlib.Path(__file__).resolve().parents[1]
# Name: module, and arguments of its peers that are not options of the command.
WORKLOADS = {
    "text_to_label": ("text_to_label", {}),
    "dense_forward_float32": ("dense_forward", {"dtype": "float32"}),
    "dense_forward_bfloat16": ("dense_forward", {"dtype": "bfloat16"}),
    "finetune_step_float32": ("finetune_step", {"dtype": "float32"}),
    "finetune_step_bfloat16": ("finetune_step", {"dtype": "bfloat16"}),
    "masked_batch": ("masked_batch", {}),
    "cold_start": ("cold_start", {}),
    "export_load": ("export_load", {}),
    "predict_rows": ("predict_rows", {}),
    "elmo_forward": ("elmo_forward", {}),
    "lstm_forward": ("lstm", {"training": False}),
    "lstm_step": ("lstm", {"training": True}),
    "awd_lstm_step_float32": ("awd_lstm_step", {"dtype": "float32"}),
    "awd_lstm_step_bfloat16": ("awd_lstm_step", {"dtype": "bfloat16"}),
    "awd_lstm_classify": ("awd_lstm_classify", {}),
    "translation_step_float32": ("translation_step", {"dtype": "float32"}),
    "translation_step_bfloat16": ("translation_step", {"dtype": "bfloat16"}),
    "decode_greedy": ("decode", {"dtype": "float32", "beams": 1}),
    "decode_beam4": ("decode", {"dtype": "float32", "beams": 4}),
    "decode_greedy_bfloat16": ("decode", {"dtype": "bfloat16", "beams": 1}),
    "decode_beam4_bfloat16": ("decode", {"dtype": "bfloat16", "beams": 4}),
    "question_answers": ("question_answers", {}),
    "sentence_embedding": ("sentence_embedding", {}),
    "gpt_generation_float32": ("gpt_generation", {"dtype": "float32"}),
    "gpt_generation_bfloat16": ("gpt_generation", {"dtype": "bfloat16"}),
}
ENVIRONMENT = {
    "CUDA_VISIBLE_DEVICES": "",
    "KERAS_BACKEND": "tensorflow",
    "TF_CPP_MIN_LOG_LEVEL": "3",
}
# Variables with the number of threads of TensorFlow, and of the other libraries.
THREADS = ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS", "OMP_NUM_THREADS")
BEFORE = "before"  # the name of our peer from another checkout
PAUSE = 0.5  # seconds until the threads of the last peer are idle


class Peer:
    """A running `benchmarks.worker`.

    Args:
        workload, name: str, the module of the workload and the name of the peer.
        options: dict, arguments of the function that makes the peer, and `threads`.
        label: str, the name in the results; by default `name`.
        root: path of the checkout whose `benchmarks` and `zoo` run; None for this one.
        environment: dict of str, variables of the process.

    Raises:
        RuntimeError: if the process ends without an answer. Its messages are on
            standard error.
    """

    def __init__(self, workload, name, options, label=None, root=None, environment=()):
        self.name = label or name
        threads = dict.fromkeys(THREADS, str(options["threads"]))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.worker", workload, name]
            + [json.dumps(options)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=root or ROOT,
            env={**os.environ, **ENVIRONMENT, **threads, **dict(environment)},
        )
        self.facts = self._read()

    def call(self):
        """Runs the workload once; returns seconds, output shape and peak memory."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self._read()

    def close(self):
        """Ends the process."""
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()

    def _read(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(
                f"A peer must answer. Received: nothing from {self.name!r}, whose "
                f"process ended with code {self.process.wait()}."
            )
        return json.loads(line)


def measure(workload, names, options, warmup=2, repetitions=5, variants=()):
    """Runs the peers in turns.

    Args:
        workload: str, name of a module of `benchmarks`.
        names: iterable of str, keys of its `PEERS`.
        options: dict, arguments of the functions that make the peers, and `threads`.
        warmup: int, rounds that are not timed.
        repetitions: int, rounds that are timed.
        variants: iterable of dict, arguments of `Peer` for further peers of ours:
            `label`, and `root` or `environment`.

    Returns:
        dict of name to facts. The facts of a peer that ran have `seconds`, a list, and
        `peak_mib`, its peak memory.

    Raises:
        RuntimeError: if a process ends early.
        ValueError: if peers do different work.
    """
    peers = []
    try:
        for name in names:
            peers.append(Peer(workload, name, options))
        for variant in variants:
            peers.append(Peer(workload, OURS, options, **variant))
        running = [peer for peer in peers if "skipped" not in peer.facts]
        check_same_work({peer.name: peer.facts for peer in running})
        for peer in running:
            peer.facts["seconds"] = []
        for turn in range(warmup + repetitions):
            for peer in running:
                time.sleep(PAUSE)
                answer = peer.call()
                check_shape(peer.name, answer["shape"], peer.facts["shape"])
                peak = max(answer["peak_mib"], peer.facts.get("peak_mib", 0))
                peer.facts["peak_mib"] = peak
                if turn >= warmup:
                    peer.facts["seconds"].append(answer["seconds"])
    finally:
        for peer in peers:
            peer.close()
    return {peer.name: peer.facts for peer in peers}


def summarize(measured):
    """Computes medians, minima and ratios.

    Args:
        measured: dict of peer to facts, from `measure`.

    Returns:
        list of dict, one per peer. `ratio` is our items per second divided by those of
        the peer, from the medians. Above 1, ours is faster. Missing values are "".
    """

    def rate(facts):
        return facts["items"] / statistics.median(facts["seconds"])

    def note(facts):
        differing = differing_rows(measured[OURS], facts)
        tokens = f"{differing} rows of another length" if differing else ""
        distance = apart(measured[OURS], facts)
        result = "" if distance is None else f"{distance:.1e} from our result"
        return ", ".join(filter(None, [facts.get("note"), tokens, result]))

    rows = []
    for name, facts in measured.items():
        row = dict.fromkeys(COLUMNS, "")
        row.update(peer=name, skipped=facts.get("skipped", ""))
        if "seconds" in facts:
            row.update(
                items=facts["items"],
                tokens=sum(facts["lengths"] or []) or "",
                parameters=facts["parameters"] or "",
                median_s=round(statistics.median(facts["seconds"]), 4),
                minimum_s=round(min(facts["seconds"]), 4),
                items_per_s=float(f"{rate(facts):.4g}"),
                ratio=round(rate(measured[OURS]) / rate(facts), 3),
                peak_mib=round(facts["peak_mib"]),
                note=note(facts),
                seconds=" ".join(f"{second:.4f}" for second in facts["seconds"]),
                versions=" ".join(f"{k}={v}" for k, v in facts["versions"].items()),
            )
        rows.append(row)
    return rows


COLUMNS = (
    *("workload", "peer", "items", "tokens", "parameters", "median_s", "minimum_s"),
    *("items_per_s", "ratio", "peak_mib", "note", "skipped", "seconds", "versions"),
    *("threads", "hardware", "python", "commit", "date"),
)


def print_table(workload, unit, rows):
    """Prints the main columns."""
    heads = ("peer", unit, "median ms", "minimum ms", f"{unit}/s")
    heads += ("speed relative to the peer", "peak MiB", "note")
    form = "{:<25}{:>9}{:>12}{:>12}{:>12}{:>28}{:>10}  {}"
    print(f"\n{workload}\n" + form.format(*heads))
    for row in rows:
        if row["skipped"]:
            print(f"{row['peer']:<25}  skipped: {row['skipped']}")
            continue
        times = (f"{1e3 * row[name]:.1f}" for name in ("median_s", "minimum_s"))
        rates = (row["items_per_s"], f"{row['ratio']:.2f}")
        end = (row["peak_mib"], row["note"])
        print(form.format(row["peer"], row["items"], *times, *rates, *end).rstrip())


def write_csv(path, rows):
    """Writes a CSV file. If it fails, the old file is kept."""
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_whole(path, file.getvalue())


def parse(arguments):
    """Parses the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    names = list(WORKLOADS)
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", default=names)
    parser.add_argument("--data", help="directory of the corpora")
    parser.add_argument("--vocabulary", help="vocab.txt of bert-base-uncased")
    parser.add_argument("--threads", type=int, default=cores())
    parser.add_argument("--warmup", type=int, default=2, help="untimed rounds")
    parser.add_argument("--repetitions", type=int, default=5, help="timed rounds")
    parser.add_argument("--output", default=ROOT / "benchmarks" / "results")
    parser.add_argument("--against", help="compare with another checkout only")
    parser.add_argument(
        "--environment",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="compare with this variable of the environment only",
    )
    options = parser.parse_args(arguments)
    if not all("=" in setting for setting in options.environment):
        parser.error(f"NAME=VALUE must have a `=`. Received: {options.environment}.")
    for workload in options.workloads:
        if workload not in WORKLOADS:
            parser.error(
                f"WORKLOAD must be one of {', '.join(names)}. Received: {workload}."
            )
        for name in module_of(workload).NEEDS:
            if getattr(options, name) is None:
                parser.error(f"{workload} needs --{name}.")
    return options


def variants_of(options):
    """The peers of ours that take the places of other libraries; see `measure`."""
    found = [{"label": BEFORE, "root": options.against}] if options.against else []
    for setting in options.environment:
        name, _, value = setting.partition("=")
        found.append({"label": setting, "environment": {name: value}})
    return found


def module_of(workload):
    """The module with the peers of a workload."""
    return importlib.import_module(f"benchmarks.{WORKLOADS[workload][0]}")


def main(arguments=None):
    """Measures, prints a table and writes `WORKLOAD.csv` for each workload."""
    options = parse(arguments)
    where, variants = circumstances(options.threads), variants_of(options)
    for workload in options.workloads:
        module, given = module_of(workload), dict(WORKLOADS[workload][1])
        for name in (*module.NEEDS, *getattr(module, "OPTIONAL", ())):
            path = getattr(options, name)
            given[name] = path and str(pathlib.Path(path).resolve())
        measured = measure(
            WORKLOADS[workload][0],
            [OURS] if variants else module.PEERS,
            {**given, "threads": options.threads},
            options.warmup,
            options.repetitions,
            variants,
        )
        rows = [{**r, "workload": workload, **where} for r in summarize(measured)]
        print_table(workload, module.UNIT, rows)
        write_csv(pathlib.Path(options.output) / f"{workload}.csv", rows)


if __name__ == "__main__":
    main()
