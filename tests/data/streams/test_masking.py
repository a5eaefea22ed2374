"""Masked-language-model examples: counts exactly, choices by their probabilities."""

import types

import numpy as np
import pytest
import tensorflow as tf
from scipy.stats import chisquare

from zoo.data import mask_tokens

PAD, CLS, SEP, MASK, V = 0, 2, 3, 4, 40
TOKENIZER = types.SimpleNamespace(
    pad_id=PAD, cls_id=CLS, sep_id=SEP, mask_id=MASK, vocabulary_size=V
)


def make_rows(lengths, width, seed=0):
    """Rows of [CLS] words [SEP] and padding, `lengths` tokens each."""
    ids = np.random.default_rng(seed).integers(5, V, (len(lengths), width))
    columns = np.arange(width)[None]
    ends = np.asarray(lengths)[:, None]
    ids = np.where(columns == 0, CLS, ids)
    ids = np.where(columns == ends - 1, SEP, ids)
    return np.where(columns < ends, ids, PAD).astype("int32")


def mask(ids, seed=(0, 0), **options):
    result = mask_tokens(tf.constant(ids), TOKENIZER, seed, **options)
    return {key: value.numpy() for key, value in result.items()}


def chosen(result):
    """The tokens that are in the place of the first six chosen ones."""
    return np.take_along_axis(
        result["token_ids"], result["mask_positions"][:, :6], axis=1
    )


@pytest.fixture(scope="module")
def many():
    """4000 rows of 42 tokens, of which 6 are chosen: ids and result."""
    ids = make_rows([42] * 4000, 48)
    return ids, mask(ids, (7, 1))


def test_the_number_of_predictions_is_exact():
    lengths = np.arange(3, 513)
    result = mask(make_rows(lengths, 512))
    counts = result["mask_weights"].sum(axis=1)
    expected = [min(20, max(1, round(0.15 * int(n)))) for n in lengths]
    np.testing.assert_array_equal(counts, expected)
    assert result["mask_positions"].shape == (len(lengths), 20)
    # No column that no row of this length can fill.
    assert mask(make_rows([32] * 3, 32))["mask_positions"].shape == (3, 5)


def test_positions_ascend_and_end_in_zeros(many):
    ids, result = many
    weights, positions = result["mask_weights"], result["mask_positions"]
    assert (weights[:, :6] == 1).all() and (weights[:, 6:] == 0).all()
    assert (np.diff(positions[:, :6], axis=1) > 0).all()
    assert (positions[:, 6:] == 0).all() and (result["mask_ids"][:, 6:] == 0).all()


def test_mask_ids_are_the_original_tokens(many):
    ids, result = many
    original = chosen({**result, "token_ids": ids})
    np.testing.assert_array_equal(result["mask_ids"][:, :6], original)
    assert original.min() >= 5  # never [CLS], [SEP] or padding
    untouched = np.ones_like(ids, bool)
    np.put_along_axis(untouched, result["mask_positions"], False, axis=1)
    untouched[:, 0] = True
    np.testing.assert_array_equal(result["token_ids"][untouched], ids[untouched])


def test_special_tokens_are_never_chosen():
    result = mask(make_rows([2, 3], 8))
    assert result["mask_weights"].sum(axis=1).tolist() == [0, 1]
    assert result["token_ids"][0].tolist() == [CLS, SEP, 0, 0, 0, 0, 0, 0]
    # A row that is shorter than the predictions gives fewer columns.
    result = mask(make_rows([8], 8), mask_rate=0.99)
    assert result["mask_positions"].shape == (1, 8)
    assert result["mask_weights"].sum() == 6  # the words


@pytest.mark.parametrize("rates", [(0.8, 0.1), (0.5, 0.25)])
def test_what_a_chosen_token_becomes_has_the_stated_probability(many, rates):
    ids, _ = many
    masked, random = rates
    result = mask(ids, (3, 9), mask_token_rate=masked, random_token_rate=random)
    before, after = result["mask_ids"][:, :6], chosen(result)
    share = random / V  # of each random token, [MASK] and the old one among them
    expected = np.array([masked + share, 1 - masked - random + share])
    expected = before.size * np.append(expected, random - 2 * share)
    observed = np.array([np.sum(after == MASK), np.sum(after == before)])
    observed = np.append(observed, before.size - observed.sum())
    assert chisquare(observed, expected).statistic < 13.8  # 0.1% with two degrees


