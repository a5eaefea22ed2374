"""Damaged `.keras` files: an error that names the file, never a wrong model."""

import io
import zipfile

import keras
import numpy as np
import pytest
import tiny
from command_line import run

import zoo
from zoo.registry import build_backbone
from zoo.registry.keras_files import check_archive
from zoo.text import WordPieceTokenizer

MEMBERS = {"config.json": b'{"a": 1}', "model.weights.h5": bytes(range(64))}
MARK = np.full(16, 1234.5, "float32")  # a row of the token embeddings


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    """Bytes of a sound `.keras` file."""
    keras.utils.set_random_seed(1)
    backbone = build_backbone("bert", {**tiny.CONFIG, "num_layers": 1})
    table = backbone.named_layers["token_embedding"].embeddings
    table.assign(np.concatenate([[MARK], table[1:]]))
    tokenizer = WordPieceTokenizer(tiny.VOCABULARY)
    path = tmp_path_factory.mktemp("sound") / "model.keras"
    zoo.TextClassifier(backbone, tokenizer, labels=tiny.LABELS).save(path)
    return path.read_bytes()


def flipped(content, place, bit=0):
    """The bytes with one bit of one byte changed."""
    changed = bytearray(content)
    changed[place] ^= 1 << bit
    return bytes(changed)


def in_member(name, share):
    """A damage: a bit of a member of the archive, at a share of its length."""

    def damage(content):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            info = archive.getinfo(name)
        begin = info.header_offset + 30 + len(name)
        return flipped(content, begin + int(share * info.file_size))

    return damage


def of_weight(content):
    """A damage: a high bit of a weight, which becomes another number."""
    return flipped(content, content.index(MARK.tobytes()) + 3, bit=5)


DAMAGES = {
    "a weight": of_weight,
    "the config": in_member("config.json", 0.5),
    "the structure of the weights": in_member("model.weights.h5", 0.0),
    "the local header": lambda content: flipped(content, 1),
    "the directory": lambda content: flipped(content, content.rindex(b"PK\x01\x02")),
    "the end": lambda content: flipped(content, content.rindex(b"PK\x05\x06")),
    "truncated by a byte": lambda content: content[:-1],
    "truncated by half": lambda content: content[: len(content) // 2],
    "empty": lambda content: b"",
    "text": lambda content: b"a film\n" * 100,
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_file_is_called_so(name, content, tmp_path):
    path = tmp_path / "model.keras"
    path.write_bytes(DAMAGES[name](content))
    with pytest.raises(ValueError, match=r"model\.keras is damaged: .+\. Copy the"):
        zoo.load_model(path)


def test_sound_files_are_read(content, tmp_path):
    path = tmp_path / "model.keras"
    path.write_bytes(content)
    assert zoo.load_model(str(path)).labels == tuple(tiny.LABELS)


def test_a_directory_and_no_file_are_told_apart(tmp_path):
    (tmp_path / "model.keras").mkdir()
    with pytest.raises(ValueError, match=r"model\.keras, a directory. .*from_preset"):
        zoo.load_model(tmp_path / "model.keras")
    with pytest.raises(FileNotFoundError, match="No such file: .*none.keras"):
        zoo.load_model(tmp_path / "none.keras")


@pytest.mark.parametrize("command", ["predict", "evaluate", "export"])
@pytest.mark.parametrize("damage", ["a weight", "truncated by half", "directory"])
def test_a_command_says_it_in_a_line(command, damage, content, tmp_path):
    path = tmp_path / "model.keras"
    if damage == "directory":
        path.mkdir()
    else:
        path.write_bytes(DAMAGES[damage](content))
    (tmp_path / "data.tsv").write_text("text\tlabel\na film\tgood\n")
    more = {
        "predict": ["a film"],
        "evaluate": ["--data", tmp_path / "data.tsv"],
        "export": [tmp_path / "served"],
    }
    (line,) = run(command, path, *more[command], code=1).splitlines()
    assert line.startswith("Error: ") and "model.keras" in line


@pytest.mark.parametrize(
    "method",
    [pytest.param(zipfile.ZIP_STORED, marks=pytest.mark.slow), zipfile.ZIP_DEFLATED],
)
def test_every_flipped_bit_is_found_or_changes_nothing(method, tmp_path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, member in MEMBERS.items():
            archive.writestr(name, member)
    content = path.read_bytes()
    found = 0
    for place in range(8 * len(content)):
        path.write_bytes(flipped(content, *divmod(place, 8)))
        try:
            check_archive(path, MEMBERS)
        except ValueError:
            found += 1
        else:
            with zipfile.ZipFile(path) as archive:
                assert {name: archive.read(name) for name in MEMBERS} == MEMBERS
    assert found > 4 * len(content)
