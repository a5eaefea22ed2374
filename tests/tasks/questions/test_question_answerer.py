"""The task of answering questions: data in, answers, training, files and errors."""

import functools

import keras
import numpy as np
import pytest
import tensorflow as tf
import tiny

import zoo
from zoo.data import Answer, Question
from zoo.registry import build_backbone
from zoo.tasks.questions import span_decoding
from zoo.text import WordPieceTokenizer
from zoo.training import AdamW

CONTEXT = "the film was good , and the music of it was very lovely !"
OPTIONS = {"sequence_length": 16, "stride": 4, "num_answers": 3, "question_length": 4}
make_questions = functools.partial(tiny.make_questions, unanswered=True)


@pytest.fixture(scope="module")
def backbone():
    keras.utils.set_random_seed(1)
    return build_backbone("bert", tiny.CONFIG)


def build(backbone, **options):
    keras.utils.set_random_seed(2)
    tokenizer = WordPieceTokenizer(tiny.VOCABULARY)
    return zoo.QuestionAnswerer(backbone, tokenizer, **{**OPTIONS, **options})


def columns_of(rows):
    """The questions and the contexts of rows, and the answers."""
    x = [row.question for row in rows], [row.context for row in rows]
    return x, [row.answers for row in rows]


@pytest.fixture(scope="module")
def model(backbone):
    """A model without training, which no test may change."""
    return build(backbone)


@pytest.fixture(scope="module")
def trained():
    """A model that finds the good or bad word of a text."""
    keras.utils.set_random_seed(1)
    model = build(build_backbone("bert", tiny.CONFIG), null_threshold=np.float32(0))
    model.compile(AdamW(1e-2))
    model.fit(make_questions(200), epochs=12, verbose=0)
    return model


def test_it_learns_answers_and_no_answers(trained):
    rows = make_questions(60, seed=9)
    found = trained.answer(rows)
    right = [row.answers[0].text if row.answers else "" for row in rows]
    share = np.mean(found["text"] == np.array(right, object))
    assert share > 0.9
    spans = found["text"], found["begin"], found["end"]
    for row, text, begin, end in zip(rows, *spans, strict=True):
        assert row.context[max(begin, 0) : max(end, 0)] == text
    x, answers = columns_of(rows)
    scores = trained.files.measure(trained, x, answers)
    assert scores["exact"] == pytest.approx(share) and scores["f1"] > 0.9
    threshold = trained.find_null_threshold(rows)
    assert threshold["f1"] >= scores["f1"]
    assert trained.options["null_threshold"] == threshold["null_threshold"]
    assert trained.files.measure(trained, x, answers)["f1"] == threshold["f1"]


@pytest.mark.usefixtures("eagerly")
def test_one_question(trained, model):
    found = trained.answer_question("how is it", CONTEXT.replace("lovely", "fun"))
    assert found.pop("score") > 0.5
    assert found == {"text": "good", "begin": 13, "end": 17}
    nothing = trained.answer_question("how is it", "")
    assert (nothing["text"], nothing["begin"], nothing["end"]) == ("", -1, -1)
    assert model.answer_question("", CONTEXT)["text"]  # without a threshold
    with pytest.raises(TypeError, match="one question and one context. Rec.* list and"):
        model.answer_question(["how"], CONTEXT)


@pytest.mark.usefixtures("eagerly")
def test_answers_do_not_depend_on_the_batch(model):
    rows = make_questions(11, seed=5)
    long = " ".join(row.context for row in make_questions(9, seed=6))
    contexts = [row.context for row in rows]
    contexts += [long, "", " \n", "\ufffdé \U0001f600"]  # the first of several windows
    questions = ["how is it"] * 12 + ["", "very long ?", "?"]
    whole = model.answer((questions, contexts))
    blocks = model.answer((questions, contexts), batch_size=2)
    exported = model.answer_batch(tf.constant(questions), tf.constant(contexts))
    for number in (0, 11, 12, 14):
        alone = model.answer(([questions[number]], [contexts[number]]))
        for name, value in whole.items():
            assert_equal(alone[name][0], value[number])
    for name, value in whole.items():
        assert_equal(blocks[name], value)
        array = exported[name].numpy()
        if array.dtype == object:
            array = np.vectorize(lambda text: text.decode(), otypes=[object])(array)
        assert_equal(array, value)
    assert whole["scores"].shape == (15, 3)
    assert whole["texts"][12].tolist() == ["", "", ""]
    none = model.answer(([], []))
    assert none["text"].shape == (0,) and none["scores"].shape == (0, 3)
    assert model.answer([])["text"].shape == (0,)


