"""Files that version 0.2.0 wrote give the same numbers; see `goldens/earlier_files`."""

import json

import earlier_files
import numpy as np
import pytest
from places import GOLDENS

GOLDEN = GOLDENS / "earlier_files"
CASES = json.loads((GOLDEN / "cases.json").read_text("utf-8"))["cases"]
INPUTS = earlier_files.read_inputs(GOLDEN)
LARGEST = 1_500_000  # bytes of all files together
# Shown by default; the others have the same classes.
SHOWN = """
bert_text_classifier bert_masked_lm_next_sentence bert_token_classifier_crf
bert_frozen_layers bert_mixed_bfloat16 elmo_text_classifier taglm_backbone
preset_bert_backbone_with_heads preset_bert_spare_heads preset_elmo_language_model
contract_text_classifier_gpt_delimiter contract_text_embedder_cove
contract_multiple_choice_bert contract_question_answerer_bert contract_parser
contract_text_classifier_ulmfit_concat_pooling
""".split()
ROWS = [pytest.param(n, marks=[pytest.mark.slow] * (n not in SHOWN)) for n in CASES]


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


def test_every_file_is_read_and_they_are_small():
    files = [path for path in GOLDEN.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < LARGEST
    read = {case["path"] for case in CASES.values()}
    own = {"cases.json", "expected.npz"}
    assert read | own == {path.relative_to(GOLDEN).parts[0] for path in files}
