"""OpenAI's archive of GPT-1 and TensorFlow checkpoints of GPT-2."""

import dataclasses
import json
import os
import pickle
import tarfile

import numpy as np
import pytest
from foreign_files import assert_equal
from gpt_golden import (
    CONVERTED,
    OUTPUTS,
    check,
    compute,
    write_archive,
    write_checkpoint,
    write_pair,
)
from torch_pickles import Touch

import zoo
from zoo.checkpoint import save_checkpoint
from zoo.models.gpt import GPTConfig, read, recognise

END = "<|endoftext|>"
ARCHIVE_FILES = ("encoder_bpe_40000.json", "vocab_40000.bpe")
MIXED = {"model/wte/Adam": np.ones(1), "beta1_power": np.ones(()), "global_step": 3}


@pytest.fixture
def archive(tmp_path):
    return write_archive(tmp_path / "model")


# GPT-1 --------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [True, False])
@pytest.mark.parametrize("parts", [1, 3, 11])
def test_archives_of_gpt1(tmp_path, parts, width):
    directory = write_archive(tmp_path, parts, width)
    converted, golden = read(directory), CONVERTED["gpt1"]
    expected = {"layer_norm_epsilon": 3e-3, "initializer_range": 0.03}
    expected |= {"dropout": 0.05, "embedding_dropout": 0.15, "attention_dropout": 0.25}
    assert dataclasses.replace(converted.config, **expected) == golden.config
    assert converted.config.dropout == converted.config.embedding_dropout == 0.1
    assert converted.heads == ("lm_head",) and converted.tokenizer is None
    assert_equal(converted.weights, golden.weights)
    check(converted, "gpt1")


@pytest.mark.parametrize("names", [ARCHIVE_FILES, ("encoder_bpe.json", "vocab.bpe")])
@pytest.mark.parametrize("header", ["#version: 0.2", "#version 0.0"])
def test_a_language_model_of_gpt1(archive, names, header):
    write_pair("gpt1", archive, *names, header)
    model = zoo.from_preset(archive)
    assert isinstance(model, zoo.CausalLM) and model.new_heads == ()
    assert type(model.tokenizer).__name__ == "GPT1Tokenizer"
    golden = OUTPUTS["gpt1"]
    ids = model.tokenizer(str(golden["text"])).numpy().tolist()
    assert ids == golden["text_ids"].tolist()


def test_the_number_of_heads_must_be_known(archive):
    assert read(archive, num_heads=2).config.num_heads == 2
    (archive / "hparams.json").unlink()
    with pytest.raises(ValueError, match="number of heads is in no file.*hidden_dim=8"):
        read(archive)
    with pytest.raises(ValueError, match='Write a file hparams.json such as {"n_head"'):
        zoo.from_preset(archive)
    assert read(archive, num_heads=4).config.num_heads == 4
    (archive / "hparams.json").write_text('{"n_head": "4"}')
    with pytest.raises(ValueError, match="`num_heads` of .*must be an integer"):
        read(archive)
    for wrong in (0, 3):
        with pytest.raises(ValueError, match="`num_heads`.* must"):
            read(archive, num_heads=wrong)


def test_a_head_has_64_units(tmp_path):
    shapes = [[2, 128], [3, 128]]
    for rows, columns in ((128, 384), (128, 128), (128, 512), (512, 128)):
        shapes += [[1, rows, columns], [columns]]
        shapes += [[128], [128]] * (rows == columns or rows == 512)
    (tmp_path / "params_shapes.json").write_text(json.dumps(shapes))
    total = sum(int(np.prod(shape)) for shape in shapes)
    np.save(tmp_path / "params_0.npy", np.zeros(total, "float32"))
    assert read(tmp_path).config.num_heads == 2
    assert zoo.from_preset(tmp_path, num_heads=4).backbone.config.num_heads == 4


