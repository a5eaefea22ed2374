"""Several classifiers that answer as one."""

import json

import keras
import numpy as np
import pytest
import tensorflow as tf
import tiny
from command_line import run
from tiny_tasks import make_tiny_task

import zoo
from zoo.tasks import TextClassifier, TextEnsemble, TextRegressor

TEXTS, LABELS = tiny.make_texts(9)
PAIRS = (TEXTS, TEXTS[::-1])


def make_member(family, labels=tiny.LABELS, **options):
    config = {"num_layers": 1} if family == "bert" else {}
    options = {"labels": labels, "seed": 3, **options}
    model = make_tiny_task(TextClassifier, family, config, **options)
    kernel = model.get_layer("classifier").kernel
    kernel.assign(keras.random.normal(kernel.shape, seed=3))
    return model


@pytest.fixture(scope="module")
def members():
    """A BERT, and an ELMo with the labels in the other order."""
    return [make_member("bert"), make_member("elmo", tiny.LABELS[::-1])]


@pytest.fixture(scope="module")
def ensemble(members):
    return TextEnsemble(members)


def shares(members, x):
    """The averaged probabilities, in the order of `tiny.LABELS`."""
    found = [tf.nn.softmax(m.predict(x, verbose=0)).numpy() for m in members]
    return (found[0] + found[1][:, ::-1]) / 2


@pytest.mark.usefixtures("eagerly")
@pytest.mark.shown("0")
@pytest.mark.parametrize("x", [TEXTS, PAIRS, TEXTS[:1], []], ids=len)
def test_it_averages_probabilities(ensemble, members, x):
    expected = shares(members, x)
    answers = ensemble.answer(x)
    np.testing.assert_allclose(answers["scores"], expected, atol=1e-6)
    np.testing.assert_allclose(np.exp(ensemble.predict(x)), expected, atol=1e-6)
    names = [tiny.LABELS[number] for number in expected.argmax(-1)]
    assert answers["label"].tolist() == names
    assert answers["labels"].tolist() == [tiny.LABELS] * len(expected)
    assert ensemble.files.predict_labels(ensemble, x)[0] == names
    if len(expected) > 1:
        apart = [m.answer(x)["scores"] for m in members]
        assert np.abs(apart[0] - apart[1][:, ::-1]).max() > 0.01


@pytest.mark.slow
@pytest.mark.usefixtures("eagerly")
def test_all_members_read_a_shuffled_dataset_in_one_order(ensemble, members):
    dataset = tf.data.Dataset.from_tensor_slices(TEXTS).shuffle(9).batch(4)
    found = np.exp(ensemble.predict(dataset))[:, 0]
    expected = shares(members, TEXTS)[:, 0]
    np.testing.assert_allclose(np.sort(found), np.sort(expected), atol=1e-6)


@pytest.mark.usefixtures("eagerly")
def test_it_is_evaluated(ensemble, members):
    truth = np.array([tiny.LABELS.index(label) for label in LABELS])
    found = shares(members, TEXTS)
    weights = np.arange(9.0)
    losses, right = -np.log(found[np.arange(9), truth]), found.argmax(-1) == truth
    assert ensemble.evaluate(TEXTS, LABELS) == pytest.approx(
        [losses.mean(), right.mean()], abs=1e-5
    )
    expected = {
        "loss": np.average(losses, weights=weights),
        "accuracy": np.average(right, weights=weights),
    }
    options = {"sample_weight": weights, "return_dict": True}
    assert ensemble.evaluate(TEXTS, LABELS, **options) == pytest.approx(expected, 1e-5)
    dataset = tf.data.Dataset.from_tensor_slices((TEXTS, LABELS, weights)).batch(4)
    assert ensemble.evaluate(dataset, return_dict=True) == pytest.approx(expected, 1e-5)
    measured = ensemble.files.measure(ensemble, TEXTS, LABELS)
    assert measured["accuracy"] == pytest.approx(right.mean())


@pytest.mark.slow
def test_a_file_holds_it(ensemble, tmp_path):
    ensemble.save(tmp_path / "model.keras")
    loaded = zoo.load_model(tmp_path / "model.keras")
    assert isinstance(loaded, TextEnsemble)
    np.testing.assert_array_equal(loaded.predict(TEXTS), ensemble.predict(TEXTS))
    assert loaded.evaluate(TEXTS, LABELS) == ensemble.evaluate(TEXTS, LABELS)


@pytest.mark.usefixtures("eagerly")
def test_a_preset_directory_holds_it(ensemble, tmp_path):
    ensemble.save_to_preset(tmp_path / "preset")
    for task in ("auto", "text_classifier"):
        loaded = zoo.from_preset(tmp_path / "preset", task)
        np.testing.assert_array_equal(loaded.predict(TEXTS), ensemble.predict(TEXTS))
    member = zoo.from_preset(tmp_path / "preset" / "member_1")
    assert member.labels == tuple(tiny.LABELS[::-1])
    with pytest.raises(ValueError, match="ensemble of text classifiers. Received"):
        zoo.from_preset(tmp_path / "preset", "causal_lm")
    with pytest.raises(FileExistsError):
        ensemble.save_to_preset(tmp_path / "preset")
    (tmp_path / "preset" / "ensemble.json").write_text('{"format": 1, "members": "9"}')
    with pytest.raises(ValueError, match="record of an ensemble: `members` must be"):
        zoo.from_preset(tmp_path / "preset")


