"""How far the batches of a task are padded, and which of them count."""

import pytest


@pytest.mark.parametrize("jit_compile", [False, True])
def test_rows_are_padded_to_a_bucket_only_where_xla_compiles(make_task, jit_compile):
    task = make_task(compile={"jit_compile": jit_compile})
    texts = ["good good", "bad", "good bad good"]
    lengths = [x["token_ids"].shape[1] for x in task.batches(texts, batch_size=2)]
    assert lengths == ([8, 8] if jit_compile else [5, 3])


def test_steps_of_held_out_texts_are_refused(make_task, texts, labels):
    model = make_task()
    for held_out in (
        {"validation_data": (texts, labels)},
        {"validation_split": 0.5},
    ):
        with pytest.raises(ValueError, match="`validation_steps` counts the batches"):
            model.fit(texts, labels, verbose=0, validation_steps=1, **held_out)
