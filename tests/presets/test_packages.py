"""The two packages that hold the weights of the shipped presets."""

import shutil
import tomllib

import pytest
from places import ROOT

from zoo import presets
from zoo.presets import directories

PRESETS = ROOT / "presets"
SECOND = tomllib.loads((PRESETS / "pyproject.toml").read_text("utf-8"))
FOLDERS = SECOND["tool"]["setuptools"]["package-data"]["zoo_presets"]
LIMIT = 95e6  # bytes of weights in a package; an index takes files of 100 MB


def test_no_package_is_too_large():
    weights = {*PRESETS.glob("*/*/weights.safetensors")}
    second = {PRESETS / folder[:-1] / "weights.safetensors" for folder in FOLDERS}
    assert second < weights
    for part in (second, weights - second):
        assert sum(path.stat().st_size for path in part) < LIMIT


def test_both_packages_have_one_version():
    import zoo

    assert SECOND["project"]["version"] == zoo.__version__


@pytest.fixture
def separate(tmp_path, monkeypatch):
    """The presets as they are installed: a first folder, and that of a second package.

    The weights of one preset are only in the second one.
    """
    name = "bert/bert_mini_en_uncased_books"
    first, second = tmp_path / "first", tmp_path / "site" / directories.MORE_MODULE
    for root in (first, second):
        (root / name).mkdir(parents=True)
        for path in (PRESETS / name).glob("*.*"):
            if root == second or path.name != presets.WEIGHTS:
                shutil.copy(path, root / name)
    monkeypatch.setattr(directories, "preset_root", lambda: first)
    directories._directories.cache_clear()
    yield tmp_path / "site", second / name
    directories._directories.cache_clear()


def test_weights_of_the_second_package_are_found(separate, monkeypatch):
    site, directory = separate
    monkeypatch.syspath_prepend(site)
    assert presets.find_preset(directory.name) == directory
    assert "layers" in presets.describe_record(directory.name)


def test_without_the_second_package_the_error_names_it(separate):
    name = separate[1].name
    assert presets.list_presets() == (name,)
    assert "layers" not in presets.describe_record(name)
    with pytest.raises(FileNotFoundError, match=f"{name} are .* {directories.MORE}`"):
        presets.find_preset(name)
