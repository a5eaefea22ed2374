"""Time and memory to refuse a file are bounded by its size, in every format.

No test looks at a clock. Files whose sizes are false are refused before they are read,
which the memory shows; other work is bounded by counts, without which the tests would
not end.
"""

import contextlib
import gzip
import io
import json
import lzma
import pickle
import re
import tracemalloc
import zipfile

import numpy as np
import pytest
import torch_pickles
from hostile_files import (
    CHECKPOINTS,
    EMPTY,
    LARGE_STATE,
    MANY,
    PICKLES,
    TORCH_PICKLES,
    npy,
    write_hdf5,
    write_members,
)
from places import GOLDENS
from torch_pickles import Tensor, dump

from zoo.checkpoint import (
    open_checkpoint,
    open_training_checkpoint,
    read_flat_yaml,
    read_json,
    read_strings,
    read_vectors,
    save_checkpoint,
)
from zoo.data import read_conll, read_labelled, read_squad
from zoo.models.gpt import read as read_gpt
from zoo.models.transformer.fairseq import read_options
from zoo.registry import load_model
from zoo.text import FastaiTokenizer, GPT2Tokenizer


@contextlib.contextmanager
def refused(message):
    """A context that must raise ValueError, and must not reserve much memory."""
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=message):
            yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < MANY // 2, f"{peak} bytes"


