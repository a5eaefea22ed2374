"""Version directories: what the server accepts, and publishing them."""

import os
import subprocess
import sys

import pytest

from zoo.serving import diagnose, versions
from zoo.serving.versions import (
    LARGEST_VERSION,
    check_version,
    find_version,
    find_versions,
    parse_version,
    publish,
)

PARSED = {"7": 7, "007": 7, "+3": 3, "-3": -3, "0": 0, " 4\n": 4}
PARSED |= {str(n): n for n in (LARGEST_VERSION, -LARGEST_VERSION - 1)}
PARSED |= {str(n): None for n in (LARGEST_VERSION + 1, -LARGEST_VERSION - 2)}
PARSED |= dict.fromkeys(("9" * 200, "\uff11\uff12", "\u0661", "\u00b2", "1.0", "1_0"))
PARSED |= dict.fromkeys(("0x1", "v1", "+", "+-1", "1 2", "", " "))


@pytest.mark.parametrize("name", PARSED)
def test_names_are_read_as_the_server_reads_them(name):
    assert parse_version(name) == PARSED[name]


def make_version(base_dir, name):
    path = base_dir / name
    path.mkdir(parents=True)
    (path / "saved_model.pb").touch()
    return path


def make_staging(base_dir):
    return make_version(base_dir, f".tmp-{os.getpid()}-{len(list(base_dir.iterdir()))}")


def test_the_last_of_several_names_counts(tmp_path):
    for name in ("+7", "7", "007", "9" * 30, ".tmp-x", "-2"):
        make_version(tmp_path, name)
    (tmp_path / "6").touch()
    assert find_versions(tmp_path) == {
        -2: tmp_path / "-2",
        6: tmp_path / "6",
        7: tmp_path / "7",
    }
    assert list(find_versions(tmp_path)) == [-2, 6, 7]
    assert find_versions(tmp_path / "absent") == {}


@pytest.mark.parametrize(
    "names, following",
    [
        ([], 1),
        (["-5"], 1),
        (["3", "9" * 30, "1" + "0" * 400], 4),
        (["3", "\uff11\uff12", "1.0"], 4),
        (["3", "007"], 8),
        (["3", "+12"], 13),
    ],
)
def test_the_next_version_is_one_more_than_the_highest(tmp_path, names, following):
    for name in names:
        # No file system allows longer names.
        make_version(tmp_path, name[:255])
    staging = make_staging(tmp_path)
    assert publish(staging, tmp_path, None) == tmp_path / str(following)
    assert not staging.exists()


def test_a_file_with_an_integer_as_name_counts(tmp_path):
    make_version(tmp_path, "2")
    (tmp_path / "3").touch()
    (tmp_path / "4").symlink_to("absent")
    with pytest.raises(ValueError, match="newest version must be a directory.*/4,"):
        find_version(tmp_path)
    assert publish(make_staging(tmp_path), tmp_path, None).name == "5"
    assert find_version(tmp_path).name == "5"
    with pytest.raises(FileExistsError, match="must not be overwritten.*version=4"):
        publish(make_staging(tmp_path), tmp_path, 4)


def test_a_version_that_the_server_would_ignore(tmp_path):
    with pytest.raises(ValueError, match="must be an integer from 1 to 9223.*10000"):
        check_version(tmp_path, 10**30)
    make_version(tmp_path, "007")
    with pytest.raises(FileExistsError, match="version=7, which exists"):
        check_version(tmp_path, 7)
    make_version(tmp_path, str(LARGEST_VERSION))
    with pytest.raises(ValueError, match="must be below 9223.*Rename that version"):
        check_version(tmp_path, None)
    check_version(tmp_path, 8)


def test_find_version(tmp_path):
    base = tmp_path / "models" / "clf"
    with pytest.raises(FileNotFoundError, match="path must be a directory.*clf"):
        find_version(base)
    base.mkdir(parents=True)
    with pytest.raises(FileNotFoundError, match="has neither. Export a model first"):
        find_version(base)
    for name in ("v1", "0.1", "9" * 30):
        make_version(base, name)
    with pytest.raises(ValueError, match=r"named with an integer.*\['0.1', '9.*'v1'\]"):
        find_version(base)
    for name in ("9", "10"):
        make_version(base, name)
    assert find_version(base) == base / "10"
    assert find_version(base / "9") == base / "9"
    assert find_version(make_version(base, "0011").parent) == base / "0011"
    with pytest.raises(FileNotFoundError, match="Did you mean .*clf?"):
        find_version(base.parent)


def test_the_doctor_accepts_a_link_with_a_valid_name(good_version, tmp_path):
    (tmp_path / "2").symlink_to(good_version)
    (tmp_path / "latest").symlink_to(good_version)
    run = good_version.rename(good_version.parent / "run")
    try:
        (tmp_path / "3").symlink_to(run)
        for path, passed in ((tmp_path / "3", True), (run, False)):
            finding = diagnose(path)[0]
            assert finding.check == "directory" and finding.passed == passed
    finally:
        run.rename(good_version)
    assert diagnose(tmp_path / "latest")[0].passed


def test_a_number_that_another_process_publishes_first(tmp_path, monkeypatch):
    rename = os.rename
    others = [make_version(tmp_path, ".other-1"), make_version(tmp_path, ".other-2")]

    def rename_late(source, target):
        if others:
            rename(others.pop(), target)
        rename(source, target)

    monkeypatch.setattr(versions.os, "rename", rename_late)
    staging = make_staging(tmp_path)
    assert publish(staging, tmp_path, None).name == "3"
    others.append(make_version(tmp_path, ".other-3"))
    with pytest.raises(FileExistsError, match="must not be overwritten.*version=4"):
        publish(make_staging(tmp_path), tmp_path, 4)


def test_other_errors_of_the_rename_are_raised(tmp_path):
    with pytest.raises(FileNotFoundError):
        publish(tmp_path / "absent", tmp_path, None)


PROGRAM = """
import pathlib, sys
from zoo.serving.versions import publish

name, base_dir = sys.argv[1], pathlib.Path(sys.argv[2])
staged = [base_dir / f".{name}-{number}" for number in range(200)]
for path in staged:
    path.mkdir()
    (path / name).touch()
print(flush=True)
sys.stdin.readline()
for path in staged:
    publish(path, base_dir, None)
"""


def test_two_processes_publish_at_once(tmp_path):
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, name, str(tmp_path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in "ab"
    ]
    for process in processes:
        process.stdout.readline()
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    errors = [process.communicate()[1] for process in processes]
    assert errors == ["", ""]
    assert list(find_versions(tmp_path)) == list(range(1, 401))
    published = [path.name for path in tmp_path.glob("*/*")]
    assert published.count("a") == published.count("b") == 200