@pytest.mark.usefixtures("eagerly")
def test_the_best_answer_does_not_depend_on_how_many_are_wanted(backbone):
    rows = make_questions(12, seed=7)
    one, many = (build(backbone, num_answers=count) for count in (1, 20))
    one.set_weights(many.get_weights())
    found, expected = one.answer(rows), many.answer(rows)
    for name in ("text", "score", "null_odds"):
        assert_equal(found[name], expected[name])
    assert "" not in found["text"] and found["texts"].shape == (12, 1)


def assert_equal(ours, theirs):
    if np.asarray(ours).dtype.kind == "f":
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)
    else:
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.usefixtures("eagerly")
def test_all_forms_of_data_are_the_same(model):
    rows = make_questions(12)
    x, answers = columns_of(rows)
    expected = model.evaluate(rows, verbose=0)
    places = [
        (a[0].begin, a[0].begin + len(a[0].text)) if a else (-1, -1) for a in answers
    ]
    assert model.encode_labels(answers).tolist() == [list(place) for place in places]
    singles = [a[0] if a else [] for a in answers]
    named = dict(zip(("question", "context"), x, strict=True))
    data = tf.data.Dataset.from_tensor_slices((x, places)).batch(5)
    for found in (
        model.evaluate(x, answers, verbose=0),
        model.evaluate(x, np.array(places), verbose=0),
        model.evaluate(named, singles, verbose=0),
        model.evaluate(data, verbose=0),
        model.test_on_batch(rows),
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.slow
def test_weights_and_validation(backbone):
    rows = make_questions(8)
    model = build(backbone)
    weights = [1.0] * 4 + [0.0] * 4
    first = model.evaluate(rows[:4], verbose=0)
    found = model.evaluate(rows, sample_weight=weights, verbose=0)
    np.testing.assert_allclose(found, first, rtol=1e-5)
    before = [w.copy() for w in model.get_weights()]
    history = model.fit(rows, validation_data=rows[:3], verbose=0).history
    expected = model.evaluate(rows[:3], verbose=0)
    assert history["val_loss"][0] == pytest.approx(expected[0], rel=1e-5)
    model.fit(rows, validation_split=0.25, epochs=1, verbose=0)
    model.train_on_batch(rows)
    model.set_weights(before)  # others use the backbone


def test_an_answer_in_no_window_is_a_target_without_place(model):
    words = CONTEXT.split()
    answer = Answer(" ".join(words[2:13]), len("the film "))  # of 11 tokens
    rows = [Question("", "how", CONTEXT, (answer,))]
    (batch,) = model.batches(rows)
    assert not batch[1].numpy().any()
    short = [Question("", "how", CONTEXT, (Answer("film", 4),))]
    ((x, y),) = model.batches(short)
    assert {*x} == {"token_ids", "segment_ids", "padding_mask"}
    ids = np.take_along_axis(x["token_ids"].numpy(), y.numpy(), 1)
    film = model.tokenizer.token_to_id("film")
    assert {*map(tuple, ids.tolist())} == {(film, film), (2, 2)}


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([[Answer("film", 0)]], "'film' at 0 of row 0, where.*'the '"),
        ([[Answer("film", 99)]], "'film' at 99"),
        ([[Answer("", 4)]], "'' at 4"),
        ([["film"]], "list of pairs of a text.*in row 0"),
        ([None], "Received: None in row 0. Leave out questions whose"),
        ([[("film", "x")]], "list of pairs"),
        (np.array([[4, 4]]), r"both positions -1. Received: \[4, 4\] in row 0"),
        (np.array([[4, 999]]), r"\[4, 999\].*57 characters"),
        (np.array([[-1, 3]]), r"\[-1, 3\]"),
        (np.array([4]), r"int array \(B, 2\)"),
        (np.array([[0.0, 4.0]]), "float64"),
        ([], "same length. Received: 1 texts and 0 targets"),
    ],
)
def test_wrong_answers(model, y, message):
    with pytest.raises(ValueError, match=message):
        model.evaluate((["how"], [CONTEXT]), y, verbose=0)


