"""TFRecord files: ours are the model garden's, and the other way round."""

import hashlib

import numpy as np
import pytest
import tensorflow as tf

from zoo.data import read_records, unmask, write_records

L, P = 16, 4


def make_batches(sizes=(5, 3, 4), next_sentence=True):
    """Batches of random examples whose first token is the example's number."""
    rng = np.random.default_rng(0)
    number = 0
    for size in sizes:
        positions = np.sort(rng.permuted(np.tile(np.arange(1, L), (size, 1)), axis=1))
        ids = rng.integers(5, 100, (size, L))
        ids[:, 0] = number + np.arange(size)
        batch = {
            "token_ids": ids,
            "segment_ids": rng.integers(0, 2, (size, L)),
            "padding_mask": np.ones((size, L), int),
            "mask_positions": positions[:, :P],
            "mask_ids": rng.integers(5, 100, (size, P)),
            "mask_weights": np.ones((size, P), "float32"),
        }
        if next_sentence:
            batch["next_sentence"] = rng.integers(0, 2, size)
        number += size
        yield batch


def joined(batches):
    batches = [{k: np.asarray(v) for k, v in batch.items()} for batch in batches]
    return {k: np.concatenate([b[k] for b in batches]) for k in batches[0]}


@pytest.mark.parametrize("names", ["google", "garden"])
@pytest.mark.parametrize("next_sentence", [True, False])
def test_what_is_written_is_read(tmp_path, names, next_sentence):
    expected = joined(make_batches(next_sentence=next_sentence))
    paths = write_records(make_batches(next_sentence=next_sentence), tmp_path, 1, names)
    assert [p.name for p in paths] == ["examples-00000-of-00001.tfrecord"]
    actual = joined(read_records(paths, 5).as_numpy_iterator())
    assert set(actual) == set(expected)
    for key, value in expected.items():
        np.testing.assert_array_equal(actual[key], value, err_msg=key)
        assert actual[key].dtype == ("float32" if key == "mask_weights" else "int32")


def test_examples_go_round_the_shards_and_shards_are_equal_to_the_byte(tmp_path):
    digests = []
    for name in "ab":
        paths = write_records(make_batches(), tmp_path / name, 3)
        digests.append([hashlib.sha256(p.read_bytes()).hexdigest() for p in paths])
    assert digests[0] == digests[1] and len(set(digests[0])) == 3
    for start, path in enumerate(paths):
        first = joined(read_records([path], 2))["token_ids"][:, 0]
        assert first.tolist() == [*range(start, 12, 3)]


def test_a_writer_that_fails_leaves_nothing(tmp_path):
    def batches():
        yield next(make_batches())
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_records(batches(), tmp_path, 2)
    assert list(tmp_path.iterdir()) == []


def numbers(dataset, count):
    batches = dataset.take(count).as_numpy_iterator()
    return [batch["token_ids"][:, 0].tolist() for batch in batches]


def test_every_epoch_has_all_examples_in_another_order(tmp_path):
    paths = write_records(make_batches(), tmp_path, 3)
    read = [
        np.reshape(numbers(read_records(paths, 4, seed, buffer=1), 6), (2, 12))
        for seed in (1, 1, 2)
    ]
    np.testing.assert_array_equal(read[0], read[1])
    assert (read[0] != read[2]).any() and (read[0][0] != read[0][1]).any()
    assert all(sorted(epoch) == list(range(12)) for epochs in read for epoch in epochs)


@pytest.mark.shown("3")
@pytest.mark.parametrize("start", [1, 3, 7])
def test_a_run_that_resumes_reads_what_it_would_have_read(tmp_path, start):
    paths = write_records(make_batches(), tmp_path, 3)
    whole = numbers(read_records(paths, 5, 7), 9)
    assert numbers(read_records(paths, 5, 7, start), 9 - start) == whole[start:]


