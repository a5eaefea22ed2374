"""ELMoForManyLangs against its equations, from the files to the vectors."""

import numpy as np
import pytest
import tensorflow as tf
from foreign_files import assert_equal
from many_langs_reference import (
    CHARACTERS,
    OPTIONS,
    OUT,
    WORDS,
    make_options,
    make_states,
    reference,
    write_model,
)

import zoo
from zoo.models.elmo import read
from zoo.text import UnicodeSpeller

TEXTS = [
    "the cat .",
    "\u4e2d \u00e9t\u00e9 the\u4e2d z" + " " + "t" * 30,
    "<eos> <bow> <pad> cats ttttttttt \U0001f600",
]
WITHOUT_WORDS = make_options(word_dim=0)


@pytest.fixture
def published(tmp_path):
    write_model(tmp_path / "published")
    return tmp_path / "published"


def inputs_of(elmo, texts):
    words = elmo.tokenizer([f"<bos> {text} <eos>" for text in texts]).to_tensor("")
    return elmo.tokenizer.inputs(
        {"tokens": words, "padding_mask": tf.cast(words != "", tf.int32)}
    )


@pytest.mark.shown("False-options0", "True-options1")
@pytest.mark.parametrize("options", [make_options(), WITHOUT_WORDS])
@pytest.mark.parametrize("legacy", [False, True])
def test_it_computes_the_programs_equations(options, legacy, tmp_path):
    states = make_states(options)
    write_model(tmp_path / "published", options, legacy, states)
    elmo = zoo.from_preset(tmp_path / "published")
    model = elmo.with_outputs("layer_outputs", "sequence_output")
    for texts in (TEXTS, ["a cat", "the"]):  # long words, and only short ones
        x = inputs_of(elmo, texts)
        assert ("word_ids" in x) == bool(options["token_embedder"]["word_dim"])
        found = model(x)
        layers, mixed = (found[k].numpy() for k in ("layer_outputs", "sequence_output"))
        for row, mean, text in zip(layers, mixed, texts, strict=True):
            expected = reference(text.split(), states)
            length = expected.shape[1]
            assert np.abs(expected).max() > 0.4
            np.testing.assert_allclose(row[:, :length], expected, atol=2e-6)
            assert not row[:, length:].any()
            np.testing.assert_allclose(mean[:length], expected.mean(axis=0), atol=2e-6)


@pytest.mark.parametrize("name", ["cell_clip", "proj_clip"])
def test_the_bounds_are_reached(name, monkeypatch):
    """What the comparison above would not see if the states stayed small."""
    bounded = reference(TEXTS[1].split(), make_states())
    monkeypatch.setitem(OPTIONS["encoder"], name, 9.0)
    free = reference(TEXTS[1].split(), make_states())
    assert np.abs(free - bounded).max() > 1e-3


def test_the_tokenizer_is_that_of_the_files(published):
    """Arrays and outputs show the fields of the config."""
    found = read(published)
    assert found.layout == "many_langs" and found.heads == ()
    assert found.tokenizer == {
        "max_characters": 12,
        "characters": tuple(CHARACTERS),
        "vocabulary": tuple(WORDS),
    }


@pytest.mark.parametrize("legacy", [False, True])
def test_files_that_torch_writes_are_read(legacy, published):
    torch = pytest.importorskip("torch", reason="torch is in the extra `parity`")
    before = read(published).weights
    for name, arrays in zip(("token_embedder", "encoder"), make_states(), strict=True):
        state = {key: torch.tensor(array) for key, array in arrays.items()}
        torch.save(
            state, published / f"{name}.pkl", _use_new_zipfile_serialization=not legacy
        )
    assert_equal(read(published).weights, before)


@pytest.mark.shown("options0")
@pytest.mark.parametrize("options", [make_options(), WITHOUT_WORDS])
def test_presets_and_files_hold_the_model(options, tmp_path):
    write_model(tmp_path / "published", options)
    elmo = zoo.from_preset(tmp_path / "published")
    elmo.save_to_preset(tmp_path / "preset")
    elmo.save(tmp_path / "model.keras")
    x = inputs_of(elmo, TEXTS)
    expected = elmo(x)["sequence_output"]
    for copy in (
        zoo.from_preset(tmp_path / "preset"),
        zoo.load_model(tmp_path / "model.keras"),
    ):
        assert isinstance(copy.tokenizer, UnicodeSpeller)
        assert copy.tokenizer.get_config() == elmo.tokenizer.get_config()
        assert copy.config == elmo.config
        found = copy(inputs_of(copy, TEXTS))["sequence_output"]
        np.testing.assert_array_equal(found, expected)
    memory = elmo.stateful("sequence_output")
    np.testing.assert_array_equal(memory(x)["sequence_output"], expected)


@pytest.mark.slow
def test_tasks_train_and_serve_it(published, tmp_path):
    options = {"labels": ["bad", "good"], "seed": 1}
    task = zoo.from_preset(published, "text_classifier", **options)
    table = task.backbone.named_layers["word_embedding"].embeddings
    before = table.numpy()
    history = task.fit(TEXTS * 4, ["bad", "good", "bad"] * 4, epochs=2, verbose=0)
    assert np.isfinite(history.history["loss"]).all()
    changed = np.abs(table.numpy() - before).max(axis=1) > 0
    assert changed[WORDS["cat"]] and changed[WORDS["<bos>"]]
    version = task.export(tmp_path / "served")
    answers = zoo.serving.ask(version, {"text": np.array(TEXTS, object)})
    expected = task.answer(TEXTS)
    np.testing.assert_allclose(answers["scores"], expected["scores"], atol=1e-5)


def test_without_word_ids_it_says_so(published):
    elmo = zoo.from_preset(published)
    x = inputs_of(elmo, TEXTS)
    with pytest.raises(ValueError, match="needs `word_ids`.*`inputs` of its tokenizer"):
        elmo({"character_ids": x["character_ids"]})
    del x["padding_mask"]
    assert elmo(x)["sequence_output"].shape == (3, 8, 2 * OUT)


def test_the_published_layout_of_bytes_does_not_hold_it(published, tmp_path):
    for options, count in ((None, 10), (WITHOUT_WORDS, 0)):
        if options:
            published = tmp_path / "other"
            write_model(published, options)
        elmo = zoo.from_preset(published)
        with pytest.raises(ValueError, match=f"18 characters and {count} words"):
            elmo.save_to_preset(tmp_path / "copy", layout="hdf5")
