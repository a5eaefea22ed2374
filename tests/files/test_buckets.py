"""Files in buckets: in the memory of the process, and on an S3 server."""

import json
import pathlib

import command_line
import fsspec
import numpy as np
import pytest
import tiny_bert
from s3_server import new_bucket

import zoo
from zoo import checkpoint, data, text
from zoo.files import buckets
from zoo.files.path_checks import check_writable
from zoo.files.whole_files import filling, replacing, rewriting

FILMS = ["a warm and funny film\tgood", "two hours of my life gone\tbad"] * 10


@pytest.fixture(autouse=True)
def copies(monkeypatch, tmp_path):
    """The directory of copies, of this test alone."""
    monkeypatch.setenv("ZOO_HOME", str(tmp_path / "home"))
    return tmp_path / "home/buckets"


@pytest.fixture
def memory():
    """The address of an empty bucket in memory."""
    yield "memory://shelf"
    store = fsspec.filesystem("memory")
    if store.exists("/shelf"):
        store.rm("/shelf", recursive=True)


@pytest.fixture
def s3(monkeypatch):
    """The address of an empty bucket of a server on this machine."""
    with new_bucket(monkeypatch) as address:
        yield address


def names(address):
    """The names of the files in a store below an address."""
    store, root = buckets.open_store(address)
    return sorted(key.removeprefix(f"{root}/") for key in store.find(root))


def put(address, content):
    """Writes a file of a store."""
    store, name = buckets.open_store(address)
    store.pipe_file(name, content)


@pytest.fixture(params=["memory", "s3"])
def bucket(request):
    """The addresses of both, one after the other."""
    return request.getfixturevalue(request.param)


def test_a_copy_follows_its_store(bucket):
    put(f"{bucket}/a/one.txt", b"one")
    put(f"{bucket}/a/b/two.txt", b"two")
    copy = zoo.local_path(f"{bucket}/a")
    assert (copy / "one.txt").read_text() == "one"
    assert (copy / "b/two.txt").read_text() == "two"
    put(f"{bucket}/a/one.txt", b"One")
    store, name = buckets.open_store(f"{bucket}/a/b/two.txt")
    store.rm_file(name)
    assert zoo.local_path(f"{bucket}/a") == copy
    assert [*copy.rglob("*")] == [copy / "one.txt"]
    assert (copy / "one.txt").read_text() == "One"


def test_only_changed_files_are_downloaded(bucket):
    for name in ("one", "two"):
        put(f"{bucket}/a/{name}", name.encode())
    first, second = (zoo.local_path(f"{bucket}/a/{n}") for n in ("one", "two"))
    first.write_text("own")  # as long as the other, so that it stays
    put(f"{bucket}/a/two", b"TWO")
    zoo.local_path(f"{bucket}/a")
    assert first.read_text() == "own"
    assert second.read_text() == "TWO"


def test_what_is_written_is_sent(bucket):
    with replacing(f"{bucket}/deep/one.txt") as temporary:
        temporary.write_text("one")
        assert not names(bucket)
    with rewriting(f"{bucket}/shelf") as temporary:
        (temporary / "inner").mkdir(parents=True)
        (temporary / "inner/old").write_text("old")
    with rewriting(f"{bucket}/shelf") as temporary:
        temporary.mkdir()
        (temporary / "new").write_text("new")
    assert names(bucket) == ["deep/one.txt", "shelf/new"]
    with pytest.raises(FileExistsError, match="is not empty"):
        with filling(f"{bucket}/shelf"):
            pass


def test_a_failed_write_leaves_nothing(memory, monkeypatch):
    store = fsspec.filesystem("memory")
    original = type(store).put_file

    def put_file(self, source, target, *arguments, **options):
        if target.endswith("last"):
            raise RuntimeError("the connection is lost")
        original(self, source, target, *arguments, **options)

    monkeypatch.setattr(type(store), "put_file", put_file)
    rule = "memory://shelf/a cannot be written. Received: the connection is lost. Check"
    with pytest.raises(OSError, match=rule):
        with filling(f"{memory}/a") as temporary:
            for name in ("first", "last"):
                (temporary / name).write_text(name)
    assert not names(memory)
    assert not zoo.local_path(f"{memory}/a").exists()


