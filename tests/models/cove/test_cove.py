"""CoVe: equal to torch.nn.LSTM, its files, and unknown words."""

import numpy as np
import pytest
import tiny
from foreign_files import ATOL
from places import GOLDENS
from tiny_cove import make_cove_translator

import zoo
from zoo.checkpoint import write_vectors
from zoo.checkpoint.torch_writing import write_torch
from zoo.models.cove import CoVe, CoVeConfig

GOLDEN = dict(np.load(GOLDENS / "cove.npz").items())
STATE = {k.removeprefix("state/"): v for k, v in GOLDEN.items() if "/" in k}
WORDS, LENGTHS = GOLDEN["words"], GOLDEN["lengths"].tolist()
NAMES = [[f"w{row}x{i}" for i in range(n)] for row, n in enumerate(LENGTHS)]
TEXTS = [" ".join(row) for row in NAMES]
CLOSE = {"atol": ATOL, "rtol": 0}


def write_files(directory, prefix="", state=STATE, words=None):
    """A directory as a user has it: the state dict, and vectors beside it."""
    directory.mkdir()
    arrays = {f"{prefix}{name}": array for name, array in state.items()}
    write_torch(directory / "wmtlstm-8f474287.pth", arrays)
    vectors = [WORDS[r, i] for r, row in enumerate(NAMES) for i in range(len(row))]
    write_vectors(directory / "glove.txt", words or sum(NAMES, []), vectors)
    return directory


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return write_files(tmp_path_factory.mktemp("cove") / "files")


def outputs(model, *names):
    inputs = zoo.data.Packer(model.tokenizer, None)((TEXTS,))
    inputs = {name: value[:, : max(LENGTHS)] for name, value in inputs.items()}
    found = model.with_outputs(*names)(inputs) if names else model(inputs)
    return {name: np.asarray(value) for name, value in found.items()}


@pytest.mark.shown("False-last", "True-all")
@pytest.mark.parametrize("output", ["first", "last", "all"])
@pytest.mark.parametrize("output_words", [False, True])
def test_every_output_is_that_of_torch(directory, output, output_words):
    model = zoo.from_preset(directory, output=output, output_words=output_words)
    inside = np.arange(max(LENGTHS)) < np.array(LENGTHS)[:, None]
    parts = [WORDS * inside[:, :, None]] * output_words
    parts += [GOLDEN["first"]] * (output != "last")
    parts += [GOLDEN["last"]] * (output != "first")
    found = outputs(model)["sequence_output"]
    np.testing.assert_allclose(found, np.concatenate(parts, axis=-1), **CLOSE)


def test_layers_and_states_are_those_of_torch(directory):
    names = ("layer_outputs", "memory", "last_hidden", "last_cell")
    found = outputs(zoo.from_preset(directory), *names)
    for number, name in ((1, "first"), (2, "last")):
        layer = found["layer_outputs"][:, number]
        np.testing.assert_allclose(layer, GOLDEN[name], **CLOSE)
    np.testing.assert_array_equal(found["layer_outputs"][:, 0, :, 6:], 0)
    np.testing.assert_allclose(found["memory"], GOLDEN["last"], **CLOSE)
    for name in ("hidden", "cell"):  # (layer 0 and 1) x (forward, backward)
        pairs = GOLDEN[name].reshape(2, 2, 2, -1).transpose(2, 0, 1, 3)
        expected = pairs.reshape(2, 2, -1)
        np.testing.assert_allclose(found[f"last_{name}"], expected, **CLOSE)


@pytest.mark.parametrize("prefix", ["rnn.", "rnn1."])
def test_names_with_a_prefix_are_the_same_model(directory, tmp_path, prefix):
    other = zoo.from_preset(write_files(tmp_path / "files", prefix))
    same = zoo.from_preset(directory)
    for ours, theirs in zip(other.weights, same.weights, strict=True):
        np.testing.assert_array_equal(ours, theirs, err_msg=ours.path)


def test_the_user_chooses_the_words(tmp_path):
    folder = write_files(tmp_path / "files", words=["The", *sum(NAMES, [])[1:]])
    assert "The" not in zoo.from_preset(folder).tokenizer.vocabulary
    (folder / "words.txt").write_text("w0x3\nw1x0\nnone\n")
    assert zoo.from_preset(folder).tokenizer.vocabulary == ("w0x3", "w1x0")
    (folder / "words.txt").write_text("\ufeffw0x3\nw1x0\n", "utf-8")
    assert zoo.from_preset(folder).tokenizer.vocabulary == ("w0x3", "w1x0")


def test_unknown_words_are_zero_vectors_and_no_padding(directory):
    model = zoo.from_preset(directory, output="last", output_words=True)
    packer = zoo.data.Packer(model.tokenizer, None)
    x = packer((["w0x0 unheard w0x1", "w0x0 w0x1"],))
    known, fewer = np.asarray(model(x)["sequence_output"])[:, :3]
    np.testing.assert_array_equal(known[1, :6], 0)
    assert np.all(np.any(known[:, 6:] != 0, axis=1))
    assert np.abs(known[2, 6:] - fewer[1, 6:]).max() > 1e-3
    table = model.named_layers["word_embedding"]
    table.assign_rows(np.arange(4), np.ones((4, 6)))
    again = np.asarray(model(x)["sequence_output"])[0, :3]
    np.testing.assert_array_equal(again, known)


def test_wrong_files(directory, tmp_path):
    folder = write_files(tmp_path / "files")
    (folder / "more.vec").write_text("a 1 2\n")
    with pytest.raises(FileNotFoundError, match="has no word vectors.*more.vec"):
        zoo.from_preset(folder)
    (folder / "more.vec").unlink()
    (folder / "glove.txt").write_text("a 1 2\nb 1 2\n")
    with pytest.raises(ValueError, match="width 6. Received: vectors of width 2"):
        zoo.from_preset(folder)
    twice = {**STATE, "rnn.weight_hh_l0": STATE["weight_hh_l0"]}
    with pytest.raises(ValueError, match="every weight once"):
        zoo.from_preset(write_files(tmp_path / "twice", state=twice))


@pytest.mark.parametrize("train", [False, True])
def test_word_vectors_are_trained_only_if_asked(train, tmp_path):
    model = make_cove_translator(config={"train_words": train})
    trained = {v.path for v in model.trainable_weights}
    assert ("word_embedding/embeddings" in trained) == train
    assert len(trained) == 22 + train
    model.backbone.named_layers["word_embedding"].trainable = not train
    copy = CoVe.from_config(model.backbone.get_config())
    assert copy.named_layers["word_embedding"].trainable != train


def test_an_encoder_without_targets_does_not_translate():
    config = {**tiny.COVE_CONFIG, "target_vocabulary_size": None}
    with pytest.raises(ValueError, match="an encoder and a decoder.*'cove'"):
        zoo.Translator(CoVe(CoVeConfig(**config)))
