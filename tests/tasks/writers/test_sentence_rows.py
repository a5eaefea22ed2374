"""Translators that split texts into sentences, and know how long these may be."""

import itertools
import warnings

import numpy as np
import pytest
import tensorflow as tf
from tiny_cove import make_cove_translator
from tiny_translator import make_translator

import zoo
from zoo.serving import ask
from zoo.tasks.inputs.text_batches import token_lengths
from zoo.tasks.writers.sentence_rows import SentenceRows, write_in_parts

SENTENCES = ["The film was good.", "A", "Superb and not boring!", "So fine?"]
TEXTS = [" ".join(SENTENCES[:2]), "", "\n".join(SENTENCES[2:]), SENTENCES[0], " \n "]
OWNERS = [0, 0, 1, 2, 2, 3, 4]
GAPS = [" ", "", "", "\n", "", "", ""]
ALL = [*SENTENCES[:2], "", *SENTENCES[2:], SENTENCES[0], ""]
SPLIT = {"split_sentences": True}
WAYS = {
    "greedy": {},
    "beams": {"num_beams": 3, "num_return": 2},
    "samples": {"temperature": 1.0, "num_return": 2, "seed": 3},
}


@pytest.fixture(scope="module")
def translator():
    generation = {"extra_tokens": 4, "num_beams": 3, **SPLIT}
    return make_translator(generation=generation)


@pytest.mark.shown("beams")
@pytest.mark.parametrize("way", WAYS)
def test_a_text_has_the_translations_of_its_sentences(translator, way):
    options = {**WAYS[way], "return_scores": True}
    if way == "greedy":
        options["num_beams"] = 1
    parts, gains = translator.translate(ALL, split_sentences=False, **options)
    if way == "samples":  # the same text twice has another sample
        (parts[5],), (gains[5],) = translator.translate([SENTENCES[0]], **options)
    texts, scores = translator.translate(TEXTS, **options)
    several = "num_return" in options
    for row, text in enumerate(texts):
        for number in range(options["num_return"] if several else 1):
            chosen = [i for i, owner in enumerate(OWNERS) if owner == row]
            pick = [parts[i][number] if several else parts[i] for i in chosen]
            expected = "".join(p + GAPS[i] for p, i in zip(pick, chosen, strict=True))
            assert (text[number] if several else text) == expected
            gain = sum(gains[i][number] if several else gains[i] for i in chosen)
            score = scores[row][number] if several else scores[row]
            np.testing.assert_allclose(score, gain, rtol=1e-4, atol=1e-6)
    assert texts[1] == texts[4] == (["", ""] if several else "")
    small = translator.translate(TEXTS, batch_size=1, **options)
    assert small[0] == texts


def test_answers_are_the_translations(translator):
    check_answers(translator, translator.answer(TEXTS))
    assert translator.answer([])["translation"].shape == (0,)


@pytest.mark.slow
@pytest.mark.parametrize("make", [make_translator, make_cove_translator])
def test_an_export_answers_the_translations(make, tmp_path):
    translator = make(generation={"extra_tokens": 4, "num_beams": 3, **SPLIT})
    version = translator.export(tmp_path / "model")
    check_answers(translator, ask(version, {"source": np.array(TEXTS, object)}))
    (answer,) = ask(version, {"source": np.array(["A b. " * 200], object)})[
        "translation"
    ]
    assert answer == translator.translate(["A b. " * 200])[0]
    failed = [found for found in zoo.serving.diagnose(version) if not found.passed]
    assert not failed, zoo.serving.format_findings(failed)


def check_answers(translator, found):
    """Checks that the answers to the texts are their translations."""
    texts, scores = translator.translate(TEXTS, return_scores=True)
    assert found["translation"].tolist() == texts
    np.testing.assert_allclose(found["score"], scores, rtol=1e-4)
    assert texts != translator.translate(TEXTS, split_sentences=False)


@pytest.mark.slow
def test_samples_of_an_export_are_those_of_a_text_alone(tmp_path):
    sampled = make_translator(generation={"temperature": 1.0, "seed": 3, **SPLIT})
    texts = [*TEXTS, "A b. A b. A b."]
    expected = [sampled.translate([text])[0] for text in texts]
    assert sampled.answer(texts)["translation"].tolist() == expected


