"""Files that version 0.1.0 wrote give the same numbers; see `goldens/earlier_files`."""

import contextlib
import json
import pathlib
import zipfile

import earlier_files
import numpy as np
import pytest

from zoo.registry.former_files import with_present_names

GOLDEN = pathlib.Path(__file__).parent / "goldens" / "earlier_files"
CASES = json.loads((GOLDEN / "cases.json").read_text("utf-8"))["cases"]
INPUTS = earlier_files.read_inputs(GOLDEN)
LARGEST = 1_000_000  # bytes of all files together
# Others have the same classes.
SLOW = """
bert_text_regressor bert_text_embedder bert_masked_lm_causal bert_token_classifier
bert_backbone elmo_token_classifier elmo_backbone elmo_words_text_embedder
taglm_text_classifier preset_bert_text_embedder_float16
preset_bert_saved_again preset_elmo_words_backbone preset_bert_text_classifier
taglm_trainable_models elmo_frozen_layer preset_taglm_token_classifier
elmo_language_model bert_masked_lm taglm_token_classifier
bert_text_classifier elmo_language_model_rows
""".split()
ROWS = [pytest.param(n, marks=[pytest.mark.slow] * (n in SLOW)) for n in CASES]


@pytest.fixture(scope="module")
def expected():
    """Dict of name, and key of a measurement, to array."""
    with np.load(GOLDEN / "expected.npz") as arrays:
        return dict(arrays)


@pytest.mark.filterwarnings("ignore:Even though the `tf.config")
@pytest.mark.parametrize("name", ROWS)
def test_an_earlier_file_gives_the_same_numbers(name, expected):
    case = CASES[name]
    model = earlier_files.load(GOLDEN, case)
    found = earlier_files.measure(model, case["asks"], INPUTS)
    wanted = {
        key.removeprefix(f"{name}/"): value
        for key, value in expected.items()
        if key.startswith(f"{name}/")
    }
    # A file of an uncompiled task gives a compiled one.
    new = {key for key in found if key.startswith("optimizer_")}
    assert wanted.keys() <= found.keys() <= wanted.keys() | new
    for key, value in wanted.items():
        earlier_files.compare(
            found[key], value, key, case.get("atol", earlier_files.ATOL)
        )


@pytest.mark.parametrize(
    "config, searched",
    [({"vocabulary": ["parts"]}, False), ({"config": {"parts": {"lm": {}}}}, True)],
)
def test_only_files_with_parts_are_searched(config, searched, tmp_path):
    """A search of the weights takes long; `parts` is also a word of a vocabulary."""
    path = tmp_path / "model.keras"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("config.json", json.dumps(config))
        archive.writestr("model.weights.h5", "no weights")
    reading = pytest.raises(OSError) if searched else contextlib.nullcontext()
    with reading, with_present_names(path) as present:
        assert present == path


def test_every_file_is_read_and_they_are_small():
    files = [path for path in GOLDEN.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < LARGEST
    read = {case["path"] for case in CASES.values()}
    own = {"cases.json", "expected.npz"}
    assert read | own == {path.relative_to(GOLDEN).parts[0] for path in files}