def test_code_in_arrays_is_refused_and_not_executed(archive, tmp_path):
    mark, path = tmp_path / "mark", archive / "params_1.npy"
    np.save(path, np.array([Touch(mark)], object), allow_pickle=True)
    np.load(path, allow_pickle=True)
    assert mark.exists()
    mark.unlink()
    for content in (path.read_bytes(), pickle.dumps(Touch(mark))):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"params_1\.npy.*are never loaded"):
            read(archive)
    assert not mark.exists()


def save_several(path):
    with open(path, "wb") as file:
        np.savez(file, a=np.ones(3))


def save_enormous(path):
    header = {"descr": "<f4", "fortran_order": False, "shape": (10**13,)}
    with open(path, "wb") as file:
        np.lib.format.write_array_header_1_0(file, header)


@pytest.mark.parametrize(
    ("save", "message"),
    [
        (lambda path: os.truncate(path, path.stat().st_size - 4), "It is damaged"),
        (lambda path: os.truncate(path, 40), "It is damaged"),
        (lambda path: os.truncate(path, 0), "It is damaged"),
        (save_enormous, "It is damaged"),
        (
            lambda path: np.save(path, np.ones(3, "int32")),
            "an array of floats with one axis. Received: int32",
        ),
        (
            lambda path: np.save(path, np.ones((3, 1), "float32")),
            r"with one axis. Received: float32 of shape \(3, 1\)",
        ),
        (save_several, "with one axis. Received: NpzFile"),
    ],
    ids=["cut", "header", "empty", "enormous", "integers", "axes", "several"],
)
def test_damaged_parts_are_refused(archive, save, message):
    save(archive / "params_1.npy")
    with pytest.raises(ValueError, match=message) as raised:
        read(archive)
    assert "params_1.npy" in str(raised.value)


def test_parts_must_be_complete_and_have_the_values_of_the_shapes(archive):
    values = np.load(archive / "params_2.npy")
    for part in (values[:-1], np.append(values, values[:1])):
        np.save(archive / "params_2.npy", part)
        with pytest.raises(ValueError, match=r"as many values as .*Received: \d+"):
            read(archive)
    (archive / "params_2.npy").unlink()
    with pytest.raises(ValueError, match="as many values as"):
        read(archive)
    np.save(archive / "params_3.npy", values)
    with pytest.raises(ValueError, match="numbers 0, 1, 2.*params_3.npy"):
        read(archive)
    for path in archive.glob("params_*.npy"):
        path.unlink()
    np.save(archive / "params_a.npy", values)
    with pytest.raises(ValueError, match="numbers 0, 1, 2"):
        read(archive)