def test_a_failed_read_leaves_nothing(memory, monkeypatch, copies):
    put(f"{memory}/texts.txt", b"text")
    store = fsspec.filesystem("memory")

    def get_file(self, source, target, **options):
        pathlib.Path(target).write_text("te")
        raise RuntimeError("the connection is lost")

    monkeypatch.setattr(type(store), "get_file", get_file)
    output = command_line.run("vectors", f"{memory}/texts.txt", "--output", "v", code=1)
    assert output.count("\n") == 1
    assert "memory://shelf/texts.txt cannot be read. Received: the connection" in output
    assert not [path for path in copies.rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    "address, kind, message",
    [
        (
            "nowhere://a/b",
            ValueError,
            "scheme that fsspec knows.*Received: nowhere://a",
        ),
        ("memory://a/../../b", ValueError, r"without `\.\.`.*Received: 'memory://a/"),
        ("memory://", ValueError, "must name a bucket"),
    ],
)
def test_wrong_addresses(address, kind, message):
    with pytest.raises(kind, match=message):
        zoo.local_path(address)


def test_a_directory_in_the_place_of_a_file(bucket, copies):
    put(f"{bucket}/a/large.txt", b"large")
    for arguments in (["vectors", f"{bucket}/a"], ["evaluate", "m", "--data", bucket]):
        assert "is a directory" in command_line.run(*arguments, code=1)
    with pytest.raises(ValueError, match="The output must be a file. Received"):
        check_writable(f"{bucket}/a")
    assert not [path for path in copies.rglob("*") if path.is_file()]


def test_a_home_behind_a_link(memory, monkeypatch, tmp_path):
    (tmp_path / "place").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "place")
    monkeypatch.setenv("ZOO_HOME", str(tmp_path / "link"))
    with replacing(zoo.local_path(f"{memory}/a.txt")) as temporary:
        temporary.write_text("a")
    assert names(memory) == ["a.txt"]


def test_names_of_a_store_stay_in_their_copy(memory, monkeypatch):
    store = fsspec.filesystem("memory")
    info = {"name": "/shelf/a/../../out", "size": 1, "type": "file", "created": 1}
    put(f"{memory}/a/one", b"1")
    with monkeypatch.context() as patch:
        patch.setattr(type(store), "find", lambda *a, **o: {info["name"]: info})
        with pytest.raises(OSError, match="a name with `..` in the store"):
            zoo.local_path(f"{memory}/a")


def test_a_bucket_without_permission(s3, monkeypatch):
    with pytest.raises(OSError, match="s3://absent/a.keras cannot be written. Rec"):
        check_writable("s3://absent/a.keras")


def make_classifier():
    """A tiny model with a tokenizer."""
    backbone = tiny_bert.tiny_bert()
    return zoo.TextClassifier(backbone, backbone.tokenizer, ["a", "b"])


