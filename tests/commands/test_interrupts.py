"""Ctrl-C ends a command soon, with exit code 130 and nothing half-written."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest
import tiny
from tiny_bert import tiny_bert

import zoo

SOON = 10  # seconds; one or two on a machine that does nothing else
BUSY = 12.0  # seconds, after which TensorFlow is imported and the work has begun
# P is a preset, M a model, T a table, L lines, D the directory of all, O the output.
COMMANDS = {
    "finetune": "finetune P --data T --output O/m.keras --epochs 999999",
    "comparison": "evaluate-suite P --data D --output O --epochs 999999 --compare both",
    "evaluate-suite": "evaluate-suite P --data D --output O --epochs 999999",
    "pretrain": "pretrain --recipe D/recipe.json --data D --output O",
    "quickstart": "quickstart --data T --preset P --output O --epochs 999999",
    "vectors": "vectors L --output O/v.txt --minimum 1 --epochs 999999",
    "probe": "probe P --data T --test T --rows 99999",
    "embed": "embed P L --output O/v.npy",
    "predict": "predict M",  # it waits for texts
}
# What a run keeps, so that it can be continued: complete files, and its progress.
KEPT = re.compile(
    r"out|settings\.json|recipe\.json|files\.json|vocabulary\.txt|checkpoint\.keras|"
    r"log\.csv|examples(-\d+-of-\d+\.tfrecord)?|(train|valid)-\d+|v\.npy\.part(\.json)?"
)
# What delays the exception of Python, or swallows it.
WORK = {
    "one long call": "hashlib.pbkdf2_hmac('sha256', b'a', b'b', 10**9)",
    "a loop that catches it": "catch()",
    "a thread that goes on": "threading.Thread(target=catch).start(); time.sleep(99)",
}
PROGRAM = """
import hashlib, sys, threading, time
from zoo.commands.main import main
from zoo.files.whole_files import replacing

def catch():
    while True:
        try:
            time.sleep(99)
        except KeyboardInterrupt:
            pass

@main.command()
def work():
    with replacing({path!r}) as temporary:
        temporary.write_text("half")
        print("begun", flush=True)
        {work}

sys.argv = ["zoo", "work"]
main()
"""


def start(*arguments):
    """Starts Python; its output is one stream."""
    return subprocess.Popen(
        [sys.executable, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        # A shell in the background would make it ignore the signal.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def interrupt(process):
    """Presses Ctrl-C; returns the exit code and the rest of the output."""
    process.send_signal(signal.SIGINT)
    try:
        output, _ = process.communicate(timeout=SOON)
    finally:
        process.kill()
    return process.returncode, output


@pytest.mark.parametrize("work", WORK)
def test_whatever_a_command_does_it_ends(work, tmp_path):
    program = PROGRAM.format(path=str(tmp_path / "file"), work=WORK[work])
    process = start("-c", program)
    assert process.stdout.readline() == "begun\n"
    time.sleep(0.2)  # until the call has begun
    code, output = interrupt(process)
    assert code == 130 and "Traceback" not in output, output
    assert not [*tmp_path.iterdir()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A directory with a preset, a model, and files for all commands."""
    folder = tmp_path_factory.mktemp("interrupts")
    backbone = tiny_bert()
    backbone.save_to_preset(folder / "P")
    model = zoo.TextClassifier(backbone, backbone.tokenizer, labels=tiny.LABELS)
    model.save(folder / "M.keras")
    texts, labels = tiny.make_texts(64)
    rows = [*zip(texts, labels, strict=True)]
    many = [f"{text} {n}\t{y}" for n in range(400) for text, y in rows]
    (folder / "T.tsv").write_text("\n".join(["text\tlabel", *many]))
    (folder / "L.text").write_text("\n".join(texts * 4000))
    (folder / "SST-2").mkdir()
    lines = ["sentence\tlabel", *(f"{text}\t{int(y == 'good')}" for text, y in rows)]
    for split in ("train", "dev"):
        (folder / f"SST-2/{split}.tsv").write_text("\n".join(lines))
    tiny.write_corpus(folder / "corpus.txt")
    recipe = {**tiny.recipe(), "stages": [[16, 8, 10**6]], "warmup_steps": 1}
    (folder / "recipe.json").write_text(json.dumps(recipe))
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, seconds", [("finetune", 1.0), *((name, BUSY) for name in COMMANDS)]
)
def test_every_command_ends(name, seconds, folder, tmp_path):
    places = {"P": folder / "P", "M": folder / "M.keras", "T": folder / "T.tsv"}
    places |= {"L": folder / "L.text", "D": folder, "O": tmp_path / "out"}
    arguments = []
    for word in COMMANDS[name].split():
        head, _, tail = word.partition("/")
        arguments.append(places[head] / tail if head in places else word)
    process = start("-m", "zoo", *arguments)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(seconds)
    code, output = interrupt(process)
    assert code == 130 and "Traceback" not in output, output
    names = {path.name for path in tmp_path.rglob("*")}
    assert not [name for name in names if not KEPT.fullmatch(name)], output