@pytest.mark.usefixtures("eagerly")
def test_wrong_questions(model, backbone):
    unknown = [Question("a", "how", CONTEXT)]
    with pytest.raises(ValueError, match="Received: None in row 0"):
        model.fit(unknown)
    with pytest.raises(ValueError, match="takes the columns `question`, `context`"):
        model.answer(["how"])
    with pytest.raises(TypeError, match="Use `answer` or `answer_question`"):
        model.predict((["how"], [CONTEXT]))
    places = tf.data.Dataset.from_tensor_slices(((["a"], ["film"]), [[0, 5]]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be in its context"):
        model.evaluate(places.batch(1), verbose=0)
    with pytest.raises(TypeError, match="needs texts here. Received: a dict of"):
        model.answer({"token_ids": np.ones((1, 4), "int32")})
    for name in ("answer_length", "num_answers", "stride", "question_length"):
        with pytest.raises(ValueError, match=f"`{name}` must be an int.*Received: 0"):
            build(backbone, **{name: 0})


@pytest.mark.parametrize(
    ("context", "text", "begin", "expected"),
    [
        (" good film", " good", 0, "good"),
        ("the film ", "film ", 4, "film"),
        ("\ufeffgood film", "\ufeffgood", 0, "good"),
        ("the film  was", " film ", 3, "film"),
        ("the film  was", "  ", 8, None),
    ],
)
def test_ends_without_tokens_do_not_count(model, context, text, begin, expected):
    y = [[Answer(text, begin)]]
    ((x, target),) = model.batches(([""], [context]), y, batch_size=1)
    ids = tf.gather(x["token_ids"], target, batch_dims=1).numpy().tolist()
    number = model.tokenizer.token_to_id(expected or "[CLS]")
    assert ids == [[number, number]]


@pytest.mark.usefixtures("eagerly")
@pytest.mark.parametrize(
    "limit, size", [("BYTES_IN_BLOCK", 100), ("QUESTIONS_IN_BLOCK", 2)]
)
def test_many_and_long_contexts_are_answered_in_blocks(model, monkeypatch, limit, size):
    rows = make_questions(9)
    expected = model.answer(rows)
    monkeypatch.setattr(span_decoding, limit, size)
    for name, value in model.answer(rows).items():
        assert_equal(value, expected[name])


def test_blocks_have_few_bytes_and_questions(monkeypatch):
    monkeypatch.setattr(span_decoding, "BYTES_IN_BLOCK", 100)
    sizes = np.array([90, 9, 2, 500, 1, 1])
    blocks = [sizes[rows].tolist() for rows in span_decoding._blocks(sizes)]
    assert blocks == [[90, 9], [2], [500], [1, 1]]
    monkeypatch.setattr(span_decoding, "QUESTIONS_IN_BLOCK", 2)
    assert [s.stop for s in span_decoding._blocks(np.ones(5, int))] == [2, 4, 5]
    assert [*span_decoding._blocks(np.zeros(0, int))] == [slice(0, 0)]


@pytest.mark.usefixtures("eagerly")
@pytest.mark.parametrize("length, most", [(16, 4), (12, 9)])
def test_a_long_question_is_truncated_with_a_warning(backbone, length, most):
    model = build(backbone, sequence_length=length, question_length=most, stride=2)
    longest = model.preprocessor.longest_question
    assert longest == 4 if most == 4 else 1 <= longest < 9
    questions = ["how", " ".join(["how"] * 9)]
    with pytest.warns(UserWarning, match=f"1 of 2 .* longer than {longest} tokens"):
        model.answer((questions, [CONTEXT] * 2))


@pytest.mark.usefixtures("eagerly")
def test_the_threshold_is_calibrated(trained, model):
    rows, threshold = make_questions(30, seed=5), trained.options["null_threshold"]
    assert type(threshold) is float
    (x, answers), files = columns_of(rows), trained.files
    assert [*map(files.calibrated, (trained, model))] == [("null_threshold",), ()]
    found = files.calibrate(trained, x, answers)
    assert found == {"null_threshold": trained.options["null_threshold"]}
    places = [row and (row[0][1], row[0][1] + len(row[0][0])) for row in answers]
    places = np.array([place or (-1, -1) for place in places])
    assert trained.find_null_threshold(x, places).items() >= found.items()
    trained.options["null_threshold"] = threshold
    texts, spans = files.marked_texts(trained, x, [*files.answer_rows(trained, x)])
    for row, text, (span,) in zip(rows, texts, spans, strict=True):
        part = text[span["begin"] : span["end"]] if span["end"] > 0 else ""
        assert text == row.context and span["text"] == part


def test_files_fine_tune_and_score(backbone, tmp_path):
    rows = make_questions(20)
    zoo.data.write_squad(tmp_path / "a.json", rows)
    kind, files = zoo.QuestionAnswerer, zoo.QuestionAnswerer.files
    x, labels = files.read(tmp_path / "a.json")
    assert x[1] == [row.context for row in rows]
    assert labels == [row.answers for row in rows]
    assert files.options(kind, x, labels) == {"null_threshold": 0.0}
    assert files.options(kind, x, labels[:3]) == {}
    assert files.describe_labels(labels) == {"counts": {"answer": 15, "no answer": 5}}
    zoo.data.write_squad(tmp_path / "b.json", [Question("q", "", "")])
    with pytest.raises(ValueError, match=r"of which 1 have none, such as \['q'\]"):
        files.read(tmp_path / "b.json")
    with pytest.raises(ValueError, match="SQuAD has no columns"):
        files.read(tmp_path / "a.json", text_column=1)


def test_backbones_with_a_length_of_their_own(backbone):
    short = build(backbone, sequence_length=None)
    assert short.sequence_length == 32
    elmo = build_backbone("elmo", tiny.ELMO_CONFIG)
    assert zoo.QuestionAnswerer(elmo).sequence_length == 384
