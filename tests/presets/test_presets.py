"""Preset directories: what is written, what is refused, where names lead."""

import fnmatch
import hashlib
import io
import json
import os
import pathlib
import pickle
import sys
import zipfile

import huggingface_hub
import numpy as np
import pytest
from foreign_files import change_json
from safetensors.numpy import load_file
from torch_pickles import Touch

import zoo
from zoo import presets
from zoo.presets import directories
from zoo.presets.hubs import HUB_FILES
from zoo.presets.records import FORMAT, WEIGHTS

VOCABULARY = "vocabulary.txt"
RECORD = {
    "family": "bert",
    "backbone": {"hidden_dim": 4},
    "tokenizer": {"class_name": "T", "arguments": {"lowercase": True}},
}
ARRAYS = {"b/kernel": np.arange(6.0, dtype="float32").reshape(2, 3).T, "a": np.ones(2)}
FILES = {VOCABULARY: "[PAD]\ncaf\u00e9\n\u2028\nx\n".encode()}


@pytest.fixture
def preset(tmp_path):
    """A preset directory, just written."""
    presets.write_preset(tmp_path / "preset", RECORD, ARRAYS, FILES)
    return tmp_path / "preset"


@pytest.fixture
def home(tmp_path, monkeypatch):
    """An empty directory where published weights are looked for."""
    monkeypatch.setenv("ZOO_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


# Our own layout -----------------------------------------------------------------------


def test_what_is_written_is_read(preset):
    record, arrays, files = presets.read_preset(preset)
    assert record["format"] == FORMAT
    assert record["backbone"] == {"hidden_dim": 4}
    assert files == FILES
    assert list(arrays) == ["a", "b/kernel"]
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == np.float32
        np.testing.assert_array_equal(arrays[name], array)
    assert "weights" not in RECORD and "files" not in RECORD["tokenizer"]


def test_half_precision_is_stored_and_read_as_single(tmp_path):
    presets.write_preset(
        tmp_path / "p", {**RECORD, "tokenizer": None}, ARRAYS, dtype="float16"
    )
    record, arrays, files = presets.read_preset(tmp_path / "p")
    assert record["weights"]["dtype"] == "float16" and files == {}
    stored = load_file(tmp_path / "p" / WEIGHTS)
    assert {array.dtype for array in stored.values()} == {np.dtype("float16")}
    assert arrays["b/kernel"].dtype == np.float32
    with pytest.raises(ValueError, match="one of 'float32', 'float16'. Rec"):
        presets.write_preset(tmp_path / "q", RECORD, ARRAYS, dtype="int8")


def test_a_failure_leaves_nothing(tmp_path):
    with pytest.raises(TypeError, match="not JSON serializable"):
        presets.write_preset(tmp_path / "p", {**RECORD, "card": {1, 2}}, ARRAYS, FILES)
    assert list(tmp_path.iterdir()) == []


def test_an_empty_directory_is_filled_and_one_with_content_is_kept(preset, tmp_path):
    (tmp_path / "empty").mkdir()
    presets.write_preset(tmp_path / "empty", RECORD, ARRAYS, FILES)
    assert presets.read_preset(tmp_path / "empty")[2] == FILES
    before = {path: path.read_bytes() for path in preset.iterdir()}
    with pytest.raises(FileExistsError, match="exists and is not empty"):
        presets.write_preset(preset, RECORD, ARRAYS, FILES)
    assert {path: path.read_bytes() for path in preset.iterdir()} == before
    assert {path.name for path in tmp_path.iterdir()} == {"preset", "empty"}


@pytest.mark.parametrize(
    "text, reason",
    [
        ("{", "Expecting property name"),
        ("[]", "the file must be an object. Received: \\[\\]"),
        ("[" * 100_000, "its JSON is nested too deeply"),
        ("{}", "the record lacks family, backbone"),
        ('{"family": "b", "backbone": {}, "task": {"name": 1}}', "`task.name` must be"),
        ('{"family": "b", "backbone": {}, "weights": {"file": "w"}}', "lacks sha256"),
        ('{"family": "b", "backbone": {}, "tokenizer": "t"}', "`tokenizer` must be"),
        ('{"family": "b", "backbone": {}, "parts": {"x": []}}', "`parts.x` must be"),
        ("\udcff", "can't decode byte"),
    ],
)
def test_a_record_that_is_none_is_refused(preset, text, reason):
    (preset / presets.RECORD).write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(ValueError, match=f"is not a preset record: .*{reason}.* Save"):
        presets.read_preset(preset)


def test_a_newer_format_is_refused_first(preset):
    (preset / presets.RECORD).write_text('{"format": 3}')
    with pytest.raises(
        ValueError, match="has preset format 3; this version reads formats up to 2"
    ):
        presets.read_preset(preset)


@pytest.mark.parametrize("name", [WEIGHTS, VOCABULARY])
def test_a_truncated_or_missing_file_is_named(preset, name):
    path = preset / name
    path.write_bytes(path.read_bytes()[:-2])
    with pytest.raises(ValueError, match=f"{name} is not the file of the record"):
        presets.read_preset(preset)
    path.unlink()
    with pytest.raises(FileNotFoundError, match=f"lacks '{name}', which its record"):
        presets.read_preset(preset)


@pytest.mark.parametrize(
    "name", ["../w", "/etc/passwd", "..", ".", "", "a/w", "a/../w"]
)
@pytest.mark.parametrize("part", ["weights", "tokenizer"])
def test_a_record_names_files_of_its_own_directory_only(preset, name, part):
    (preset.parent / "w").write_text("secret\n")
    digest = hashlib.sha256(b"secret\n").hexdigest()
    entry = {"file": name, "sha256": digest, "arguments": {}, "files": {name: digest}}
    change_json(preset / presets.RECORD, **{part: entry})
    with pytest.raises(ValueError, match="must name files of its own directory only"):
        presets.read_preset(preset)


def test_a_pickle_is_never_run(preset, tmp_path):
    data = pickle.dumps(Touch(tmp_path / "ran"))
    (preset / "weights.pkl").write_bytes(data)
    digest = hashlib.sha256(data).hexdigest()
    entry = {"file": "weights.pkl", "sha256": digest}
    change_json(preset / presets.RECORD, weights=entry)
    with pytest.raises(ValueError, match="must be a safetensors file"):
        presets.read_preset(preset)
    assert not (tmp_path / "ran").exists()
    pickle.loads(data)
    assert (tmp_path / "ran").exists()  # the pickle does what the test fears


def test_an_unknown_layout_says_what_is_there(tmp_path):
    (tmp_path / "README.md").write_text("no model")
    with pytest.raises(FileNotFoundError, match=r"Received: \[.README.md.\]"):
        zoo.from_preset(tmp_path)


# Names --------------------------------------------------------------------------------


def test_names_are_listed_by_family():
    names = zoo.list_presets("bert")
    assert "bert_base_en_uncased" in names and names == tuple(sorted(names))
    assert zoo.list_presets("gopher") == ()
    assert set(names) <= set(zoo.list_presets())


def test_an_unknown_name_brings_the_nearest():
    message = "called 'bert_tiny_en'. Did you mean .*bert_tiny_en_uncased"
    with pytest.raises(KeyError, match=message):
        zoo.preset_info("bert_tiny_en")
    with pytest.raises(
        KeyError, match=r"called 'zzz'. `zoo.list_presets\(\)` names all"
    ):
        presets.find_preset("zzz")


def test_a_shipped_preset_wins_over_a_published_one(tmp_path, monkeypatch, preset):
    root = tmp_path / "root" / "bert"
    root.mkdir(parents=True)
    preset.rename(root / "shared_name")
    source = {"uri": "hf://a/b", "files": []}
    record = {"family": "bert", "description": "published", "source": source}
    (root / "published.json").write_text(json.dumps({"shared_name": record}))
    monkeypatch.setattr(directories, "preset_root", lambda: root.parent)
    directories._directories.cache_clear()
    try:
        assert "description" not in presets.preset_info("shared_name")
        assert presets.find_preset("shared_name") == root / "shared_name"
    finally:
        directories._directories.cache_clear()


def test_a_directory_is_its_own_preset(preset, home):
    assert presets.find_preset(preset) == preset
    assert presets.find_preset(str(preset)) == preset
    with pytest.raises(FileNotFoundError, match="must exist. Received: './absent'"):
        presets.find_preset("./absent")
    with pytest.raises(ValueError, match="begins with hf:// or kaggle://. Received"):
        presets.find_preset("https://bucket/bert")
    with pytest.raises(FileNotFoundError, match="No such directory: memory://absent/"):
        presets.find_preset("memory://absent/bert")
    (home / "bert_base_en").mkdir(parents=True)
    assert presets.find_preset("bert_base_en") == home / "bert_base_en"


# Downloads ----------------------------------------------------------------------------


def test_offline_the_error_says_which_file_to_put_where(home, monkeypatch):
    def offline(*args, **kwargs):
        raise huggingface_hub.errors.LocalEntryNotFoundError("No network.\nMore.")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", offline)
    message = (
        "hf://google-bert/bert-base-cased could not be fetched: No network. Put "
        "config.json, model.safetensors, tokenizer_config.json, vocab.txt into "
        f"{home / 'bert_base_en'}."
    )
    with pytest.raises(FileNotFoundError) as raised:
        presets.find_preset("bert_base_en")
    assert str(raised.value) == message
    with pytest.raises(FileNotFoundError, match="vocabulary\\) into a directory, and"):
        presets.find_preset("hf://google-bert/bert-base-cased")


def test_a_missing_hub_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "kagglehub", None)
    with pytest.raises(FileNotFoundError, match="Run `pip install kagglehub`"):
        presets.find_preset("kaggle://keras/bert/keras/bert_tiny_en_uncased")