FUNCTIONS = {
    "file of Keras": lambda model, path: (
        model.save(f"{path}.keras"),
        zoo.load_model(f"{path}.keras"),
    ),
    "directory of Keras": lambda model, path: model.save(path, zipped=False),
    "weights": lambda model, path: (
        model.save_weights(f"{path}.weights.h5"),
        model.load_weights(f"{path}.weights.h5"),
    ),
    "weights of a backbone": lambda model, path: (
        model.backbone.save_weights(f"{path}.weights.h5"),
        model.backbone.load_weights(f"{path}.weights.h5"),
    ),
    "ensemble": lambda model, path: (
        zoo.TextEnsemble([model, make_classifier()]).save_to_preset(path),
        zoo.from_preset(path),
    ),
    "export": lambda model, path: (
        model.export(path),
        model.export(path),
        zoo.local_path(f"{path}/2/saved_model.pb").stat(),
    ),
    "adapter": lambda model, path: (
        zoo.enable_lora(model, 1),
        model.save_adapter(f"{path}.safetensors"),
        model.load_adapter(f"{path}.safetensors"),
    ),
    "words": lambda model, path: (
        data.write_conll(path, [["a", "b"]], [["X", "Y"]]),
        data.read_conll(path),
    ),
    "vocabulary": lambda model, path: (
        model.tokenizer.save_vocabulary(path),
        text.WordPieceTokenizer(path),
    ),
    "vectors": lambda model, path: (
        checkpoint.write_vectors(f"{path}.vec", ["a"], np.ones((1, 3))),
        checkpoint.read_vectors(f"{path}.vec"),
    ),
    "arrays": lambda model, path: (
        checkpoint.save_checkpoint(f"{path}.safetensors", {"a": np.ones(2)}),
        checkpoint.open_checkpoint(f"{path}.safetensors"),
    ),
    "documents": lambda model, path: (
        put(path, b"One.\n\nTwo.\n"),
        [*data.read_documents(path)],
    ),
    "token ids": lambda model, path: (
        data.write_token_ids([(np.array([1, 2]), np.array([2]))], path),
        data.read_token_ids(path),
    ),
}


@pytest.mark.shown("file of Keras", "export", "documents")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_take_addresses(name, memory, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    FUNCTIONS[name](make_classifier(), f"{memory}/file")
    assert names(memory)
    assert {path.name for path in tmp_path.iterdir()} == {"home"}


def test_a_store_that_may_not_be_written(memory, monkeypatch):
    def denied(self, name, content):
        raise PermissionError("Access Denied")

    monkeypatch.setattr(type(fsspec.filesystem("memory")), "pipe_file", denied)
    command = ["finetune", "bert_mini_en_uncased_distilled", "--data", __file__]
    shown = command_line.run(*command, "--output", f"{memory}/m.keras", code=1)
    assert (
        shown.count("\n") == 1 and "memory://shelf/m.keras cannot be written" in shown
    )
    assert "Access Denied" in shown and "permissions of the store" in shown


def test_the_first_evening_in_a_bucket(bucket, tmp_path):
    """Each command takes addresses, and shows them."""
    tiny_bert.tiny_bert().save_to_preset(f"{bucket}/tiny")
    assert "preset.json" in names(f"{bucket}/tiny")
    put(f"{bucket}/films.tsv", "\n".join(["text\tlabel", *FILMS]).encode())
    data, model = f"{bucket}/films.tsv", f"{bucket}/runs/films.keras"
    fit = ("finetune", f"{bucket}/tiny", "--data", data, "--output", model)
    shown = command_line.run(*fit, "--epochs", 1)
    assert shown.endswith(f"{model}\n")
    assert str(tmp_path) not in shown
    assert {"films.keras", "films_report/report.html"} <= {*names(f"{bucket}/runs")}
    scores = json.loads(
        command_line.run("evaluate", model, "--data", data).splitlines()[-1]
    )
    assert 0 <= scores["accuracy"] <= 1
    answers = f"{bucket}/answers.jsonl"
    command_line.run("predict", model, "--data", data, "--output", answers)
    assert len(zoo.local_path(answers).read_text().splitlines()) == len(FILMS)
    command_line.run("export", model, f"{bucket}/export")
    assert "1/saved_model.pb" in names(f"{bucket}/export")
    report = command_line.run("doctor", f"{bucket}/export")
    assert "FAIL" not in report
    put(f"{bucket}/texts.txt", b"a warm film\na cold one\n")
    command_line.run(
        *("embed", f"{bucket}/tiny", f"{bucket}/texts.txt"),
        *("--output", f"{bucket}/vectors.npy"),
    )
    assert "vectors.npy" in names(bucket)
    assert not [name for name in names(bucket) if name.endswith(".part")]
