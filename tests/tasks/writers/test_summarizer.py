"""The summarizer: what differs from a translator."""

import pytest
import tiny
from tiny_translator import make_translator

import zoo

TEXTS = ["the film was good", "superb and not boring at all , so fine !", ""]


@pytest.fixture(scope="module")
def summarizer():
    other = make_translator()
    generation = {"num_beams": 2}
    return zoo.Summarizer(other.backbone, other.tokenizer, generation=generation)


@pytest.mark.slow
def test_summaries_are_what_a_translator_writes(summarizer):
    options = {"max_new_tokens": 9, "return_scores": True}
    other = zoo.Translator(summarizer.backbone, summarizer.tokenizer)
    for mine, its in zip(summarizer.head.weights, other.head.weights, strict=True):
        its.assign(mine)
    expected = other.translate(TEXTS, num_beams=2, extra_tokens=40, **options)
    assert summarizer.summarize(TEXTS, **options) == expected
    *_, last = summarizer.summarize(TEXTS, stream=True, num_beams=1)
    assert last == summarizer.summarize(TEXTS, num_beams=1)


def test_the_length_does_not_depend_on_the_text(summarizer):
    options = summarizer.writer.generation_options()
    assert options.extra_tokens is None
    assert options.max_new_tokens == summarizer.backbone.config.max_sequence_length
    with pytest.raises(TypeError, match="Use `summarize` or `answer`"):
        summarizer.predict(TEXTS)


@pytest.mark.slow
def test_files_keep_the_summarizer(summarizer, tmp_path):
    expected = summarizer.summarize(TEXTS)
    summarizer.save_to_preset(tmp_path / "preset")
    loaded = zoo.from_preset(tmp_path / "preset")
    assert type(loaded) is zoo.Summarizer and loaded.summarize(TEXTS) == expected
    assert loaded.answer({"text": TEXTS})["summary"].tolist() == expected


@pytest.mark.slow
def test_it_is_trained_and_measured():
    other = make_translator(scale=None)
    model = zoo.Summarizer(other.backbone, other.tokenizer)
    texts, summaries = tiny.make_pairs(40, longest=4)
    history = model.fit(texts, summaries, epochs=2, verbose=0).history
    assert history["loss"][1] < history["loss"][0]
    scores = model.files.measure(model, texts[:6], summaries[:6])
    assert {"loss", "accuracy", "bleu", "chrf"} <= scores.keys()