@pytest.mark.slow
@pytest.mark.parametrize("pair", [None, True])
def test_an_export_passes_the_doctor(ensemble, pair, tmp_path):
    version = ensemble.export(tmp_path / "export", pair=pair)
    failed = [found for found in zoo.serving.diagnose(version) if not found.passed]
    assert not failed
    texts = PAIRS if pair else TEXTS
    answers, expected = zoo.serving.ask(version, texts), ensemble.answer(texts)
    np.testing.assert_allclose(answers["scores"], expected["scores"], atol=1e-5)
    assert answers["label"].tolist() == expected["label"].tolist()


@pytest.mark.slow
@pytest.mark.half_precision
def test_members_may_have_other_dtypes(members, tmp_path):
    model = TextEnsemble([make_member("bert", dtype="mixed_bfloat16"), members[1]])
    assert np.isfinite(model.predict(TEXTS)).all()
    assert model.export(tmp_path / "export").is_dir()


def test_what_cannot_be_combined_is_an_error(members):
    with pytest.raises(ValueError, match="at least two members.* Received: 1 members"):
        TextEnsemble(members[:1])
    with pytest.raises(ValueError, match="each of them once"):
        TextEnsemble([*members, members[0]])
    with pytest.raises(ValueError, match=r"the same labels. Received: .* \['a', 'b'\]"):
        TextEnsemble([members[0], make_member("bert", ["a", "b"])])
    with pytest.raises(ValueError, match="must have a tokenizer"):
        TextEnsemble([members[0], make_member("bert", tokenizer=None)])
    with pytest.raises(TypeError, match="a TextClassifier. Received: TextRegressor"):
        TextEnsemble([members[0], TextRegressor(members[0].backbone)])


@pytest.mark.usefixtures("eagerly")
def test_nothing_to_score(ensemble):
    scores = ensemble.evaluate(TEXTS, LABELS, sample_weight=np.zeros(9))
    assert scores == [0.0, 0.0]
    empty = tf.data.Dataset.from_tensor_slices((TEXTS, LABELS)).batch(3).take(0)
    for method in (ensemble.evaluate, ensemble.predict):
        with pytest.raises(ValueError, match="must have a batch"):
            method(empty)


def test_what_an_ensemble_does_not_take_is_an_error(ensemble):
    with pytest.raises(TypeError, match="one string"):
        ensemble.answer("text")
    with pytest.raises(TypeError, match="An ensemble takes texts"):
        ensemble.predict({"token_ids": np.ones((1, 3), int)})
    with pytest.raises(TypeError, match="cannot be trained. Call `fit` of each"):
        ensemble.fit(TEXTS, LABELS)
    with pytest.raises(ValueError, match="needs labels"):
        ensemble.evaluate(TEXTS)
    with pytest.raises(ValueError, match="lengths|length"):
        ensemble.evaluate(TEXTS, LABELS[:3])


def test_a_directory_of_an_ensemble_has_one_layout(tmp_path):
    (tmp_path / "ensemble.json").write_text('{"format": 1, "members": 2}')
    for wrong in ({"layout": "hugging_face"}, {"file": "a.bin"}):
        with pytest.raises(ValueError, match="An ensemble has no other layout"):
            zoo.from_preset(tmp_path, **wrong)


@pytest.mark.slow
@pytest.mark.usefixtures("eagerly")
def test_a_preset_directory_is_described_and_converted(ensemble, tmp_path):
    ensemble.save_to_preset(tmp_path / "a")
    found = json.loads(run("info", tmp_path / "a"))
    assert [member["family"] for member in found["members"]] == ["bert", "elmo"]
    names = {member["task"]["name"] for member in found["members"]}
    assert names == {"text_classifier"}
    output = run("convert", tmp_path / "a", tmp_path / "c", "--head", "x", code=1)
    assert "An ensemble has one layout, zoo" in output
    record = tmp_path / "a" / "ensemble.json"  # any file
    for command in (
        ("finetune", tmp_path / "a", "--data", record, "--output", "m.keras"),
        ("attend", tmp_path / "a", "a film", "--output", tmp_path / "a.html"),
    ):
        assert "is an ensemble. Name one of" in run(*command, code=1)
    run("convert", tmp_path / "a", tmp_path / "b")
    copy = zoo.from_preset(tmp_path / "b")
    expected = ensemble.predict(TEXTS, verbose=0)
    np.testing.assert_allclose(copy.predict(TEXTS, verbose=0), expected, atol=1e-6)