def test_what_is_not_on_this_machine_is_not_fetched(monkeypatch):
    monkeypatch.setitem(sys.modules, "kagglehub", None)
    with pytest.raises(FileNotFoundError, match="is not on this machine"):
        presets.find_preset("kaggle://keras/bert/keras/bert_tiny", fetch=False)


def test_the_files_of_our_presets_are_fetched_from_hugging_face():
    folders = pathlib.Path(zoo.__file__).parents[1].glob("presets/*/*")
    names = {p.name for f in folders for p in f.glob("*.*") if f.is_dir()}
    assert "target.model" in names or "sentencepiece.model" in names
    shown = (".md", ".csv", ".png", ".svg", ".html")
    left = [name for name in names if not name.endswith(shown)]
    assert not [n for n in left if not any(fnmatch.fnmatch(n, p) for p in HUB_FILES)]


@pytest.mark.parametrize(
    "held, calls",
    [("model.safetensors", 1), ("model.weights.h5", 1), ("config.json", 2)],
)
def test_torch_files_are_fetched_only_where_there_are_no_others(
    tmp_path, monkeypatch, held, calls
):
    (tmp_path / held).touch()
    asked = []

    def download(repository, allow_patterns):
        asked.append(allow_patterns)
        return str(tmp_path)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    assert presets.find_preset("hf://google-bert/bert-base-cased") == tmp_path
    assert len(asked) == calls
    assert ("pytorch_model*.bin" in asked[-1]) == (calls == 2)
    presets.find_preset("bert_base_en")
    assert asked[-1] == zoo.preset_info("bert_base_en")["source"]["files"]