def test_unmask_gives_the_tokens_back():
    batch = next(make_batches())
    original = batch["token_ids"].copy()
    np.put_along_axis(original, batch["mask_positions"], batch["mask_ids"], axis=1)
    # A prediction of no weight stands at position 0 and hides nothing.
    batch["mask_weights"][:, -1] = 0
    last = batch["mask_positions"][:, -1:]
    kept = np.take_along_axis(batch["token_ids"], last, axis=1)
    np.put_along_axis(original, last, kept, axis=1)
    weights = tf.constant(batch.pop("mask_weights"))
    tensors = {key: tf.constant(value, "int32") for key, value in batch.items()}
    restored = unmask({**tensors, "mask_weights": weights})
    np.testing.assert_array_equal(restored["token_ids"], original)
    names = "token_ids", "segment_ids", "padding_mask", "next_sentence"
    assert set(restored) == {*names}


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "other.tfrecord"
    with pytest.raises(FileNotFoundError, match="no TFRecord files"):
        read_records([], 2)
    with pytest.raises(tf.errors.NotFoundError):
        read_records([path], 2)
    with tf.io.TFRecordWriter(str(path)) as writer:
        writer.write(tf.train.Example().SerializeToString())
    with pytest.raises(ValueError, match="must be those of a masked language"):
        read_records([path], 2)
    with tf.io.TFRecordWriter(str(path)):
        pass
    with pytest.raises(ValueError, match="must hold at least one example"):
        read_records([path], 2)
    with pytest.raises(ValueError, match="of 'garden', 'google'. Received: 'h"):
        write_records([], tmp_path, 1, "hugging")


@pytest.mark.slow  # to import it takes long
@pytest.mark.parametrize("names", ["google", "garden"])
def test_the_model_garden_reads_ours(tmp_path, names):
    loader = pytest.importorskip("official.nlp.data.pretrain_dataloader")
    write_records(make_batches((4,)), tmp_path, 1, names)
    config = loader.BertPretrainDataConfig(
        input_path=str(tmp_path / "*"),
        global_batch_size=4,
        is_training=False,
        seq_length=L,
        max_predictions_per_seq=P,
        use_v2_feature_names=names == "garden",
    )
    theirs = next(iter(loader.BertPretrainDataLoader(config).load()))
    expected = next(make_batches((4,)))
    their_names = {
        "token_ids": "input_word_ids",
        "segment_ids": "input_type_ids",
        "padding_mask": "input_mask",
        "mask_positions": "masked_lm_positions",
        "mask_ids": "masked_lm_ids",
        "mask_weights": "masked_lm_weights",
        "next_sentence": "next_sentence_labels",
    }
    for key, value in expected.items():
        actual = theirs[their_names[key]].numpy().reshape(value.shape)
        np.testing.assert_array_equal(actual, value, err_msg=key)


@pytest.mark.slow  # to import it takes long
@pytest.mark.parametrize("v2", [False, True])
def test_we_read_the_model_gardens_writer(tmp_path, v2):
    garden = pytest.importorskip("official.nlp.data.create_pretraining_data")
    words = [str(number) for number in range(100)]

    class Tokenizer:
        def convert_tokens_to_ids(self, tokens):
            return [words.index(token) for token in tokens]

    instances = [
        garden.TrainingInstance(
            tokens=words[:9],
            segment_ids=[0] * 5 + [1] * 4,
            masked_lm_positions=[2, 6],
            masked_lm_labels=["17", "18"],
            is_random_next=bool(row),
        )
        for row in range(2)
    ]
    path = tmp_path / "theirs.tfrecord"
    garden.write_instance_to_example_files(
        instances, Tokenizer(), L, P, [str(path)], False, v2
    )
    batch = next(read_records([path], 2).as_numpy_iterator())
    assert batch["token_ids"].tolist() == [[*range(9), *[0] * 7]] * 2
    assert batch["segment_ids"].tolist() == [[0] * 5 + [1] * 4 + [0] * 7] * 2
    assert batch["mask_positions"].tolist() == [[2, 6, 0, 0]] * 2
    assert batch["mask_ids"].tolist() == [[17, 18, 0, 0]] * 2
    assert batch["mask_weights"].tolist() == [[1, 1, 0, 0]] * 2
    assert batch["next_sentence"].tolist() == [0, 1]
