"""Training checkpoints of bilm-tf against the HDF5 file of the same arrays."""

import json

import h5py
import keras
import numpy as np
import pytest
import tensorflow as tf
import tiny
from elmo_reference import inputs_of, reference

import zoo
from zoo.models.elmo import ELMo, ELMoConfig, read, recognise
from zoo.text import CharacterTokenizer

DIM, OUT, LAYERS = 12, 8, 2
FILTERS = [[1, 6], [2, 6], [3, 6]]
WORDS = ["<S>", "</S>", "<UNK>", "the", "cat", "sat", "caf\u00e9", "."]
OPTIONS = {
    "bidirectional": True,
    "char_cnn": {
        "activation": "relu",
        "embedding": {"dim": 4},
        "filters": FILTERS,
        "max_characters_per_token": 12,
        "n_characters": 261,
        "n_highway": 1,
    },
    "dropout": 0.1,
    "lstm": {
        "cell_clip": 3,
        "dim": DIM,
        "n_layers": LAYERS,
        "proj_clip": 3,
        "projection_dim": OUT,
        "use_skip_connections": True,
    },
    "all_clip_norm_val": 10.0,
    "n_epochs": 10,
    "n_tokens_vocab": len(WORDS),
    "batch_size": 128,
    "unroll_steps": 20,
    "n_negative_samples_batch": 8192,
}
TEXTS = ["The cat sat .", "the", "a caf\u00e9 that the cat never saw ."]


def make_arrays():
    """Names in the training checkpoint to names in the HDF5 file, and to arrays."""
    width, gates = sum(number for _, number in FILTERS), 4 * DIM
    shapes = {"lm/char_embed": ("char_embed", (261, 4))}
    for i, (size, number) in enumerate(FILTERS):
        shapes[f"lm/CNN/W_cnn_{i}"] = (f"CNN/W_cnn_{i}", (1, size, 4, number))
        shapes[f"lm/CNN/b_cnn_{i}"] = (f"CNN/b_cnn_{i}", (number,))
    for part in ("carry", "transform"):
        for kind, shape in (("W", (width, width)), ("b", (width,))):
            name = f"CNN_high_0/{kind}_{part}"
            shapes[f"lm/{name}"] = (name, shape)
    shapes["lm/CNN_proj/W_proj"] = ("CNN_proj/W_proj", (width, OUT))
    shapes["lm/CNN_proj/b_proj"] = ("CNN_proj/b_proj", (OUT,))
    for side in (0, 1):
        for i in range(LAYERS):
            theirs = f"lm/RNN_{side}/rnn/multi_rnn_cell/cell_{i}/lstm_cell"
            dumped = f"RNN_{side}/RNN/MultiRNNCell/Cell{i}/LSTMCell"
            shapes[f"{theirs}/kernel"] = (f"{dumped}/W_0", (2 * OUT, gates))
            shapes[f"{theirs}/bias"] = (f"{dumped}/B", (gates,))
            projection = f"{theirs}/projection/kernel"
            shapes[projection] = (f"{dumped}/W_P_0", (DIM, OUT))
    shapes["lm/softmax/W"] = (None, (len(WORDS), OUT))
    shapes["lm/softmax/b"] = (None, (len(WORDS),))
    draw = np.random.default_rng(3)
    arrays = {
        name: draw.normal(0, 0.3, shape).astype("float32")
        for name, (_, shape) in shapes.items()
    }
    return {name: dumped for name, (dumped, _) in shapes.items()}, arrays


def write_checkpoint(directory, arrays, number=7):
    """Writes a checkpoint as TensorFlow 1's saver does, and the file that names it."""
    state = {f"{name}/Adagrad": np.ones_like(array) for name, array in arrays.items()}
    state["global_step"] = np.array(number, "int64")
    state["train_perplexity"] = np.array(41.5, "float32")
    everything = {**arrays, **state}
    tf.raw_ops.SaveV2(
        prefix=str(directory / f"model.ckpt-{number}"),
        tensor_names=list(everything),
        shape_and_slices=[""] * len(everything),
        tensors=list(everything.values()),
    )
    path = f'model_checkpoint_path: "/elsewhere/model.ckpt-{number}"\n'
    (directory / "checkpoint").write_text(path)


def write_words(directory, words=WORDS, name="vocab-2016-09-10.txt"):
    """Writes a vocabulary file."""
    (directory / name).write_text("".join(f"{word}\n" for word in words), "utf-8")


@pytest.fixture
def training(tmp_path):
    """A directory of a training, without its vocabulary."""
    directory = tmp_path / "training"
    directory.mkdir()
    (directory / "options.json").write_text(json.dumps(OPTIONS))
    write_checkpoint(directory, make_arrays()[1])
    return directory