def test_a_zip_is_fetched_once_and_whole(home, monkeypatch):
    files = zoo.preset_info("bert_mini_en_uncased")["source"]["files"]
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name in ("../../evil", *files[1:]):
            archive.writestr(f"uncased/{name}", name)
    urls = []

    def urlopen(url, timeout):
        urls.append(url)
        return io.BytesIO(content.getvalue())

    monkeypatch.setattr("urllib.request.urlopen", urlopen)
    with pytest.raises(FileNotFoundError, match="fetched: the archive has only"):
        presets.find_preset("bert_mini_en_uncased")
    assert list(home.iterdir()) == []
    with zipfile.ZipFile(content, "a") as archive:
        archive.writestr(files[0], "{}")
    directory = presets.find_preset("bert_mini_en_uncased")
    assert directory == home / "bert_mini_en_uncased"
    assert sorted(os.listdir(directory)) == sorted(files)
    assert (directory / files[-1]).read_text() == files[-1]
    assert presets.find_preset("bert_mini_en_uncased") == directory
    assert len(urls) == 2 and urls[0].endswith("uncased_L-4_H-256_A-4.zip")
    content.truncate(100)
    with pytest.raises(
        FileNotFoundError, match="File is not a zip file. Put bert_conf"
    ):
        presets.find_preset("bert_l2_h256_en_uncased")
