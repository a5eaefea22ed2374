"""The masked language model on text."""

import numpy as np
import pytest
import tensorflow as tf
from light_fits import EAGER
from tiny_gpt import tiny_byte_tokenizer
from tiny_tasks import make_tiny_task

import zoo
from zoo.tasks.language_models import masked_lm
from zoo.training import AdamW


@pytest.fixture(scope="module")
def model():
    model = make_tiny_task(zoo.MaskedLM, seed=2)
    model.compile(AdamW(1e-2), **EAGER)
    return model


@pytest.mark.slow
def test_fit_learns_what_is_hidden(make_task):
    model = make_task("masked_lm", compile=EAGER)
    texts = ["good film", "bad plot"] * 16
    before = model.evaluate(texts, verbose=0)[0]
    model.fit(texts, epochs=15, verbose=0)
    assert model.evaluate(texts, verbose=0)[0] < before / 2
    filled = model.fill_mask(["good [MASK]", "bad [MASK]"], k=1)
    assert [row[0][0][0] for row in filled] == ["film", "plot"]


def test_fill_mask_gives_the_likeliest_tokens(model, tokenizer):
    text = "the [MASK] was [MASK] ."
    first, second = model.fill_mask(text, k=3)
    ids = tokenizer.vocabulary.index
    x = {"token_ids": [[2, ids("the"), 4, ids("was"), 4, ids("."), 3]]}
    logits = model({**x, "mask_positions": tf.constant([[2, 4]])}, training=False)
    scores = tf.nn.softmax(logits)[0].numpy()
    for filled, row in zip((first, second), scores, strict=True):
        best = np.argsort(-row)[:3]
        assert [token for token, _ in filled] == [tokenizer.vocabulary[i] for i in best]
        np.testing.assert_allclose([p for _, p in filled], row[best], rtol=1e-5)


def test_fill_mask_of_several_texts(model):
    texts = ["the [MASK] was good", "[MASK] [MASK]", "a film [MASK]"]
    filled = model.fill_mask(texts, k=2)
    assert [len(row) for row in filled] == [1, 2, 1]
    alone = model.fill_mask(texts[1], k=2)
    for ours, theirs in zip(filled[1], alone, strict=True):
        assert [t for t, _ in ours] == [t for t, _ in theirs]
        np.testing.assert_allclose([p for _, p in ours], [p for _, p in theirs], 1e-4)


def test_fill_mask_has_at_most_the_whole_vocabulary(model, tokenizer):
    (mask,) = model.fill_mask("a [MASK]", k=10**6)
    assert sorted(token for token, _ in mask) == sorted(tokenizer.vocabulary)


def test_fill_mask_reads_a_few_texts_at_once(model, monkeypatch):
    texts = [f"a {'film ' * i}[MASK]" for i in range(5)]
    expected = model.fill_mask(texts, k=1)
    sizes, fill = [], masked_lm.fill_masks

    def counted(model, columns, k):
        sizes.append(len(columns[0]))
        return fill(model, columns, k)

    monkeypatch.setattr(zoo.MaskedLM, "predict_batch_size", 2)
    monkeypatch.setattr(masked_lm, "fill_masks", counted)
    found = model.fill_mask(texts, k=1)
    assert sizes == [2, 2, 1]
    assert [row[0][0][0] for row in found] == [row[0][0][0] for row in expected]


TEXT, POSITIONS = ["the [MASK]"], "`mask_positions`. Received: text"


def make(model, tokenizer=None, **options):
    return zoo.MaskedLM(model.backbone, tokenizer or model.tokenizer, **options)


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda m: make(m, tiny_byte_tokenizer()), ValueError, "masks. Received: GPT2"),
        (lambda m: make(m, mask_rate=15), ValueError, "`mask_rate` must be a "),
        (lambda m: make(m, mask_rate=0), ValueError, "`mask_rate` must be a "),
        (lambda m: make(m, max_predictions=0), ValueError, "`max_predictions` must be"),
        (lambda m: m.fill_mask(TEXT, k=0), ValueError, "`k` must be an integer from 1"),
        (lambda m: m.fill_mask([*TEXT, "x"]), ValueError, r"\[MASK\].*Received: 'x'"),
        (lambda m: m.train_on_batch(TEXT), TypeError, POSITIONS),
        (lambda m: m.predict_on_batch(TEXT), TypeError, POSITIONS),
    ],
)
def test_wrong_arguments(model, call, error, message):
    with pytest.raises(error, match=message):
        call(model)


def test_an_answer_is_the_first_mask(model):
    """And no other one is computed."""
    texts = ["the [MASK] was [MASK]", "[MASK] [MASK] [MASK]", "no mask"]
    positions, best = masked_lm.fill_masks(model, (tf.constant(texts),), 5, most=1)
    assert best.indices.shape == (3, 1, 5) and positions.to_list() == [[2], [1], []]
    answer = model.answer(texts)
    for row, (filled, *_) in enumerate(model.fill_mask(texts[:2])):
        assert answer["tokens"][row].tolist() == [token for token, _ in filled]
        scores = [score for _, score in filled]
        np.testing.assert_allclose(answer["scores"][row], scores, rtol=1e-4)
    assert answer["tokens"][2].tolist() == [""] * 5
    assert answer["scores"][2].tolist() == [0.0] * 5


def test_a_mask_after_the_last_token_is_reported(model):
    model.truncation_reported = False
    texts = ["the [MASK]", f"{'film ' * model.sequence_length}[MASK]"]
    message = "At least 1 of the texts are longer than"
    with pytest.warns(UserWarning, match=message) as found:
        answers = model.answer(texts)
    assert found[0].filename == __file__
    assert (answers["tokens"] == "").tolist() == [[False] * 5, [True] * 5]


def test_masks_change_with_the_epoch_and_the_seed(model, texts):
    def positions(seed, epochs):
        batches = model.batches(texts, batch_size=24, seed=seed, epochs=epochs)
        return [x["mask_positions"].numpy().tolist() for x, _, _ in batches]

    first, second = positions(1, range(2))
    assert first != second
    assert positions(1, [0]) == [first] and positions(2, [0]) != [first]


def test_a_run_that_resumes_sees_the_masks_of_its_epoch(model, texts):
    def masks(epochs):
        batches = model.batches(texts, batch_size=8, shuffle=True, epochs=epochs)
        return [x["token_ids"].numpy().tolist() for x, _, _ in batches]

    assert masks(range(2))[3:] == masks([1])


def test_batches_hold_their_own_targets(model, texts):
    (batch,) = model.batches(texts, batch_size=24)
    x, y, weight = batch
    chosen = weight.numpy() == 1
    assert chosen.any(axis=1).all()
    assert y.numpy()[chosen].min() > 4


def test_a_dataset_of_text_is_masked_too(model, texts):
    dataset = tf.data.Dataset.from_tensor_slices(texts).batch(8)
    assert np.isfinite(model.evaluate(dataset, verbose=0)[0])
    # A dataset that does not know its length, such as the lines of a file.
    unknown = tf.data.Dataset.from_tensor_slices(texts).filter(lambda x: True).batch(8)
    model.fit(unknown, epochs=2, verbose=0)


def test_a_changed_head_is_kept(make_task, tmp_path):
    make_task("masked_lm", head_activation="gelu").save_to_preset(tmp_path / "a")
    changed = zoo.from_preset(tmp_path / "a", head_activation="relu")
    changed.save_to_preset(tmp_path / "b")
    assert zoo.from_preset(tmp_path / "b").options["head_activation"] == "relu"
