"""Files appear whole or not at all."""

import contextlib
import errno
import os
import stat

import numpy as np
import pytest
import tensorflow as tf
import tiny
from disk import full_disk
from safetensors.numpy import save_file

import zoo
from zoo.files.whole_files import WriteErrors, filling, replacing
from zoo.registry import build_backbone


def entries(directory):
    return sorted(str(p.relative_to(directory)) for p in directory.rglob("*"))


@contextlib.contextmanager
def umask(mask):
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("name", ["a.json", f"{'a' * 250}.json"])  # the longest
def test_a_file_is_replaced_at_the_end(name, tmp_path):
    path = tmp_path / "new" / name
    for text in ("first", "second"):
        with replacing(path) as temporary:
            assert temporary.parent == path.parent and temporary.suffix == ".json"
            assert not temporary.exists()
            temporary.write_text(text)
            assert not path.exists() or path.read_text() == "first"
        assert path.read_text() == text
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("directory", [False, True])
def test_what_fails_leaves_nothing_and_changes_nothing(tmp_path, directory):
    path = tmp_path / "a"
    path.write_text("before")
    with pytest.raises(KeyboardInterrupt), replacing(path) as temporary:
        if directory:
            temporary.mkdir()
            (temporary / "part").write_text("half")
        else:
            temporary.write_text("half")
        raise KeyboardInterrupt
    assert path.read_text() == "before" and list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("current", [False, True])
def test_a_directory_with_something_in_it_is_not_replaced(
    tmp_path, monkeypatch, current
):
    path = tmp_path / "a"
    path.mkdir()
    (path / "kept").write_text("")
    if current:
        monkeypatch.chdir(path)
        path = "."
    with pytest.raises(OSError, match="not empty"), replacing(path) as temporary:
        temporary.mkdir()
    assert entries(tmp_path) == ["a", "a/kept"]


@pytest.mark.parametrize("target", ["old", "absent", "elsewhere/absent"])
def test_a_link_to_a_file_is_kept(tmp_path, target):
    (tmp_path / "old").write_text("before")
    link = tmp_path / "links" / "latest.json"
    link.parent.mkdir()
    link.symlink_to(tmp_path / target)
    with replacing(link) as temporary:
        assert temporary.suffix == ".json"
        temporary.write_text("after")
    assert link.is_symlink() and link.read_text() == "after"
    assert (tmp_path / target).read_text() == "after"
    assert entries(link.parent) == ["latest.json"]


@pytest.mark.parametrize("exists", [True, False])
def test_a_link_to_a_directory_is_kept(tmp_path, exists):
    if exists:
        (tmp_path / "real").mkdir()
    link = tmp_path / "link"
    link.symlink_to("real")
    with filling(link) as temporary:
        (temporary / "a").write_text("text")
    assert link.is_symlink() and (tmp_path / "real" / "a").read_text() == "text"
    assert entries(tmp_path) == ["link", "real", "real/a"]
    with pytest.raises(FileExistsError, match="is not empty"), filling(link):
        pass


