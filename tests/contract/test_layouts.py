"""What every layout of another program keeps: read whole, or refused with a reason."""

import functools
import json
import re

import numpy as np
import pytest
from disk import full_disk
from foreign_files import change_json
from layouts import DIRECTORIES, HUB, read, same
from refused_options import REFUSED
from stored_arrays import END, change_file, find_arrays, read_arrays, write_arrays
from torch_pickles import Touch, dump, write_zip

import zoo
from zoo.registry.checking import read_source
from zoo.registry.sources import find_layouts

# Where sizes and options are read from arrays, a change of one contradicts the others.
CONTRADICTIONS = (
    r"more than the \d+ values that are stored|unused: |shape: |rows|have \d+ tokens|"
    "must hold (a table|one table|an encoder|an AWD-LSTM|layers of|a bidirectional)"
    "|holds a GPT-2|holds no preset|must divide|of width|dimension 1"
)
# Names of sizes in JSON files: numbers of layers, and rows and columns of arrays.
LAYERS = "num_(hidden_)?layers|n_layers?|(en|de)coder_layers|n_highway"
WIDTHS = (
    "hidden_size|n_embd|d_model|hidden_dim|intermediate_(size|dim)|n_inner|filter_size|"
    "dim|word_dim|vocab(ulary)?_size|n_vocab|n_positions|n_ctx|type_vocab_size|"
    "num_segments|max_position_embeddings|max_sequence_length"
)
# An error about their encoding names the directory only.
UNNAMED = ("checkpoint", "decoder.yml", "opus.vocab.yml")
# The files that are written, where other programs ask for these names.
PAIR = {"config.json", "vocab.json", "merges.txt", "tokenizer_config.json"}
FILES = {
    "gpt1 hugging_face": {"model.safetensors", *PAIR},
    "gpt2 hugging_face": {"model.safetensors", *PAIR},
    "elmo hdf5": {"options.json", "weights.hdf5"},
    "fastai": {"lm_fwd.pth", "lm_fwd_itos.pkl"},
}
# Those whose weights may be in a pickle.
PICKLED = [
    name
    for name, row in DIRECTORIES.items()
    if row.layout in (HUB, "fairseq", "many_langs", "fastai", "mt_lstm")
]
# Those whose weights may have any name.
DEFAULT_LAYOUTS = ["bert google", "bert model_garden", "gpt2 openai", "elmo hdf5"]
DEFAULT_LAYOUTS += ["elmo tf1", "fastai", "cove"]
STUBS = ("tensor2tensor", "model_garden")  # whose tokens are too few to split texts
SLOW = pytest.mark.slow


def error(directory):
    """The message with which a directory is refused."""
    source, messages = read(directory)
    assert source is None
    return messages[0]


def short(name):
    """The part of a name of an array that every message has."""
    name = name.removesuffix(END).replace("module.", "").removesuffix("_raw")
    return re.sub(r"^(model|transformer|0|1)[./]", "", name)