def changed(shapes, place, shape):
    return [*shapes[:place], shape, *shapes[place + 1 :]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda shapes: {}, "must hold a list"),
        (lambda shapes: [3, *shapes], "list of lists of positive integers"),
        (lambda shapes: changed(shapes, 0, [-9, -8]), "lists of positive integers"),
        (lambda shapes: changed(shapes, 0, [9.0, 8]), "lists of positive integers"),
        (lambda shapes: changed(shapes, 0, [72]), "the shapes of two tables"),
        (lambda shapes: shapes[:-1], "then 12 shapes for each block. Received: 25"),
        (lambda shapes: shapes[:2], "then 12 shapes for each block. Received: 2"),
        (lambda shapes: shapes[:14], "as many values as"),
        (lambda shapes: changed(shapes, 3, [1, 24]), r"'block_0/attention/query/bias"),
        (lambda shapes: changed(shapes, 2, [1, 12, 16]), "is .*12, 16.*'first_third'"),
        (lambda shapes: changed(shapes, 0, [8, 9]), "'position_embedding/embeddings'"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(archive, change, message):
    path = archive / "params_shapes.json"
    path.write_text(json.dumps(change(json.loads(path.read_text()))))
    with pytest.raises(ValueError, match=message):
        read(archive)


@pytest.mark.external
def test_the_archive_of_allennlp_is_consumed(shared, tmp_path):
    """AllenNLP's tests use it with two heads; it has no outputs of this model."""
    with tarfile.open(shared / "oracles/gpt1_tiny/transformer_small.tar.gz") as tar:
        tar.extractall(tmp_path, filter="data")
    directory = tmp_path / "model"
    assert recognise(directory) == "openai_gpt"
    with pytest.raises(ValueError, match="number of heads is in no file"):
        read(directory)
    # Its `<unk>` has the id of another token.
    with pytest.raises(ValueError, match="to the ids 0, 1, 2 and so on, each once"):
        read(directory, num_heads=2)
    (directory / "encoder_bpe.json").unlink()
    with pytest.raises(FileNotFoundError, match="Received: only vocab.bpe"):
        read(directory, num_heads=2)
    (directory / "vocab.bpe").unlink()
    converted = read(directory, num_heads=2)
    sizes = (50, 10, 2, 2, 40, 50)
    assert converted.config == GPTConfig(*sizes, norm_first=False)
    parts = [np.load(directory / f"params_{i}.npy") for i in range(2)]
    vector = np.concatenate(parts)
    assert sum(a.size for a in converted.weights.values()) == vector.size == 3660
    kernel = converted.weights["block_0/attention/query/kernel"]
    np.testing.assert_array_equal(kernel[0], vector[1000:1010])
    gain = converted.weights["block_1/output_layer_norm/gamma"]
    np.testing.assert_array_equal(gain, vector[-20:-10])
    ids = np.arange(12).reshape(2, 6)
    outputs = compute(converted, {"token_ids": ids, "padding_mask": ids // ids.clip(1)})
    assert np.isfinite(outputs["logits"]).all()


# GPT-2 --------------------------------------------------------------------------------


def test_checkpoints_of_gpt2(tmp_path):
    more = {k: np.asarray(v, "float32") for k, v in MIXED.items()}
    directory = write_checkpoint(tmp_path, **more)
    converted, golden = read(directory), CONVERTED["gpt2"]
    assert converted.config.num_heads == 4 and converted.config.intermediate_dim == 12
    assert converted.config.norm_first and converted.config.dropout == 0.1
    assert converted.config.layer_norm_epsilon == 1e-5
    assert_equal(converted.weights, golden.weights)
    check(converted, "gpt2")


def test_a_language_model_of_gpt2(tmp_path):
    directory = write_checkpoint(tmp_path)
    write_pair("gpt2", directory, "encoder.json", "vocab.bpe")
    model = zoo.from_preset(directory)
    assert isinstance(model, zoo.CausalLM) and model.new_heads == ()
    assert type(model.tokenizer).__name__ == "GPT2Tokenizer"
    golden = OUTPUTS["gpt2"]
    text, ids = str(golden["text"]), golden["text_ids"].tolist()
    # OpenAI's code reads the special token in a text as text.
    assert model.tokenizer(text).numpy().tolist() != ids
    parts = [model.tokenizer(part).numpy().tolist() for part in text.split(END)]
    assert [*parts[0], 256, *parts[1]] == ids


def test_directories_without_a_gpt(tmp_path):
    assert recognise(tmp_path) is None
    message = r"A GPT is a directory with.*Received: .*\[\]"
    with pytest.raises(ValueError, match=message):
        read(tmp_path)
    with pytest.raises(ValueError, match="`layout` must be one of.*'google'"):
        read(tmp_path, layout="google")
    for layout in ("openai_gpt", "openai_gpt2", "hugging_face", "keras_nlp"):
        with pytest.raises(FileNotFoundError, match="There is no"):
            read(tmp_path, layout=layout)
    (tmp_path / "hparams.json").write_text("{}")
    (tmp_path / "config.json").write_text('{"model_type": {}, "class_name": []}')
    save_checkpoint(tmp_path / "model.safetensors", {"a": np.ones(1)})
    assert recognise(tmp_path) is None
    write_archive(tmp_path)
    write_checkpoint(tmp_path)
    with pytest.raises(ValueError, match="Received: openai_gpt, openai_gpt2 in"):
        recognise(tmp_path)