@pytest.fixture
def dumped(tmp_path):
    """The same weights as the published layout has them."""
    directory = tmp_path / "dumped"
    directory.mkdir()
    (directory / "options.json").write_text(json.dumps(OPTIONS))
    names, arrays = make_arrays()
    with h5py.File(directory / "weights.hdf5", "w") as file:
        for name, theirs in names.items():
            if theirs:
                file[theirs] = arrays[name]
    return directory


def test_it_reads_the_arrays_that_the_dump_holds(training, dumped):
    assert (recognise(training), recognise(dumped)) == ("tf1", "hdf5")
    ours, theirs = read(training), read(dumped)
    assert (ours.layout, ours.heads) == ("tf1", ("softmax",))
    assert (theirs.layout, theirs.heads) == ("hdf5", ())
    assert ours.config == theirs.config
    arrays = make_arrays()[1]
    heads = {"softmax/kernel": "lm/softmax/W", "softmax/bias": "lm/softmax/b"}
    for path, name in heads.items():
        np.testing.assert_array_equal(ours.weights.pop(path), arrays[name])
    assert ours.weights.keys() == theirs.weights.keys()
    for path, array in theirs.weights.items():
        np.testing.assert_array_equal(ours.weights[path], array, err_msg=path)


def test_it_computes_the_equations(training, dumped):
    elmo, x = zoo.from_preset(training), inputs_of(TEXTS)
    layers = elmo.with_outputs("layer_outputs")(x)["layer_outputs"].numpy()
    with h5py.File(dumped / "weights.hdf5") as file:
        for row, mask in zip(layers, x["padding_mask"].numpy(), strict=True):
            length = mask.sum()
            found = reference(file, OPTIONS, row[0, :length, :OUT])
            np.testing.assert_allclose(row[:, :length], found, atol=2e-6)


def test_a_preset_keeps_the_softmax_and_the_words(training, tmp_path):
    write_words(training)
    elmo = zoo.from_preset(training)
    assert elmo.tokenizer.vocabulary == tuple(WORDS)
    assert elmo.tokenizer.word_ids(["caf\u00e9", "dog"]).numpy().tolist() == [6, 2]
    elmo.save_to_preset(tmp_path / "copy")
    assert (tmp_path / "copy" / "vocabulary.txt").read_text("utf-8").split() == WORDS
    copy = zoo.from_preset(tmp_path / "copy")
    assert copy.tokenizer.get_config() == elmo.tokenizer.get_config()
    assert copy.spare_heads.keys() == {"softmax/kernel", "softmax/bias"}
    for path, array in elmo.spare_heads.items():
        np.testing.assert_array_equal(copy.spare_heads[path], array)
    ours, theirs = (m(inputs_of(TEXTS))["sequence_output"] for m in (copy, elmo))
    np.testing.assert_array_equal(ours, theirs)


def test_the_published_layout_is_without_the_softmax(training, dumped, tmp_path):
    write_words(training)
    elmo = zoo.from_preset(training)
    with pytest.warns(UserWarning, match="'hdf5' cannot hold softmax of this model"):
        elmo.save_to_preset(tmp_path / "copy", layout="hdf5")
    names = {path.name for path in (tmp_path / "copy").iterdir()}
    assert names == {"options.json", "weights.hdf5"}
    with (
        h5py.File(tmp_path / "copy" / "weights.hdf5") as ours,
        h5py.File(dumped / "weights.hdf5") as theirs,
    ):
        found = []
        for file in (ours, theirs):
            found.append([])
            file.visit(found[-1].append)
        assert found[0] == found[1]
        for name in found[0]:
            if isinstance(ours[name], h5py.Dataset):
                np.testing.assert_array_equal(ours[name], theirs[name])
    assert not zoo.from_preset(tmp_path / "copy").spare_heads


def test_another_task_takes_the_backbone_alone(training):
    write_words(training)
    task = zoo.from_preset(training, task="text_embedder")
    assert task.answer(TEXTS)["embedding"].shape == (3, 2 * OUT)


def change(**arrays):
    """Writes the checkpoint again with other arrays; None leaves one out."""

    def write(directory):
        found = {**make_arrays()[1], **arrays}
        found = {name: array for name, array in found.items() if array is not None}
        write_checkpoint(directory, found)

    return write


def options(section, **values):
    """Changes options.json."""

    def write(directory):
        found = json.loads((directory / "options.json").read_text())
        found[section].update(values)
        (directory / "options.json").write_text(json.dumps(found))

    return write


