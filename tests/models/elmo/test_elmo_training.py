"""Training checkpoints of bilm-tf against the HDF5 file of the same arrays."""

import h5py
import keras
import numpy as np
import pytest
import tiny
from elmo_reference import check_layers, inputs_of
from foreign_files import assert_equal, draw_weights, save_tensorflow, write_json

import zoo
from zoo.checkpoint import open_checkpoint
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
    arrays = draw_weights({name: shape for name, (_, shape) in shapes.items()}, 3)
    return {name: dumped for name, (dumped, _) in shapes.items()}, arrays


def write_checkpoint(directory, arrays, number=7):
    """Writes a checkpoint as TensorFlow 1's saver does, and the file that names it."""
    state = {f"{name}/Adagrad": np.ones_like(array) for name, array in arrays.items()}
    state["global_step"] = np.array(number, "int64")
    state["train_perplexity"] = np.array(41.5, "float32")
    save_tensorflow(directory / f"model.ckpt-{number}", {**arrays, **state})
    path = f'model_checkpoint_path: "/elsewhere/model.ckpt-{number}"\n'
    (directory / "checkpoint").write_text(path)


def write_words(directory, name="vocab-2016-09-10.txt"):
    (directory / name).write_text("".join(f"{word}\n" for word in WORDS), "utf-8")


@pytest.fixture
def training(tmp_path):
    """A directory of a training, without its vocabulary."""
    directory = tmp_path / "training"
    write_json(directory / "options.json", **OPTIONS)
    write_checkpoint(directory, make_arrays()[1])
    return directory


@pytest.fixture
def dumped(tmp_path):
    """The same weights as the published layout has them."""
    directory = tmp_path / "dumped"
    write_json(directory / "options.json", **OPTIONS)
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
    heads = {path: arrays[name] for path, name in heads.items()}
    assert_equal(ours.weights, {**theirs.weights, **heads})


def test_it_computes_the_equations(training, dumped):
    check_layers(zoo.from_preset(training), TEXTS, dumped / "weights.hdf5", OPTIONS)


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
    assert_equal(copy.spare_heads, elmo.spare_heads)
    ours, theirs = (m(inputs_of(TEXTS))["sequence_output"] for m in (copy, elmo))
    np.testing.assert_array_equal(ours, theirs)


def test_the_published_layout_is_without_the_softmax(training, dumped, tmp_path):
    write_words(training)
    elmo = zoo.from_preset(training)
    with pytest.warns(UserWarning, match="'hdf5' cannot hold softmax of this model"):
        elmo.save_to_preset(tmp_path / "copy", layout="hdf5")
    names = {path.name for path in (tmp_path / "copy").iterdir()}
    assert names == {"options.json", "weights.hdf5"}
    paths = tmp_path / "copy" / "weights.hdf5", dumped / "weights.hdf5"
    assert_equal(*(dict(open_checkpoint(path)) for path in paths))
    assert not zoo.from_preset(tmp_path / "copy").spare_heads


def test_another_task_takes_the_backbone_alone(training):
    write_words(training)
    task = zoo.from_preset(training, task="text_embedder")
    assert task.answer(TEXTS)["embedding"].shape == (3, 2 * OUT)


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
@pytest.mark.parametrize("layout", ["tf1", "hdf5"])
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
    after, found = (
        {v.path: v.numpy() for v in m.weights if "seed_generator" not in v.path}
        for m in (model.backbone, again)
    )
    assert_equal(found, after)
    assert sum((array != before[path]).any() for path, array in after.items()) > 15


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
