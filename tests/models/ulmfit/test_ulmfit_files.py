"""Files of fastai 0.7, 1 and 2 and of awd-lstm-lm: read, written, and refused."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from foreign_files import ATOL
from places import GOLDENS
from ulmfit_golden import FILES, stored, write

import zoo
from zoo.checkpoint import open_state_dict, read_strings
from zoo.models.ulmfit import ULMFiT, recognise
from zoo.tasks import CausalLM, TextClassifier

MAKER = GOLDENS / "make_fastai_files.py"
OUTPUTS = dict(np.load(FILES / "outputs.npz"))
IDS = OUTPUTS["ids"]
RNG = np.random.default_rng(1)
CLOSE = {"atol": ATOL, "rtol": 0}


def renamed(arrays, *pairs):
    found = {}
    for name, array in arrays.items():
        for old, new in pairs:
            name = name.replace(old, new)
        found[name] = array
    return found


def as_version_1(arrays):
    """fastai 1 also stores a copy of the recurrent weights after dropout."""
    found = {}
    for name, array in arrays.items():
        found[name] = array
        if name.endswith("_raw"):
            copy = name.replace("weight_hh", "module.weight_hh").removesuffix("_raw")
            found[copy] = np.zeros_like(array)
    return found


def as_version_07(arrays):
    names = renamed(
        arrays,
        ("encoder_dp.emb", "encoder_with_dropout.embed"),
        ("weight_hh", "module.weight_hh"),
        ("0.module.encoder", "0.encoder"),
        ("0.module.rnns", "0.rnns"),
    )
    names.pop("1.decoder.bias", None)
    return names


def as_awd_lstm_lm(arrays):
    names = renamed(arrays, ("weight_hh", "module.weight_hh"), ("0.rnns", "rnns"))
    names = renamed(names, ("0.encoder.", "encoder."), ("1.decoder", "decoder"))
    return {k: v for k, v in names.items() if "encoder_dp" not in k}


def logits(model, ids=IDS):
    mask = np.ones_like(ids)
    return model({"token_ids": ids, "padding_mask": mask}).numpy()


@pytest.mark.usefixtures("eagerly")
def test_a_language_model_of_fastai_2():
    model = zoo.from_preset(FILES, file="lm.pth")
    assert isinstance(model, CausalLM) and model.new_heads == ()
    np.testing.assert_allclose(logits(model), OUTPUTS["logits"], **CLOSE)
    config = model.backbone.config
    assert (config.embedding_dim, config.lstm_dim, config.num_layers) == (6, 8, 3)
    assert config.pad_id == 1 and not config.reverse and config.weight_dropout == 0.2
    assert list(model.tokenizer.vocabulary) == read_strings(FILES / "itos.pkl")
    assert model.tokenizer.version == "v2"
    assert 1 < float(model.answer(["a good film"])["perplexity"][0]) < np.inf


def test_an_encoder_of_fastai_2():
    model = zoo.from_preset(FILES, file="encoder.pth")
    assert isinstance(model, ULMFiT)
    hidden = model(IDS)["sequence_output"]
    np.testing.assert_allclose(hidden, OUTPUTS["hidden"], **CLOSE)


def test_a_classifier_of_fastai_2():
    model = zoo.from_preset(FILES, file="classifier.pth")
    assert isinstance(model, TextClassifier) and model.labels == ("0", "1")
    assert model.new_heads == () and model.options["head"] == "concat_pooling"
    assert model.backbone.config.weight_dropout == 0.5
    scores = model({"token_ids": OUTPUTS["padded"]})
    np.testing.assert_allclose(scores, OUTPUTS["scores"], **CLOSE)


@pytest.mark.parametrize(
    ("convert", "layout", "name", "legacy"),
    [
        (as_version_1, "fastai", "lstm_wt103.pth", True),
        (as_version_07, "fastai", "fwd_wt103.h5", True),
        (as_version_07, "fastai", "fwd_wt103.h5", False),
        (as_awd_lstm_lm, "awd_lstm_lm", "model.pt", True),
    ],
)
def test_language_models_of_other_versions(convert, layout, name, legacy, tmp_path):
    arrays = convert(stored("lm"))
    write(tmp_path, arrays, name, legacy)
    assert recognise(tmp_path) == layout
    model = zoo.from_preset(tmp_path)
    expected = OUTPUTS["logits"]
    if model.backbone.config.output_bias:
        assert any(name.endswith("decoder.bias") for name in arrays)
    else:
        expected = expected - stored("lm")["1.decoder.bias"]
    np.testing.assert_allclose(logits(model), expected, **CLOSE)
    assert model.tokenizer is None


def test_awd_lstm_lm_has_no_padding(tmp_path):
    """Its id 1 is a word; without a mask, no token is skipped."""
    write(tmp_path, as_awd_lstm_lm(stored("lm")), "model.pt")
    backbone = zoo.from_preset(tmp_path).backbone
    assert backbone.config.pad_id is None
    ids = np.array([[3, 1, 4]])
    inputs = {"token_ids": ids, "padding_mask": np.ones_like(ids)}
    expected = backbone(inputs)["sequence_output"]
    np.testing.assert_array_equal(backbone(ids)["sequence_output"], expected)


def wide_classifier():
    """A classifier with the names of fastai 2, of which 60 numbers are pooled."""
    arrays = {"0.module.encoder.weight": RNG.normal(size=(9, 20))}
    for name, shape in (
        ("weight_hh_l0_raw", (80, 20)),
        ("module.weight_ih_l0", (80, 20)),
        ("module.bias_ih_l0", (80,)),
        ("module.bias_hh_l0", (80,)),
    ):
        arrays[f"0.module.rnns.0.{name}"] = RNG.normal(0, 0.3, shape)
    for number, (rows, units) in enumerate([(60, 50), (50, 2)]):
        module = f"1.layers.{number}."
        for name in ("weight", "bias", "running_mean", "running_var"):
            arrays[f"{module}0.{name}"] = RNG.uniform(0.5, 1.5, rows)
        arrays[f"{module}0.num_batches_tracked"] = np.array(3.0)
        arrays[f"{module}2.weight"] = RNG.normal(0, 0.3, (units, rows))
    return arrays


def compute_head(vectors, arrays, biases):
    """The scores of fastai 1 for pooled vectors, in NumPy."""
    for number, bias in enumerate(biases):
        norm = f"1.layers.{number}.0"
        scale = arrays[f"{norm}.weight"] / np.sqrt(arrays[f"{norm}.running_var"] + 1e-5)
        vectors = (vectors - arrays[f"{norm}.running_mean"]) * scale
        kernel = arrays[f"1.layers.{number}.2.weight"].T
        vectors = (vectors + arrays[f"{norm}.bias"]) @ kernel + bias
        vectors = vectors if number else np.maximum(vectors, 0)
    return vectors


@pytest.mark.parametrize("version", ["v1", "0.7"])
def test_classifiers_of_older_versions_have_biases(version, tmp_path):
    arrays = wide_classifier()
    biases = RNG.normal(0, 0.3, (50,)), RNG.normal(0, 0.3, (2,))
    places = {"0.0": "0", "0.2": "2", "1.0": "4", "1.2": "6"}
    older = as_version_1(arrays)
    if version == "0.7":
        places = {"0.0": "0.bn", "0.2": "0.lin", "1.0": "1.bn", "1.2": "1.lin"}
        older = as_version_07(arrays)
    older |= {f"1.layers.{i}.2.bias": bias for i, bias in enumerate(biases)}
    names = [(f"1.layers.{old}.", f"1.new.{new}.") for old, new in places.items()]
    older = renamed(older, *names, ("1.new.", "1.layers."))
    model = zoo.from_preset(write(tmp_path, older, "clas.pth"))
    vectors = RNG.normal(0, 1, (3, 60))
    found = vectors.astype("float32")
    for name in ("pooled_norm", "hidden", "hidden_norm", "classifier"):
        found = model.get_layer(name)(found)
    expected = compute_head(vectors, arrays, biases)
    np.testing.assert_allclose(found, expected, atol=5e-5)


@pytest.mark.parametrize("place", ["layers.0.linear.", "linear."])
def test_layers_of_qrnns(place, tmp_path):
    table = RNG.normal(size=(9, 4))
    arrays = {"0.encoder.weight": table, "1.decoder.weight": table}
    for i, (rows, units) in enumerate([(8, 5), (5, 4)]):
        module = f"0.rnns.{i}.{place}"
        raw = f"{module}weight_raw" if "0" in place else f"{module}module.weight_raw"
        arrays[raw] = RNG.normal(size=(3 * units, rows))
        arrays[f"{module}module.weight"] = np.zeros((3 * units, rows))
        arrays[f"{module}module.bias"] = RNG.normal(size=(3 * units,))
    model = zoo.from_preset(write(tmp_path, arrays))
    config = model.backbone.config
    assert config.cell == "qrnn" and (config.lstm_dim, config.num_layers) == (5, 2)
    assert not config.output_bias
    weights = {v.path: v.numpy() for v in model.backbone.weights}
    kernels = [array for name, array in arrays.items() if name.endswith("_raw")]
    biases = [array for name, array in arrays.items() if name.endswith("bias")]
    for i in range(2):
        for name, array in (("kernel", kernels[i].T), ("bias", biases[i])):
            found = weights[f"rnn_{i}/{name}"]
            np.testing.assert_array_equal(found, array.astype("float32"))
    with pytest.raises(ValueError, match="fastai 2 has no QRNN"):
        model.save_to_preset(tmp_path / "new", layout="fastai")


@pytest.mark.shown("lstm_BWD.pth")
@pytest.mark.parametrize("name", ["bwd_wt103.pth", "lstm_BWD.pth", "backward.pth"])
def test_backward_models_have_it_in_their_names(name, tmp_path):
    model = zoo.from_preset(write(tmp_path, stored("lm"), name))
    assert model.backbone.config.reverse
    found = logits(model, IDS[:, ::-1])[:, ::-1]
    np.testing.assert_allclose(found, OUTPUTS["logits"], **CLOSE)
    forward = zoo.from_preset(tmp_path, reverse=False)
    np.testing.assert_allclose(logits(forward), OUTPUTS["logits"], **CLOSE)


@pytest.mark.parametrize("name", ["lm", "encoder"])
def test_written_files_have_the_arrays_and_the_order_of_fastai(name, tmp_path):
    model = zoo.from_preset(FILES, file=f"{name}.pth")
    model.save_to_preset(tmp_path / "new", layout="fastai")
    path = tmp_path / "new" / f"{name}_fwd.pth"
    names = {path.name, f"{name}_fwd_itos.pkl"}
    assert {p.name for p in path.parent.iterdir()} == names
    theirs, new = stored(name), open_state_dict(path)
    assert [*new] == [*theirs]
    for key in theirs:
        assert new[key].shape == theirs[key].shape
        if "bias_" not in key:
            np.testing.assert_array_equal(new[key], theirs[key])
    tokens = pickle.loads((tmp_path / "new" / f"{name}_fwd_itos.pkl").read_bytes())
    assert tokens == read_strings(FILES / "itos.pkl")
    again = zoo.from_preset(tmp_path / "new")
    assert type(again) is type(model)
    for first, second in zip(model.get_weights(), again.get_weights(), strict=True):
        np.testing.assert_array_equal(first, second)
    model.save_to_preset(tmp_path / "other", layout="fastai")
    assert (tmp_path / "other" / path.name).read_bytes() == path.read_bytes()
    assert path.stat().st_size < (FILES / f"{name}.pth").stat().st_size


def test_fastai_loads_what_is_written(tmp_path):
    pytest.importorskip("fastai", reason="fastai and torch are needed")
    for name in ("lm", "encoder"):
        model = zoo.from_preset(FILES, file=f"{name}.pth")
        model.save_to_preset(tmp_path / name, layout="fastai")
        command = [sys.executable, str(MAKER), str(tmp_path / name)]
        run = subprocess.run(command, capture_output=True, text=True, check=True)
        assert float(run.stdout.split()[-1]) < 5e-6


def test_a_model_that_fastai_has_no_place_for_is_refused(tmp_path):
    model = zoo.from_preset(FILES, file="classifier.pth")
    with pytest.raises(ValueError, match="Pass `heads=\\(\\)`"):
        model.save_to_preset(tmp_path / "new", layout="fastai")
    model.save_to_preset(tmp_path / "new", layout="fastai", heads=())
    assert [p.name for p in (tmp_path / "new").glob("*.pth")] == ["encoder_fwd.pth"]
    with pytest.raises(FileExistsError):
        model.save_to_preset(tmp_path / "new", layout="fastai", heads=())