def test_a_stream_grows_sentence_after_sentence(translator):
    parts = list(translator.translate(TEXTS, stream=True))
    assert parts[-1] == translator.translate(TEXTS, num_beams=1)
    assert parts[0][0] != parts[-1][0]
    for before, after in itertools.pairwise(parts):
        for old, new in zip(before, after, strict=True):
            assert new.startswith(old.rstrip("\ufffd \u2047")) or "\ufffd" in old
    assert list(translator.translate([], stream=True)) == []


@pytest.mark.usefixtures("eagerly")
def test_the_option_is_stored_and_a_call_may_change_it(translator, tmp_path):
    translator.save_to_preset(tmp_path / "preset")
    loaded = zoo.from_preset(tmp_path / "preset")
    assert loaded.options["generation"] == translator.options["generation"]
    assert loaded.translate(TEXTS) == translator.translate(TEXTS)
    whole = make_translator(generation={"extra_tokens": 4})
    assert "split_sentences" not in whole.options["generation"]
    options = {"split_sentences": False, "num_beams": 1}
    assert whole.translate(TEXTS) == translator.translate(TEXTS, **options)


def test_a_default_of_beams_allows_samples_and_streams(translator):
    assert translator.writer.generation_options().num_beams == 3
    for name in ("temperature", "top_p", "top_k"):
        assert translator.writer.generation_options(**{name: 1}).num_beams == 1
    with pytest.raises(ValueError, match="cannot be combined"):
        translator.translate(TEXTS, temperature=1.0, num_beams=3)
    with pytest.raises(ValueError, match="there is one output for each text"):
        translator.translate(TEXTS, stream=True, num_beams=3)


@pytest.mark.parametrize("value", [None, 1, "yes", np.nan])
def test_wrong_values(translator, value):
    with pytest.raises(ValueError, match="`split_sentences` must be"):
        translator.translate(TEXTS, split_sentences=value)


def test_a_sentence_that_is_longer_than_the_training_is_a_warning(tmp_path):
    text, shorter = "superb good film", "A good film. A film"
    (length,) = token_lengths(make_translator(scale=0), [tf.constant([text])])
    longest = int(length) - 1
    model = make_translator(generation=SPLIT, longest_source=longest, scale=0)
    model.save_to_preset(tmp_path / "preset")
    assert zoo.from_preset(tmp_path / "preset").options["longest_source"] == longest
    message = f"1 of 3 sentences are longer than {longest} tokens"
    options = {"max_new_tokens": 1}
    for call in (model.answer, lambda x: model.translate(x, **options)) * 2:
        with pytest.warns(UserWarning, match=message) as found:
            call([shorter, text])
        assert len(found) == 1
    with pytest.warns(UserWarning, match="1 of 1 sentences are longer"):
        model.translate([shorter], split_sentences=False, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.translate([shorter, ""], **options)
        make_translator(scale=0).translate([text], **options)
    with pytest.raises(ValueError, match="`longest_source` must be"):
        make_translator(longest_source=0)


def test_parts_of_any_number_of_rows():
    def write(texts):
        assert texts.shape.rank == 1
        return texts + "!", tf.cast(tf.strings.length(texts), tf.float32)

    written = tf.function(lambda texts: write_in_parts(write, texts, 3))
    for count in (0, 1, 3, 7):
        texts = ["x" * ((5 * n) % 7) for n in range(count)]
        found, scores = written(tf.constant(texts, tf.string, [count]))
        assert [text.decode() for text in found.numpy()] == [t + "!" for t in texts]
        assert scores.numpy().tolist() == [len(text) for text in texts]


def test_columns_are_the_sentences_in_their_order():
    rows = SentenceRows.of_texts(tf.constant(TEXTS), True)
    assert [column.tolist() for column in rows.columns()] == [[0, 2, 3, 5, 6], [1, 4]]
    assert rows.repeats(tf.constant(["a", "b", "a", "a", "b"])).tolist() == [
        *(0, 0, 0, 1, 1, 2, 1)
    ]
