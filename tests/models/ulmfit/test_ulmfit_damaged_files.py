"""Files of ULMFiT that are damaged, malicious or do not fit."""

import pickle
import shutil

import numpy as np
import pytest
from torch_pickles import Touch, dump, write_state, write_zip
from ulmfit_golden import FILES, stored, write

import zoo
from zoo.checkpoint import read_strings
from zoo.models.ulmfit import recognise
from zoo.models.ulmfit.torch_names import common_names

RNG = np.random.default_rng(1)
ROWS = len(read_strings(FILES / "itos.pkl"))


def test_an_export_of_a_learner_is_refused_and_not_executed(tmp_path):
    mark = tmp_path / "mark"
    (tmp_path / "export.pkl").write_bytes(pickle.dumps(Touch(mark)))
    with pytest.raises(ValueError, match=r"export\.pkl.*holds code that Python runs"):
        zoo.from_preset(tmp_path)
    assert not mark.exists()


def test_tokens_decide_about_the_version(tmp_path):
    arrays = stored("lm")
    rest = [f"w{i}" for i in range(ROWS)]
    specials = ["xxpad", "xxunk", "xxbos", "xxeos", "xxfld"]
    marks = ["xxmaj", "xxup", "xxrep", "xxwrep"]
    old = ["_unk_", "_pad_", "\n", "xbos", "xfld", "1"]
    for first, version, pad in (
        ([*specials, *marks], "v1", 0),
        ([*specials, *reversed(marks)], "v2", 0),
        (old, "0.7", 1),
    ):
        write(tmp_path, arrays, tokens=[*first, *rest][:ROWS])
        model = zoo.from_preset(tmp_path)
        assert model.tokenizer.version == version
        assert model.tokenizer.pad_id == model.backbone.config.pad_id == pad


def test_tokens_that_do_not_fit_are_refused(tmp_path):
    arrays = stored("lm")
    specials = ["xxunk", "xxpad", "xxbos"]
    words = [f"w{i}" for i in range(ROWS)]
    for tokens, message in (
        (words, "without xxunk, xxpad, xxbos"),
        ([*specials, *words], f"{ROWS + 3} tokens, {ROWS} rows"),
        ([*specials, 1], "a pickled list of str"),
        ({"a": 1}, "a pickled list of str"),
    ):
        write(tmp_path, arrays, tokens=tokens)
        with pytest.raises(ValueError, match=message):
            zoo.from_preset(tmp_path)
    (tmp_path / "vocab.pkl").write_bytes(b"")
    with pytest.raises(ValueError, match="one list of tokens.*itos.pkl, vocab.pkl"):
        zoo.from_preset(tmp_path)
    pieces = [*specials, *("▁" + word for word in words)][:ROWS]
    (tmp_path / "vocab.pkl").unlink()
    write(tmp_path, arrays, tokens=pieces)
    with pytest.warns(UserWarning, match="pieces of SentencePiece"):
        assert zoo.from_preset(tmp_path).tokenizer is None


@pytest.mark.parametrize(
    ("name", "shape", "message"),
    [
        ("0.encoder.weight", None, "must hold an AWD-LSTM: encoder.weight"),
        ("0.rnns.1.module.bias_hh_l0", None, "missing: 'rnns.1.bias_l0'"),
        ("0.rnns.0.weight_hh_l0_raw", None, "layers of LSTM or QRNN"),
        ("1.decoder.weight", (ROWS, 6), "'decoder.weight' must equal"),
        ("0.rnns.0.module.bias_hh_l0_reverse", (2,), "in one direction"),
        ("module.0.encoder.weight", (2,), "every weight once"),
    ],
)
def test_state_dicts_that_do_not_fit_are_refused(name, shape, message, tmp_path):
    """An array is left out if it has no shape, or is added."""
    arrays = dict(stored("lm"))
    arrays.pop(name, None)
    if shape:
        arrays[name] = RNG.normal(size=shape)
    with pytest.raises(ValueError, match=message):
        zoo.from_preset(write(tmp_path, arrays))


def test_files_of_other_kinds_are_no_models(tmp_path):
    shutil.copy(FILES / "itos.pkl", tmp_path)
    assert recognise(tmp_path) is None
    write_state(tmp_path / "model.pt", {"a": np.zeros(2)})
    (tmp_path / "model.h5").write_bytes(b"\x89HDF\r\n\x1a\n")
    # As Hugging Face's `Trainer` stores the states of random generators.
    write_zip(tmp_path / "rng_state.pth", dump({"python": (3, 1)}), {})
    assert recognise(tmp_path) is None


def test_a_hidden_bias_without_a_place_is_refused():
    arrays = {f"1.layers.{i}.running_mean": np.zeros(2) for i in (0, 2)}
    arrays |= {"1.layers.0.bias": np.zeros(2), "1.layers.1.weight": np.zeros((2, 2))}
    arrays |= {"1.layers.1.bias": np.ones(2), "1.layers.3.weight": np.ones((2, 2))}
    with pytest.raises(ValueError, match="linearly dependent"):
        common_names(arrays, "`file`")