def test_the_working_directory_is_filled_and_stays(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with filling(".") as temporary:
        (temporary / "b").mkdir()
        (temporary / "b" / "c").write_text("text")
        (temporary / "a").write_text("text")
    # A renamed directory would leave this process in one that is deleted.
    assert os.getcwd() == str(tmp_path)
    assert entries(tmp_path) == ["a", "b", "b/c"]


def test_the_working_directory_is_filled_whole_or_not_at_all(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rename = os.rename

    def fail_on_b(source, target):
        if target.name == "b":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        rename(source, target)

    monkeypatch.setattr(os, "rename", fail_on_b)
    with pytest.raises(OSError, match="while writing"), filling(".") as temporary:
        for name in "ab":
            (temporary / name).write_text("text")
    assert os.listdir(".") == []


def test_a_mount_point_is_filled(tmp_path, monkeypatch):
    path = tmp_path / "volume"
    path.mkdir()
    inode = path.stat().st_ino
    monkeypatch.setattr(os.path, "ismount", lambda other: other == path)
    with filling(path) as temporary:
        (temporary / "a").write_text("text")
    assert path.stat().st_ino == inode and entries(tmp_path) == ["volume", "volume/a"]


def test_permissions_are_those_of_open(tmp_path):
    with umask(0o027):
        (tmp_path / "plain").write_text("")
        (tmp_path / "directory").mkdir()
        with replacing(tmp_path / "a.safetensors") as temporary:
            # It creates files that only their owner can read.
            save_file({"a": np.zeros(2)}, temporary)
        with filling(tmp_path / "new") as temporary:
            save_file({"a": np.zeros(2)}, temporary / "a.safetensors")
    assert mode(tmp_path / "a.safetensors") == mode(tmp_path / "plain") == 0o640
    assert mode(tmp_path / "new" / "a.safetensors") == 0o640
    assert mode(tmp_path / "new") == mode(tmp_path / "directory") == 0o750
    # A file that is replaced keeps its own.
    path = tmp_path / "secret"
    path.write_text("before")
    path.chmod(0o600)
    with replacing(path) as temporary:
        temporary.write_text("after")
    assert mode(path) == 0o600


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
        OSError(errno.EDQUOT, os.strerror(errno.EDQUOT), "file"),
        RuntimeError(f"close failed (error message = '{os.strerror(errno.ENOSPC)}')"),
        tf.errors.ResourceExhaustedError(None, None, os.strerror(errno.ENOSPC)),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_full_disk_is_one_sentence(tmp_path, error):
    path = tmp_path / "a"
    with pytest.raises(OSError) as caught, replacing(path) as temporary:
        temporary.write_text("half")
        raise error
    assert caught.value.errno in (errno.ENOSPC, errno.EDQUOT)
    assert caught.value.__cause__ is error
    start = f"{os.strerror(caught.value.errno)} while writing {path}. Nothing was writ"
    assert caught.value.strerror.startswith(start)
    assert not entries(tmp_path)


def test_the_message_names_the_outermost_path(tmp_path):
    error = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with pytest.raises(OSError, match=f"while writing {tmp_path}/outer. ") as caught:
        with filling(tmp_path / "outer") as directory:
            with replacing(directory / "inner"):
                raise error
    assert caught.value.__cause__ is error
    with pytest.raises(OSError, match="File too large while writing a/b. Nothing was"):
        with WriteErrors("a/b"):
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))


def test_other_errors_pass_through(tmp_path):
    # The block may read other files; their errors are not about writing.
    denied = PermissionError(errno.EACCES, "Permission denied", "other")
    for error in (ValueError("wrong"), OSError("x"), FileNotFoundError(2, "x"), denied):
        with pytest.raises(type(error)) as caught, replacing(tmp_path / "a"):
            raise error
        assert caught.value is error


@pytest.mark.parametrize("step", ["open", "replace"])
def test_a_missing_permission_is_one_sentence(tmp_path, monkeypatch, step):
    def deny(*args):
        raise PermissionError(errno.EACCES, "Permission denied", str(tmp_path))

    path = tmp_path / "a"
    message = f"Permission denied while writing {path}. Nothing was written. Choose"
    monkeypatch.setattr(os, step, deny)
    with pytest.raises(PermissionError, match=message), replacing(path) as temporary:
        temporary.touch()
    monkeypatch.undo()
    assert not entries(tmp_path)


def test_a_model_is_saved_whole(tmp_path):
    model = build_backbone("bert", {**tiny.CONFIG, "num_layers": 1})
    path = tmp_path / "new" / "model.keras"
    with umask(0o022):
        model.save(path)
    assert mode(path) == 0o644 and entries(path.parent) == ["model.keras"]
    before = path.read_bytes()
    with pytest.raises(OSError, match=f"while writing {path}. Nothing was written"):
        with full_disk(1000):
            model.save(str(path))
    assert path.read_bytes() == before and entries(path.parent) == ["model.keras"]
    link = tmp_path / "latest.keras"
    link.symlink_to(path)
    model.save(link)
    assert link.is_symlink()
    for ours, saved in zip(model.weights, zoo.load_model(link).weights, strict=True):
        np.testing.assert_array_equal(ours, saved)
