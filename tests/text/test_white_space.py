"""One definition of white space, that of Python's `str`, in texts, labels and answers.

Rules of an original, such as fastai's or GPT's, are tested with its tokenizer.
"""

import pathlib
import re
import sys

import numpy as np
import pytest
import tensorflow as tf
import tiny

import zoo
from zoo.registry import build_backbone
from zoo.tasks.questions.answer_spans import best_answers
from zoo.text import (
    FastaiTokenizer,
    WordTokenizer,
    count_words,
    split_words,
    train_fastai_vocabulary,
)
from zoo.text.white_space import SPACES, is_blank, strip

OTHERS = "\u200b\u00ad\u2060\ufeff\u180e_\x00"
TEXTS = [f"{space}a{space}b {space}" for space in SPACES] + [f"a{o}b" for o in OTHERS]


def words(ragged):
    return [[word.decode() for word in row] for row in ragged.to_list()]


def test_the_definition_is_that_of_python():
    everything = map(chr, range(sys.maxunicode + 1))
    assert list(SPACES) == [c for c in everything if c.isspace()] and len(SPACES) == 29


@pytest.mark.parametrize("mapped", [False, True])
def test_graphs_split_and_strip_as_python(mapped):
    def graph(texts):
        return split_words(texts)[0], strip(texts), is_blank(texts)

    texts = tf.constant(TEXTS)
    if mapped:
        ((split, stripped, blank),) = tf.data.Dataset.from_tensors(texts).map(graph)
    else:
        split, stripped, blank = graph(texts)
    assert words(split) == [text.split() for text in TEXTS]
    assert [text.decode() for text in stripped.numpy()] == [t.strip() for t in TEXTS]
    assert not blank.numpy().any()
    blank = is_blank(tf.constant([["", *SPACES, SPACES, *OTHERS]]))[0].numpy().tolist()
    assert blank == [True] * (len(SPACES) + 2) + [False] * len(OTHERS)


def test_tokenizers_of_words_split_as_python():
    found = count_words(TEXTS, 1)
    assert sorted(found) == sorted({word for text in TEXTS for word in text.split()})
    ids = WordTokenizer(["a", "b"])(TEXTS[: len(SPACES)])
    assert (ids.to_tensor() == ids[0]).numpy().all() and ids.shape[0] == len(SPACES)


@pytest.mark.parametrize("dataset", [False, True])
def test_labels_of_words_are_split_as_texts(make_task, dataset):
    task = make_task("token_classifier", labels=tiny.TAGS)
    texts = [f"a{space}film" for space in SPACES]
    labels = [f"O{space}B-GOOD{space}" for space in SPACES]
    plain = np.array(["O B-GOOD"] * len(texts), object)
    expected = task.evaluate(texts, plain, verbose=0)
    data = (texts, np.array(labels, object))
    if dataset:
        data = [tf.data.Dataset.from_tensor_slices((texts, labels)).batch(8)]
    found = task.evaluate(*data, verbose=0)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert task.answer(texts)["words"].tolist() == [["a", "film"]] * len(texts)


@pytest.mark.parametrize("space", SPACES)
def test_white_space_is_no_answer(space):
    size = len(space.encode())
    spans = {"scores": [[5.0, 4.0]], "begins": [[1, 0]], "ends": [[1 + size, 1]]}
    spans = {name: tf.constant(value) for name, value in spans.items()}
    spans["null"] = tf.constant([0.0])
    context = tf.constant([f"a{space}b"])
    found = best_answers(spans, tf.constant([1]), context, 2)
    assert found["texts"].numpy().tolist() == [[b"a", b""]]


def test_a_text_after_white_space_begins_without_a_space():
    learned = train_fastai_vocabulary(tiny.make_texts(40)[0], minimum_count=1)
    tokens = learned[: tiny.ULMFIT_CONFIG["vocabulary_size"]]
    backbone = build_backbone("ulmfit", {**tiny.ULMFIT_CONFIG, "pad_id": 1})
    task = zoo.CausalLM(backbone, FastaiTokenizer(tokens))
    others = {*range(len(tokens))} - {tokens.index("film"), tokens.index("good")}
    options = {"max_new_tokens": 2, "suppressed": others}
    found = task.generate([f"a{space}" for space in SPACES], **options)
    for row, space in zip(found, SPACES, strict=True):
        assert row[:2] == f"a{space}" and row[2:].split(" ")[0] in ("good", "film")


def test_graphs_of_tasks_have_no_other_definition():
    """In `text/`, rules of originals may have their own."""
    root = pathlib.Path(zoo.__file__).parent
    other = re.compile(r"tf\.strings\.(strip|split)\(|regex_[a-z_]+\([^)]*\\s", re.S)
    for path in root.rglob("*.py"):
        if "text" not in path.relative_to(root).parts:
            assert not other.search(path.read_text("utf-8")), path
