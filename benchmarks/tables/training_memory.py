"""The memory of training steps, computed and measured.

    python -m benchmarks.tables.training_memory [CASE ...]

Each case has a process of its own, which first trains a tiny model of the same kind, so
that the libraries are loaded. Then it notes its resident memory, makes the model with
random weights, and trains three steps. Measured is how much the memory grew at most.
Computed is the total of `zoo.training_memory`, whose shares for the allocator were
chosen to fit these steps. The table is `benchmarks/memory`.
"""

import csv
import io
import json
import pathlib
import subprocess
import sys

from benchmarks.circumstances import ROOT, circumstances, cores
from benchmarks.files import write_whole

FOLDER = ROOT / "benchmarks" / "memory"
ENCODER = {"preset": "bert_base_en_uncased", "task": "text_classifier"}
DECODER = {"preset": "gpt2_base_en", "task": "causal_lm"}
CASES = {
    "bert_8x512": ENCODER | {"rows": 8, "length": 512},
    "bert_8x512_remat": ENCODER | {"rows": 8, "length": 512, "remat": True},
    "bert_8x512_accumulate8": ENCODER | {"rows": 8, "length": 512, "accumulate": 8},
    "bert_2x512": ENCODER | {"rows": 2, "length": 512},
    "bert_16x128": ENCODER | {"rows": 16, "length": 128},
    "bert_16x128_remat": ENCODER | {"rows": 16, "length": 128, "remat": True},
    "gpt2_4x256": DECODER | {"rows": 4, "length": 256},
    "gpt2_4x256_remat": DECODER | {"rows": 4, "length": 256, "remat": True},
}
TINY = {
    "hidden_dim": 24,
    "num_layers": 1,
    "num_heads": 2,
    "intermediate_dim": 24,
    "vocabulary_size": 300,
}


def resident(name="VmRSS"):
    """The resident memory of this process, or its maximum "VmHWM", in bytes."""
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


def train(case, **fields):
    """Trains a new model for three steps on rows of random tokens."""
    import keras
    import numpy as np
    import tensorflow as tf

    import zoo
    from zoo.models.bert import BERT, BERTConfig
    from zoo.models.gpt import GPT, GPTConfig

    kinds = {
        "bert": lambda config: BERT(BERTConfig(**config)),
        "gpt": lambda config: GPT(GPTConfig(**config)),
    }
    record = zoo.preset_info(case["preset"])
    backbone = kinds[record["family"]]({**record["backbone"], **fields})
    tasks = {"text_classifier": zoo.TextClassifier, "causal_lm": zoo.CausalLM}
    model = tasks[case["task"]](backbone)
    memory = {name: case[name] for name in ("remat", "accumulate") if name in case}
    model.compile(jit_compile=False, **memory)
    shape = case["rows"], case["length"]
    ids = np.random.default_rng(0).integers(1, 300, shape).astype("int32")
    x = {
        name: ids if "token" in name else np.ones(shape, "int32")
        for name in model.input
    }
    rank = len(model.output.shape)
    y = np.zeros(shape[: rank - 1], "int32")
    rows = tf.data.Dataset.from_tensors((x, y, np.ones(y.shape, "float32"))).repeat(3)
    model.fit(rows, verbose=0)
    keras.backend.clear_session()


def measure(case):
    """The growth of the resident memory in bytes."""
    train(case, **TINY)
    before = resident()
    pathlib.Path("/proc/self/clear_refs").write_text("5")  # forgets the maximum
    train(case)
    return resident("VmHWM") - before


def compute(case):
    """The total of `zoo.training_memory` in bytes."""
    import zoo

    options = {k: v for k, v in case.items() if k not in ("preset", "rows", "length")}
    return zoo.training_memory(
        case["preset"], case["rows"], case["length"], **options
    ).total


def table(rows):
    """The README of the results, a str."""
    lines = [__doc__.strip(), "", "| step | measured GB | computed GB | difference |"]
    lines += ["|---|--:|--:|--:|"]
    for row in rows:
        measured, computed = (float(row[k]) / 1e9 for k in ("measured", "computed"))
        share = f"{100 * (computed / measured - 1):+.0f} %"
        lines.append(f"| {row['case']} | {measured:.2f} | {computed:.2f} | {share} |")
    return "\n".join(["# Memory of training steps", "", *lines, ""])


def main(names):
    """Measures the cases of the given names, or all, and writes the table."""
    rows = []
    for name in names or CASES:
        found = {"case": name}
        for kind in ("measured", "computed"):
            command = [sys.executable, "-m", __spec__.name, "--worker", kind, name]
            output = subprocess.check_output(command, text=True, cwd=ROOT)
            found[kind] = json.loads(output.splitlines()[-1])
        rows.append(found | circumstances(cores()))
        print(f"{name}: measured {found['measured']}, computed {found['computed']}")
        text = io.StringIO()
        writer = csv.DictWriter(text, [*rows[0]])
        writer.writeheader()
        writer.writerows(rows)
        write_whole(FOLDER / "training_memory.csv", text.getvalue())
        write_whole(FOLDER / "README.md", table(rows))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        function = {"measured": measure, "computed": compute}[sys.argv[2]]
        print(json.dumps(function(CASES[sys.argv[3]])))
    else:
        main(sys.argv[1:])