def test_random_tokens_are_uniform_over_the_whole_vocabulary(many):
    result = mask(many[0], (3, 9), mask_token_rate=0.0, random_token_rate=1.0)
    counts = np.bincount(chosen(result).ravel(), minlength=V)
    assert len(counts) == V and chisquare(counts).statistic < 72.1  # 0.1%, 39 degrees


def test_every_word_is_equally_likely_to_be_chosen(many):
    _, result = many
    counts = np.bincount(result["mask_positions"][:, :6].ravel(), minlength=42)
    assert counts[0] == counts[41] == 0 and chisquare(counts[1:41]).statistic < 72.1


def test_the_same_seed_gives_the_same_masks_also_in_a_pipeline():
    ids = make_rows([30] * 8, 32)
    first, again, other = mask(ids, (1, 2)), mask(ids, (1, 2)), mask(ids, (1, 3))
    dataset = tf.data.Dataset.from_tensors(ids)
    (mapped,) = dataset.map(lambda x: mask_tokens(x, TOKENIZER, (1, 2)))
    for same in (again, mapped):
        tf.nest.map_structure(np.testing.assert_array_equal, same, first)
    assert (first["mask_positions"] != other["mask_positions"]).any()


def reference(ids, draws, wanted, continues):
    """Google's masks of one row, a word at a time, from three draws per position.

    Returns the row with its masks and the positions that were chosen.
    """
    words = []
    for position, id in enumerate(ids):
        if id in (PAD, CLS, SEP):
            continue
        if words and continues[id]:
            words[-1].append(position)
        else:
            words.append([position])
    chosen, masked = [], list(ids)
    for word in sorted(words, key=lambda word: -draws[0][word[0]]):
        if len(chosen) + len(word) > wanted:
            continue
        for position in word:
            chosen.append(position)
            if draws[1][position] < np.float32(0.8):
                masked[position] = MASK
            elif draws[1][position] < np.float32(0.9):
                masked[position] = int(draws[2][position] * np.float32(V))
    return masked, sorted(chosen)


@pytest.mark.shown("20-True", "3-False")
@pytest.mark.parametrize("whole_words", [True, False])
@pytest.mark.parametrize("longest", [3, 20, 128])
def test_masks_are_those_of_the_reference(longest, whole_words):
    vocabulary = [f"##{n}" if n % 3 else str(n) for n in range(V)]
    words = types.SimpleNamespace(**vars(TOKENIZER), vocabulary=vocabulary)
    lengths = np.random.default_rng(1).integers(2, longest + 1, 300)
    ids = make_rows(lengths, longest, seed=2)
    ids[:, longest // 2] = np.where(ids[:, longest // 2] == PAD, PAD, SEP)
    seed = (3, 4)
    draws = tf.random.stateless_uniform((300, 3, longest), seed).numpy()
    continues = [whole_words and token.startswith("##") for token in vocabulary]
    for rate in (0.15, 0.6):
        found = mask_tokens(
            tf.constant(ids), words, seed, rate, 50, whole_words=whole_words
        )
        found = {key: value.numpy() for key, value in found.items()}
        for row, length in enumerate(lengths):
            wanted = min(50, max(1, round(rate * int(length))))
            masked, places = reference(ids[row], draws[row], wanted, continues)
            known = found["mask_weights"][row] > 0
            assert found["mask_positions"][row][known].tolist() == places
            assert found["token_ids"][row].tolist() == masked
            answers = found["mask_ids"][row][known].tolist()
            assert answers == ids[row][places].tolist()


def test_random_tokens_come_from_the_range(many):
    rates = {"random_token_rate": 1.0, "mask_token_rate": 0.0}
    counts = np.bincount(chosen(mask(many[0], **rates, replacements=(7, 9))).ravel())
    assert counts[7] + counts[8] == counts.sum() == 24_000
    assert chisquare(counts[7:9]).statistic < 10.83
