"""Published BERTs with the head of a task are that task, and compute what theirs do."""

import json

import keras
import numpy as np
import pytest
import tiny
from foreign_files import change_json

import zoo
from zoo.registry import build_backbone

TEXTS = (["the film"], ["good"], ["bad plot"], ["a"], ["movie ."])


def build(tokenizer, **changes):
    keras.utils.set_random_seed(1)
    size = {"vocabulary_size": tokenizer.vocabulary_size}
    return build_backbone("bert", {**tiny.CONFIG, **size, **changes})


def pick(tokenizer, kind, **options):
    """A task on a BERT with a pooler, whose head is clearly not zero."""
    task = kind(build(tokenizer), tokenizer, **options)
    for variable in task.trainable_variables:
        variable.assign(keras.random.normal(variable.shape, 0.0, 0.3, seed=1))
    return task


@pytest.mark.usefixtures("eagerly")
@pytest.mark.parametrize(
    ("kind", "options", "labels", "texts"),
    [
        (
            zoo.QuestionAnswerer,
            {"num_answers": 4},
            {},
            (["how"], ["the film was good"]),
        ),
        (zoo.TokenClassifier, {}, {"labels": tiny.TAGS}, ["the good film"]),
        (zoo.TextRegressor, {}, {}, ["the film was very good"]),
        (zoo.MultipleChoice, {"num_choices": 2}, {}, (["the film"], ["a"], ["good"])),
    ],
    ids=["questions", "tags", "numbers", "choices"],
)
def test_a_task_answers_the_same_after_reading(
    tokenizer, tmp_path, kind, options, labels, texts
):
    task = pick(tokenizer, kind, **options, **labels)
    task.save_to_preset(tmp_path / "task", layout="hugging_face")
    copy = zoo.from_preset(tmp_path / "task", **options)
    assert type(copy) is kind and copy.labels == task.labels
    assert kind is not zoo.TokenClassifier or not copy.backbone.config.pooler
    found = copy.answer(texts)
    for name, value in task.answer(texts).items():
        if value.dtype == object:
            assert found[name].tolist() == value.tolist()
        else:
            np.testing.assert_allclose(found[name], value, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("architecture", "kind"),
    [
        ("BertForQuestionAnswering", zoo.QuestionAnswerer),
        ("BertForTokenClassification", zoo.TokenClassifier),
        ("BertForMultipleChoice", zoo.MultipleChoice),
    ],
)
def test_logits_are_those_of_transformers(tokenizer, tmp_path, architecture, kind):
    transformers = pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    config = tiny.transformers_config(id2label=dict(enumerate(tiny.TAGS[:2])))
    theirs = getattr(transformers, architecture)(config).eval()
    theirs.save_pretrained(tmp_path)
    tokenizer.save_vocabulary(tmp_path / "vocab.txt")
    ours = zoo.from_preset(tmp_path)
    assert type(ours) is kind
    columns = TEXTS[: len(ours.required_columns)]
    x = ours.preprocessor(tuple(np.array(column, object) for column in columns))
    names = {"token_ids": "input_ids", "segment_ids": "token_type_ids"}
    names["padding_mask"] = "attention_mask"
    given = {n: torch.tensor(x[name].numpy()).long() for name, n in names.items()}
    with torch.no_grad():
        found = theirs(**given)
    if kind is zoo.QuestionAnswerer:
        expected = np.stack([found.start_logits.numpy(), found.end_logits.numpy()], 1)
        expected = np.where(x["padding_mask"][:, None] > 0, expected, -1e9)
    else:
        expected = found.logits.numpy()
    outputs = ours(x, training=False).numpy()
    if kind is zoo.TokenClassifier:
        places = np.maximum(x["word_positions"].numpy(), 0)
        expected = np.take_along_axis(expected, places[:, :, None], axis=1)
    np.testing.assert_allclose(outputs, expected, rtol=1e-5, atol=1e-5)


