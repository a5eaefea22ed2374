"""How far the batches of a task are padded, and which of them count."""

import pytest
import tensorflow as tf


@pytest.mark.parametrize("jit_compile", [False, True])
def test_rows_are_padded_to_a_bucket_only_where_xla_compiles(make_task, jit_compile):
    task = make_task(compile={"jit_compile": jit_compile})
    texts = ["good good", "bad", "good bad good"]
    lengths = [x["token_ids"].shape[1] for x in task.batches(texts, batch_size=2)]
    assert lengths == ([8, 8] if jit_compile else [5, 3])


@pytest.mark.parametrize("size", [0, -1])
def test_a_batch_has_a_row_at_least(classifier, texts, labels, size):
    for call in (
        lambda: classifier.fit(texts, labels, batch_size=size),
        lambda: classifier.evaluate(texts, labels, batch_size=size),
        lambda: classifier.predict(texts, batch_size=size),
    ):
        with pytest.raises(ValueError, match=f"at least 1. Received: {size}. Leave it"):
            call()


def test_a_dataset_of_unknown_shape_is_refused(classifier, texts):
    unknown = tf.data.Dataset.from_generator(lambda: [texts], output_types=tf.string)
    with pytest.raises(ValueError, match="an unknown shape with `tf.ensure_shape"):
        classifier.predict(unknown)
    named = unknown.map(lambda x: tf.ensure_shape(x, [None]))
    assert len(classifier.predict(named, verbose=0)) == len(texts)