COMPRESSED = {
    ".gz": gzip.compress(bytes(MANY)),
    ".xz": lzma.compress(bytes(MANY), preset=0),  # with a small dictionary
}
VECTORS = {
    "vectors.bin": b"2 999999999\na " + bytes(99),
    "other.bin": b"9" * 99 + b" 3\na " + bytes(99),
    "numbers.txt": b"9" * 10**4 + b" 3\na 1 2 3\n",
    "words.txt.gz": COMPRESSED[".gz"],
    "words.bin.gz": gzip.compress(b"999999 9999\n" + bytes(MANY)),
}
JSON = (b"[" * 10**5, b'{"a":' * 10**5, b"[" + b"1" * 10**5 + b"]", b"{")
JSON_READERS = {
    "config": read_json,
    "fastai": FastaiTokenizer,
    "gpt2": lambda path: GPT2Tokenizer(path, ()),
}
DATA_READERS = {
    "table.csv": read_labelled,
    "table.jsonl": read_labelled,
    "tags.conll": read_conll,
    "questions.json": read_squad,
}
# The name of a file, its content, its reader, and what the error says after the name.
REFUSED = {
    **{
        f"pickle of strings, {name}": (
            "itos.pkl",
            content,
            read_strings,
            "` must.* its pickle was refused",
        )
        for name, content in PICKLES.items()
    },
    **{
        name: (name, content, read_vectors, "`? must")
        for name, content in VECTORS.items()
    },
    **{
        f"JSON {number} of {name}": ("a.json", content, read, "` must be JSON. Receiv")
        for number, content in enumerate(JSON)
        for name, read in JSON_READERS.items()
    },
    **{
        name + suffix: (name + suffix, content, read, " must hold at most 64 times its")
        for name, read in DATA_READERS.items()
        for suffix, content in COMPRESSED.items()
    },
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_is_refused(tmp_path, name):
    file, content, read, message = REFUSED[name]
    (tmp_path / file).write_bytes(content)
    with refused(re.escape(file) + message):
        read(tmp_path / file)


@pytest.mark.parametrize("name", TORCH_PICKLES)
def test_a_pickle_of_torch(tmp_path, name):
    data = TORCH_PICKLES[name]
    for write in (torch_pickles.write_zip, torch_pickles.write_legacy):
        path = write(tmp_path / "file.pt", data, EMPTY)
        with refused(r"file\.pt` must.* pickle was refused"):
            open_checkpoint(path)
        with refused(r"file\.pt` must.* pickle was refused"):
            open_training_checkpoint(path, "model")


def test_the_objects_beside_tensors(tmp_path):
    path = torch_pickles.write_zip(tmp_path / "file.pt", LARGE_STATE, EMPTY)
    with refused("it copies its values too often"):
        open_training_checkpoint(path, "model")


def test_options_that_hold_each_other():
    """A dict that holds another one twice, and so on, and one that holds itself."""
    inner, cyclic = {}, {}
    for _ in range(60):
        inner = {"a": inner, "b": inner}
    cyclic["_content"] = cyclic
    entries = {"args": {"adaptive_input": inner, "dropout": cyclic, "a": [[1] * 99]}}
    options = read_options(entries, "model.pt")
    assert len(str(options)) < 2000
    for _ in range(10**5):
        inner = {"_content": inner}
    with refused(r"of `model\.pt` must not be so deep"):
        read_options({"args": {"dropout": inner}}, "model.pt")


@pytest.mark.parametrize("name", CHECKPOINTS)
def test_a_checkpoint(tmp_path, name):
    suffix, write = CHECKPOINTS[name]
    path = write(tmp_path / f"file{suffix}")
    message = rf"{path.with_suffix('')}.*` must hold a comp"
    with pytest.raises(ValueError, match=message):
        dict(open_checkpoint(path))


def test_an_array_of_openai(tmp_path):
    (tmp_path / "params_shapes.json").write_text("[[1]]")
    (tmp_path / "params_0.npy").write_bytes(npy((2**40,)))
    with refused("must have the shapes of two tables"):
        read_gpt(tmp_path)
    shapes = [[2**20, 2**20], [2**20, 2**20], *[[2**20]] * 12]
    (tmp_path / "params_shapes.json").write_text(json.dumps(shapes))
    with refused(r"params_0\.npy` must be a file of NumPy"):
        read_gpt(tmp_path)


TEXTS = {
    "spaces": "a: b" + " " * 10**6 + "c",
    "spaces in an item": "a:\n-" + " " * 10**6 + "\n- b" + " " * 10**6 + "c",
    "digits": f"a: {'1' * 10**6}x",
    "lists in lists": f"a: {'[' * 10**5}{']' * 10**5}",
    "a long number": f"a: {'1' * 10**5}",
}


@pytest.mark.parametrize("name", TEXTS)
def test_yaml(name):
    if name in ("spaces", "digits"):
        assert len(read_flat_yaml(TEXTS[name], "the text")["a"]) > 10**5
        return
    with refused("the text must be YAML"):
        read_flat_yaml(TEXTS[name], "the text")


def test_a_parquet_file_of_one_value(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    texts = pyarrow.array(["a" * 10**4] * (MANY // 10**4), pyarrow.string())
    for values in (texts, pyarrow.nulls(MANY // 8)):
        parquet.write_table(pyarrow.table({"a": values}), tmp_path / "table.parquet")
        with refused("must be a Parquet file. .* declares"):
            read_labelled(tmp_path / "table.parquet")


def keras_members(tmp_path):
    """The members of a `.keras` file with sound weights."""
    path = tmp_path / "sound.h5"
    save_checkpoint(path, {"a": np.ones(3, "float32")})
    members = {"config.json": "{}", "metadata.json": "{}"}
    return {**members, "model.weights.h5": path.read_bytes()}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda path: {"config.json": bytes(MANY)}, "it declares"),
        (lambda path: {"config.json": "[" * 10**5}, "recursion"),
        (
            lambda path: {"model.weights.h5": write_hdf5(path).read_bytes()},
            "it declares",
        ),
    ],
)
def test_a_keras_file(tmp_path, change, message):
    path = tmp_path / "model.keras"
    members = {**keras_members(tmp_path), **change(tmp_path / "hostile.h5")}
    write_members(path, members)
    with refused(rf"model\.keras is damaged: .*{message}"):
        load_model(path)


# What must still be read --------------------------------------------------------------


@pytest.mark.parametrize("name", ["torch_zip.pt", "transformer_opennmt.npz"])
def test_archives_may_be_deflated_again(tmp_path, name):
    with zipfile.ZipFile(GOLDENS / name) as archive:
        members = {member: archive.read(member) for member in archive.namelist()}
    path = write_members(tmp_path / name, members)
    expected, found = (open_checkpoint(p) for p in (GOLDENS / name, path))
    assert {*found} == {*expected}
    for key in expected:
        np.testing.assert_array_equal(found[key], expected[key])


def test_small_files_may_grow(tmp_path):
    arrays = {"a": np.zeros((100, 500), "float32")}
    np.savez_compressed(tmp_path / "a.npz", **arrays)
    np.testing.assert_array_equal(open_checkpoint(tmp_path / "a.npz")["a"], 0)
    write_hdf5(tmp_path / "a.h5", 10**5, compression="gzip")
    np.testing.assert_array_equal(open_checkpoint(tmp_path / "a.h5")["a"], 0)
    rows = gzip.compress(b"text,label\n" + b"a,b\n" * 9999)
    (tmp_path / "a.csv.gz").write_bytes(rows)
    assert len(read_labelled(tmp_path / "a.csv.gz")[0]) == 9999


def test_storages_may_be_shared(tmp_path):
    """Tied weights, and parts of one storage, as flattened LSTMs have."""
    storage = np.arange(1000, dtype="float32")
    tensors = {str(i): Tensor(i * 5, (5,), (1,), size=1000) for i in range(200)}
    tensors |= dict.fromkeys("abcd", Tensor(0, (10, 100), (100, 1), size=1000))
    path = torch_pickles.write_zip(
        tmp_path / "file.pt", dump(tensors), {"0": storage.tobytes()}
    )
    found = open_checkpoint(path)
    for i in range(200):
        np.testing.assert_array_equal(found[str(i)], storage[5 * i : 5 * i + 5])
    np.testing.assert_array_equal(found["d"].ravel(), storage)


def test_dicts_may_be_made_as_python_2_made_them(tmp_path):
    """OrderedDict([["a", tensor]]), and an attribute of the dict."""
    tensor = dump(Tensor(0, (4,), (1,)))[2:-1]
    made = b"ccollections\nOrderedDict\n]](X\1\0\0\0a" + tensor + b"ea\x85R"
    state = pickle.dumps({"_metadata": {}}, 2)[2:-1] + b"b"
    path = tmp_path / "file.pt"
    torch_pickles.write_zip(path, b"\x80\x02" + made + state + b".", EMPTY)
    np.testing.assert_array_equal(open_checkpoint(path)["a"], np.zeros(4))


def test_tuples_may_be_shared_and_be_keys(tmp_path):
    pair = ("a", 1)
    numbers = {(n, n): pair for n in range(500)} | {frozenset((1, 2)): [pair] * 5000}
    beside = {"model": {"a": Tensor(0, (4,), (1,))}, "numbers": numbers}
    data = io.BytesIO()
    pickle.Pickler(data, 4).dump(numbers)
    for content in (dump(beside), dump({**beside, "more": data.getvalue()})):
        path = torch_pickles.write_zip(tmp_path / "file.pt", content, EMPTY)
        _, found = open_training_checkpoint(path, "model")
        assert len(found["numbers"]) == 501
