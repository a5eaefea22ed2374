"""Writers on a full disk: one sentence, and nothing half-written."""

import errno
import os

import numpy as np
import pytest
import tensorflow as tf
from disk import full_disk
from python_process import run_python

from zoo.checkpoint import save_checkpoint, write_vectors
from zoo.data import write_conll, write_records, write_word_corpus
from zoo.presets import add_to_record, write_preset
from zoo.serving import Signature, write_version
from zoo.text import CharacterTokenizer
from zoo.text.vocabulary import save_vocabulary
from zoo.visualize import plot_confusion

WORDS = {"vocabulary.txt": b"token\n" * 9}
ARRAYS = {f"layer/{i}": np.full(300, i, "float32") for i in range(4)}
RECORD = {"family": "bert", "backbone": {}, "tokenizer": {"vocabulary": "a.txt"}}


def records(path):
    batch = {"token_ids": np.ones((40, 8), int), "mask_ids": np.ones((40, 2), int)}
    write_records([batch], path, shards=2)


def word_corpus(path):
    # The offsets are the largest file: 8 bytes for each sentence.
    write_word_corpus(["word"] * 500, CharacterTokenizer(6), path)


def export(path):
    module = tf.Module()
    module.table = tf.Variable(tf.zeros((100, 3)))
    spec = tf.TensorSpec([None], tf.int32, "ids")
    signature = Signature(
        lambda ids: {"y": tf.gather(module.table, ids)}, [spec], {"ids": [0]}
    )
    write_version(path, {"m": signature}, [module], check=False)


WRITERS = {
    "a.safetensors": lambda path: save_checkpoint(path, ARRAYS),
    "a.npz": lambda path: save_checkpoint(path, ARRAYS),
    "vectors.txt": lambda path: write_vectors(path, ["a"] * 300, np.ones((300, 2))),
    "vocabulary.txt": lambda path: save_vocabulary(["token"] * 900, path),
    "tags.conll": lambda path: write_conll(path, [["word"] * 900], [["O"] * 900]),
    "picture.svg": lambda path: plot_confusion(np.eye(2), ["a", "b"], path),
    "preset": lambda path: write_preset(path, RECORD, ARRAYS, WORDS),
    "records": records,
    "corpus": word_corpus,
    "export": export,
}


def files(path):
    return [p for p in path.rglob("*") if p.is_file()]


@pytest.mark.parametrize("name", WRITERS)
def test_a_full_disk_is_one_sentence_and_leaves_no_file(tmp_path, name):
    WRITERS[name](tmp_path / "complete" / name)
    largest = max(path.stat().st_size for path in files(tmp_path))
    for size in (0, largest // 2, largest - 1):
        directory = tmp_path / str(size)
        with pytest.raises(OSError) as caught, full_disk(size):
            WRITERS[name](directory / name)
        assert caught.value.errno == errno.EFBIG
        start = f"{os.strerror(errno.EFBIG)} while writing {directory / name}"
        assert caught.value.strerror.startswith(start)
        assert "Nothing was written. Free some space" in caught.value.strerror
        assert not files(directory)


def test_a_record_is_kept(tmp_path):
    write_preset(tmp_path / "preset", RECORD, ARRAYS, WORDS)
    path = tmp_path / "preset" / "preset.json"
    before = path.read_text()
    with pytest.raises(OSError, match="Nothing was written"), full_disk(len(before)):
        add_to_record(path.parent, {"card": "long " * 200})
    assert path.read_text() == before and len(files(path.parent)) == 3


PROGRAM = """
import numpy as np, sys
from disk import full_disk
from zoo.checkpoint import save_checkpoint

arrays = {f"layer/{i}": np.full(300, i, "float32") for i in range(4)}
with full_disk(int(sys.argv[1])):
    try:
        save_checkpoint(sys.argv[2], arrays)
    except OSError as error:
        print(error.strerror)
"""


@pytest.mark.parametrize("size", [0, 2000, 6000])
def test_hdf5_does_not_crash_the_process(tmp_path, size):
    path = tmp_path / "a.h5"
    done = run_python(PROGRAM, size, path)
    assert done.stderr == ""
    assert f"while writing {path}. Nothing was written." in done.stdout
    assert not files(tmp_path)