def test_other_libraries_classify_by_the_pooled_output(tokenizer, tmp_path):
    task = zoo.TextClassifier(build(tokenizer), tokenizer, 2, pooling="mean")
    for layout in ("hugging_face", "keras_nlp"):
        with pytest.raises(ValueError, match="by the pooled output.*pooling='mean'"):
            task.save_to_preset(tmp_path / layout, layout=layout)
    tagger = zoo.TokenClassifier(build(tokenizer), tokenizer, labels=tiny.TAGS)
    with pytest.raises(ValueError, match="keras-nlp has no tagger"):
        tagger.save_to_preset(tmp_path / "tags", layout="keras_nlp")
    assert not [*tmp_path.iterdir()]
    task.save_to_preset(tmp_path / "bare", layout="hugging_face", heads=())
    assert not isinstance(zoo.from_preset(tmp_path / "bare"), zoo.TextClassifier)


@pytest.mark.shown("{'normalize': True}")
@pytest.mark.parametrize("options", [{"pooling": "cls"}, {"normalize": True}], ids=str)
def test_an_embedder_is_written_with_its_pooling(tokenizer, tmp_path, options):
    task = pick(tokenizer, zoo.TextEmbedder, sequence_length=16, **options)
    task.save_to_preset(tmp_path / "a", layout="hugging_face")
    copy = zoo.from_preset(tmp_path / "a")
    assert isinstance(copy, zoo.TextEmbedder) and copy.sequence_length == 16
    expected = task.predict(TEXTS[0] + TEXTS[2], verbose=0)
    found = copy.predict(TEXTS[0] + TEXTS[2], verbose=0)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    theirs = pytest.importorskip("sentence_transformers")
    vectors = theirs.SentenceTransformer(str(tmp_path / "a"), device="cpu")
    np.testing.assert_allclose(vectors.encode(TEXTS[0] + TEXTS[2]), found, atol=1e-4)


def test_an_embedder_that_has_no_place_there(tokenizer, tmp_path):
    for options in ({"pooling": "max"}, {"layers": [-2]}):
        task = zoo.TextEmbedder(build(tokenizer), tokenizer, **options)
        with pytest.raises(ValueError, match="pools the output by cls or mean"):
            task.save_to_preset(tmp_path / "a", layout="hugging_face")


PROBLEMS = {
    "single_label_classification": (zoo.TextClassifier, {"labels": ["a", "b", "c"]}),
    "multi_label_classification": (
        zoo.TextClassifier,
        {"labels": ["a", "b", "c"], "multi_label": True},
    ),
    "regression": (zoo.TextRegressor, {}),
    None: (zoo.TokenClassifier, {"labels": ["a", "b", "c"]}),
}


@pytest.mark.parametrize("problem", PROBLEMS)
def test_the_kind_of_problem_is_written_and_read(tokenizer, tmp_path, problem):
    """For each kind, what is read back from its own name, from none and from others."""
    make, options = PROBLEMS[problem]
    task = make(build(tokenizer), tokenizer, **options)
    task.save_to_preset(tmp_path / "a", layout="hugging_face")
    path = tmp_path / "a" / "config.json"
    assert json.loads(path.read_text()).get("problem_type") == problem
    for other, (kind, wanted) in PROBLEMS.items():
        change_json(path, problem_type=other)
        if problem is None:  # of words, for which Hugging Face ignores the name
            kind, wanted = make, {}
        elif other is None:
            kind, wanted = make, {}
        elif (problem == "regression") != (other == "regression"):
            with pytest.warns(UserWarning, match="does not give one label, a set of"):
                found = zoo.from_preset(tmp_path / "a")
            assert isinstance(found, zoo.backbone.Backbone)
            continue
        found = zoo.from_preset(tmp_path / "a")
        assert type(found) is kind
        sets = wanted.get("multi_label", False)
        assert found.options.get("multi_label", False) == sets
    change_json(path, problem_type="ranking")
    if problem is not None:
        with pytest.warns(UserWarning, match="problem_type='ranking'"):
            assert isinstance(zoo.from_preset(tmp_path / "a"), zoo.backbone.Backbone)
