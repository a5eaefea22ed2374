"""The answers that scores of tokens give, against the released code and literals."""

import collections
import json

import numpy as np
import pytest
import tensorflow as tf
import tiny

from zoo.data import Answer, Question, QuestionPacker, write_squad
from zoo.tasks.questions.answer_spans import best_answers, best_spans, token_places
from zoo.tasks.questions.true_answers import answer_list
from zoo.text import WordPieceTokenizer

LENGTH, STRIDE = 24, 5
RawResult = collections.namedtuple("RawResult", "unique_id start_logits end_logits")
OPTIONS = {"stride": STRIDE, "question_length": 6}


@pytest.fixture(scope="module")
def packer():
    return QuestionPacker(WordPieceTokenizer(tiny.VOCABULARY), LENGTH, **OPTIONS)


@pytest.fixture
def released(tmp_path):
    """Function of questions, contexts and answers: examples and features of Google."""
    library = pytest.importorskip("official.nlp.data.squad_lib")
    tokenization = pytest.importorskip("official.nlp.tools.tokenization")
    (tmp_path / "vocab.txt").write_text("\n".join(tiny.VOCABULARY))
    tokenizer = tokenization.FullTokenizer(str(tmp_path / "vocab.txt"))

    def convert(rows, training):
        questions = [
            Question(str(i), question, context, (Answer(text, begin),) if text else ())
            for i, (question, context, text, begin) in enumerate(rows)
        ]
        path = tmp_path / "squad.json"
        write_squad(path, questions)
        examples = library.read_squad_examples(str(path), training, True)
        features = []
        library.convert_examples_to_features(
            examples=examples,
            tokenizer=tokenizer,
            max_seq_length=LENGTH,
            doc_stride=STRIDE,
            max_query_length=6,
            is_training=training,
            batch_size=1,
            output_fn=lambda feature, is_padding=False: features.append(feature),
        )
        return examples, features

    return convert


def draw_rows(count=12):
    """Questions, contexts, and answers of some words; every third has none."""
    contexts, _ = tiny.make_texts(count, seed=3, longest=90)
    questions, _ = tiny.make_texts(count, seed=4, longest=9)
    rows = []
    for i, (question, context) in enumerate(zip(questions, contexts, strict=True)):
        words = context.split()
        first = (7 * i) % len(words)
        text = " ".join(words[first : first + i % 4 + 1]) if i % 3 else ""
        begin = len(" ".join(words[:first])) + (first > 0)
        rows.append((question, context, text, begin))
    return rows


@pytest.mark.slow
def test_rows_are_those_of_the_released_code(packer, released):
    drawn = draw_rows()
    _, features = released(drawn, True)
    questions, contexts, texts, begins = zip(*drawn, strict=True)
    rows, _ = packer.pack((tf.constant(questions), tf.constant(contexts)))
    dense = packer.dense(rows, LENGTH)
    places = [
        (b, b + len(t)) if t else (-1, -1) for b, t in zip(begins, texts, strict=True)
    ]
    targets = token_places(
        rows, rows["windows"], tf.constant(contexts), tf.constant(places)
    )
    assert len(features) == len(targets) > 30
    answered = 0
    for row, feature in enumerate(features):
        assert dense["token_ids"][row].numpy().tolist() == feature.input_ids
        assert dense["segment_ids"][row].numpy().tolist() == feature.segment_ids
        best = [0] * LENGTH
        for place, whether in feature.token_is_max_context.items():
            best[place] = int(whether)
        assert dense["widest"][row].numpy().tolist() == best
        theirs = [feature.start_position, feature.end_position]
        assert targets[row].numpy().tolist() == theirs
        answered += theirs != [0, 0]
    assert answered > 5