def changes(row, directory, change, whole=False):
    """Changes each weight, or three of them; yields its name and the message.

    Args:
        row: `Directory`.
        directory: path.
        change: function of a dict of arrays and a name to another dict.
        whole: bool, whether all weights change, one after the other.
    """
    for path in find_arrays(directory):
        arrays = read_arrays(path)
        names = [name for name in arrays if not re.fullmatch(row.spare, name)]
        for name in names if whole else names[:: len(names) // 2]:
            write_arrays(path, change(arrays, name))
            yield short(name), error(directory)
        write_arrays(path, arrays)


def test_only_one_layout_is_recognised(directory, made):
    path, source, messages = made(directory)
    layout = directory.family.FAMILY, directory.reader
    assert find_layouts(path) == [layout]
    assert source.layout == directory.layout
    assert source.task is (getattr(zoo, directory.task) if directory.task else None)
    if directory.name == "awd_lstm_lm":  # whose layout has no tokens
        assert len(messages) == 1 and "no tokenizer" in messages[0]
    else:
        assert not messages and source.tokenizer is not None


def test_every_weight_of_the_backbone_is_read(directory, made):
    _, source, _ = made(directory)
    kind = directory.family.FAMILY.backbone
    shapes = kind.weight_shapes(kind.config_class(**source.config))
    for path, shape in shapes.items():
        assert source.weights[path].shape == shape
        assert source.weights[path].dtype == "float32"


def leave_out(arrays, name):
    return {k: v for k, v in arrays.items() if k != name}


def add(arrays, name):
    end = END if name.endswith(END) else ""
    return {**arrays, f"{name.removesuffix(END)}_more{end}": np.ones(3, "float32")}


def widen(arrays, name):
    array = arrays[name]
    return {**arrays, name: np.concatenate([array, array[..., :1]], axis=-1)}


def spoil(arrays, name):
    return {**arrays, name: arrays[name] * np.nan}


@pytest.mark.parametrize(
    ("change", "message", "whole"),
    [
        pytest.param(leave_out, CONTRADICTIONS, False, id="missing"),
        pytest.param(leave_out, CONTRADICTIONS, True, id="missing all", marks=SLOW),
        pytest.param(add, "_more|holds no preset", False, id="unknown"),
        pytest.param(widen, CONTRADICTIONS, False, id="another shape"),
        pytest.param(widen, CONTRADICTIONS, True, id="another shape all", marks=SLOW),
        # An array that has a copy must equal that first.
        pytest.param(spoil, "must be finite|must equal", False, id="not finite"),
    ],
)
def test_another_array_is_an_error(directory, damaged, change, message, whole):
    for name, found in changes(directory, damaged(directory), change, whole):
        named = message == CONTRADICTIONS and name in found
        assert named or re.search(message, found), (name, found)


def sizes_of(values, begin=""):
    """The names of sizes in a JSON document, those of sections with a dot."""
    for name, value in values.items():
        if isinstance(value, dict) and len(value) < 40:
            yield from sizes_of(value, f"{begin}{name}.")
        elif isinstance(value, int) and re.fullmatch(f"({LAYERS}|{WIDTHS})", name):
            if "encoder_layers" not in values or name != "max_position_embeddings":
                yield f"{begin}{name}", value  # the sinusoids of Marian are not stored


def test_sizes_that_the_weights_contradict_are_an_error(directory, damaged):
    path = damaged(directory)
    for file in {*path.rglob("*.json")} - {path / "task.json"}:
        text, values = file.read_text("utf-8"), json.loads(file.read_text("utf-8"))
        for name, size in sizes_of(values) if isinstance(values, dict) else ():
            changes = {2 * size: "shape: |more than|must (be|have) .*(row|piece|token)"}
            if re.fullmatch(LAYERS, name.split(".")[-1]):
                changes = {size + 1: "missing: |more than", size - 1: "unused: "}
            for value, message in changes.items():
                change_json(file, **{name: value})
                found = error(path)
                assert not value or re.search(message, found), (name, value, found)
                file.write_text(text)


ROWS = [(*key, *row) for key, rows in REFUSED.items() for row in rows]


@pytest.mark.parametrize(("name", "file", "change", "message"), ROWS)
def test_what_cannot_be_computed_or_does_not_fit_is_refused(
    name, file, change, message, damaged
):
    row = DIRECTORIES[name]
    path = damaged(row)
    change_file(path / file, change)
    with pytest.raises((ValueError, FileNotFoundError), match=f"(?s){message}"):
        row.reader.read(path)
        zoo.from_preset(path)


def test_a_damaged_file_is_named(directory, damaged, made):
    path, (_, source, _) = damaged(directory), made(directory)
    for file in [file for file in path.rglob("*") if file.is_file()]:
        content, parts = file.read_bytes(), [b"\xff\xfe{"]
        if file in find_arrays(path) or ".data-" in file.name:
            parts += [content[: int(x * len(content))] for x in (0.0, 0.3, 0.6, 0.9)]
        elif file.suffix == ".json":
            parts += [b"{", b"[]"]
        called = re.sub(r"\.index|\.data-.*|(?<=vocabulary)\.json", "", file.name)
        for part in parts:
            file.write_bytes(part)
            try:
                directory.reader.read(path)
            except (ValueError, FileNotFoundError) as error:
                words = str(error).replace(
                    "vocabulary of the source", "source_vocabulary"
                )
                words = words.replace("vocabulary of the target", "target_vocabulary")
                assert called in words or called in UNNAMED, (called, words)
            else:
                assert called.endswith(".spm") or same(source, read(path)[0]), called
        if len(parts) > 3:  # of the weights; `test_left_out_metadata` has the others
            file.unlink()
            assert read(path)[0] is None
        file.write_bytes(content)


@pytest.mark.parametrize("name", PICKLED)
def test_code_in_a_pickle_is_refused_and_not_executed(name, damaged, tmp_path):
    row, mark = DIRECTORIES[name], tmp_path / "mark"
    path = damaged(row)
    (path / "model.safetensors").unlink(missing_ok=True)
    files = [file for file in path.iterdir() if file.suffix in (".pt", ".pth", ".pkl")]
    data = dump({"model": {"a": Touch(mark)}, "args": {"deep": [Touch(mark)]}})
    archive = write_zip(tmp_path / "a.zip", data, {}).read_bytes()
    for file in files or [path / "pytorch_model.bin"]:
        content, messages = file.read_bytes() if files else b"", []
        for hostile in (archive, data):
            file.write_bytes(hostile)
            with pytest.raises(ValueError, match=file.name) as raised:
                row.reader.read(path)
            messages += [str(raised.value), error(path)]
        assert "no code of it was executed" in " ".join(messages)
        file.write_bytes(content)
    assert not mark.exists()


@pytest.mark.parametrize("name", DEFAULT_LAYOUTS)
def test_one_of_several_checkpoints_is_chosen(name, damaged):
    path = damaged(DIRECTORIES[name])
    expected, (first,) = read_source(path), find_arrays(path)
    other = first.with_name(f"other{first.suffix}")
    arrays = read_arrays(first)
    floats = {k: v * 2 for k, v in arrays.items() if v.dtype.kind == "f"}
    write_arrays(other, {**arrays, **floats})
    if (path / "checkpoint").is_file():  # which names the first one
        assert same(read_source(path), expected)
        (path / "checkpoint").unlink()
    names = sorted((first.name, other.name))
    both = ".*, .*".join(name.removesuffix(".index") for name in names)
    with pytest.raises(ValueError, match=f"must hold .* checkpoint.*{both}.* in "):
        zoo.from_preset(path)
    for file in (first, other):
        found = read_source(path, file=file.name)
        assert same(found, expected) == (file == first)
    for absent in ("absent.index", "options.json", f"../model/{first.name}", ""):
        with pytest.raises(ValueError, match=f"checkpoint of .*: {both}.* Received"):
            zoo.from_preset(path, file=absent)


@pytest.fixture(scope="module")
def build(made):
    """Function of a row: the model of its directory, which no test may change."""
    return functools.cache(lambda row: zoo.from_preset(made(row)[0]))


def contents_of(directory):
    """The bytes of the files of a directory by their names."""
    files = [file for file in directory.rglob("*") if file.is_file()]
    return {str(file.relative_to(directory)): file.read_bytes() for file in files}


# A layout of each family and those with heads; the others are variants.
SHOWN = pytest.mark.shown(
    *("bert hugging_face", "bert texts", "bert keras_nlp", "gpt1 hugging_face"),
    *("gpt2 keras_nlp", "marian joint", "elmo hdf5", "fastai"),
)


@SHOWN
def test_what_is_written_is_what_was_read(writable, made, build, tmp_path):
    path, source, _ = made(writable)
    (tmp_path / "new").mkdir()  # an empty one is no obstacle
    build(writable).save_to_preset(tmp_path / "new", layout=writable.layout)
    again, messages = read(tmp_path / "new")
    assert same(again, source) and not messages
    for file in find_arrays(tmp_path / "new"):
        old, new = read_arrays(find_arrays(path)[0]), read_arrays(file)
        assert {*old} == {*new}
        for name, array in old.items():
            if not re.search("bias_[ih]h_", name):  # whose sums are equal
                np.testing.assert_array_equal(new[name], array, name)
    before = contents_of(tmp_path / "new")
    assert FILES.get(writable.name, before.keys()) == before.keys()
    with pytest.raises(FileExistsError):
        build(writable).save_to_preset(tmp_path / "new", layout=writable.layout)
    assert contents_of(tmp_path / "new") == before


@pytest.mark.shown("fairseq post_norm", "ctranslate2", "many_langs", "cove")
def test_a_preset_of_ours_holds_the_same(directory, build, damaged, tmp_path):
    if directory.name in STUBS:
        path = damaged(directory)
        (path / "vocab.x.subwords").unlink()
        with pytest.warns(UserWarning, match="for a tokenizer"):
            model = zoo.from_preset(path)
    else:
        model = build(directory)
    model.save_to_preset(tmp_path / "zoo")
    again = zoo.from_preset(tmp_path / "zoo")
    assert type(again) is type(model)
    assert getattr(again, "options", None) == getattr(model, "options", None)
    old, new = (getattr(m, "backbone", m).config for m in (model, again))
    assert old == new
    if model.tokenizer is not None:
        assert again.tokenizer.get_config() == model.tokenizer.get_config()
    for old, new in zip(model.weights, again.weights, strict=True):
        if "seed_generator" not in old.path:
            np.testing.assert_array_equal(old, new, err_msg=old.path)


@SHOWN
def test_on_a_full_disk_nothing_is_written(writable, build, tmp_path):
    with full_disk(1000), pytest.raises(OSError):
        build(writable).save_to_preset(tmp_path / "new", layout=writable.layout)
    assert not [*tmp_path.iterdir()]