@pytest.mark.parametrize(
    "damage, error, message",
    [
        (options("lstm", n_layers=3), ValueError, "missing: .*RNN_0.*cell_2"),
        (options("lstm", n_layers=1), ValueError, "unused: .*RNN_1.*cell_1"),
        (options("lstm", dim=13), ValueError, "shape: 'forward_0/kernel'"),
        (options("char_cnn", n_characters=300), ValueError, "must be 262.*261"),
        (
            lambda d: write_words(d, WORDS[:-1]),
            ValueError,
            "softmax's 8 rows.* 7 words",
        ),
        (lambda d: write_words(d, [*WORDS, "a"]), ValueError, "8 rows.* 9 words"),
        (lambda d: write_words(d, WORDS[::-1]), ValueError, "must begin with <S>"),
        (lambda d: write_words(d, [*WORDS[1:], "cat"]), ValueError, "repeated tokens"),
    ],
)
def test_what_does_not_fit_is_refused(damage, error, message, training):
    damage(training)
    with pytest.raises(error, match=message):
        zoo.from_preset(training)


def test_a_directory_says_which_files_it_lacks(training, dumped):
    write_words(training)
    write_words(training, name="vocab.txt")
    with pytest.raises(ValueError, match="one vocabulary beside it.*vocab.txt"):
        zoo.from_preset(training)
    (dumped / "weights.hdf5").rename(training / "weights.hdf5")
    with pytest.raises(ValueError, match="one checkpoint. Received: hdf5, tf1"):
        zoo.from_preset(training)
    with pytest.raises(ValueError, match=r"one of \['hdf5', 'many_langs', 'tf1'\]"):
        read(training, "tf2")
    assert read(training, "hdf5").heads == ()
    (training / "vocab.txt").unlink()
    assert zoo.from_preset(training, layout="tf1").spare_heads
    with pytest.raises(ValueError, match="`layout` must be one that .* hdf5, tf1"):
        zoo.from_preset(training, layout="zoo")
    (training / "options.json").unlink()
    with pytest.raises(FileNotFoundError, match="need one options.json beside them"):
        read(training, "tf1")


@pytest.mark.slow
@pytest.mark.parametrize(
    "layout", ["tf1", pytest.param("hdf5", marks=pytest.mark.slow)]
)
def test_training_goes_on_and_is_written_back(layout, training, dumped, tmp_path):
    """From a training checkpoint with its softmax; from a dump with a new one."""
    keras.utils.set_random_seed(0)
    if layout == "tf1":
        write_words(training)
        model = zoo.from_preset(training, task="bidirectional_lm", num_samples=4)
        kernel = zoo.from_preset(training).spare_heads["softmax/kernel"]
        np.testing.assert_array_equal(model.get_layer("softmax").kernel, kernel)
    else:
        backbone = zoo.from_preset(dumped)
        tokenizer = CharacterTokenizer(12, WORDS)
        model = zoo.BidirectionalLM(backbone, tokenizer, num_samples=4)
    before = {v.path: v.numpy() for v in model.backbone.weights}
    model.compile(zoo.training.Adagrad(0.05, global_clipnorm=10.0))
    perplexity = [model.evaluate(TEXTS, return_dict=True, verbose=0)["perplexity"]]
    model.fit(TEXTS * 8, epochs=4, batch_size=4, verbose=0)
    perplexity += [model.evaluate(TEXTS, return_dict=True, verbose=0)["perplexity"]]
    assert perplexity[1] < 0.9 * perplexity[0]
    model.backbone.save_to_preset(tmp_path / "dump", layout="hdf5")
    again = zoo.from_preset(tmp_path / "dump")
    moved = 0
    for variable in model.backbone.weights:
        if "seed_generator" in variable.path:
            continue
        (found,) = [v for v in again.weights if v.path == variable.path]
        np.testing.assert_array_equal(found, variable)
        moved += (variable.numpy() != before[variable.path]).any()
    assert moved > 15


@pytest.mark.parametrize("fields", [{"mix_top_only": True}, {"mix_layer_norm": "bilm"}])
def test_the_published_layout_has_no_options_of_the_mix(tmp_path, fields):
    elmo = ELMo(ELMoConfig(**{**tiny.ELMO_CONFIG, **fields}))
    with pytest.raises(ValueError, match="no place for options of the mix"):
        elmo.save_to_preset(tmp_path / "a", layout="hdf5")
    elmo = ELMo(ELMoConfig(**tiny.ELMO_CONFIG))
    elmo.tokenizer = CharacterTokenizer(12, punctuation=True)
    with pytest.raises(ValueError, match="`punctuation` of the tokenizer"):
        elmo.save_to_preset(tmp_path / "a", layout="hdf5")
    assert not [*tmp_path.iterdir()]