@pytest.mark.slow
@pytest.mark.parametrize("threshold", [None, -12.0, -16.0])
def test_answers_are_those_of_the_released_code(packer, released, threshold):
    library = pytest.importorskip("official.nlp.data.squad_lib")

    drawn = draw_rows()
    examples, features = released(drawn, False)
    logits = np.random.default_rng(0).normal(0, 3, (len(features), 2, LENGTH))
    logits = logits.astype("float32")
    results = [
        RawResult(f.unique_id, *own.tolist())
        for f, own in zip(features, logits, strict=True)
    ]
    options = LENGTH, 5, True, threshold is not None, threshold or 0
    expected, best, odds = library.postprocess_output(
        examples, features, results, *options
    )
    questions, contexts, *_ = zip(*drawn, strict=True)
    contexts = tf.constant(contexts)
    rows, _ = packer.pack((tf.constant(questions), contexts))
    spans = best_spans(tf.constant(logits), packer.dense(rows, LENGTH), LENGTH, 5)
    found = best_answers(spans, rows["windows"], contexts, LENGTH, threshold)
    empty = 0
    for i, (question_id, text) in enumerate(expected.items()):
        assert found["text"][i].numpy().decode() == text
        empty += text == ""
        theirs = {entry["text"]: entry["probability"] for entry in best[question_id]}
        if threshold is not None:
            theirs.pop("", None)
            assert float(found["null_odds"][i]) == pytest.approx(
                odds[question_id], abs=1e-4
            )
        texts = [t.decode() for t in found["texts"][i].numpy() if t]
        assert texts[: len(theirs)] == [*theirs]
        shares = found["scores"][i].numpy()[: len(theirs)]
        np.testing.assert_allclose(shares, [*theirs.values()], atol=1e-3)
    assert empty == 0 if threshold is None else 0 < empty < len(drawn)


def test_white_space_is_no_answer():
    spans = {
        "scores": tf.constant([[5.0, 4.0, 3.0, 2.0]]),
        "begins": tf.constant([[1, 0, 1, 2]]),
        "ends": tf.constant([[2, 1, 3, 4]]),
        "null": tf.constant([0.0]),
    }
    windows, contexts = tf.constant([1]), tf.constant(["a \n b"])
    found = best_answers(spans, windows, contexts, 3)
    assert found["texts"].numpy().tolist() == [[b"a", b"", b""]]
    assert found["score"].numpy().tolist() == [1.0]
    assert found["null_odds"].numpy().tolist() == [-4.0]


def test_a_place_and_a_threshold_are_numbers(make_task):
    with pytest.raises(ValueError, match="Received: .*film.* in row 3"):
        answer_list([("film", 4.5)], 3)
    with pytest.raises(ValueError, match="`null_threshold` must be a number"):
        make_task("question_answerer", null_threshold=float("nan"))
    columns = tf.constant(["how"]), tf.constant(["a good film"])
    answers = np.empty(1, object)
    task = make_task("question_answerer")
    for answers[0], expected in ([("good", 2)], [2, 6]), ([], [-1, -1]):
        assert task.encode_labels(answers, columns).tolist() == [expected]
    answers[0] = [("good", 3)]
    with pytest.raises(ValueError, match="'good' at 3 of row 0"):
        task.encode_labels(answers, columns)
    model = make_task("question_answerer", null_threshold=np.float32(2.5))
    assert json.dumps(model.options["null_threshold"]) == "2.5"


def test_work_grows_with_the_answers_that_exist(packer):
    contexts = tf.constant(["a b c", "a a a a film"])
    rows, _ = packer.pack((tf.constant(["film", "good"]), contexts))
    x, windows = packer.dense(rows), rows["windows"]
    size = x["begins"].shape
    logits = np.random.default_rng(2).normal(size=(size[0], 2, size[1]))
    logits = tf.constant(logits, tf.float32)

    def answers(count):
        spans = best_spans(logits, x, count, 30)
        return best_answers(spans, windows, contexts, count)

    few, many = answers(20), answers(1000)
    assert 1 < (few["begins"] >= 0).numpy().sum() < 40
    for name, part in many.items():
        part, expected = part.numpy(), few[name].numpy()
        if part.ndim == 2:
            assert part.shape == (2, 1000)
            assert len({*part[:, 20:].ravel()}) == 1  # padding
            part = part[:, :20]
        np.testing.assert_array_equal(part, expected)
